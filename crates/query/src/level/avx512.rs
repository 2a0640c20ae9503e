//! AVX-512: eight times and 64 channels at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmple_epi64_mask, _mm512_loadu_epi8,
    _mm512_loadu_epi64, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_sub_epi64,
};

use super::{Matrix, REACH, ROWS, kernels::kernels, pairs_from};

kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// Bit i: rows i and i + k are at most `window` apart.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn near(times: &[i64; ROWS + REACH], k: usize, window: i64) -> u64 {
    let window = _mm512_set1_epi64(window);
    let mut mask = 0;
    for i in (0..ROWS).step_by(8) {
        let difference = _mm512_sub_epi64(load_times(times, i + k), load_times(times, i));
        mask |= u64::from(_mm512_cmple_epi64_mask(difference, window)) << i;
    }
    mask
}

/// Bit i: row i + k has this id.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn equal(ids: &[u8; ROWS + REACH], k: usize, id: u8) -> u64 {
    let part = &ids[k..k + ROWS];
    // SAFETY: `part` has 64 readable bytes; the load needs no alignment.
    let ids = unsafe { _mm512_loadu_epi8(part.as_ptr().cast()) };
    _mm512_cmpeq_epi8_mask(ids, _mm512_set1_epi8(id.cast_signed()))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn load_times(times: &[i64; ROWS + REACH], at: usize) -> __m512i {
    let part = &times[at..at + 8];
    // SAFETY: `part` has 8 readable values; the load needs no alignment.
    unsafe { _mm512_loadu_epi64(part.as_ptr()) }
}
