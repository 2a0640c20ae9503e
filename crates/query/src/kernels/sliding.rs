//! Counts the pairs of two sorted lists in many bins of one width W, for a cost that grows with the bins and not with
//! the pairs.
//!
//! Time is cut into cells of W ticks, and each cell into parts of S ticks. An owner sees a window of W for each bin, and all
//! of its windows begin at the same place of a part, f ticks after its begin, in cells that follow each other. So the
//! others in window k are those in the W ticks from the begin of the part in cell k on, less those in the first f ticks of
//! this part, plus those in the first f ticks of the part in cell k + 1. The counts of W ticks from the begin of a part
//! are the same for all owners of this part; they slide from part to part. Of others in a part there are mostly none or
//! one: its offset is compared with f, and further ones are compared one by one.
//!
//! W = 100 and S = 10, others at 5 and 120, an owner whose windows begin at 3: the part from 0 on has 1 other in 100
//! ticks, and 0 of them in its first 3; that from 100 on has 1, too.
//!
//! The counts are meaningful if the lists are in order and differences between any two times fit in `i64`.
//! Otherwise the counts are arbitrary, but only the lists are accessed ([`super`]).

use std::ops::Range;

use crate::kernels::simd::{Simd, Work};

/// Counts of a row that are added at once.
const LANES: usize = 64;
/// Parts of a block: three numbers each, which stay in a core's cache. Many bins or long ones need more: a row of them does.
const PARTS: usize = 1 << 18;
const PARTS_MAX: usize = 1 << 21;
/// Mean others of a part: of more, too many would be compared one by one.
const OTHERS: f64 = 1.0 / 16.0;
/// The most bits of an offset in a part.
const BITS_MAX: u32 = 16;
/// With more others in W ticks, sums of bytes would be emptied too often.
const BYTES_MAX: f64 = 24.0;
/// A block has the owners of so many times the reach, so that its others are not placed often.
const REACHES: usize = 2;

/// Bins of one width: bin k holds `first` + k·`width` ≤ owner − other < `first` + (k + 1)·`width`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EqualBins {
    pub first: i64,
    /// At least 1.
    pub width: i64,
    pub count: usize,
}

/// How two lists are cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlidingCut {
    /// A part has 2^`bits` ticks, the last one of a cell as many as are left.
    bits: u32,
    /// Others in W ticks, on average.
    in_width: f64,
    /// Parts of a cell.
    parts: usize,
    /// Cells of a row, and the ticks whose owners are in a block.
    cells: usize,
    ticks: u64,
    bins: EqualBins,
}

/// The buffers for one thread.
#[derive(Default)]
pub(crate) struct SlidingCounts {
    bytes: PartRows<u8>,
    words: PartRows<u16>,
    /// Of a block, by part: the cell and the offset of each owner.
    owners: Vec<(u32, u16)>,
    /// The end of the owners of each part.
    ends: Vec<usize>,
    places: Vec<Place>,
    /// Others that are not the first ones of their parts.
    extras: Vec<Place>,
    /// For each window, the others from the begin of a part on, and those before an owner's offset.
    whole: Vec<u64>,
    before: Vec<u64>,
}

/// Numbers of each part, a row for each place of a part in its cell.
#[derive(Default)]
struct PartRows<T> {
    /// Others in the part.
    counts: Vec<T>,
    /// Others in W ticks from the begin of the part on.
    sliding: Vec<T>,
    /// The offset of the first other in the part; the largest one if there is none.
    first: Vec<T>,
}

/// The place of a time: the cell, the part of it, and the offset there.
#[derive(Debug, Clone, Copy)]
struct Place {
    cell: u32,
    part: u32,
    offset: u16,
}

/// A count or an offset of one or two bytes.
trait Small: Copy + Ord + Default {
    const MAX: Self;
    fn of(offset: u16) -> Self;
    fn get(self) -> u16;
    fn plus(self, more: Self) -> Self;
    fn minus(self, less: Self) -> Self;
    /// Returns the sum, or the largest number.
    fn up_to_max(self, more: Self) -> Self;
    fn one_if(is: bool) -> Self;
}

