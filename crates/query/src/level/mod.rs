//! The kernels that compare each tag with its next neighbours, level by level.
//!
//! All of them take tags in order of time (`time`, `id` of equal length) and give up, with nothing,
//! when a tag has more than [`REACH`] others within the window: sliding counts are faster there.
//! Differences of times of one call fit in `i64`: the caller checked the span.

#![expect(unsafe_code, reason = "the token of a level is the proof that its code may be called")]

#[cfg(target_arch = "x86_64")]
mod kernels;

mod scalar;

pub(crate) mod labels;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::simd::{Level, Simd};

/// How many neighbours a tag is compared with at most.
pub(crate) const REACH: usize = 16;
/// Rows that one step of a kernel handles: the bits of a mask.
const ROWS: usize = 64;

/// Pairs of one tag with `id` a and one with `id` b, a ≠ b, at most `window` ticks apart.
pub(crate) fn pairs(
    simd: Simd,
    time: &[i64],
    id: &[u8],
    [a, b]: [u8; 2],
    window: i64,
) -> Option<u64> {
    assert_eq!(time.len(), id.len());
    match simd.level() {
        Level::Scalar => scalar::pairs(time, id, [a, b], window),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 => unsafe { avx2::pairs(time, id, [a, b], window) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { avx512::pairs(time, id, [a, b], window) },
    }
}

/// Adds to `matrix[x * side + y]` the pairs of tags with dense numbers x and y, in the order of
/// rows, at most `window` ticks apart. `dense` maps an `id` to its number below `side`.
pub(crate) fn matrix(
    simd: Simd,
    time: &[i64],
    id: &[u8],
    window: i64,
    dense: &[u8; 256],
    matrix: &mut Matrix,
) -> Option<()> {
    assert_eq!(time.len(), id.len());
    match simd.level() {
        Level::Scalar => scalar::matrix(time, id, window, dense, matrix),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a token of this level is made only where its features were detected.
        Level::Avx2 => unsafe { avx2::matrix(time, id, window, dense, matrix) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { avx512::matrix(time, id, window, dense, matrix) },
    }
}

/// Counts of ordered pairs of dense numbers.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    side: usize,
    counts: Vec<u64>,
}

impl Matrix {
    /// Zeros, for numbers below `side`.
    pub(crate) fn new(side: usize) -> Self {
        Self { side, counts: vec![0; side * side] }
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
    }

    #[inline]
    pub(crate) fn add(&mut self, x: u8, y: u8, count: u64) {
        self.counts[usize::from(x) * self.side + usize::from(y)] += count;
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, y: u8) -> &mut [u64] {
        &mut self.counts[usize::from(y) * self.side..][..self.side]
    }

    /// Pairs of x and y in either order, x ≠ y.
    pub(crate) fn either(&self, x: u8, y: u8) -> u64 {
        let at = |x: u8, y: u8| self.counts[usize::from(x) * self.side + usize::from(y)];
        at(x, y) + at(y, x)
    }
}

/// The pairs of the rows from `start` on, one by one: what is left behind the last whole step.
fn pairs_from(
    start: usize,
    time: &[i64],
    id: &[u8],
    window: i64,
    mut pair: impl FnMut(u8, u8),
) -> Option<()> {
    for i in start..time.len() {
        for j in i + 1..time.len() {
            if time[j] - time[i] > window {
                break;
            }
            if j - i > REACH {
                return None;
            }
            pair(id[i], id[j]);
        }
    }
    Some(())
}
