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
        if is_crowded || self.add_near(part, simd, &all, &ready.rows(), counts).is_none() {
            self.matrix.clear();
            sliding::matrix(&mut self.sliding, ready, window, &mut self.matrix);
            self.add_to(part, counts);
        }
    }

    /// Works like [`PairTally::add`], by comparing neighbours. Returns `None`, and adds nothing, if there are too many of them
    /// or times decrease.
    pub(super) fn add_near(
        &mut self,
        part: &GroupScan,
        simd: Simd,
        window: &DelayedWindow,
        rows: &ComparedRows<'_>,
        counts: &mut [u128],
    ) -> Option<()> {
        self.matrix.clear();
        neighbours::matrix(simd, rows, window, &mut self.matrix)?;
        self.add_to(part, counts);
        Some(())
    }

    fn add_to(&self, part: &GroupScan, counts: &mut [u128]) {
        for (count, group) in counts.iter_mut().zip(&part.numbered) {
            *count += u128::from(self.matrix.either(group[0], group[1]));
        }
    }
}
