//! AVX2: four times and 32 channels at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::arch::x86_64::{
    __m256i, _mm256_castsi256_pd, _mm256_cmpeq_epi8, _mm256_cmpgt_epi64, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_sub_epi64,
};

use super::{Matrix, REACH, ROWS, kernels::kernels, pairs_from};

kernels!("avx2,bmi1,popcnt");

/// Bit i: rows i and i + k are at most `window` apart.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn near(times: &[i64; ROWS + REACH], k: usize, window: i64) -> u64 {
    let window = _mm256_set1_epi64x(window);
    let mut far = 0;
    for i in (0..ROWS).step_by(4) {
        let difference = _mm256_sub_epi64(load_times(times, i + k), load_times(times, i));
        let lanes = _mm256_castsi256_pd(_mm256_cmpgt_epi64(difference, window));
        far |= u64::from(_mm256_movemask_pd(lanes).cast_unsigned()) << i;
    }
    !far
}

/// Bit i: row i + k has this id.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn equal(ids: &[u8; ROWS + REACH], k: usize, id: u8) -> u64 {
    let id = _mm256_set1_epi8(id.cast_signed());
    let half = |at: usize| {
        let part = &ids[at..at + 32];
        // SAFETY: `part` has 32 readable bytes; the load needs no alignment.
        let ids = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(ids, id)).cast_unsigned())
    };
    half(k) | half(k + 32) << 32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn load_times(times: &[i64; ROWS + REACH], at: usize) -> __m256i {
    let part = &times[at..at + 4];
    // SAFETY: `part` has 4 readable values; the load needs no alignment.
    unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
}
