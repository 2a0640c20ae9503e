//! Windows of rows, products of the counts of tags in them, and sums of these products.
//!
//! A product of k counts in a window of n rows is at most (n / k)^k: 6 rows and 2 factors, 9. Sums of 32 bits are
//! added to sums of 64 bits before so many rows that one could overflow.

use crate::kernels::simd::{Level, Simd};

/// The largest number of factors of a product that has a kernel at each level of vector instructions.
pub(crate) const MOST_FACTORS: usize = 4;
/// Sums of a number are padded to this many: a cache line of sums of 32 bits.
pub(super) const LINE: usize = 16;
/// The fewest rows that are added to sums of 32 bits in one call; with fewer, sums of 64 bits are faster.
pub(super) const FEWEST_ROWS: u64 = 64;

/// A count of tags. Differences are right, also where counts wrap, if they fit in the type.
pub(crate) trait Count: Copy + Default {
    fn add(self, other: Self) -> Self;
    fn since(self, before: Self) -> u32;
    fn of(is_one: bool) -> Self;
}

impl Count for u32 {
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn since(self, before: Self) -> u32 {
        self.wrapping_sub(before)
    }

    fn of(is_one: bool) -> Self {
        is_one.into()
    }
}

impl Count for u16 {
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn since(self, before: Self) -> u32 {
        self.wrapping_sub(before).into()
    }

    fn of(is_one: bool) -> Self {
        is_one.into()
    }
}

/// Rows whose windows are known.
#[derive(Clone, Copy)]
pub(crate) struct Windows<'a, C, const L: usize> {
    /// The counts before each row of the list.
    pub before: &'a [[C; L]],
    /// The first row of each window, and the first one after it.
    pub ends: [&'a [u64]; 2],
    /// The number of the row whose window it is.
    pub number: &'a [u8],
    /// The largest number of rows in a window.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "sums of 64 bits are checked before")
    )]
    pub longest: u64,
    /// Whether several tags of a channel in a window count as one.
    pub once: bool,
}

impl<C: Count, const L: usize> Windows<'_, C, L> {
    /// Divides the rows into parts of up to `rows`.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn parts(&self, rows: usize) -> impl Iterator<Item = Self> {
        let [from, to] = self.ends.map(|ends| ends.chunks(rows));
        let parts = from.zip(to).zip(self.number.chunks(rows));
        parts.map(|((from, to), number)| Self { ends: [from, to], number, ..*self })
    }

    /// Iterates over the numbers of rows, each with the counts of its window.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u8, [u32; L])> {
        let [from, to] = self.ends;
        let ends = from.iter().zip(to);
        ends.zip(self.number).map(|((&from, &to), &number)| {
            let [from, to] = [from, to].map(|at| &self.before[index(at)]);
            let counts = std::array::from_fn(|lane| to[lane].since(from[lane]));
            (number, if self.once { counts.map(|count| count.min(1)) } else { counts })
        })
    }
}

/// The products that rows of each number add to, all with the same number of factors.
#[derive(Debug)]
pub(crate) struct Products {
    /// The number of factors of each.
    pub(super) size: usize,
    /// For each number, the numbers of the factors, product by product.
    pub(super) factors: Vec<Vec<u8>>,
    /// The most products of a number.
    pub(super) most: usize,
}

impl Products {
    /// Creates the products of each number, with `size` factors each, which follow each other.
    pub(crate) fn new(size: usize, factors: Vec<Vec<u8>>) -> Self {
        assert!(size > 0 && factors.iter().all(|factors| factors.len().is_multiple_of(size)));
        let most = factors.iter().map(Vec::len).max().unwrap_or(0) / size;
        Self { size, factors, most }
    }

    /// Returns a value that no product exceeds in windows of up to `longest` rows: with n rows and k factors, (n /
    /// k)^k. `None` if it does not fit in 64 bits.
    fn largest(&self, longest: u64, once: bool) -> Option<u64> {
        if once {
            return Some(1);
        }
        let power = |base: u64| u128::from(base).checked_pow(u32::try_from(self.size).ok()?);
        u64::try_from(power(longest)? / power(self.size as u64)?).ok()
    }

    /// Returns whether sums of these products over `rows` rows fit in 64 bits.
    pub(crate) fn fit(&self, longest: u64, once: bool, rows: usize) -> bool {
        let largest = self.largest(longest, once);
        largest.is_some_and(|largest| largest.checked_mul(rows as u64).is_some())
    }

