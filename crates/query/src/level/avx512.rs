//! AVX-512: eight times and 64 channels at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::arch::x86_64::{
    __m512i, _mm_loadu_epi8, _mm_storeu_epi8, _mm512_add_epi64, _mm512_cmpeq_epi8_mask,
    _mm512_cmple_epi64_mask, _mm512_cmplt_epi64_mask, _mm512_cvtepi32_epi8, _mm512_cvtepu8_epi32,
    _mm512_loadu_epi8, _mm512_loadu_epi64, _mm512_maskz_compress_epi32,
    _mm512_maskz_compress_epi64, _mm512_movepi64_mask, _mm512_or_si512, _mm512_set1_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_epi64, _mm512_sub_epi64,
};

use super::{
    Matrix, REACH, ROWS, ahead::ask, found::Found, kernels::kernels, pairs_from, rows_behind,
};

kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// Bit i: rows i and i + k are at most `window` apart.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn near<const N: usize>(times: &[i64; N], k: usize, window: i64) -> u64 {
    let window = _mm512_set1_epi64(window);
    let near = |i: usize| {
        let difference = _mm512_sub_epi64(load_times(times, i + k), load_times(times, i));
        u64::from(_mm512_cmple_epi64_mask(difference, window))
    };
    // Moved on one by one, half by half: eight masks each moved to its place become a vector that is
    // added up across its lanes, and pairs of all channels were counted at 0.7 of the speed.
    let (mut low, mut high) = (0, 0);
    for i in (0..ROWS / 2).step_by(8).rev() {
        low = low << 8 | near(i);
        high = high << 8 | near(i + ROWS / 2);
    }
    low | high << (ROWS / 2)
}

/// [`near`] for the next row, and whether a row, up to the first one behind the step, is before the row in
/// front of it. Not seen is a fall of 2^63 ticks or more, whose difference wraps: where one row is so wrong,
/// that with its other neighbour does, too, and is seen.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn near_next<const N: usize>(times: &[i64; N], window: i64) -> (u64, bool) {
    let window = _mm512_set1_epi64(window);
    let mut signs = _mm512_setzero_si512();
    let mut near = |i: usize| {
        let difference = _mm512_sub_epi64(load_times(times, i + 1), load_times(times, i));
        signs = _mm512_or_si512(signs, difference);
        u64::from(_mm512_cmple_epi64_mask(difference, window))
    };
    let (mut low, mut high) = (0, 0);
    for i in (0..ROWS / 2).step_by(8).rev() {
        low = low << 8 | near(i);
        high = high << 8 | near(i + ROWS / 2);
    }
    (low | high << (ROWS / 2), _mm512_movepi64_mask(signs) != 0)
}

/// Whether one of the first rows behind the first is before the row in front of it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn falls<const N: usize>(times: &[i64; N]) -> bool {
    let mut any = 0;
    for i in (0..ROWS).step_by(8) {
        any |= _mm512_cmplt_epi64_mask(load_times(times, i + 1), load_times(times, i));
    }
    any != 0
}

/// Bit i: row i has this id.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn equal(ids: &[u8; ROWS], id: u8) -> u64 {
    // SAFETY: `ids` has 64 readable bytes; the load needs no alignment.
    let ids = unsafe { _mm512_loadu_epi8(ids.as_ptr().cast()) };
    _mm512_cmpeq_epi8_mask(ids, _mm512_set1_epi8(id.cast_signed()))
}

/// See [`super::compress`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn compress<const N: usize>(
    time: &[i64],
    masks: [&[u64]; N],
    delays: [i64; N],
    into: [&mut [i64]; N],
) -> bool {
    let (steps, rest) = time.as_chunks::<ROWS>();
    let (mut ends, mut room) = ([0; N], [0; ROWS]);
    // The lanes in which a row is before the row in front of it.
    let mut falls = 0;
    for (step, times) in steps.iter().enumerate() {
        ask(times, 0);
        let behind = rows_behind(time, step, &mut room);
        for first in (0..ROWS).step_by(8) {
            let times = load_times(times, first);
            falls |= _mm512_cmplt_epi64_mask(load_times(behind, first), times);
            for n in 0..N {
                let mask = (masks[n][step] >> first & 0xff) as u8;
                let delayed = _mm512_add_epi64(times, _mm512_set1_epi64(delays[n]));
                let room = &mut into[n][ends[n]..ends[n] + 8];
                let taken = _mm512_maskz_compress_epi64(mask, delayed);
                // SAFETY: `room` has 8 writable values; the store needs no alignment.
                unsafe { _mm512_storeu_epi64(room.as_mut_ptr(), taken) };
                ends[n] += mask.count_ones() as usize;
            }
        }
    }
    let rooms = super::behind(into, ends);
    let masks = masks.map(|masks| &masks[steps.len()..]);
    // Between the last step and the rest a row is compared in the step.
    super::scalar::compress(rest, masks, delays, rooms) && falls == 0
}

/// See [`super::compress_labels`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn compress_labels(labels: &[u8], masks: &[u64], into: &mut [u8]) {
    let (steps, rest) = labels.as_chunks::<ROWS>();
    let mut end = 0;
    for (labels, &mask) in steps.iter().zip(masks) {
        for first in (0..ROWS).step_by(16) {
            let part = &labels[first..first + 16];
            // SAFETY: `part` has 16 readable bytes; the load needs no alignment.
            let labels = unsafe { _mm_loadu_epi8(part.as_ptr().cast()) };
            let mask = (mask >> first & 0xffff) as u16;
            let room = &mut into[end..end + 16];
            let wide = _mm512_maskz_compress_epi32(mask, _mm512_cvtepu8_epi32(labels));
            let taken = _mm512_cvtepi32_epi8(wide);
            // SAFETY: `room` has 16 writable bytes; the store needs no alignment.
            unsafe { _mm_storeu_epi8(room.as_mut_ptr().cast(), taken) };
            end += mask.count_ones() as usize;
        }
    }
    super::scalar::compress_labels(rest, &masks[steps.len()..], &mut into[end..]);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn load_times<const N: usize>(times: &[i64; N], at: usize) -> __m512i {
    let part = &times[at..at + 8];
    // SAFETY: `part` has 8 readable values; the load needs no alignment.
    unsafe { _mm512_loadu_epi64(part.as_ptr()) }
}
