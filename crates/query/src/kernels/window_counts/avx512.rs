//! AVX-512: eight times and 16 products at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::{
    arch::x86_64::{
        __m128i, __m512i, _mm_loadu_si128, _mm_min_epu16, _mm_set1_epi16, _mm_sub_epi16,
        _mm512_add_epi32, _mm512_broadcast_i32x4, _mm512_cmplt_epi64_mask, _mm512_loadu_epi64,
        _mm512_loadu_si512, _mm512_madd_epi16, _mm512_mask_set1_epi64, _mm512_mullo_epi32,
        _mm512_or_si512, _mm512_set1_epi64, _mm512_shuffle_epi8, _mm512_storeu_epi64,
        _mm512_storeu_si512, _mm512_sub_epi64,
    },
    ops::Range,
};

use super::{
    lanes::{HALF, OTHERS, TILE, kernels},
    scalar,
    sums::{OneProduct, Products, Sums, Windows, index},
};

kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt");

/// The values at the edges of a tile.
struct Edges {
    /// Times before these are beyond the edges of the rows.
    limits: __m512i,
    last: i64,
    values: __m512i,
}

impl Edges {
    /// Creates the edges of a tile, all at first at the edge of the row before it, which has this value.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn new(tile: &[i64; TILE], beyond: i64, value: u64) -> Self {
        // SAFETY: `tile` has 8 readable values; the load needs no alignment.
        let times = unsafe { _mm512_loadu_epi64(tile.as_ptr()) };
        Self {
            limits: _mm512_sub_epi64(times, _mm512_set1_epi64(beyond)),
            last: tile[TILE - 1].wrapping_sub(beyond),
            values: _mm512_set1_epi64(value.cast_signed()),
        }
    }

    /// Moves the edges past these times, with the value after each; returns how many of them are beyond that of the
    /// last row.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn pass_others(&mut self, others: &[i64; OTHERS], after: &[u64; OTHERS]) -> usize {
        for (&other, &value) in others.iter().zip(after) {
            let is_beyond = _mm512_cmplt_epi64_mask(_mm512_set1_epi64(other), self.limits);
            self.values = _mm512_mask_set1_epi64(self.values, is_beyond, value.cast_signed());
        }
        let last = _mm512_set1_epi64(self.last);
        // SAFETY: `others` has 8 readable values; the load needs no alignment.
        let low = unsafe { _mm512_loadu_epi64(others.as_ptr()) };
        // SAFETY: as above, for the 8 values after them.
        let high = unsafe { _mm512_loadu_epi64(others[8..].as_ptr()) };
        let low = _mm512_cmplt_epi64_mask(low, last);
        let high = _mm512_cmplt_epi64_mask(high, last);
        (low.count_ones() + high.count_ones()) as usize
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn write(self, into: &mut [u64; TILE]) {
        // SAFETY: `into` has 8 writable values; the store needs no alignment.
        unsafe { _mm512_storeu_epi64(into.as_mut_ptr().cast(), self.values) };
    }
}

/// Lanes of 32 bits.
#[derive(Clone, Copy)]
struct Vector(__m512i);

impl Vector {
    const LANES: usize = 16;

    /// Returns the places for [`Vector::shuffle`]: lane i gets count `counts[i]`, or 0 if that is no count.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn places(counts: &[u8; Self::LANES]) -> Self {
        let mut bytes = [0x80_u8; 64];
        for (bytes, &count) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(counts) {
            if count < HALF {
                (bytes[0], bytes[1]) = (2 * count, 2 * count + 1);
            }
        }
        // SAFETY: `bytes` has 64 readable bytes; the load needs no alignment.
        Self(unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn spread(counts: __m128i) -> Self {
        Self(_mm512_broadcast_i32x4(counts))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn shuffle(self, places: Self) -> Self {
        Self(_mm512_shuffle_epi8(self.0, places.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn or(self, other: Self) -> Self {
        Self(_mm512_or_si512(self.0, other.0))
    }

    /// Multiplies lanes below 2^15.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn multiply_narrow(self, other: Self) -> Self {
        Self(_mm512_madd_epi16(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn multiply(self, other: Self) -> Self {
        Self(_mm512_mullo_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn load(lanes: &[u32; Self::LANES]) -> Self {
        // SAFETY: `lanes` has 64 readable bytes; the load needs no alignment.
        Self(unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn add(self, other: Self) -> Self {
        Self(_mm512_add_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    fn store(self, lanes: &mut [u32; Self::LANES]) {
        // SAFETY: `lanes` has 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), self.0) };
    }
}
