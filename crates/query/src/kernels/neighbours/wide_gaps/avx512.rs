//! AVX-512: 16 wide gaps at once.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::{
    arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_cmpge_epu32_mask, _mm512_cmple_epu32_mask,
        _mm512_loadu_epi32, _mm512_mask_sub_epi32, _mm512_maskz_compress_epi32, _mm512_max_epu32,
        _mm512_set1_epi32, _mm512_storeu_epi32, _mm512_sub_epi32, _mm512_xor_si512,
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
    avx512::equal,
    found::FoundRows,
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    prefetch::ask,
    rows::bits,
};

neighbour_kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");
difference_kernel!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// For the rows of a step, how far their distances lie below the largest one.
type Distances = [__m512i; 4];

/// Returns the gaps of the 64 rows from `at` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn load(gaps: &[u32; 2 * ROWS], at: usize) -> [__m512i; 4] {
    [0, 16, 32, 48].map(|lane| {
        let part = &gaps[at + lane..at + lane + 16];
        // SAFETY: `part` has 16 readable values; the load needs no alignment.
        unsafe { _mm512_loadu_epi32(part.as_ptr().cast()) }
    })
}

/// Returns the distances of the rows of a step to the k-th row before each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn at(gaps: &[u32; 2 * ROWS], k: usize) -> Distances {
    let mut distances = load(gaps, ROWS).map(|gaps| from_largest(gaps));
    for k in 1..k {
        next(&mut distances, gaps, k);
    }
    distances
}

/// Returns the largest value less each of these.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn from_largest(values: __m512i) -> __m512i {
    _mm512_xor_si512(values, _mm512_set1_epi32(-1))
}

/// Makes the distances of k into those of k + 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn next(distances: &mut Distances, gaps: &[u32; 2 * ROWS], k: usize) {
    let more = load(gaps, ROWS - k);
    *distances =
        [0, 1, 2, 3].map(|i| _mm512_sub_epi32(_mm512_max_epu32(distances[i], more[i]), more[i]));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn within(distances: &Distances, window: u32) -> u64 {
    let least = _mm512_set1_epi32((u32::MAX - window).cast_signed());
    mask(distances.map(|left| _mm512_cmpge_epu32_mask(left, least)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn within_span(distances: &Distances, (low, high): Span<u32>) -> u64 {
    let least = _mm512_set1_epi32((u32::MAX - high).cast_signed());
    let above = _mm512_set1_epi32((high - low).cast_signed());
    mask(distances.map(|left| _mm512_cmple_epu32_mask(_mm512_sub_epi32(left, least), above)))
}

/// Returns the mask of a step from those of 16 rows each.
#[inline]
fn mask(parts: [u16; 4]) -> u64 {
    parts.iter().rev().fold(0, |mask, &part| mask << 16 | u64::from(part))
}

/// Returns the mask of the 16 rows of a step in register `i`.
#[inline]
fn lanes(rows: u64, i: usize) -> u16 {
    rows.to_le_bytes().as_chunks().0.get(i).copied().map_or(0, u16::from_le_bytes)
}

/// Writes the distances of the rows in `pairs`, those in `back` negated, less the smallest, modulo 2^32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn write(
    distances: &Distances,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u32>,
) {
    if pairs == 0 {
        return;
    }
    let low = _mm512_set1_epi32(lowest(range).wrapping_neg().cast_signed());
    for (i, &left) in distances.iter().enumerate() {
        let distances = from_largest(left);
        let [pairs, back] = [pairs, back].map(|rows| lanes(rows, i));
        let forward = _mm512_add_epi32(low, distances);
        let signed = _mm512_mask_sub_epi32(forward, back, low, distances);
        let packed = _mm512_maskz_compress_epi32(pairs, signed);
        let places: &mut [u32; 16] = gathered.places();
        // SAFETY: there are 16 places; the store needs no alignment.
        unsafe { _mm512_storeu_epi32(places.as_mut_ptr().cast(), packed) };
        gathered.keep(pairs.count_ones() as usize);
    }
}
