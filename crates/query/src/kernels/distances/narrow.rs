//! Distances in 32 bits: twice as many lanes, and half as many bytes to write and to read again.
//!
//! Times are stored relative to the first owner: with an owner at 2^40, another time of 2^40 + 7 is 7.

use crate::kernels::simd::{Level, Simd};

use super::Distances;
use crate::kernels::rows::low_half;

/// Owners of one call lie less than this many ticks apart, and distances are shorter than this.
pub(crate) const LIMIT: i64 = 1 << 30;
/// Distances that are written at once.
const CHUNK: usize = 16;
/// Others that are compared at once.
const LANES: usize = 8;

/// Times of two lists relative to an origin, and the buffers for distances or numbers of bins.
pub(crate) struct Narrow {
    owners: Vec<i32>,
    others: Vec<i32>,
    distances: Box<[u32]>,
    numbers: Box<[u16]>,
}

/// [`Distances`] in 32 bits.
#[derive(Debug, Clone, Copy)]
struct NarrowDistances {
    first: i32,
    last: i32,
    /// All bits set, unless the negative of the distance is written.
    flip: u32,
    low: u32,
}

impl Narrow {
    /// 4 KiB and 2 KiB, which leave room for bins in a core's nearest cache.
    const LEN: usize = 1024;

    pub(crate) fn new() -> Self {
        Self {
            owners: Vec::new(),
            others: Vec::new(),
            distances: vec![0; Self::LEN].into(),
            numbers: vec![0; Self::LEN].into(),
        }
    }

    /// Works like [`super::distances`], for owners less than [`LIMIT`] apart, others at most `wanted.last`
    /// before one of them or between them, and distances from `low` below 2^32. `wanted.last` is below
    /// [`LIMIT`].
    pub(crate) fn distances(
        &mut self,
        simd: Simd,
        lists: [&[i64]; 2],
        wanted: &Distances,
        mut take: impl FnMut(&mut [u32]),
    ) {
        let wanted = self.load(lists, wanted);
        let Self { owners, others, distances, .. } = self;
        spans_at(simd, owners, others, wanted, distances, |distance| distance, &mut take);
    }

    /// Passes the same distances divided by 2^`bits`; the quotients must be below 2^16.
    pub(crate) fn numbers(
        &mut self,
        simd: Simd,
        lists: [&[i64]; 2],
        wanted: &Distances,
        bits: u32,
        mut take: impl FnMut(&mut [u16]),
    ) {
        let wanted = self.load(lists, wanted);
        let Self { owners, others, numbers, .. } = self;
        #[expect(clippy::cast_possible_truncation, reason = "the caller knows how many bins")]
        let number = |distance: u32| (distance >> bits) as u16;
        spans_at(simd, owners, others, wanted, numbers, number, &mut take);
    }

    fn load(&mut self, [owners, others]: [&[i64]; 2], wanted: &Distances) -> NarrowDistances {
        let origin = owners.first().copied().unwrap_or_default();
        let narrow = |&time: &i64| low_half(time.wrapping_sub(origin)).cast_signed();
        self.owners.clear();
        self.owners.extend(owners.iter().map(narrow));
        self.others.clear();
        self.others.extend(others.iter().map(narrow));
        // One more chunk always follows the last other; its times are out of reach of every owner.
        self.others.extend([i32::MAX; CHUNK]);
        NarrowDistances {
            first: low_half(wanted.first).cast_signed(),
            last: low_half(wanted.last).cast_signed(),
            flip: if wanted.is_negative { 0 } else { u32::MAX },
            low: low_half(wanted.low),
        }
    }
}

/// Calls [`spans`] compiled for the level.
fn spans_at<V: Copy>(
    simd: Simd,
    owners: &[i32],
    others: &[i32],
    wanted: NarrowDistances,
    values: &mut [V],
    value: impl Fn(u32) -> V,
    take: &mut impl FnMut(&mut [V]),
) {
    match simd.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 | Level::Avx512 | Level::Vbmi2 => unsafe {
            spans_avx2(owners, others, wanted, values, value, take);
        },
        Level::Scalar => spans(owners, others, wanted, values, value, take),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn spans_avx2<V: Copy>(
    owners: &[i32],
    others: &[i32],
    wanted: NarrowDistances,
    values: &mut [V],
    value: impl Fn(u32) -> V,
    take: &mut impl FnMut(&mut [V]),
) {
    spans(owners, others, wanted, values, value, take);
}

/// Writes the wanted distances. Compiled for each level. Whole chunks are written, even if fewer others are
/// near: their number differs from owner to owner, and a branch on it would be mispredicted most times.
#[expect(clippy::inline_always, reason = "a call would leave the level's instructions out")]
#[inline(always)]
fn spans<V: Copy>(
    owners: &[i32],
    others: &[i32],
    wanted: NarrowDistances,
    values: &mut [V],
    value: impl Fn(u32) -> V,
    take: &mut impl FnMut(&mut [V]),
) {
    let NarrowDistances { first, last, flip, low } = wanted;
    let (mut start, mut end, mut len) = (0, 0, 0);
    for &owner in owners {
        start = passed(others, start, owner.wrapping_sub(last));
        end = passed(others, end, owner.wrapping_sub(first).wrapping_add(1));
        // Inverting all bits and adding one gives the negative: D - low is -other + (owner - low), and
        // -D - low is other - (owner + low).
        let owner = owner.cast_unsigned() ^ !flip;
        let rest = owner.wrapping_sub(low).wrapping_add(1);
        let mut at = start;
        while at < end {
            if len > values.len() - CHUNK {
                take(&mut values[..len]);
                len = 0;
            }
            let (Some(free), Some(chunk)) =
                (values[len..].first_chunk_mut(), others[at..].first_chunk::<CHUNK>())
            else {
                break;
            };
            *free = chunk.map(|other| value((other.cast_unsigned() ^ flip).wrapping_add(rest)));
            let written = CHUNK.min(end - at);
            len += written;
            at += written;
        }
    }
    take(&mut values[..len]);
}

/// Returns the first of the others, from `at` on, that is not before `limit`. The search stops at the times
/// after the last other at the latest, because they are before no limit.
#[expect(clippy::inline_always, reason = "a call would leave the level's instructions out")]
#[inline(always)]
fn passed(others: &[i32], mut at: usize, limit: i32) -> usize {
    loop {
        let lanes = &others[at..at + LANES];
        let passed = lanes.iter().filter(|&&other| other < limit).count();
        at += passed;
        if passed < LANES {
            return at;
        }
    }
}
