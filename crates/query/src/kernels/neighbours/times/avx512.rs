//! AVX-512: the kernels of neighbours over times. Eight differences at once are packed by one instruction.
#![expect(unsafe_code, reason = "vector stores take pointers")]

use std::{
    arch::x86_64::{
        _mm512_mask_cmple_epu64_mask, _mm512_mask_sub_epi64, _mm512_maskz_compress_epi64,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_epi64, _mm512_sub_epi64,
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
    avx512::{self, Order, equal, first_fall, load_times},
    found::FoundRows,
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    prefetch::ask,
    rows::bits,
};

neighbour_kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");
difference_kernel!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// Returns the rows of a step whose distances are at most `window`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn within(distances: &Distances<'_>, window: i64) -> u64 {
    let Distances { times, k } = *distances;
    avx512::near(times, ROWS - k, k, window)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn within_span(distances: &Distances<'_>, (low, high): Span) -> u64 {
    within(distances, high) & !within(distances, low - 1)
}

/// Returns whether times are in order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn is_sorted(times: &[i64]) -> bool {
    first_fall(times).is_none()
}

/// Writes the differences of the rows in `pairs` that lie in the range, less the smallest, those of rows in `back`
/// from the negated distance.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn write(
    &Distances { times, k }: &Distances<'_>,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u64>,
) {
    if pairs == 0 {
        return;
    }
    let low = _mm512_set1_epi64(range.low);
    let above = _mm512_set1_epi64(range.above.cast_signed());
    let zero = _mm512_setzero_si512();
    for i in (0..ROWS).step_by(8) {
        let (now, before) = (load_times(times, ROWS + i), load_times(times, ROWS + i - k));
        let distance = _mm512_sub_epi64(now, before);
        let [back, pairs] = [back, pairs].map(|rows| rows.to_le_bytes()[i / 8]);
        let signed = _mm512_mask_sub_epi64(distance, back, zero, distance);
        let difference = _mm512_sub_epi64(signed, low);
        let found = _mm512_mask_cmple_epu64_mask(pairs, difference, above);
        let packed = _mm512_maskz_compress_epi64(found, difference);
        let places: &mut [u64; 8] = gathered.places();
        // SAFETY: there are 8 places; the store needs no alignment.
        unsafe { _mm512_storeu_epi64(places.as_mut_ptr().cast(), packed) };
        gathered.keep(found.count_ones() as usize);
    }
}
