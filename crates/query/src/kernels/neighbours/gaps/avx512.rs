//! AVX-512: 32 gaps at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::{
    arch::x86_64::{
        __m512i, _mm256_storeu_si256, _mm512_add_epi16, _mm512_adds_epu16, _mm512_castsi512_si256,
        _mm512_cmple_epu16_mask, _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32,
        _mm512_extracti64x4_epi64, _mm512_loadu_epi16, _mm512_mask_sub_epi16,
        _mm512_maskz_compress_epi32, _mm512_set1_epi16, _mm512_sub_epi16,
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

/// The distances of the rows of a step.
pub(super) type Distances = [__m512i; 2];

/// Returns the gaps of the 64 rows from `at` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn load(gaps: &[u16; 2 * ROWS], at: usize) -> Distances {
    [0, 32].map(|lane| {
        let part = &gaps[at + lane..at + lane + 32];
        // SAFETY: `part` has 32 readable values; the load needs no alignment.
        unsafe { _mm512_loadu_epi16(part.as_ptr().cast()) }
    })
}

/// Returns the distances of the rows of a step to the k-th row before each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn at(gaps: &[u16; 2 * ROWS], k: usize) -> Distances {
    let mut distances = load(gaps, ROWS);
    for k in 1..k {
        next(&mut distances, gaps, k);
    }
    distances
}

/// Makes the distances of k into those of k + 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn next(distances: &mut Distances, gaps: &[u16; 2 * ROWS], k: usize) {
    let more = load(gaps, ROWS - k);
    *distances = [0, 1].map(|i| _mm512_adds_epu16(distances[i], more[i]));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn within(distances: &Distances, window: u16) -> u64 {
    let window = _mm512_set1_epi16(window.cast_signed());
    let [low, high] = [0, 1].map(|i| u64::from(_mm512_cmple_epu16_mask(distances[i], window)));
    low | high << 32
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn within_span(distances: &Distances, (low, high): Span<u16>) -> u64 {
    let least = _mm512_set1_epi16(low.cast_signed());
    within(&distances.map(|distances| _mm512_sub_epi16(distances, least)), high - low)
}

/// Returns the mask of the 32 rows of a step in register `i`.
#[inline]
pub(super) fn lanes(rows: u64, i: usize) -> u32 {
    rows.to_le_bytes().as_chunks().0.get(i).copied().map_or(0, u32::from_le_bytes)
}

/// Writes the distances of the rows in `pairs`, those in `back` negated, less the smallest, modulo 2^16. 16 at once
/// are packed in 32 bits: packing 16 bits needs VBMI2.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn write(
    distances: &Distances,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u16>,
) {
    let low = lowest(range);
    let low = _mm512_set1_epi16(low.wrapping_neg().cast_signed());
    for (i, &distances) in distances.iter().enumerate() {
        let [pairs, back] = [pairs, back].map(|rows| lanes(rows, i));
        let forward = _mm512_add_epi16(low, distances);
        let signed = _mm512_mask_sub_epi16(forward, back, low, distances);
        let halves = [_mm512_castsi512_si256(signed), _mm512_extracti64x4_epi64::<1>(signed)];
        for (half, wide) in halves.map(|half| _mm512_cvtepu16_epi32(half)).into_iter().enumerate() {
            let mask = u16::try_from(pairs >> (16 * half) & 0xffff).unwrap_or(0);
            let packed = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, wide));
            let places: &mut [u16; 16] = gathered.places();
            // SAFETY: there are 16 places; the store needs no alignment.
            unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), packed) };
            gathered.keep(mask.count_ones() as usize);
        }
    }
}
