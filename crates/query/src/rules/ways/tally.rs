//! Pairs of many channels, counted in matrices.

use crate::{
    kernels::{
        matrix::Matrix,
        neighbours::{self, Rows, Window},
        simd::Simd,
    },
    rules::ways::{
        part::Part,
        sliding::{self, Sliding},
    },
    scan::{
        morsels::rows_within_window,
        route::{Rows as Compared, Work},
        selection::Ready,
    },
};

/// The matrix and the buffers of one thread.
pub(super) struct Tally {
    matrix: Matrix,
    sliding: Sliding,
}

impl Tally {
    pub(super) fn new(side: usize) -> Self {
        Self { matrix: Matrix::new(side), sliding: Sliding::default() }
    }

    /// Adds the pairs of every group that the morsel owns.
    pub(super) fn add(
        &mut self,
        part: &Part,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        counts: &mut [u128],
    ) {
        let crowded = Work::Pairs.crowded(Compared::List, simd, false);
        let is_crowded = rows_within_window(ready.time, window) >= crowded;
        // The delays are in the times.
        let all = Window { ticks: window, reach: window, delays: None };
        if is_crowded || self.add_near(part, simd, &all, &ready.rows(), counts).is_none() {
            self.matrix.clear();
            sliding::matrix(&mut self.sliding, ready, window, &mut self.matrix);
            self.add_to(part, counts);
        }
    }

    /// Works like [`Tally::add`], by comparing neighbours. Returns `None`, and adds nothing, if there are too many of them
    /// or times decrease.
    pub(super) fn add_near(
        &mut self,
        part: &Part,
        simd: Simd,
        window: &Window,
        rows: &Rows<'_>,
        counts: &mut [u128],
    ) -> Option<()> {
        self.matrix.clear();
        neighbours::matrix(simd, rows, window, &mut self.matrix)?;
        self.add_to(part, counts);
        Some(())
    }

    fn add_to(&self, part: &Part, counts: &mut [u128]) {
        for (count, group) in counts.iter_mut().zip(&part.numbered) {
            *count += u128::from(self.matrix.either(group[0], group[1]));
        }
    }
}
