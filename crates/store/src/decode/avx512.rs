//! AVX-512: 16 gaps at once. The far distances of saturated gaps are put into their places by one instruction.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_loadu_epi16, _mm512_add_epi64, _mm512_castsi512_si256,
    _mm512_cmpeq_epi32_mask, _mm512_cvtepu16_epi32, _mm512_cvtepu32_epi64,
    _mm512_extracti64x4_epi64, _mm512_loadu_epi32, _mm512_mask_expand_epi32,
    _mm512_maskz_permutexvar_epi64, _mm512_permutexvar_epi64, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi64, _mm512_storeu_epi32, _mm512_storeu_epi64,
};

use super::scalar;
use crate::format::GAP_MAX;

/// Rows of a step.
const STEP: usize = 16;

/// See [`super::times`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn times(gaps: &[u16], far: &[u32], before: i64, out: &mut [i64]) -> usize {
    let (steps, rest) = gaps.as_chunks();
    let (times, rest_of_times) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    let mut base = _mm512_set1_epi64(before);
    let last = _mm512_set1_epi64(7);
    for (gaps, times) in steps.iter().zip(&mut *times) {
        let distances = widened(gaps, far, &mut next);
        let halves = [_mm512_castsi512_si256(distances), _mm512_extracti64x4_epi64::<1>(distances)];
        for (half, times) in halves.into_iter().zip(times.as_chunks_mut::<8>().0) {
            let sums = sums(half);
            let of_rows = _mm512_add_epi64(base, sums);
            // SAFETY: there are 8 places; the store needs no alignment.
            unsafe { _mm512_storeu_epi64(times.as_mut_ptr(), of_rows) };
            // Only the addition waits for the rows before.
            base = _mm512_add_epi64(base, _mm512_permutexvar_epi64(last, sums));
        }
    }
    let before = times.last().map_or(before, |times| times[STEP - 1]);
    next + scalar::times(rest, super::after(far, next), before, rest_of_times)
}

/// See [`super::distances`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn distances(gaps: &[u16], far: &[u32], out: &mut [u32]) -> usize {
    let (steps, rest) = gaps.as_chunks();
    let (distances, rest_of_distances) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    for (gaps, distances) in steps.iter().zip(distances) {
        let of_rows = widened(gaps, far, &mut next);
        // SAFETY: there are 16 places; the store needs no alignment.
        unsafe { _mm512_storeu_epi32(distances.as_mut_ptr().cast(), of_rows) };
    }
    next + scalar::distances(rest, super::after(far, next), rest_of_distances)
}

/// Returns the distances of the rows of a step. Its far distances begin at `next`, which is moved past them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn widened(gaps: &[u16; STEP], far: &[u32], next: &mut usize) -> __m512i {
    // SAFETY: `gaps` has 16 readable values; the load needs no alignment.
    let gaps = unsafe { _mm256_loadu_epi16(gaps.as_ptr().cast()) };
    let gaps = _mm512_cvtepu16_epi32(gaps);
    let is_far = _mm512_cmpeq_epi32_mask(gaps, _mm512_set1_epi32(GAP_MAX.into()));
    let far = super::after(far, *next);
    *next += is_far.count_ones() as usize;
    let mut room = [0; STEP];
    let far = match far.first_chunk() {
        Some(far) => far,
        None if is_far == 0 => return gaps,
        None => {
            room[..far.len()].copy_from_slice(far);
            &room
        }
    };
    // SAFETY: `far` has 16 readable values; the load needs no alignment.
    let far = unsafe { _mm512_loadu_epi32(far.as_ptr().cast()) };
    _mm512_mask_expand_epi32(gaps, is_far, far)
}

/// Returns the sums of the first distance up to each of these eight.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn sums(distances: __m256i) -> __m512i {
    let mut sums = _mm512_cvtepu32_epi64(distances);
    let by_one = _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 5, 6);
    sums = _mm512_add_epi64(sums, _mm512_maskz_permutexvar_epi64(0xfe, by_one, sums));
    let by_two = _mm512_setr_epi64(0, 0, 0, 1, 2, 3, 4, 5);
    sums = _mm512_add_epi64(sums, _mm512_maskz_permutexvar_epi64(0xfc, by_two, sums));
    let by_four = _mm512_setr_epi64(0, 0, 0, 0, 0, 1, 2, 3);
    _mm512_add_epi64(sums, _mm512_maskz_permutexvar_epi64(0xf0, by_four, sums))
}
