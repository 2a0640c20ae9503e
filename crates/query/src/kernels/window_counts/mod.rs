//! Counts of the tags in the window of each row, and sums of products of them.
//!
//! The number of tags of a channel in a window is the difference of two counts: of the tags before the window's end,
//! and of those before its start. So a row costs the same whatever its window holds. [`at_edges`] finds both ends,
//! [`count_before`] makes the counts, [`products`] multiplies the differences. [`at_edges`] takes times in any order,
//! as [`super`] says; the windows for the others are those of times in order.
//!
//! A row at 5 after tags at 0, 2 and 4, window 3: 3 − 1 = 2 tags, those at 2 and 4.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the token of a level is the proof that its code may be called")
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod scalar;
mod sums;
#[cfg(test)]
mod tests;

// VBMI2 adds nothing here.
#[cfg(target_arch = "x86_64")]
use avx512 as vbmi2;

use std::ops::Range;

pub(crate) use sums::{
    Count, MOST_FACTORS, OneProduct, Products, Sums, WORD_LANES, WORD_ROWS, Windows, index,
};
use sums::{LANE_BITS, WORDS};

#[cfg(target_arch = "x86_64")]
use super::simd::Level;
use super::simd::Simd;

/// Writes for each of `rows` the value at its edge: `values[n]` if the first n rows of all are more than `beyond`
/// ticks before it. There is one more value than there are times, and a place for each row.
pub(crate) fn at_edges(
    simd: Simd,
    time: &[i64],
    rows: Range<usize>,
    beyond: i64,
    values: &[u64],
    into: &mut [u64],
) {
    assert!(values.len() == time.len() + 1 && into.len() == rows.len());
    let [Some(first), Some(last)] = [time[rows.clone()].first(), time[rows.clone()].last()] else {
        return;
    };
    if first.checked_sub(beyond).is_none() || last.checked_sub(beyond).is_none() {
        // The edge itself is no time of 64 bits.
        return scalar::at_edges(time, rows, beyond, values, into);
    }
    at_level!(simd, self, at_edges(time, rows, beyond, values, into));
}

/// A count whose products the kernels of a level may sum.
pub(crate) trait AtLevel: Count {
    /// Adds products by the kernels of a level; returns whether it has any.
    fn sum<const L: usize>(
        _simd: Simd,
        _windows: &Windows<'_, Self, L>,
        _products: &Products,
        _sums: &mut Sums,
    ) -> bool {
        false
    }
}

impl AtLevel for u32 {}

impl AtLevel for u16 {
    #[cfg(target_arch = "x86_64")]
    fn sum<const L: usize>(
        simd: Simd,
        windows: &Windows<'_, Self, L>,
        products: &Products,
        sums: &mut Sums,
    ) -> bool {
        let rows = products.rows_of_32_bits(simd, windows.longest, windows.once);
        match (rows, simd.level()) {
            (None, _) | (_, Level::Scalar) => return false,
            // SAFETY: a token of this level is made only where its features were detected.
            (Some(rows), Level::Avx2) => unsafe { avx2::products(windows, products, rows, sums) },
            // SAFETY: as above.
            (Some(rows), Level::Avx512 | Level::Vbmi2) => unsafe {
                avx512::products(windows, products, rows, sums);
            },
        }
        true
    }
}

/// Continues the counts of the tags of each number before each row, up to those before row `end`. Tags whose number
/// is `L` or more are not counted.
pub(crate) fn count_before<C: Count, const L: usize>(
    number: &[u8],
    end: usize,
    before: &mut Vec<[C; L]>,
) {
    let mut sums = before.last().copied().unwrap_or([C::default(); L]);
    if before.is_empty() {
        before.push(sums);
    }
    let start = before.len() - 1;
    let one = |number: usize| std::array::from_fn(|lane| C::of(lane == number));
    let ones: [[C; L]; L] = std::array::from_fn(one);
    before.extend(number[start..end.max(start)].iter().map(|&number| {
        if let Some(more) = ones.get(usize::from(number)) {
            sums = std::array::from_fn(|lane| sums[lane].add(more[lane]));
        }
        sums
    }));
}

/// Sums each product over the rows of its number. Sums must fit in 64 bits, by [`Products::fit`], and counts in their
/// type.
pub(crate) fn products<C: AtLevel, const L: usize>(
    simd: Simd,
    windows: &Windows<'_, C, L>,
    products: &Products,
    sums: &mut Sums,
) {
    sums.clear(products);
    if !C::sum(simd, windows, products, sums) {
        scalar::products(windows, products, &mut sums.wide, sums.stride);
    }
}

/// Makes the counts of the tags of each number before each row, and at last of all tags, as words of [`WORD_LANES`]
/// counts.
pub(crate) fn words_before(number: &[u8], words: &mut Vec<u64>) {
    let mut sum = 0_u64;
    words.clear();
    words.push(sum);
    words.extend(number.iter().map(|&number| {
        let number = usize::from(number);
        let one = u64::from(number < WORD_LANES) << (number % WORD_LANES * LANE_BITS);
        sum = sum.wrapping_add(one);
        sum
    }));
}

/// Sums the product over rows with `words` before each of them and after the last, whose windows have the words
/// `from` before and the words `to` after them. Windows have up to [`WORD_ROWS`] rows.
pub(crate) fn one_product(
    simd: Simd,
    product: OneProduct,
    words: &[u64],
    [from, to]: [&[u64]; 2],
) -> u128 {
    assert!(words.len() == from.len() + 1 && to.len() == from.len());
    let mut sum = 0;
    for start in (0..from.len()).step_by(WORDS) {
        let rows = start..from.len().min(start + WORDS);
        let (now, next) = (&words[rows.clone()], &words[rows.start + 1..=rows.end]);
        let ends = [&from[rows.clone()], &to[rows]];
        sum += u128::from(at_level!(simd, self, one_product(product, [now, next], ends)));
    }
    sum
}
