//! AVX-512: 32 gaps at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::{
    arch::x86_64::{
        __m512i, _mm512_adds_epu16, _mm512_cmple_epu16_mask, _mm512_loadu_epi16, _mm512_set1_epi16,
    },
    ops::Range,
};

use super::{REACH, ROWS, scalar, steps::gap_kernels};
use crate::kernels::{avx512::equal, prefetch::ask};

gap_kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// The distances of the rows of a step.
type Distances = [__m512i; 2];

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

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn add(distances: &mut Distances, gaps: &[u16; 2 * ROWS], at: usize) {
    let more = load(gaps, at);
    *distances = [0, 1].map(|i| _mm512_adds_epu16(distances[i], more[i]));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn within(distances: &Distances, window: u16) -> u64 {
    let window = _mm512_set1_epi16(window.cast_signed());
    let [low, high] = [0, 1].map(|i| u64::from(_mm512_cmple_epu16_mask(distances[i], window)));
    low | high << 32
}
