//! Pairs of many channels, counted in a matrix.
//!
//! A row of channel 1 at 0 and one of channel 2 at 3, window 5, add 1 to the cell (2, 1), the later row first. The
//! count of a group is the sum of both cells of its channels, so all pairs of channels are counted in one pass.

use crate::{
    kernels::{
        matrix::Matrix,
        neighbours::{self, ComparedRows, DelayedWindow},
        simd::Simd,
    },
    rules::ways::{
        crowded::{Crowded, Job},
        part::GroupScan,
    },
};

/// The matrix of one thread.
pub(super) struct PairTally {
    matrix: Matrix,
}

impl PairTally {
    pub(super) fn new(side: usize) -> Self {
        Self { matrix: Matrix::new(side) }
    }

    /// Adds the pairs of every group whose later row is one of these, by comparing neighbours; the delays are in the
    /// times. Returns `None`, and adds nothing, if there are too many or times decrease.
    pub(super) fn add(
        &mut self,
        part: &GroupScan,
        simd: Simd,
        window: i64,
        rows: &ComparedRows<'_>,
        counts: &mut [u128],
    ) -> Option<()> {
        let all = DelayedWindow { ticks: window, reach: window, delays: None };
        self.clear();
        self.take(simd, &all, rows)?;
        self.add_to(part, counts);
        Some(())
    }

    /// Adds the pairs of more channels than are counted side by side.
    pub(super) fn add_crowded(
        &mut self,
        part: &GroupScan,
        crowded: &mut Crowded,
        job: &Job<'_>,
        counts: &mut [u128],
    ) {
        self.clear();
        crowded.add_pairs(job, &mut self.matrix);
        self.add_to(part, counts);
    }

    /// Forgets the pairs that were taken.
    pub(super) fn clear(&mut self) {
        self.matrix.clear();
    }

    /// Takes pairs by comparing neighbours. Returns `None` if there are too many of them or times decrease; then some
    /// may have been taken.
    pub(super) fn take(
        &mut self,
        simd: Simd,
        window: &DelayedWindow,
        rows: &ComparedRows<'_>,
    ) -> Option<()> {
        neighbours::matrix(simd, rows, window, &mut self.matrix)
    }

    /// Adds the pairs that were taken to the counts of the groups.
    pub(super) fn add_to(&self, part: &GroupScan, counts: &mut [u128]) {
        for (count, group) in counts.iter_mut().zip(&part.numbered) {
            *count += u128::from(self.matrix.either(group[0], group[1]));
        }
    }
}
