//! Counts written differences into bins.
//!
//! Up to 2,048 bins have four copies, so that four equal differences in a row do not wait for each other. Small
//! counts have 32 bits and are added to those of 64 bits before so many differences were counted that one could
//! overflow.

use super::bins::{Binning, WithBin};
use crate::{
    kernels::{
        distances::narrow::Narrow, merges::Merges, neighbours::Differences, sliding::SlidingCounts,
    },
    run::progress::Stop,
};

/// Copies of the bins, so that an increment need not wait for the previous one.
const COPIES: usize = 4;
/// Above this number of bins, copies would not fit in the nearest caches, and equal neighbours are rare.
const COPIED_BINS: usize = 1 << 11;
/// The numbers at which the copies begin.
const STARTS: [u16; COPIES] = [0, 1 << 11, 2 << 11, 3 << 11];
/// As many small counts as 16 bits can number, so that no number needs a check. With more bins, differences
/// go directly into the counts of 64 bits.
const NUMBERS: usize = 1 << 16;
/// Numbers of bins that are read at once.
const FOUR: usize = 4;
/// Differences whose bins are numbered before they are counted.
const RUN: usize = 1024;

/// Small counts of one thread, which fit in the nearest caches. They are added up before one can overflow.
/// They are 32 bits wide: 16-bit counts took twice as long to increment (Zen 3).
pub(super) struct BinTally {
    bins: usize,
    /// [`NUMBERS`] of them, with the copies [`COPIED_BINS`] apart, or none.
    small: Vec<u32>,
    /// Differences in the small counts.
    len: usize,
    /// Room for a run of numbers of bins.
    numbers: Vec<u16>,
}

/// The buffers a thread needs to put differences into bins, or to count beyond their edges.
pub(super) struct Bucket<'a> {
    pub(super) stop: Stop<'a>,
    pub(super) differences: Differences,
    pub(super) narrow: Narrow,
    pub(super) tally: BinTally,
    pub(super) merges: Merges,
    pub(super) sliding: SlidingCounts,
}

impl<'a> Bucket<'a> {
    pub(super) fn new(bins: usize, stop: Stop<'a>) -> Self {
        Self {
            stop,
            differences: Differences::new(),
            narrow: Narrow::new(),
            tally: BinTally::new(bins),
            merges: Merges::default(),
            sliding: SlidingCounts::default(),
        }
    }
}

impl BinTally {
    fn new(bins: usize) -> Self {
        let small = if bins <= NUMBERS { NUMBERS } else { 0 };
        Self { bins, small: vec![0; small], len: 0, numbers: vec![0; RUN] }
    }

    /// Counts differences that are given as distances from the lower edge of bin 0.
    pub(super) fn add<D: Copy + Into<u64>>(
        &mut self,
        binning: &Binning,
        distances: &[D],
        counts: &mut [u64],
    ) {
        if !self.is_small() {
            binning.with(Scatter { distances, counts });
            return;
        }
        let mut numbers = std::mem::take(&mut self.numbers);
        for distances in distances.chunks(RUN) {
            let numbers = &mut numbers[..distances.len()];
            binning.with(Number { distances, numbers });
            self.count(numbers, counts);
        }
        self.numbers = numbers;
    }

    /// Works like [`BinTally::add`], with differences that may be modified.
    pub(super) fn add_narrow(
        &mut self,
        binning: &Binning,
        distances: &mut [u16],
        counts: &mut [u64],
    ) {
        match *binning {
            // They are the numbers of their bins.
            Binning::Shift(0) if self.is_small() => self.count(distances, counts),
            _ => self.add(binning, &*distances, counts),
        }
    }

    /// Returns whether there are few enough bins to count them by their numbers.
    pub(super) fn is_small(&self) -> bool {
        !self.small.is_empty()
    }

