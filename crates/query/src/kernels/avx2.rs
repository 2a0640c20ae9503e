//! AVX2: four times and 32 channels at once.
//!
//! The mask 0b0101 of four times selects the first and the third, whose halves are at 0, 1, 4 and 5. Whole vectors
//! are written, so results need room for one more; the next write begins after the values that count.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::arch::x86_64::{
    __m256i, _mm_loadu_si64, _mm_shuffle_epi8, _mm_storeu_si64, _mm256_add_epi64,
    _mm256_castsi256_pd, _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cmpgt_epi64,
    _mm256_cvtepu8_epi32, _mm256_cvtepu32_epi64, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_or_si256, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_slli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi64,
};

use super::{
    columns::kernels,
    prefetch::ask,
    rows::{ROWS, after},
};

kernels!("avx2,bmi1,popcnt");

/// Returns a mask: bit i is set if rows `from` + i and `from` + i + k are at most `window` apart.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn near<const N: usize>(times: &[i64; N], from: usize, k: usize, window: i64) -> u64 {
    let window = _mm256_set1_epi64x(window);
    let far = |i: usize| {
        let (now, later) = (load_times(times, from + i), load_times(times, from + i + k));
        let difference = _mm256_sub_epi64(later, now);
        let lanes = _mm256_castsi256_pd(_mm256_cmpgt_epi64(difference, window));
        u64::from(_mm256_movemask_pd(lanes).cast_unsigned())
    };
    // The masks are moved one by one, half by half, as for AVX-512.
    let (mut low, mut high) = (0, 0);
    for i in (0..ROWS / 2).step_by(4).rev() {
        low = low << 4 | far(i);
        high = high << 4 | far(i + ROWS / 2);
    }
    !(low | high << (ROWS / 2))
}

/// See the AVX-512 version.
#[derive(Clone, Copy)]
pub(super) struct Order {
    differences: __m256i,
    times: __m256i,
}

impl Order {
    /// See the AVX-512 version.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn new() -> Self {
        Self { differences: _mm256_setzero_si256(), times: _mm256_setzero_si256() }
    }

    /// See the AVX-512 version.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn add(&mut self, times: __m256i, differences: __m256i) {
        self.differences = _mm256_or_si256(self.differences, differences);
        self.times = _mm256_or_si256(self.times, times);
    }

    /// See the AVX-512 version.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn add_step(&mut self, times: &[i64; 2 * ROWS]) {
        for i in (ROWS..2 * ROWS).step_by(4) {
            let (before, now) = (load_times(times, i - 1), load_times(times, i));
            self.add(now, _mm256_sub_epi64(now, before));
        }
    }

    /// See the AVX-512 version.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn is_certain(self) -> bool {
        let large = _mm256_or_si256(self.times, _mm256_slli_epi64::<1>(self.times));
        let any = _mm256_or_si256(self.differences, large);
        _mm256_movemask_pd(_mm256_castsi256_pd(any)) == 0
    }
}

/// See the AVX-512 version.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn falls<const N: usize>(times: &[i64; N]) -> bool {
    let mut any = _mm256_setzero_si256();
    for i in (0..ROWS).step_by(4) {
        let falls = _mm256_cmpgt_epi64(load_times(times, i), load_times(times, i + 1));
        any = _mm256_or_si256(any, falls);
    }
    _mm256_movemask_pd(_mm256_castsi256_pd(any)) != 0
}

/// Returns a mask: bit i is set if row i has this id.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn equal(ids: &[u8; ROWS], id: u8) -> u64 {
    let id = _mm256_set1_epi8(id.cast_signed());
    let half = |at: usize| {
        let part = &ids[at..at + 32];
        // SAFETY: `part` has 32 readable bytes; the load needs no alignment.
        let ids = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
        u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(ids, id)).cast_unsigned())
    };
    half(0) | half(32) << 32
}

/// See [`super::compress`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn compress<const N: usize>(
    time: &[i64],
    masks: [&[u64]; N],
    delays: [i64; N],
    into: [&mut [i64]; N],
) -> bool {
    let (steps, rest) = time.as_chunks::<ROWS>();
    let (mut ends, mut room) = ([0; N], [0; ROWS]);
    let mut order = Order::new();
    for (step, times) in steps.iter().enumerate() {
        ask(times, 0);
        let after = rows_after(time, step, &mut room);
        for first in (0..ROWS).step_by(4) {
            let times = load_times(times, first);
            let difference = _mm256_sub_epi64(load_times(after, first), times);
            order.add(times, difference);
            for n in 0..N {
                let mask = (masks[n][step] >> first & 0xf) as usize;
                let delayed = _mm256_add_epi64(times, _mm256_set1_epi64x(delays[n]));
                let halves = &HALVES[mask];
                // SAFETY: `halves` has 8 readable values; the load needs no alignment.
                let halves = unsafe { _mm256_loadu_si256(halves.as_ptr().cast()) };
                let room = &mut into[n][ends[n]..ends[n] + 4];
                let taken = _mm256_permutevar8x32_epi32(delayed, halves);
                // SAFETY: `room` has 4 writable values; the store needs no alignment.
                unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), taken) };
                ends[n] += mask.count_ones() as usize;
            }
        }
    }
    let rooms = after(into, ends);
    let masks = masks.map(|masks| &masks[steps.len()..]);
    super::scalar::compress(rest, masks, delays, rooms)
        && is_in_order(order, time, steps.len() * ROWS)
}

