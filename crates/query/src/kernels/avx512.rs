//! AVX-512: eight times and 64 channels at once.
//!
//! Eight times are compressed by their mask and written as a whole vector; the next write begins after the values
//! that count, so results need room for one more vector.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::arch::x86_64::{
    __m512i, _mm_loadu_epi8, _mm_storeu_epi8, _mm512_add_epi64, _mm512_alignr_epi64,
    _mm512_castsi512_si256, _mm512_cmpeq_epi8_mask, _mm512_cmple_epi64_mask,
    _mm512_cmplt_epi64_mask, _mm512_cvtepi32_epi8, _mm512_cvtepu8_epi32, _mm512_cvtepu32_epi64,
    _mm512_extracti64x4_epi64, _mm512_loadu_epi8, _mm512_loadu_epi32, _mm512_loadu_epi64,
    _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_movepi64_mask,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_slli_epi64,
    _mm512_storeu_epi64, _mm512_sub_epi64,
};

use super::{
    columns::kernels,
    prefetch::ask,
    rows::{ROWS, after},
};

kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// Returns a mask: bit i is set if rows `from` + i and `from` + i + k are at most `window` apart.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn near<const N: usize>(times: &[i64; N], from: usize, k: usize, window: i64) -> u64 {
    let window = _mm512_set1_epi64(window);
    let near = |i: usize| {
        let (now, later) = (load_times(times, from + i), load_times(times, from + i + k));
        let difference = _mm512_sub_epi64(later, now);
        u64::from(_mm512_cmple_epi64_mask(difference, window))
    };
    // The masks are moved one by one, half by half. With eight masks each moved to its place, they become a
    // vector that is added up across its lanes, and pairs of all channels were counted at 0.7 of the speed.
    let (mut low, mut high) = (0, 0);
    for i in (0..ROWS / 2).step_by(8).rev() {
        low = low << 8 | near(i);
        high = high << 8 | near(i + ROWS / 2);
    }
    low | high << (ROWS / 2)
}

/// A cheap test that times are in order: differences of neighbouring rows, and the times, each combined by
/// OR. If no time is negative or 2^62 or more, no difference wraps, and its sign is exact.
#[derive(Clone, Copy)]
pub(super) struct Order {
    differences: __m512i,
    times: __m512i,
}

impl Order {
    /// Creates the state before any row.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    pub(super) fn new() -> Self {
        Self { differences: _mm512_setzero_si512(), times: _mm512_setzero_si512() }
    }

    /// Adds eight rows and their differences to the next ones.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn add(&mut self, times: __m512i, differences: __m512i) {
        self.differences = _mm512_or_si512(self.differences, differences);
        self.times = _mm512_or_si512(self.times, times);
    }

    /// Adds the rows of a step, which follows the first rows, and their differences to the row before each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    pub(super) fn add_step(&mut self, times: &[i64; 2 * ROWS]) {
        for i in (ROWS..2 * ROWS).step_by(8) {
            let (before, now) = (load_times(times, i - 1), load_times(times, i));
            self.add(now, _mm512_sub_epi64(now, before));
        }
    }

    /// Returns whether times are certainly in order; if not, they have to be compared.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    pub(super) fn is_certain(self) -> bool {
        // Bit 62 moves to the sign.
        let large = _mm512_or_si512(self.times, _mm512_slli_epi64::<1>(self.times));
        _mm512_movepi64_mask(_mm512_or_si512(self.differences, large)) == 0
    }
}

/// Returns whether times decrease anywhere in a step, up to the first row after it, by any amount.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
fn falls<const N: usize>(times: &[i64; N]) -> bool {
    let mut any = 0;
    for i in (0..ROWS).step_by(8) {
        any |= _mm512_cmplt_epi64_mask(load_times(times, i + 1), load_times(times, i));
    }
    any != 0
}

/// Returns a mask: bit i is set if row i has this id.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn equal(ids: &[u8; ROWS], id: u8) -> u64 {
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
    let mut ends = [0; N];
    let mut order = Order::new();
    let mut before = _mm512_set1_epi64(time.first().copied().unwrap_or_default());
    for (step, times) in steps.iter().enumerate() {
        ask(times, 0);
        for first in (0..ROWS).step_by(8) {
            let times = load_times(times, first);
            let shifted = _mm512_alignr_epi64::<7>(times, before);
            order.add(times, _mm512_sub_epi64(times, shifted));
            before = times;
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
    let rooms = after(into, ends);
    let masks = masks.map(|masks| &masks[steps.len()..]);
    super::scalar::compress(rest, masks, delays, rooms)
        && is_in_order(order, time, steps.len() * ROWS)
}

/// See [`super::compress_offsets`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
pub(super) fn compress_offsets<const N: usize>(
    offsets: &[u32],
    masks: [&[u64]; N],
    times: [i64; N],
    into: [&mut [i64]; N],
) {
    let (steps, rest) = offsets.as_chunks::<ROWS>();
    let mut ends = [0; N];
    for (step, offsets) in steps.iter().enumerate() {
        for (part, offsets) in offsets.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: `offsets` has 16 readable values; the load needs no alignment.
            let offsets = unsafe { _mm512_loadu_epi32(offsets.as_ptr().cast()) };
            for n in 0..N {
                let mask = (masks[n][step] >> (16 * part) & 0xffff) as u16;
                let taken = _mm512_maskz_compress_epi32(mask, offsets);
                let halves = [_mm512_castsi512_si256(taken), _mm512_extracti64x4_epi64::<1>(taken)];
                let room = &mut into[n][ends[n]..ends[n] + 16];
                for (half, room) in halves.into_iter().zip(room.as_chunks_mut::<8>().0) {
                    let times =
                        _mm512_add_epi64(_mm512_cvtepu32_epi64(half), _mm512_set1_epi64(times[n]));
                    // SAFETY: `room` has 8 writable values; the store needs no alignment.
                    unsafe { _mm512_storeu_epi64(room.as_mut_ptr(), times) };
                }
                ends[n] += mask.count_ones() as usize;
            }
        }
    }
    let masks = masks.map(|masks| &masks[steps.len()..]);
    super::scalar::compress_offsets(rest, masks, times, after(into, ends));
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