    /// Returns how many rows may be added to sums of 32 bits; `None` if the kernels of a level are of no use.
    pub(super) fn rows_of_32_bits(&self, simd: Simd, longest: u64, once: bool) -> Option<usize> {
        let rows = u64::from(u32::MAX) / self.largest(longest, once)?.max(1);
        let has_kernel = simd.level() != Level::Scalar && self.size <= MOST_FACTORS;
        // Counts are multiplied as signed numbers of 16 bits, so they must be below 2^15. They are: in windows of
        // 2^15 rows or more, products of two or more counts are so large that fewer than the fewest rows may be
        // added. Counts once are 1.
        let is_fast = has_kernel && longest <= u16::MAX.into() && rows >= FEWEST_ROWS;
        is_fast.then(|| usize::try_from(rows).unwrap_or(usize::MAX))
    }

    /// Returns whether counts of 16 bits are faster, and fit.
    pub(crate) fn are_of_16_bits(&self, simd: Simd, longest: u64, once: bool) -> bool {
        self.rows_of_32_bits(simd, longest, once).is_some()
    }
}

/// Sums of products for each number; the buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// The sums of a few rows.
    #[cfg(target_arch = "x86_64")]
    narrow: Vec<u32>,
    pub(super) wide: Vec<u64>,
    pub(super) stride: usize,
}

impl Sums {
    /// Sets the sums of all numbers to 0.
    pub(super) fn clear(&mut self, products: &Products) {
        self.stride = products.most.next_multiple_of(LINE);
        self.wide.clear();
        self.wide.resize(products.factors.len() * self.stride, 0);
    }

    /// Returns the sum of a product over the rows of a number.
    pub(crate) fn get(&self, number: u8, place: usize) -> u64 {
        self.wide[usize::from(number) * self.stride + place]
    }

    /// Calls `add` with sums of 32 bits that are 0, `width` of them for each number, and adds what it leaves there to
    /// the sums of the products from place `first` on.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn add_narrow(&mut self, first: usize, width: usize, add: impl FnOnce(&mut [u32])) {
        let len = self.wide.len() / self.stride.max(1) * width;
        if self.narrow.len() < len + LINE {
            self.narrow.resize(len + LINE, 0);
        }
        let start = self.narrow.as_ptr().align_offset(LINE * size_of::<u32>()).min(LINE);
        let narrow = &mut self.narrow[start..start + len];
        narrow.fill(0);
        add(narrow);
        let of_numbers = self.wide.chunks_exact_mut(self.stride).zip(narrow.chunks_exact(width));
        for (wide, narrow) in of_numbers {
            for (wide, &narrow) in wide[first..].iter_mut().zip(narrow) {
                *wide += u64::from(narrow);
            }
        }
    }
}

/// The product of up to four numbers, for queries of one group that has all channels. The number of the row itself is
/// no factor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneProduct {
    /// A bit in the lane of each number whose rows are counted.
    pub counted: u64,
    /// A bit in each lane without a number.
    pub unused: u64,
    /// Whether several tags of a channel in a window count as one.
    pub once: bool,
}

/// Numbers whose counts fit in one word.
pub(crate) const WORD_LANES: usize = 4;
/// The bits of a count in a word.
pub(super) const LANE_BITS: usize = 16;
/// The largest number of rows in windows that words can count.
pub(crate) const WORD_ROWS: usize = u16::MAX as usize;
/// Rows whose products are added at once; each fits in 48 bits.
pub(super) const WORDS: usize = 1 << 15;

impl OneProduct {
    /// Creates the product of the numbers below `numbers`.
    pub(crate) fn new(numbers: usize, is_counted: impl Fn(u8) -> bool, once: bool) -> Self {
        let bit = |lane: u8| 1_u64 << (usize::from(lane) * LANE_BITS);
        let lanes = || (0_u8..).zip(0..WORD_LANES);
        let counted = lanes().filter(|&(number, at)| at < numbers && is_counted(number));
        let unused = lanes().filter(|&(_, at)| at >= numbers);
        Self {
            counted: counted.map(|(number, _)| bit(number)).sum(),
            unused: unused.map(|(number, _)| bit(number)).sum(),
            once,
        }
    }
}

/// Turns a row of the list into an index; every list that has counts is in memory.
#[expect(clippy::cast_possible_truncation, reason = "it was made from a usize")]
pub(crate) fn index(row: u64) -> usize {
    row as usize
}