macro_rules! small {
    ($of:ty) => {
        impl Small for $of {
            const MAX: Self = <$of>::MAX;

            #[expect(clippy::allow_attributes, reason = "of one of both types")]
            #[allow(
                clippy::cast_possible_truncation,
                trivial_numeric_casts,
                reason = "offsets fit"
            )]
            #[inline]
            fn of(offset: u16) -> Self {
                offset as Self
            }

            #[inline]
            fn get(self) -> u16 {
                self.into()
            }

            #[inline]
            fn plus(self, more: Self) -> Self {
                self.wrapping_add(more)
            }

            #[inline]
            fn minus(self, less: Self) -> Self {
                self.wrapping_sub(less)
            }

            #[inline]
            fn up_to_max(self, more: Self) -> Self {
                self.saturating_add(more)
            }

            #[inline]
            fn one_if(is: bool) -> Self {
                Self::from(is)
            }
        }
    };
}
small!(u8);
small!(u16);

impl SlidingCut {
    /// Returns how to cut lists with this number of others a tick; `None` if the bins reach too far for them.
    pub(crate) fn of(bins: EqualBins, others_per_tick: f64) -> Option<Self> {
        let width = u64::try_from(bins.width).ok().filter(|width| *width > 0)?;
        let reach = width.checked_mul(bins.count as u64)?;
        let part = OTHERS / others_per_tick.max(f64::MIN_POSITIVE);
        let most = BITS_MAX.min(width.next_power_of_two().trailing_zeros());
        let wanted = (0..most).take_while(|bits| f64::from(2 << bits) <= part).count();
        let parts_of = |bits: u32| width.div_ceil(1 << bits);
        let least = bins.count.checked_mul(1 + REACHES)?.checked_add(2 * LANES)?;
        let fits = |bits: &u32| {
            parts_of(*bits).checked_mul(least as u64).is_some_and(|all| all <= PARTS_MAX as u64)
        };
        let bits = (u32::try_from(wanted).ok()?..=most).find(fits)?;
        let parts = usize::try_from(parts_of(bits)).ok()?;
        // All of the room, for few bins.
        let cells = (PARTS / parts).max(least);
        let spare = cells - bins.count - 2 * LANES;
        let ticks = width.checked_mul(spare as u64)?;
        i64::try_from(ticks.checked_add(reach)?.checked_add(2 * width)?).ok()?;
        let in_width = width as f64 * others_per_tick;
        Some(Self { bits, in_width, parts, cells, ticks, bins })
    }

    /// Returns the same for owners up to so many ticks after the first one.
    fn until(self, last: u64) -> Self {
        let cells = last / self.bins.width.cast_unsigned() + (self.bins.count + 2 * LANES) as u64;
        Self { cells: usize::try_from(cells).map_or(self.cells, |of| of.min(self.cells)), ..self }
    }

    /// Whether counts and offsets are bytes.
    fn has_bytes(&self) -> bool {
        self.bits <= u8::BITS && self.in_width <= BYTES_MAX
    }

    /// Returns about the cycles to count pairs of so many owners and others in a time of so many ticks.
    pub(crate) fn cycles(&self, [owners, others]: [usize; 2], ticks: u64) -> f64 {
        let bins = self.bins.count as f64;
        let blocks = ticks as f64 / self.ticks as f64;
        let parts =
            (ticks as f64 + blocks * bins * self.bins.width as f64) / f64::from(1 << self.bits);
        // Sums of bytes are emptied after so many owners, for the cost of three.
        let (vectors, together) = if self.has_bytes() {
            (1.0, 255.0 / (8.0 + 2.0 * self.in_width))
        } else {
            (2.0, 255.0)
        };
        let windows = ((bins + 1.0) / LANES as f64).ceil();
        let of_owner = 20.0 + windows * vectors * (3.0 + 9.0 / together);
        let in_part = others as f64 / ticks.max(1) as f64 * f64::from(1 << self.bits);
        let of_other = 15.0 + in_part * in_part * bins;
        owners as f64 * of_owner + others as f64 * of_other + 0.2 * parts
    }