/// Returns the rows of a step, each one row later. `room` is used for the last step of a column that ends
/// with it: the last row then replaces the one after it.
#[inline]
fn rows_after<'t>(time: &'t [i64], step: usize, room: &'t mut [i64; ROWS]) -> &'t [i64; ROWS] {
    let rest = &time[step * ROWS + 1..];
    if let Some(rows) = rest.first_chunk() {
        return rows;
    }
    room[..rest.len()].copy_from_slice(rest);
    if let Some(&last) = time.last() {
        room[rest.len()..].fill(last);
    }
    room
}

/// See [`super::compress_offsets`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn compress_offsets<const N: usize>(
    offsets: &[u32],
    masks: [&[u64]; N],
    times: [i64; N],
    into: [&mut [i64]; N],
) {
    let (steps, rest) = offsets.as_chunks::<ROWS>();
    let mut ends = [0; N];
    for (step, offsets) in steps.iter().enumerate() {
        for (part, offsets) in offsets.as_chunks::<8>().0.iter().enumerate() {
            // SAFETY: `offsets` has 8 readable values; the load needs no alignment.
            let offsets = unsafe { _mm256_loadu_si256(offsets.as_ptr().cast()) };
            for n in 0..N {
                let mask = (masks[n][step] >> (8 * part) & 0xff) as u8;
                let places = &PLACES[usize::from(mask)];
                // SAFETY: `places` has 8 readable bytes; the load needs no alignment.
                let places = unsafe { _mm_loadu_si64(places.as_ptr()) };
                let taken = _mm256_permutevar8x32_epi32(offsets, _mm256_cvtepu8_epi32(places));
                let halves = [_mm256_castsi256_si128(taken), _mm256_extracti128_si256::<1>(taken)];
                let room = &mut into[n][ends[n]..ends[n] + 8];
                for (half, room) in halves.into_iter().zip(room.as_chunks_mut::<4>().0) {
                    let times =
                        _mm256_add_epi64(_mm256_cvtepu32_epi64(half), _mm256_set1_epi64x(times[n]));
                    // SAFETY: `room` has 4 writable values; the store needs no alignment.
                    unsafe { _mm256_storeu_si256(room.as_mut_ptr().cast(), times) };
                }
                ends[n] += mask.count_ones() as usize;
            }
        }
    }
    let masks = masks.map(|masks| &masks[steps.len()..]);
    super::scalar::compress_offsets(rest, masks, times, after(into, ends));
}

/// See [`super::compress_labels`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn compress_labels(labels: &[u8], masks: &[u64], into: &mut [u8]) {
    let (steps, rest) = labels.as_chunks::<ROWS>();
    let mut end = 0;
    for (labels, &mask) in steps.iter().zip(masks) {
        for first in (0..ROWS).step_by(8) {
            let part = &labels[first..first + 8];
            let mask = (mask >> first & 0xff) as u8;
            let places = &PLACES[usize::from(mask)];
            // SAFETY: `part` has 8 readable bytes; the load needs no alignment.
            let labels = unsafe { _mm_loadu_si64(part.as_ptr()) };
            // SAFETY: `places` has 8 readable bytes; the load needs no alignment.
            let places = unsafe { _mm_loadu_si64(places.as_ptr()) };
            let taken = _mm_shuffle_epi8(labels, places);
            let room = &mut into[end..end + 8];
            // SAFETY: `room` has 8 writable bytes; the store needs no alignment.
            unsafe { _mm_storeu_si64(room.as_mut_ptr(), taken) };
            end += mask.count_ones() as usize;
        }
    }
    super::scalar::compress_labels(rest, &masks[steps.len()..], &mut into[end..]);
}

/// For each mask of four times: the halves of the times that it selects, one after the other.
pub(super) const HALVES: [[u32; 8]; 16] = {
    let mut halves = [[0; 8]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut end) = (0, 0);
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                halves[mask][end] = 2 * lane;
                halves[mask][end + 1] = 2 * lane + 1;
                end += 2;
            }
            lane += 1;
        }
        mask += 1;
    }
    halves
};

/// For each mask of eight bytes: the places of the bytes that it selects.
const PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut end) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                places[mask][end] = lane;
                end += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    places
};

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn load_times<const N: usize>(times: &[i64; N], at: usize) -> __m256i {
    let part = &times[at..at + 4];
    // SAFETY: `part` has 4 readable values; the load needs no alignment.
    unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
}
