//! Differences or numbers of bins, written one after the other.
//!
//! Each write is a whole vector, and only its first values are results: if 3 of 16 are, the next write begins after
//! these 3.
//! A step that is given up takes its differences back, so that another way can count the same rows.

use crate::kernels::rows::{MASK_ROWS, REACH};

/// Differences that are collected before they are passed on: few, which leaves room for bins in a core's nearest cache.
const LEN: usize = 1024;
/// The largest number of differences of a step: both ways with each row before it that is looked at.
const PER_STEP: usize = 2 * MASK_ROWS * REACH;
/// One write may overwrite up to this many values after the collected differences.
const SLACK: usize = MASK_ROWS;

/// Collects differences.
pub(crate) struct Gathered<D> {
    values: Box<[D]>,
    len: usize,
    /// The differences of whole steps.
    whole: usize,
}

impl<D: Copy + Default> Gathered<D> {
    pub(crate) fn new() -> Self {
        Self { values: vec![D::default(); LEN + PER_STEP + SLACK].into(), len: 0, whole: 0 }
    }

    /// Begins a step, for which there is room.
    #[inline]
    pub(super) fn begin(&mut self, take: &mut impl FnMut(&mut [D])) {
        self.whole = self.len;
        if self.len >= LEN {
            self.empty(take);
        }
    }

    /// Drops the differences of a step that was given up.
    pub(super) fn give_up(&mut self) {
        self.len = self.whole;
    }

    /// Returns the next `N` places; all of them are written, and [`Gathered::keep`] says how many count.
    #[inline]
    pub(super) fn places<const N: usize>(&mut self) -> &mut [D; N] {
        let places = self.values[self.len..].first_chunk_mut();
        places.unwrap_or_else(|| unreachable!("a step has few differences"))
    }

    #[inline]
    pub(super) fn keep(&mut self, count: usize) {
        self.len += count;
    }

    #[inline]
    pub(super) fn push(&mut self, difference: D) {
        self.values[self.len] = difference;
        self.len += 1;
    }

    /// Passes differences of another buffer to `take`, each converted. This buffer is empty and stays so.
    pub(super) fn convert<E: Copy>(
        &mut self,
        differences: &[E],
        convert: impl Fn(E) -> D,
        take: &mut impl FnMut(&mut [D]),
    ) {
        let converted = &mut self.values[..differences.len()];
        for (converted, &difference) in converted.iter_mut().zip(differences) {
            *converted = convert(difference);
        }
        take(converted);
    }

    /// Passes all differences to `take`.
    pub(super) fn empty(&mut self, take: &mut impl FnMut(&mut [D])) {
        take(&mut self.values[..self.len]);
        self.len = 0;
        self.whole = 0;
    }
}
