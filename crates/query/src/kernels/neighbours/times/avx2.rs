//! AVX2: the kernels of neighbours over times. Four differences at once are packed by a table of permutations.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::{
    arch::x86_64::{
        _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_cmpgt_epi64,
        _mm256_loadu_si256, _mm256_movemask_pd, _mm256_permutevar8x32_epi32, _mm256_set_epi64x,
        _mm256_set1_epi64x, _mm256_storeu_si256, _mm256_sub_epi64, _mm256_xor_si256,
    },
    ops::Range,
};

use super::{
    super::{
        DifferenceRange, PairDistances, REACH, ROW_BITS, ROWS, Span,
        differences::difference_kernel,
        scalar,
        steps::{Ends, neighbour_kernels},
    },
    levels::{Difference, Distances, Ticks, Value, WRITE_SELECTS, at, next, ticks},
};
use crate::kernels::{
    avx2::{self, HALVES, Order, equal, first_fall, load_times},
    found::FoundRows,
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    prefetch::ask,
    rows::bits,
};

neighbour_kernels!("avx2,bmi1,popcnt");
difference_kernel!("avx2,bmi1,popcnt");

/// Up to this many differences of a step are written one by one. Estimated, not tuned.
const FEW: u32 = 10;

/// Returns the rows of a step whose distances are at most `window`.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within(distances: &Distances<'_>, window: i64) -> u64 {
    let Distances { times, k } = *distances;
    avx2::near(times, ROWS - k, k, window)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within_span(distances: &Distances<'_>, (low, high): Span) -> u64 {
    within(distances, high) & !within(distances, low - 1)
}

/// Returns whether times are in order.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn is_sorted(times: &[i64]) -> bool {
    first_fall(times).is_none()
}

/// Writes the differences of the rows in `pairs` that lie in the range, less the smallest, those of rows in `back`
/// from the negated distance.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn write(
    &Distances { times, k }: &Distances<'_>,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u64>,
) {
    if pairs.count_ones() <= FEW {
        for row in bits(pairs) {
            let distance = times[ROWS + row].wrapping_sub(times[ROWS + row - k]);
            let is_back = back >> row & 1 != 0;
            let signed = if is_back { distance.wrapping_neg() } else { distance };
            let difference = signed.wrapping_sub(range.low).cast_unsigned();
            let [place] = gathered.places();
            *place = difference;
            gathered.keep((difference <= range.above).into());
        }
        return;
    }
    let low = _mm256_set1_epi64x(range.low);
    // AVX2 has no unsigned comparison: both sides are moved by 2^63.
    let sign = _mm256_set1_epi64x(i64::MIN);
    let above = _mm256_xor_si256(_mm256_set1_epi64x(range.above.cast_signed()), sign);
    let lanes = _mm256_set_epi64x(8, 4, 2, 1);
    for i in (0..ROWS).step_by(4) {
        let (now, before) = (load_times(times, ROWS + i), load_times(times, ROWS + i - k));
        let distance = _mm256_sub_epi64(now, before);
        let backs = _mm256_set1_epi64x((back >> i).cast_signed());
        let backs = _mm256_cmpeq_epi64(_mm256_and_si256(backs, lanes), lanes);
        // Negates the distances where `backs` is set: inverts all bits and adds one.
        let signed = _mm256_sub_epi64(_mm256_xor_si256(distance, backs), backs);
        let difference = _mm256_sub_epi64(signed, low);
        let outside = _mm256_cmpgt_epi64(_mm256_xor_si256(difference, sign), above);
        let outside = _mm256_movemask_pd(_mm256_castsi256_pd(outside)).to_le_bytes()[0];
        let found = (pairs >> i).to_le_bytes()[0] & 0xf & !outside;
        let halves = &HALVES[usize::from(found)];
        // SAFETY: `halves` has 8 readable values; the load needs no alignment.
        let halves = unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) };
        let packed = _mm256_permutevar8x32_epi32(difference, halves);
        let places: &mut [u64; 4] = gathered.places();
        // SAFETY: there are 4 places; the store needs no alignment.
        unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), packed) };
        gathered.keep(found.count_ones() as usize);
    }
}
