//! Pairs of many channels, counted in matrices.

use crate::{
    kernels::{
        matrix::Matrix,
        neighbours::{self, ComparedRows, DelayedWindow},
        simd::Simd,
    },
    rules::ways::{
        part::GroupScan,
        sliding::{self, Sliding},
    },
    scan::{
        morsels::rows_within_window,
        route::{CompareIn, Work},
        selection::Ready,
    },
};

/// The matrix and the buffers of one thread.
pub(super) struct PairTally {
    matrix: Matrix,
    sliding: Sliding,
}

impl PairTally {
    pub(super) fn new(side: usize) -> Self {
        Self { matrix: Matrix::new(side), sliding: Sliding::default() }
    }

    /// Adds the pairs of every group that the morsel owns.
    pub(super) fn add(
        &mut self,
        part: &GroupScan,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        counts: &mut [u128],
    ) {
        let crowded = Work::Pairs.crowded(CompareIn::List, simd, false);
        let is_crowded = rows_within_window(ready.time.into(), window) >= crowded;
        // The delays are in the times.
        let all = DelayedWindow { ticks: window, reach: window, delays: None };
        self.clear();
        if is_crowded || self.take(simd, &all, &ready.rows()).is_none() {
            self.clear();
            sliding::matrix(&mut self.sliding, ready, window, &mut self.matrix);
        }
        self.add_to(part, counts);
    }

    /// Forgets the pairs that were taken.
    pub(super) fn clear(&mut self) {
        self.matrix.clear();
    }

    /// Takes pairs by comparing neighbours. Returns `None` if there are too many of them or times decrease; then some may have
    /// been taken.
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
