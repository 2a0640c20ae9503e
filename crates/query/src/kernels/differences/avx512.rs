//! AVX-512: eight differences at once, written by its compress instruction.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::arch::x86_64::{
    _mm512_cmpeq_epi8_mask, _mm512_loadu_epi8, _mm512_mask_cmplt_epu64_mask, _mm512_mask_sub_epi64,
    _mm512_maskz_compress_epi64, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_storeu_epi64, _mm512_sub_epi64,
};

use super::{
    buffer::{Buffer, REACH, ROWS, Wanted},
    steps::steps,
};
use crate::kernels::{
    avx512::{Order, add_order, is_in_order, load_times, near},
    prefetch::ask,
};

steps!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// Writes the wanted differences between rows and their k-th neighbours, where bits of `pairs` say that the
/// row is the start, or the stop. Returns whether any row had this neighbour within reach.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn write(
    times: &[i64; ROWS + REACH],
    k: usize,
    [forward, back]: [u64; 2],
    wanted: &Wanted,
    buffer: &mut Buffer,
) -> bool {
    let near = near(times, 0, k, wanted.reach);
    let either = (forward | back) & near;
    if either == 0 {
        return near != 0;
    }
    let low = _mm512_set1_epi64(wanted.low);
    let width = _mm512_set1_epi64(wanted.width.cast_signed());
    let zero = _mm512_setzero_si512();
    for i in (0..ROWS).step_by(8) {
        let difference = _mm512_sub_epi64(load_times(times, i + k), load_times(times, i));
        let [back, either] = [back, either].map(|mask| mask.to_le_bytes()[i / 8]);
        let signed = _mm512_mask_sub_epi64(difference, back, zero, difference);
        let distance = _mm512_sub_epi64(signed, low);
        let found = _mm512_mask_cmplt_epu64_mask(either, distance, width);
        let packed = _mm512_maskz_compress_epi64(found, distance);
        let free = &mut buffer.values[buffer.len..buffer.len + 8];
        // SAFETY: `free` has room for 8 values; the store needs no alignment.
        unsafe { _mm512_storeu_epi64(free.as_mut_ptr().cast(), packed) };
        buffer.len += found.count_ones() as usize;
    }
    near != 0
}

/// Returns a mask: bit i is set if row i + k has this id.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn equal(ids: &[u8; ROWS + REACH], k: usize, id: u8) -> u64 {
    let part = &ids[k..k + ROWS];
    // SAFETY: `part` has 64 readable bytes; the load needs no alignment.
    let ids = unsafe { _mm512_loadu_epi8(part.as_ptr().cast()) };
    _mm512_cmpeq_epi8_mask(ids, _mm512_set1_epi8(id.cast_signed()))
}