    /// Returns the part of an offset from the begin of a block; `None` after its last cell.
    fn place(&self, offset: u64, (cell, begin): &mut (u64, u64)) -> Option<Place> {
        let width = self.bins.width.cast_unsigned();
        let mut rest = offset.wrapping_sub(*begin);
        if rest >= width {
            let cells = rest / width;
            *cell = cell.wrapping_add(cells);
            *begin = begin.wrapping_add(cells.wrapping_mul(width));
            rest = offset.wrapping_sub(*begin);
        }
        if *cell >= self.cells as u64 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below the cells, the parts and 2^16")]
        Some(Place {
            cell: *cell as u32,
            part: (rest >> self.bits) as u32,
            offset: (rest & ((1 << self.bits) - 1)) as u16,
        })
    }
}

impl SlidingCounts {
    /// Adds the pairs of as many owners from the first one on as form a block to the counts of their bins. Returns how
    /// many these are, and whether they were counted: others that are too dense are not.
    pub(crate) fn count_block(
        &mut self,
        simd: Simd,
        cut: &SlidingCut,
        owners: &[i64],
        others: &[i64],
        counts: &mut [u64],
    ) -> (usize, bool) {
        let Some(&earliest) = owners.first() else { return (0, true) };
        let is_in = |owner: &i64| owner.wrapping_sub(earliest).cast_unsigned() < cut.ticks;
        let owners = &owners[..owners.partition_point(is_in).max(1)];
        let last = owners[owners.len() - 1].wrapping_sub(earliest).cast_unsigned();
        let cut = &cut.until(last);
        let is_counted = if cut.has_bytes() {
            let mut rows = std::mem::take(&mut self.bytes);
            let is_counted = self.count_in(simd, cut, &mut rows, [owners, others], counts);
            self.bytes = rows;
            is_counted
        } else {
            let mut rows = std::mem::take(&mut self.words);
            let is_counted = self.count_in(simd, cut, &mut rows, [owners, others], counts);
            self.words = rows;
            is_counted
        };
        (owners.len(), is_counted)
    }

    fn count_in<T: Small>(
        &mut self,
        simd: Simd,
        cut: &SlidingCut,
        rows: &mut PartRows<T>,
        [owners, others]: [&[i64]; 2],
        counts: &mut [u64],
    ) -> bool {
        let EqualBins { first, width, count } = cut.bins;
        let Some(&earliest) = owners.first() else { return true };
        // The windows of the first owner begin here: of its farthest others, with the differences from `first` + K·W on
        // not among them.
        let reach = width.wrapping_mul(i64::try_from(count).unwrap_or(i64::MAX));
        let begin = earliest.checked_sub(first).and_then(|time| time.checked_sub(reach - 1));
        let Some(begin) = begin else { return false };
        let near = &others[others.partition_point(|&other| other < begin)..];
        self.extras.clear();
        if !rows.place_others(cut, near, begin, &mut self.extras) {
            return false;
        }
        let Some(most) = rows.slide(cut) else { return false };
        self.place_owners(cut, owners, earliest);
        let windows = (count + 1).next_multiple_of(LANES);
        for sums in [&mut self.whole, &mut self.before] {
            sums.clear();
            sums.resize(windows, 0);
        }
        // No sum of a lane runs over.
        let together = usize::from(T::MAX.get()) / usize::from(most.get()).max(1);
        let mut start = 0;
        for (part, &end) in self.ends.iter().enumerate() {
            let row = part * cut.cells..(part + 1) * cut.cells;
            for owners in self.owners[start..end].chunks(together) {
                let sums = [&mut self.whole[..], &mut self.before[..]];
                let rows = [&rows.sliding[row.clone()], &rows.first[row.clone()]];
                simd.run(Add { rows, owners, sums });
            }
            start = end;
        }
        self.compare_extras(count);
        for (bin, sum) in counts.iter_mut().take(count).enumerate() {
            let window = count - 1 - bin;
            let inside = self.whole[window]
                .wrapping_add(self.before[window + 1])
                .wrapping_sub(self.before[window]);
            *sum = sum.wrapping_add(inside);
        }
        true
    }

