//! AVX2: 16 gaps at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::{
    arch::x86_64::{
        __m256i, _mm256_adds_epu16, _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_movemask_epi8,
        _mm256_packs_epi16, _mm256_permute4x64_epi64, _mm256_set1_epi16, _mm256_setzero_si256,
        _mm256_storeu_si256, _mm256_sub_epi16, _mm256_subs_epu16,
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

/// The distances of the rows of a step.
type Distances = [__m256i; 4];

/// Returns the gaps of the 64 rows from `at` on.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn load(gaps: &[u16; 2 * ROWS], at: usize) -> Distances {
    [0, 16, 32, 48].map(|lane| {
        let part = &gaps[at + lane..at + lane + 16];
        // SAFETY: `part` has 16 readable values; the load needs no alignment.
        unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
    })
}

/// Returns the distances of the rows of a step to the k-th row before each.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn at(gaps: &[u16; 2 * ROWS], k: usize) -> Distances {
    let mut distances = load(gaps, ROWS);
    for k in 1..k {
        next(&mut distances, gaps, k);
    }
    distances
}

/// Makes the distances of k into those of k + 1.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn next(distances: &mut Distances, gaps: &[u16; 2 * ROWS], k: usize) {
    let more = load(gaps, ROWS - k);
    *distances = [0, 1, 2, 3].map(|i| _mm256_adds_epu16(distances[i], more[i]));
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within(distances: &Distances, window: u16) -> u64 {
    let window = _mm256_set1_epi16(window.cast_signed());
    // The saturating difference is 0 for distances within the window.
    let near = |i: usize| {
        _mm256_cmpeq_epi16(_mm256_subs_epu16(distances[i], window), _mm256_setzero_si256())
    };
    let of_32_rows = |i: usize| {
        // Packing interleaves the halves of both registers.
        let packed = _mm256_packs_epi16(near(i), near(i + 1));
        let in_order = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
        u64::from(_mm256_movemask_epi8(in_order).cast_unsigned())
    };
    of_32_rows(0) | of_32_rows(2) << 32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within_span(distances: &Distances, (low, high): Span<u16>) -> u64 {
    let least = _mm256_set1_epi16(low.cast_signed());
    within(&distances.map(|distances| _mm256_sub_epi16(distances, least)), high - low)
}

/// Writes the distances of the rows in `pairs`, those in `back` negated, less the smallest, modulo 2^16.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn write(
    distances: &Distances,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u16>,
) {
    let low = lowest(range);
    if pairs == 0 {
        return;
    }
    let mut stored = [0_u16; ROWS];
    for (part, &distances) in stored.as_chunks_mut::<16>().0.iter_mut().zip(distances) {
        // SAFETY: `part` has 16 places; the store needs no alignment.
        unsafe { _mm256_storeu_si256(part.as_mut_ptr().cast(), distances) };
    }
    for row in bits(pairs) {
        // All bits set if the distance is negated.
        let sign = ((back >> row & 1) as u16).wrapping_neg();
        gathered.push((stored[row] ^ sign).wrapping_sub(sign).wrapping_sub(low));
    }
}
