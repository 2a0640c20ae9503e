//! AVX2: four times and eight products at once.
#![expect(unsafe_code, reason = "vector loads take pointers")]

use std::{
    arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm_min_epu16, _mm_set1_epi16, _mm_sub_epi16,
        _mm256_add_epi32, _mm256_blendv_epi8, _mm256_broadcastsi128_si256, _mm256_castsi256_pd,
        _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_movemask_pd,
        _mm256_mullo_epi32, _mm256_or_si256, _mm256_set1_epi64x, _mm256_shuffle_epi8,
        _mm256_storeu_si256, _mm256_sub_epi64,
    },
    ops::Range,
};

use super::{
    lanes::{HALF, OTHERS, TILE, kernels},
    scalar,
    sums::{OneProduct, Products, Sums, Windows, index},
};

kernels!("avx2,bmi1,popcnt");

/// The values at the edges of a tile.
struct Edges {
    /// Times before these are beyond the edges of the rows.
    limits: [__m256i; 2],
    last: i64,
    values: [__m256i; 2],
}

impl Edges {
    /// Creates the edges of a tile, all at first at the edge of the row before it, which has this value.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn new(tile: &[i64; TILE], beyond: i64, value: u64) -> Self {
        let limits = [0, 4].map(|first| {
            let times = load_times(&tile[first..]);
            _mm256_sub_epi64(times, _mm256_set1_epi64x(beyond))
        });
        let value = _mm256_set1_epi64x(value.cast_signed());
        Self { limits, last: tile[TILE - 1].wrapping_sub(beyond), values: [value; 2] }
    }

    /// Moves the edges past these times, with the value after each; returns how many of them are beyond that of the
    /// last row.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn pass_others(&mut self, others: &[i64; OTHERS], after: &[u64; OTHERS]) -> usize {
        for (&other, &value) in others.iter().zip(after) {
            let (other, value) =
                (_mm256_set1_epi64x(other), _mm256_set1_epi64x(value.cast_signed()));
            for (limits, values) in self.limits.iter().zip(&mut self.values) {
                let is_beyond = _mm256_cmpgt_epi64(*limits, other);
                *values = _mm256_blendv_epi8(*values, value, is_beyond);
            }
        }
        let last = _mm256_set1_epi64x(self.last);
        let beyond_last = |first: usize| {
            let lanes = _mm256_cmpgt_epi64(last, load_times(&others[first..]));
            _mm256_movemask_pd(_mm256_castsi256_pd(lanes)).count_ones() as usize
        };
        beyond_last(0) + beyond_last(4) + beyond_last(8) + beyond_last(12)
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn write(self, into: &mut [u64; TILE]) {
        for (into, values) in into.as_chunks_mut::<4>().0.iter_mut().zip(self.values) {
            // SAFETY: `into` has 32 writable bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), values) };
        }
    }
}

/// Loads four times.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn load_times(times: &[i64]) -> __m256i {
    let times = &times[..4];
    // SAFETY: `times` has 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(times.as_ptr().cast()) }
}

/// Lanes of 32 bits.
#[derive(Clone, Copy)]
struct Vector(__m256i);

impl Vector {
    const LANES: usize = 8;

    /// Returns the places for [`Vector::shuffle`]: lane i gets count `counts[i]`, or 0 if that is no count.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn places(counts: &[u8; Self::LANES]) -> Self {
        let mut bytes = [0x80_u8; 32];
        for (bytes, &count) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(counts) {
            if count < HALF {
                (bytes[0], bytes[1]) = (2 * count, 2 * count + 1);
            }
        }
        // SAFETY: `bytes` has 32 readable bytes; the load needs no alignment.
        Self(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn spread(counts: __m128i) -> Self {
        Self(_mm256_broadcastsi128_si256(counts))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn shuffle(self, places: Self) -> Self {
        Self(_mm256_shuffle_epi8(self.0, places.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn or(self, other: Self) -> Self {
        Self(_mm256_or_si256(self.0, other.0))
    }

    /// Multiplies lanes below 2^15.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn multiply_narrow(self, other: Self) -> Self {
        Self(_mm256_madd_epi16(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn multiply(self, other: Self) -> Self {
        Self(_mm256_mullo_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn load(lanes: &[u32; Self::LANES]) -> Self {
        // SAFETY: `lanes` has 32 readable bytes; the load needs no alignment.
        Self(unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn add(self, other: Self) -> Self {
        Self(_mm256_add_epi32(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn store(self, lanes: &mut [u32; Self::LANES]) {
        // SAFETY: `lanes` has 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), self.0) };
    }
}
