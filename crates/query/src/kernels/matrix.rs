//! Counts of pairs of numbers.
//!
//! A later row of number 2 after a row of number 1 adds to the cell (2, 1); the count of the pair of numbers is the
//! sum of both cells.

/// Receives pairs of rows.
pub(crate) trait TakePairs {
    /// Takes the pair of a later and an earlier row, given their numbers; `apart` computes their distance.
    fn take(&mut self, numbers: [u8; 2], apart: impl FnOnce() -> i64);
}

/// Counts of ordered pairs of dense numbers.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    /// The distance from one row to the next: whole vectors, so that adding to a row needs no remainder loop.
    stride: usize,
    counts: Vec<u64>,
}

/// Rows are padded to a multiple of this many counts.
const VECTORS: usize = 16;

impl Matrix {
    /// Creates a matrix of zeros, for numbers below `side`.
    pub(crate) fn new(side: usize) -> Self {
        let stride = side.next_multiple_of(VECTORS);
        Self { stride, counts: vec![0; side * stride] }
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
    }

    #[inline]
    pub(crate) fn add(&mut self, x: u8, y: u8, count: u64) {
        self.counts[usize::from(x) * self.stride + usize::from(y)] += count;
    }

    /// Returns the counts of y with each number, the first `len` of them; counts past the last number are
    /// never read.
    #[inline]
    pub(crate) fn row_mut(&mut self, y: u8, len: usize) -> &mut [u64] {
        &mut self.counts[usize::from(y) * self.stride..][..len]
    }

    pub(crate) fn get(&self, x: u8, y: u8) -> u64 {
        self.counts[usize::from(x) * self.stride + usize::from(y)]
    }

    /// Returns the pairs of x and y in either order, x ≠ y.
    pub(crate) fn either(&self, x: u8, y: u8) -> u64 {
        self.get(x, y) + self.get(y, x)
    }
}

impl TakePairs for Matrix {
    #[inline]
    fn take(&mut self, [later, earlier]: [u8; 2], _: impl FnOnce() -> i64) {
        self.add(later, earlier, 1);
    }
}
