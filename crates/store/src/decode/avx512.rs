//! AVX-512: 16 gaps at once. One instruction puts the far distances of saturated gaps into their places.
//!
//! Sums within a step have 32 bits, so a step with a distance of 2^28 or more is decoded row by row.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::arch::x86_64::{
    __m512i, _mm_cvtsi128_si64, _mm256_loadu_epi16, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_bslli_epi128, _mm512_castsi512_si128, _mm512_castsi512_si256, _mm512_cmpeq_epi32_mask,
    _mm512_cmplt_epu32_mask, _mm512_cvtepu16_epi32, _mm512_cvtepu32_epi64,
    _mm512_extracti64x4_epi64, _mm512_loadu_epi32, _mm512_mask_expand_epi32,
    _mm512_maskz_permutexvar_epi32, _mm512_or_si512, _mm512_permutexvar_epi32, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_setr_epi32, _mm512_setzero_si512, _mm512_storeu_epi32,
    _mm512_storeu_epi64, _mm512_test_epi32_mask,
};

use super::scalar;
use crate::format::GAP_MAX;

/// Rows of a step.
const STEP: usize = 16;
/// The bits of distances that are so long that 16 of them may add up to 2^32.
const LONG: u32 = u32::MAX << 28;

/// See [`super::times`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn times(gaps: &[u16], far: &[u32], before: i64, out: &mut [i64]) -> usize {
    let (steps, rest) = gaps.as_chunks();
    let (times, rest_of_times) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    let mut base = _mm512_set1_epi64(before);
    let long = _mm512_set1_epi32(LONG.cast_signed());
    for (gaps, times) in steps.iter().zip(&mut *times) {
        let own = next;
        let distances = widened(gaps, far, &mut next);
        if _mm512_test_epi32_mask(distances, long) != 0 {
            let before = _mm_cvtsi128_si64(_mm512_castsi512_si128(base));
            scalar::times(gaps, super::after(far, own), before, times);
            base = _mm512_set1_epi64(times[STEP - 1]);
            continue;
        }
        let sums = sums(distances);
        let halves = [_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums)];
        for (half, times) in halves.into_iter().zip(times.as_chunks_mut::<8>().0) {
            let of_rows = _mm512_add_epi64(base, _mm512_cvtepu32_epi64(half));
            // SAFETY: there are 8 places; the store needs no alignment.
            unsafe { _mm512_storeu_epi64(times.as_mut_ptr(), of_rows) };
        }
        // Only the addition waits for the rows before.
        let sum = _mm512_castsi512_si256(of_last(sums));
        base = _mm512_add_epi64(base, _mm512_cvtepu32_epi64(sum));
    }
    let before = times.last().map_or(before, |times| times[STEP - 1]);
    next + scalar::times(rest, super::after(far, next), before, rest_of_times)
}

/// See [`super::offsets`]; the row before the first has the offset `before`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn offsets(gaps: &[u16], far: &[u32], before: u32, out: &mut [u32]) -> bool {
    let (steps, rest) = gaps.as_chunks();
    let (offsets, rest_of_offsets) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    let mut base = _mm512_set1_epi32(before.cast_signed());
    let (mut all, mut wraps) = (_mm512_setzero_si512(), 0);
    for (gaps, offsets) in steps.iter().zip(&mut *offsets) {
        let distances = widened(gaps, far, &mut next);
        let sums = sums(distances);
        let of_rows = _mm512_add_epi32(base, sums);
        // SAFETY: there are 16 places; the store needs no alignment.
        unsafe { _mm512_storeu_epi32(offsets.as_mut_ptr().cast(), of_rows) };
        all = _mm512_or_si512(all, distances);
        wraps |= _mm512_cmplt_epu32_mask(of_rows, base);
        base = _mm512_add_epi32(base, of_last(sums));
    }
    let before = offsets.last().map_or(before, |offsets| offsets[STEP - 1]);
    let is_long = _mm512_test_epi32_mask(all, _mm512_set1_epi32(LONG.cast_signed()));
    let fit = is_long | wraps == 0;
    scalar::offsets(rest, super::after(far, next), before, rest_of_offsets) && fit
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

/// Returns the sums of the first distance up to each of these, modulo 2^32.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn sums(distances: __m512i) -> __m512i {
    // Within the quarters first.
    let mut sums = _mm512_add_epi32(distances, _mm512_bslli_epi128::<4>(distances));
    sums = _mm512_add_epi32(sums, _mm512_bslli_epi128::<8>(sums));
    let before = _mm512_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 11, 11, 11, 11);
    sums = _mm512_add_epi32(sums, _mm512_maskz_permutexvar_epi32(0xf0f0, before, sums));
    let of_half = _mm512_set1_epi32(7);
    _mm512_add_epi32(sums, _mm512_maskz_permutexvar_epi32(0xff00, of_half, sums))
}

/// Returns the last of the sums in all places.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn of_last(sums: __m512i) -> __m512i {
    _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sums)
}
