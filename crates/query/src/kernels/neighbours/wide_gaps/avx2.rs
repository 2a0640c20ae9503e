//! AVX2: eight wide gaps at once.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::{
    arch::x86_64::{
        __m256i, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_max_epu32,
        _mm256_min_epu32, _mm256_movemask_ps, _mm256_set1_epi32, _mm256_storeu_si256,
        _mm256_sub_epi32, _mm256_xor_si256,
    },
    ops::Range,
};

use super::{
    super::{
        DifferenceRange, PairDistances, REACH, ROW_BITS, ROWS, Span,
        differences::difference_kernel,
        scalar,
        steps::{Ends, neighbour_kernels},
        unsigned::{Order, WRITE_SELECTS, is_sorted},
    },
    levels::{Difference, Ticks, Value, lowest, ticks},
};
use crate::kernels::{
    avx2::equal,
    found::FoundRows,
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    prefetch::ask,
    rows::bits,
};

neighbour_kernels!("avx2,bmi1,popcnt");
difference_kernel!("avx2,bmi1,popcnt");

/// For the rows of a step, how far their distances lie below the largest one.
type Distances = [__m256i; 8];

/// Returns the gaps of the 64 rows from `at` on.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn load(gaps: &[u32; 2 * ROWS], at: usize) -> [__m256i; 8] {
    [0, 8, 16, 24, 32, 40, 48, 56].map(|lane| {
        let part = &gaps[at + lane..at + lane + 8];
        // SAFETY: `part` has 8 readable values; the load needs no alignment.
        unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
    })
}

/// Returns the distances of the rows of a step to the k-th row before each.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn at(gaps: &[u32; 2 * ROWS], k: usize) -> Distances {
    let mut distances = load(gaps, ROWS).map(|gaps| from_largest(gaps));
    for k in 1..k {
        next(&mut distances, gaps, k);
    }
    distances
}

/// Returns the largest value less each of these.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn from_largest(values: __m256i) -> __m256i {
    _mm256_xor_si256(values, _mm256_set1_epi32(-1))
}

/// Makes the distances of k into those of k + 1.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn next(distances: &mut Distances, gaps: &[u32; 2 * ROWS], k: usize) {
    for (left, more) in distances.iter_mut().zip(load(gaps, ROWS - k)) {
        *left = _mm256_sub_epi32(_mm256_max_epu32(*left, more), more);
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within(distances: &Distances, window: u32) -> u64 {
    let least = _mm256_set1_epi32((u32::MAX - window).cast_signed());
    mask(distances.map(|left| _mm256_cmpeq_epi32(_mm256_max_epu32(left, least), left)))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within_span(distances: &Distances, (low, high): Span<u32>) -> u64 {
    let least = _mm256_set1_epi32((u32::MAX - high).cast_signed());
    let above = _mm256_set1_epi32((high - low).cast_signed());
    mask(distances.map(|left| {
        let left = _mm256_sub_epi32(left, least);
        _mm256_cmpeq_epi32(_mm256_min_epu32(left, above), left)
    }))
}

/// Returns the mask of a step: the rows whose lanes are set.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn mask(lanes: [__m256i; 8]) -> u64 {
    let of =
        |i: usize| u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(lanes[i])).cast_unsigned());
    // The masks are moved one by one, half by half, as for times.
    let (mut low, mut high) = (0, 0);
    for i in (0..4).rev() {
        low = low << 8 | of(i);
        high = high << 8 | of(i + 4);
    }
    low | high << (ROWS / 2)
}

/// Writes the distances of the rows in `pairs`, those in `back` negated, less the smallest, modulo 2^32.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn write(
    distances: &Distances,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u32>,
) {
    let low = lowest(range);
    if pairs == 0 {
        return;
    }
    let mut stored = [0_u32; ROWS];
    for (part, &left) in stored.as_chunks_mut::<8>().0.iter_mut().zip(distances) {
        let distances = from_largest(left);
        // SAFETY: `part` has 8 places; the store needs no alignment.
        unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast(), distances) };
    }
    for row in bits(pairs) {
        // All bits set if the distance is negated.
        let sign = ((back >> row & 1) as u32).wrapping_neg();
        gathered.push((stored[row] ^ sign).wrapping_sub(sign).wrapping_sub(low));
    }
}
