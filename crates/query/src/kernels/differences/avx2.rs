//! AVX2: four differences at once, packed by a table of permutations.
#![expect(unsafe_code, reason = "vector loads and stores take pointers")]

use std::arch::x86_64::{
    _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi8, _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_movemask_pd,
    _mm256_permutevar8x32_epi32, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_storeu_si256, _mm256_sub_epi64, _mm256_xor_si256,
};

use super::{
    buffer::{Buffer, Distances, REACH, ROWS, Wanted},
    plain::spans,
    steps::steps,
};
use crate::kernels::{
    avx2::{HALVES, Order, add_order, is_in_order, load_times, near},
    prefetch::ask,
};

/// Up to this many differences of a step are written one by one. Estimated, not tuned.
const FEW: u32 = 10;

steps!("avx2,bmi1,popcnt");

/// See [`super::distances`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn distances(
    owners: &[i64],
    others: &[i64],
    wanted: &Distances,
    buffer: &mut Buffer,
    take: &mut impl FnMut(&[u64]),
) {
    spans(owners, others, wanted, buffer, take);
}

/// Writes the wanted differences between rows and their k-th neighbours, where bits of `pairs` say that the
/// row is the start, or the stop. Returns whether any row had this neighbour within reach.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn write(
    times: &[i64; ROWS + REACH],
    k: usize,
    [forward, back]: [u64; 2],
    wanted: &Wanted,
    buffer: &mut Buffer,
) -> bool {
    let near = near(times, 0, k, wanted.reach);
    let either = (forward | back) & near;
    if either.count_ones() <= FEW {
        let mut left = either;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            let difference = times[i + k].wrapping_sub(times[i]);
            let is_back = back >> i & 1 != 0;
            let signed = if is_back { difference.wrapping_neg() } else { difference };
            buffer.push(signed, true, wanted);
            left &= left - 1;
        }
        return near != 0;
    }
    let low = _mm256_set1_epi64x(wanted.low);
    // AVX2 has no unsigned comparison: both sides are moved by 2^63.
    let sign = _mm256_set1_epi64x(i64::MIN);
    let width = _mm256_xor_si256(_mm256_set1_epi64x(wanted.width.cast_signed()), sign);
    let lanes = _mm256_set_epi64x(8, 4, 2, 1);
    for i in (0..ROWS).step_by(4) {
        let difference = _mm256_sub_epi64(load_times(times, i + k), load_times(times, i));
        let backs = _mm256_set1_epi64x((back >> i).cast_signed());
        let backs = _mm256_cmpeq_epi64(_mm256_and_si256(backs, lanes), lanes);
        // Negates the differences where `backs` is set: inverts all bits and adds one.
        let signed = _mm256_sub_epi64(_mm256_xor_si256(difference, backs), backs);
        let distance = _mm256_sub_epi64(signed, low);
        let inside = _mm256_cmpgt_epi64(width, _mm256_xor_si256(distance, sign));
        let inside = _mm256_movemask_pd(_mm256_castsi256_pd(inside)).to_le_bytes()[0];
        let found = (either >> i).to_le_bytes()[0] & inside;
        let halves = &HALVES[usize::from(found)];
        // SAFETY: `halves` has 8 readable values; the load needs no alignment.
        let halves = unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) };
        let free = &mut buffer.values[buffer.len..buffer.len + 4];
        let packed = _mm256_permutevar8x32_epi32(distance, halves);
        // SAFETY: `free` has room for 4 values; the store needs no alignment.
        unsafe { _mm256_storeu_si256(free.as_mut_ptr().cast(), packed) };
        buffer.len += found.count_ones() as usize;
    }
    near != 0
}

/// Returns a mask: bit i is set if row i + k has this id.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn equal(ids: &[u8; ROWS + REACH], k: usize, id: u8) -> u64 {
    let id = _mm256_set1_epi8(id.cast_signed());
    let half = |at: usize| {
        let part = &ids[k + at..k + at + 32];
        // SAFETY: `part` has 32 readable bytes; the load needs no alignment.
        let ids = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(ids, id)).cast_unsigned())
    };
    half(0) | half(32) << 32
}
