//! The floor: the fastest sum of both columns that we can write. No query that reads every row can
//! be faster.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use rayon::prelude::*;

/// Rows of one task.
const MORSEL_ROWS: usize = 1 << 18;

/// The wrapping sum of all times and all labels, over the threads of the current pool.
pub fn sum_of_columns(time: &[i64], label: &[u8]) -> u64 {
    let sum = match () {
        #[cfg(target_arch = "x86_64")]
        () if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") => {
            // SAFETY: the features were detected just above.
            |time: &[i64], label: &[u8]| unsafe { sum_avx512(time, label) }
        }
        () => sum_plain,
    };
    time.par_chunks(MORSEL_ROWS)
        .zip(label.par_chunks(MORSEL_ROWS))
        .map(|(time, label)| sum(time, label))
        .reduce(|| 0, u64::wrapping_add)
}

fn sum_plain(time: &[i64], label: &[u8]) -> u64 {
    let times = time.iter().fold(0_u64, |sum, time| sum.wrapping_add(time.cast_unsigned()));
    label.iter().fold(times, |sum, &label| sum.wrapping_add(label.into()))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn sum_avx512(time: &[i64], label: &[u8]) -> u64 {
    use std::arch::x86_64::{
        _mm512_add_epi64, _mm512_loadu_epi8, _mm512_loadu_epi64, _mm512_reduce_add_epi64,
        _mm512_sad_epu8, _mm512_setzero_si512,
    };
    let zero = _mm512_setzero_si512();
    let mut sums = [zero; 8];
    let mut labels = zero;
    let mut steps = time.chunks_exact(64).zip(label.chunks_exact(64));
    for (time, label) in &mut steps {
        for (sum, part) in sums.iter_mut().zip(time.chunks_exact(8)) {
            // SAFETY: `part` has 8 readable values; the load needs no alignment.
            let times = unsafe { _mm512_loadu_epi64(part.as_ptr()) };
            *sum = _mm512_add_epi64(*sum, times);
        }
        // SAFETY: `label` has 64 readable bytes; the load needs no alignment.
        let bytes = unsafe { _mm512_loadu_epi8(label.as_ptr().cast()) };
        labels = _mm512_add_epi64(labels, _mm512_sad_epu8(bytes, zero));
    }
    let total = sums.into_iter().fold(labels, |a, b| _mm512_add_epi64(a, b));
    let whole = time.len() / 64 * 64;
    let rest = sum_plain(&time[whole..], &label[whole..]);
    rest.wrapping_add(_mm512_reduce_add_epi64(total).cast_unsigned())
}