    /// Puts the owners of a block in order of their parts, and within a part of their cells.
    fn place_owners(&mut self, cut: &SlidingCut, owners: &[i64], earliest: i64) {
        let Self { places, ends, owners: sorted, .. } = self;
        places.clear();
        ends.clear();
        ends.resize(cut.parts + 1, 0);
        let mut at = (0, 0);
        for owner in owners {
            let offset = owner.wrapping_sub(earliest).cast_unsigned();
            let Some(place) = cut.place(offset, &mut at) else { break };
            ends[place.part as usize + 1] += 1;
            places.push(place);
        }
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += *end;
            *end = sum;
        }
        sorted.clear();
        sorted.resize(places.len(), (0, 0));
        for &Place { cell, part, offset } in places.iter() {
            let next = &mut ends[part as usize];
            sorted[*next] = (cell, offset);
            *next += 1;
        }
        // Each end was moved to that of its part.
        ends.truncate(cut.parts);
    }

    /// Adds the others that are not the first ones of their parts, and are before the offset of an owner.
    fn compare_extras(&mut self, count: usize) {
        for &Place { cell, part, offset } in &self.extras {
            let Range { start, end } = self.owners_of(part as usize);
            let owners = &self.owners[start..end];
            let reaching = owners.partition_point(|&(of, _)| (of as usize + count) < cell as usize);
            for &(of, before) in &owners[reaching..] {
                let Some(window) = cell.checked_sub(of) else { break };
                if let Some(sum) = self.before.get_mut(window as usize) {
                    *sum += u64::from(offset < before);
                }
            }
        }
    }

    fn owners_of(&self, part: usize) -> Range<usize> {
        let start = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[part]
    }
}

impl<T: Small> PartRows<T> {
    /// Puts others into their parts. Returns `false` if a part has too many.
    fn place_others(
        &mut self,
        cut: &SlidingCut,
        others: &[i64],
        begin: i64,
        extras: &mut Vec<Place>,
    ) -> bool {
        let all = cut.parts * cut.cells;
        for (row, nothing) in [(&mut self.counts, T::default()), (&mut self.first, T::MAX)] {
            row.clear();
            row.resize(all, nothing);
        }
        let mut at = (0, 0);
        for other in others {
            let offset = other.wrapping_sub(begin).cast_unsigned();
            let Some(place) = cut.place(offset, &mut at) else { break };
            let of = place.part as usize * cut.cells + place.cell as usize;
            let count = self.counts[of];
            if count == T::default() {
                self.first[of] = T::of(place.offset);
            } else if count == T::MAX {
                return false;
            } else {
                extras.push(place);
            }
            self.counts[of] = count.plus(T::one_if(true));
        }
        true
    }

    /// Counts the others in W ticks from the begin of each part on. Returns the most; `None` if these are too many.
    fn slide(&mut self, cut: &SlidingCut) -> Option<T> {
        let cells = cut.cells;
        self.sliding.clear();
        self.sliding.resize(cut.parts * cells, T::default());
        let (head, _) = self.sliding.split_at_mut(cells);
        for counts in self.counts.chunks_exact(cells) {
            for (sum, &count) in head.iter_mut().zip(counts) {
                *sum = sum.up_to_max(count);
            }
        }
        let mut most = T::default();
        for part in 0..cut.parts {
            let (done, rest) = self.sliding.split_at_mut((part + 1) * cells);
            let sliding = &done[part * cells..];
            most = sliding.iter().copied().fold(most, Ord::max);
            if most == T::MAX {
                return None;
            }
            let counts = &self.counts[part * cells..(part + 1) * cells];
            let Some(next) = rest.get_mut(..cells) else { break };
            for ((next, &of), counts) in next.iter_mut().zip(sliding).zip(counts.windows(2)) {
                *next = of.minus(counts[0]).up_to_max(counts[1]);
            }
        }
        Some(most)
    }
}

