//! The floor: the fastest sum of both columns that we can write. No query that reads every row can be faster.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "vector loads take pointers"))]

use rayon::prelude::*;

/// Rows of one task.
const MORSEL_ROWS: usize = 1 << 18;
/// Rows per step: one cache line of labels.
#[cfg(target_arch = "x86_64")]
const STEP: usize = 64;

/// Returns the wrapping sum of all times and all labels, computed by the threads of the current pool.
pub fn sum_of_columns(time: &[i64], label: &[u8]) -> u64 {
    let sum = match () {
        #[cfg(target_arch = "x86_64")]
        () if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") => {
            // SAFETY: the features were detected just above.
            |time: &[i64], label: &[u8]| unsafe { sum_avx512(time, label) }
        }
        #[cfg(target_arch = "x86_64")]
        () if is_x86_feature_detected!("avx2") => {
            // SAFETY: the feature was detected just above.
            |time: &[i64], label: &[u8]| unsafe { sum_avx2(time, label) }
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

/// Returns the sum of the rows after the last whole step.
#[cfg(target_arch = "x86_64")]
fn sum_rest(time: &[i64], label: &[u8]) -> u64 {
    let whole = time.len() / STEP * STEP;
    sum_plain(&time[whole..], &label[whole..])
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
    for (time, label) in time.chunks_exact(STEP).zip(label.chunks_exact(STEP)) {
        ask(time, label);
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
    sum_rest(time, label).wrapping_add(_mm512_reduce_add_epi64(total).cast_unsigned())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(time: &[i64], label: &[u8]) -> u64 {
    use std::arch::x86_64::{
        _mm256_add_epi64, _mm256_extract_epi64, _mm256_loadu_si256, _mm256_sad_epu8,
        _mm256_setzero_si256,
    };
    let zero = _mm256_setzero_si256();
    let mut sums = [zero; 8];
    let mut labels = zero;
    for (time, label) in time.chunks_exact(STEP).zip(label.chunks_exact(STEP)) {
        ask(time, label);
        for (part, times) in time.chunks_exact(4).enumerate() {
            // SAFETY: `times` has 4 readable values; the load needs no alignment.
            let times = unsafe { _mm256_loadu_si256(times.as_ptr().cast()) };
            sums[part % 8] = _mm256_add_epi64(sums[part % 8], times);
        }
        for half in label.chunks_exact(32) {
            // SAFETY: `half` has 32 readable bytes; the load needs no alignment.
            let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
            labels = _mm256_add_epi64(labels, _mm256_sad_epu8(bytes, zero));
        }
    }
    let total = sums.into_iter().fold(labels, |a, b| _mm256_add_epi64(a, b));
    let lanes = [
        _mm256_extract_epi64::<0>(total),
        _mm256_extract_epi64::<1>(total),
        _mm256_extract_epi64::<2>(total),
        _mm256_extract_epi64::<3>(total),
    ];
    lanes.iter().fold(sum_rest(time, label), |sum, lane| sum.wrapping_add(lane.cast_unsigned()))
}

/// Prefetches the rows 1,024 after a step, as the kernels do. This distance was measured to be the fastest.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ask(time: &[i64], label: &[u8]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    const AHEAD: usize = 1024;
    let time = time.as_ptr().wrapping_add(AHEAD);
    let label = label.as_ptr().wrapping_add(AHEAD);
    for line in 0..STEP / 8 {
        // SAFETY: a prefetch has no visible effect, even if the address is not mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(time.wrapping_add(8 * line).cast()) };
    }
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(label.cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_sums_alike() {
        let time: Vec<i64> = (-40..157).map(|row| row * (1 << 55)).collect();
        let label: Vec<u8> = (0..=255).chain(0..=255).step_by(7).chain(1..=123).collect();
        assert_eq!(time.len(), label.len());
        let wanted = sum_plain(&time, &label);
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the feature was detected just above.
                assert_eq!(unsafe { sum_avx2(&time, &label) }, wanted);
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                // SAFETY: the features were detected just above.
                assert_eq!(unsafe { sum_avx512(&time, &label) }, wanted);
            }
        }
        assert_eq!(sum_of_columns(&time, &label), wanted);
    }
}
