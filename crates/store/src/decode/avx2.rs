//! AVX2: eight gaps at once. A table of permutations puts the far distances of saturated gaps into their places: for
//! the mask `0b101`, row 0 gets the first of them and row 2 the second.
//!
//! Sums within a step have 32 bits, so a step with a distance of 2^29 or more is decoded row by row.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_loadl_epi64, _mm_loadu_si128, _mm256_add_epi32,
    _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32, _mm256_blendv_epi8,
    _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32,
    _mm256_cvtepu16_epi32, _mm256_cvtepu32_epi64, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_max_epu32, _mm256_movemask_ps, _mm256_or_si256, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_slli_si256,
    _mm256_storeu_si256, _mm256_testc_si256, _mm256_testz_si256,
};

use super::scalar;
use crate::format::GAP_MAX;

/// Rows of a step.
const STEP: usize = 8;
/// The bits of distances that are so long that eight of them may add up to 2^32.
const LONG: u32 = u32::MAX << 29;

/// See [`super::times`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn times(gaps: &[u16], far: &[u32], before: i64, out: &mut [i64]) -> usize {
    let (steps, rest) = gaps.as_chunks();
    let (times, rest_of_times) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    let mut base = _mm256_set1_epi64x(before);
    let long = _mm256_set1_epi32(LONG.cast_signed());
    for (gaps, times) in steps.iter().zip(&mut *times) {
        let own = next;
        let distances = widened(gaps, far, &mut next);
        if _mm256_testz_si256(distances, long) == 0 {
            let before = _mm_cvtsi128_si64(_mm256_castsi256_si128(base));
            scalar::times(gaps, super::after(far, own), before, times);
            base = _mm256_set1_epi64x(times[STEP - 1]);
            continue;
        }
        let sums = sums(distances);
        let halves = [_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums)];
        for (half, times) in halves.into_iter().zip(times.as_chunks_mut::<4>().0) {
            let of_rows = _mm256_add_epi64(base, _mm256_cvtepu32_epi64(half));
            // SAFETY: there are 4 places; the store needs no alignment.
            unsafe { _mm256_storeu_si256(times.as_mut_ptr().cast(), of_rows) };
        }
        // Only the addition waits for the rows before.
        let sum = _mm256_castsi256_si128(of_last(sums));
        base = _mm256_add_epi64(base, _mm256_cvtepu32_epi64(sum));
    }
    let before = times.last().map_or(before, |times| times[STEP - 1]);
    next + scalar::times(rest, super::after(far, next), before, rest_of_times)
}

/// See [`super::offsets`]; the row before the first has the offset `before`.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn offsets(gaps: &[u16], far: &[u32], before: u32, out: &mut [u32]) -> bool {
    let (steps, rest) = gaps.as_chunks();
    let (offsets, rest_of_offsets) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    let mut base = _mm256_set1_epi32(before.cast_signed());
    let mut all = _mm256_setzero_si256();
    let mut in_order = _mm256_set1_epi32(-1);
    for (gaps, offsets) in steps.iter().zip(&mut *offsets) {
        let distances = widened(gaps, far, &mut next);
        let sums = sums(distances);
        let of_rows = _mm256_add_epi32(base, sums);
        // SAFETY: there are 8 places; the store needs no alignment.
        unsafe { _mm256_storeu_si256(offsets.as_mut_ptr().cast(), of_rows) };
        all = _mm256_or_si256(all, distances);
        // A sum that wraps around is less than what it was added to.
        let largest = _mm256_max_epu32(of_rows, base);
        in_order = _mm256_and_si256(in_order, _mm256_cmpeq_epi32(largest, of_rows));
        base = _mm256_add_epi32(base, of_last(sums));
    }
    let before = offsets.last().map_or(before, |offsets| offsets[STEP - 1]);
    let is_long = _mm256_testz_si256(all, _mm256_set1_epi32(LONG.cast_signed())) == 0;
    let fit = !is_long && _mm256_testc_si256(in_order, _mm256_set1_epi32(-1)) != 0;
    scalar::offsets(rest, super::after(far, next), before, rest_of_offsets) && fit
}

/// See [`super::distances`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn distances(gaps: &[u16], far: &[u32], out: &mut [u32]) -> usize {
    let (steps, rest) = gaps.as_chunks();
    let (distances, rest_of_distances) = out.as_chunks_mut::<STEP>();
    let mut next = 0;
    for (gaps, distances) in steps.iter().zip(distances) {
        let of_rows = widened(gaps, far, &mut next);
        // SAFETY: there are 8 places; the store needs no alignment.
        unsafe { _mm256_storeu_si256(distances.as_mut_ptr().cast(), of_rows) };
    }
    next + scalar::distances(rest, super::after(far, next), rest_of_distances)
}

/// Returns the distances of the rows of a step. Its far distances begin at `next`, which is moved past them.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn widened(gaps: &[u16; STEP], far: &[u32], next: &mut usize) -> __m256i {
    // SAFETY: `gaps` has 8 readable values; the load needs no alignment.
    let gaps = unsafe { _mm_loadu_si128(gaps.as_ptr().cast()) };
    let gaps = _mm256_cvtepu16_epi32(gaps);
    let is_far = _mm256_cmpeq_epi32(gaps, _mm256_set1_epi32(GAP_MAX.into()));
    let mask = _mm256_movemask_ps(_mm256_castsi256_ps(is_far)).to_le_bytes()[0];
    let far = super::after(far, *next);
    *next += mask.count_ones() as usize;
    let mut room = [0; STEP];
    let far = match far.first_chunk() {
        Some(far) => far,
        None if mask == 0 => return gaps,
        None => {
            room[..far.len()].copy_from_slice(far);
            &room
        }
    };
    // SAFETY: `far` has 8 readable values; the load needs no alignment.
    let far = unsafe { _mm256_loadu_si256(far.as_ptr().cast()) };
    let places = &PLACES[usize::from(mask)];
    // SAFETY: `places` has 8 readable bytes; the load needs no alignment.
    let places = unsafe { _mm_loadl_epi64(places.as_ptr().cast()) };
    let far = _mm256_permutevar8x32_epi32(far, _mm256_cvtepu8_epi32(places));
    _mm256_blendv_epi8(gaps, far, is_far)
}

/// Returns the sums of the first distance up to each of these, modulo 2^32.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn sums(distances: __m256i) -> __m256i {
    // Within the halves first.
    let mut sums = _mm256_add_epi32(distances, _mm256_slli_si256::<4>(distances));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
    let of_half = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(3));
    let of_half = _mm256_blend_epi32::<0b1111_0000>(_mm256_setzero_si256(), of_half);
    _mm256_add_epi32(sums, of_half)
}

/// Returns the last of the sums in all places.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn of_last(sums: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7))
}

/// For each mask of eight rows: for each row that it selects, the number of selected rows before it.
const PLACES: [[u8; STEP]; 256] = {
    let mut places = [[0; STEP]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut row, mut before) = (0, 0);
        while row < STEP {
            if mask >> row & 1 == 1 {
                places[mask][row] = before;
                before += 1;
            }
            row += 1;
        }
        mask += 1;
    }
    places
};