/// Adds for each window of each owner the others from the begin of its part on, and whether the first of them is before the
/// owner's offset. There are so few owners that no sum of small numbers runs over.
struct Add<'a, T> {
    rows: [&'a [T]; 2],
    owners: &'a [(u32, u16)],
    sums: [&'a mut [u64]; 2],
}

impl<T: Small> Work for Add<'_, T> {
    type Output = ();

    /// Sums of so many windows of all owners stay in registers.
    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn run(self) {
        let Self { rows: [sliding, first], owners, sums: [whole, before] } = self;
        // One check for both rows, which have one length.
        let len = sliding.len().min(first.len());
        let (sliding, first) = (&sliding[..len], &first[..len]);
        let Some(last) = len.checked_sub(LANES) else { return };
        let whole = whole.as_chunks_mut::<LANES>().0;
        let before = before.as_chunks_mut::<LANES>().0;
        for (number, (whole, before)) in whole.iter_mut().zip(before).enumerate() {
            let (mut counts, mut is_before) = ([T::default(); LANES], [T::default(); LANES]);
            for &(cell, offset) in owners {
                let at = cell as usize + number * LANES;
                if at > last {
                    continue;
                }
                let (sliding, first) = (&sliding[at..at + LANES], &first[at..at + LANES]);
                let offset = T::of(offset);
                for (sum, &of) in counts.iter_mut().zip(sliding) {
                    *sum = sum.plus(of);
                }
                for (sum, &of) in is_before.iter_mut().zip(first) {
                    *sum = sum.plus(T::one_if(of < offset));
                }
            }
            for (sum, of) in whole.iter_mut().zip(counts) {
                *sum += u64::from(of.get());
            }
            for (sum, of) in before.iter_mut().zip(is_before) {
                *sum += u64::from(of.get());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_by_one([owners, others]: [&[i64]; 2], bins: EqualBins) -> Vec<u64> {
        let mut counts = vec![0; bins.count];
        for (owner, other) in owners.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
            let from_first = owner - other - bins.first;
            if from_first >= 0
                && let Some(count) = usize::try_from(from_first / bins.width)
                    .ok()
                    .and_then(|bin| counts.get_mut(bin))
            {
                *count += 1;
            }
        }
        counts
    }

    proptest! {
        /// Parts of all sizes, others that are alone and in crowds, and blocks of a few owners.
        #[test]
        fn every_level_equals_counting_one_by_one(
            mut owners in prop::collection::vec(0_i64..3_000, 1..80),
            mut others in prop::collection::vec(0_i64..3_000, 0..120),
            unit in prop::sample::select(vec![1_i64, 7, 1_000]),
            width in 1_i64..2_000,
            count in 1_usize..200,
            first in 0_i64..500,
            per_tick in prop::sample::select(vec![1e-9, 1e-5, 1e-3, 0.1, 1.0, 10.0]),
            crowd in 0_usize..300,
            ticks in 1_u64..5_000,
        ) {
            others.extend(std::iter::repeat_n(1_500, crowd));
            for times in [&mut owners, &mut others] {
                times.sort_unstable();
                for time in times.iter_mut() {
                    *time = *time * unit - 1_000;
                }
            }
            let bins = EqualBins { first: first * unit, width, count };
            let Some(cut) = SlidingCut::of(bins, per_tick) else { return Ok(()) };
            let cut = SlidingCut { ticks: ticks.min(cut.ticks), ..cut };
            let mut sliding = SlidingCounts::default();
            for simd in Simd::available() {
                let mut counts = vec![0; count];
                let mut left = &owners[..];
                while !left.is_empty() {
                    let (taken, is_counted) =
                        sliding.count_block(simd, &cut, left, &others, &mut counts);
                    let (block, rest) = left.split_at(taken);
                    if !is_counted {
                        // Only a crowd is too dense.
                        prop_assert!(crowd >= 255 - 120, "{cut:?}");
                        let of_block = one_by_one([block, &others], bins);
                        counts.iter_mut().zip(of_block).for_each(|(sum, more)| *sum += more);
                    }
                    left = rest;
                }
                prop_assert_eq!(&counts, &one_by_one([&owners, &others], bins), "{:?} {:?}", simd, cut);
            }
        }

        /// Times that are no times: nothing but the lists is accessed.
        #[test]
        fn any_times_end(
            owners in prop::collection::vec(any::<i64>(), 1..50),
            others in prop::collection::vec(any::<i64>(), 0..50),
            width in 1_i64..i64::MAX,
            count in 1_usize..3_000,
            first in any::<i64>(),
        ) {
            let bins = EqualBins { first, width, count };
            if let Some(cut) = SlidingCut::of(bins, 1e-6) {
                let mut counts = vec![0; count];
                let mut sliding = SlidingCounts::default();
                let (taken, _) =
                    sliding.count_block(Simd::best(), &cut, &owners, &others, &mut counts);
                prop_assert!((1..=owners.len()).contains(&taken));
            }
        }
    }
}
