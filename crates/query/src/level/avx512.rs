//! AVX-512: eight times and 64 channels at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmple_epi64_mask, _mm512_loadu_epi8,
    _mm512_loadu_epi64, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_sub_epi64,
};

use super::{Matrix, REACH, ROWS, pairs_from};

/// See [`super::pairs`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn pairs(time: &[i64], id: &[u8], [a, b]: [u8; 2], window: i64) -> Option<u64> {
    let mut count = 0;
    let mut start = 0;
    while let (Some(times), Some(ids)) = (
        time[start..].first_chunk::<{ ROWS + REACH }>(),
        id[start..].first_chunk::<{ ROWS + REACH }>(),
    ) {
        let (a_first, b_first) = (equal(ids, 0, a), equal(ids, 0, b));
        let matching = |k| a_first & equal(ids, k, b) | b_first & equal(ids, k, a);
        let [first, second] = near_two(times, window);
        count += u64::from((first & matching(1)).count_ones());
        if second != 0 {
            count += u64::from((second & matching(2)).count_ones());
            let mut k = 3;
            loop {
                let mask = near(times, k, window);
                if mask == 0 {
                    break;
                }
                if k == REACH {
                    return None;
                }
                count += u64::from((mask & matching(k)).count_ones());
                k += 1;
            }
        }
        start += ROWS;
    }
    pairs_from(start, time, id, window, |x, y| {
        count += u64::from([x, y] == [a, b] || [x, y] == [b, a]);
    })?;
    Some(count)
}

/// See [`super::matrix`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn matrix(
    time: &[i64],
    id: &[u8],
    window: i64,
    dense: &[u8; 256],
    matrix: &mut Matrix,
) -> Option<()> {
    let mut start = 0;
    while let (Some(times), Some(ids)) = (
        time[start..].first_chunk::<{ ROWS + REACH }>(),
        id[start..].first_chunk::<{ ROWS + REACH }>(),
    ) {
        let mut add = |mut mask: u64, k: usize| {
            while mask != 0 {
                let i = mask.trailing_zeros() as usize;
                matrix.add(dense[usize::from(ids[i])], dense[usize::from(ids[i + k])], 1);
                mask &= mask - 1;
            }
        };
        let [first, second] = near_two(times, window);
        add(first, 1);
        if second != 0 {
            add(second, 2);
            let mut k = 3;
            loop {
                let mask = near(times, k, window);
                if mask == 0 {
                    break;
                }
                if k == REACH {
                    return None;
                }
                add(mask, k);
                k += 1;
            }
        }
        start += ROWS;
    }
    pairs_from(start, time, id, window, |x, y| {
        matrix.add(dense[usize::from(x)], dense[usize::from(y)], 1);
    })
}

/// Bit i: rows i and i + 1, and rows i and i + 2, are at most `window` apart.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn near_two(times: &[i64; ROWS + REACH], window: i64) -> [u64; 2] {
    [near(times, 1, window), near(times, 2, window)]
}

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