    /// Counts numbers of bins; modifies them in place.
    pub(super) fn count(&mut self, numbers: &mut [u16], counts: &mut [u64]) {
        if self.len + numbers.len() > u32::MAX as usize {
            self.drain(counts);
        }
        self.len += numbers.len();
        let Some(small) = self.small.first_chunk_mut::<NUMBERS>() else { return };
        if self.bins <= COPIED_BINS {
            let (fours, _) = numbers.as_chunks_mut::<COPIES>();
            for four in fours {
                for (number, start) in four.iter_mut().zip(STARTS) {
                    *number += start;
                }
            }
        }
        let (fours, rest) = numbers.as_chunks::<FOUR>();
        for &[a, b, c, d] in fours {
            small[usize::from(a)] += 1;
            small[usize::from(b)] += 1;
            small[usize::from(c)] += 1;
            small[usize::from(d)] += 1;
        }
        for &number in rest {
            small[usize::from(number)] += 1;
        }
    }

    /// Adds the small counts to `counts` and resets them. Counts wrap: in damaged rows, more may have been subtracted
    /// than was counted, and the result is then refused.
    pub(super) fn drain(&mut self, counts: &mut [u64]) {
        self.len = 0;
        let copies = if self.bins <= COPIED_BINS { COPIES } else { 1 };
        for copy in self.small.chunks_mut(COPIED_BINS.max(self.bins)).take(copies) {
            for (count, small) in counts.iter_mut().zip(copy) {
                *count = count.wrapping_add(std::mem::take(small).into());
            }
        }
    }
}

/// Converts differences to numbers of bins.
struct Number<'a, D> {
    distances: &'a [D],
    numbers: &'a mut [u16],
}

impl<D: Copy + Into<u64>> WithBin<()> for Number<'_, D> {
    #[inline]
    fn call(self, bin: impl Fn(u64) -> usize) {
        for (number, &distance) in self.numbers.iter_mut().zip(self.distances) {
            #[expect(clippy::cast_possible_truncation, reason = "there are at most NUMBERS")]
            {
                *number = bin(distance.into()) as u16;
            }
        }
    }
}

/// Adds to counts that are too many to be numbered by 16 bits.
struct Scatter<'a, D> {
    distances: &'a [D],
    counts: &'a mut [u64],
}

impl<D: Copy + Into<u64>> WithBin<()> for Scatter<'_, D> {
    #[inline]
    fn call(self, bin: impl Fn(u64) -> usize) {
        let Self { distances, counts } = self;
        let (eights, rest) = distances.as_chunks::<8>();
        for eight in eights {
            // All bins are computed first: an increment would delay the next shift or multiplication.
            for bin in eight.map(|distance| bin(distance.into())) {
                counts[bin] = counts[bin].wrapping_add(1);
            }
        }
        for &distance in rest {
            let bin = bin(distance.into());
            counts[bin] = counts[bin].wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::histogram::bins::Bins;

    /// With copies of bins, without copies, and with too many bins for small counts.
    #[test]
    fn differences_are_counted_in_their_bins() {
        for count in [3, 5_000, 65_536, 70_000] {
            let bins = Bins::Linear { low: 0, width: 1, count };
            let binning = Binning::of(&bins);
            let mut tally = BinTally::new(bins.count());
            let mut counts = vec![0; bins.count()];
            for _ in 0..300 {
                tally.add(&binning, &[1_u64; 1_001], &mut counts);
                tally.add(&binning, &[count - 1; 3], &mut counts);
            }
            tally.add(&binning, &vec![2_u64; 70_000], &mut counts);
            tally.drain(&mut counts);
            let mut expected = vec![0; bins.count()];
            expected[1] = 300_300;
            expected[2] = 70_000;
            expected[bins.count() - 1] += 900;
            assert_eq!(counts, expected);
        }
    }

    #[test]
    fn no_count_runs_over() {
        let binning = Binning::of(&Bins::Linear { low: 0, width: 1, count: 5_000 });
        let mut tally = BinTally::new(5_000);
        let mut counts = vec![0; 5_000];
        // As if nearly as many differences had arrived as a small count holds, all in one bin.
        let before = u32::MAX - 5;
        tally.small[1] = before;
        tally.len = before as usize;
        tally.add(&binning, &[1_u64; 10], &mut counts);
        tally.drain(&mut counts);
        assert_eq!(counts[1], u64::from(before) + 10);
    }
}
