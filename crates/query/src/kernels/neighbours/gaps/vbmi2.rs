//! AVX-512 with VBMI2: 32 gaps at once, and differences of 16 bits packed by one instruction.
#![expect(unsafe_code, reason = "vector stores take pointers")]

use std::{
    arch::x86_64::{
        _mm512_add_epi16, _mm512_mask_sub_epi16, _mm512_maskz_compress_epi16, _mm512_set1_epi16,
        _mm512_storeu_epi16,
    },
    ops::Range,
};

use super::{
    super::{
        DifferenceRange, PairDistances, REACH, ROW_BITS, ROWS, Span,
        differences::difference_kernel,
        scalar,
        steps::{Ends, neighbour_kernels},
        unsigned::{Order, WRITE_SELECTS, is_sorted},
    },
    avx512::{Distances, at, lanes, next, within, within_span},
    levels::{Difference, Ticks, Value, lowest, ticks},
};
use crate::kernels::{
    avx512::equal,
    found::FoundRows,
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    prefetch::ask,
    rows::bits,
};

neighbour_kernels!("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx2,bmi1,popcnt");
difference_kernel!("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx2,bmi1,popcnt");

/// Writes the distances of the rows in `pairs`, those in `back` negated, less the smallest, modulo 2^16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx2,bmi1,popcnt")]
fn write(
    distances: &Distances,
    pairs: u64,
    back: u64,
    range: &DifferenceRange,
    gathered: &mut Gathered<u16>,
) {
    let low = lowest(range);
    let low = _mm512_set1_epi16(low.wrapping_neg().cast_signed());
    for (i, &distances) in distances.iter().enumerate() {
        let [pairs, back] = [pairs, back].map(|rows| lanes(rows, i));
        let forward = _mm512_add_epi16(low, distances);
        let signed = _mm512_mask_sub_epi16(forward, back, low, distances);
        let packed = _mm512_maskz_compress_epi16(pairs, signed);
        let places: &mut [u16; 32] = gathered.places();
        // SAFETY: there are 32 places; the store needs no alignment.
        unsafe { _mm512_storeu_epi16(places.as_mut_ptr().cast(), packed) };
        gathered.keep(pairs.count_ones() as usize);
    }
}
