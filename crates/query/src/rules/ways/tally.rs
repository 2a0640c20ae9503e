//! Pairs of many channels, counted in matrices.

use crate::{
    kernels::{self, gaps, matrix::Matrix, simd::Simd},
    rules::ways::{
        input::CROWDED,
        part::Part,
        sliding::{self, Sliding},
    },
    scan::{
        morsels::rows_within_window,
        selection::{Ready, StoredRows},
    },
};

/// The matrices of one thread: one for all rows of a morsel, and one for the rows before it.
pub(super) struct Tally {
    all: Matrix,
    before: Matrix,
    sliding: Sliding,
}

impl Tally {
    pub(super) fn new(side: usize) -> Self {
        Self { all: Matrix::new(side), before: Matrix::new(side), sliding: Sliding::default() }
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
        let is_crowded = rows_within_window(ready.time, window) >= CROWDED;
        if is_crowded || self.add_near(part, simd, window, ready, counts).is_none() {
            self.all.clear();
            self.before.clear();
            sliding::matrix(&mut self.sliding, ready, window, &mut self.all);
            self.add_to(part, counts);
        }
    }

    /// Works like [`Tally::add`], by comparing neighbours. Returns `None` if there are too many of them.
    pub(super) fn add_near(
        &mut self,
        part: &Part,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        counts: &mut [u128],
    ) -> Option<()> {
        let near = |rows, matrix: &mut Matrix| {
            matrix.clear();
            let (time, id) = (&ready.time[..rows], &ready.id[..rows]);
            kernels::matrix(simd, time, id, window, ready.number_of, matrix)
        };
        near(ready.time.len(), &mut self.all)?;
        near(ready.head, &mut self.before)?;
        self.add_to(part, counts);
        Some(())
    }

    /// Works like [`Tally::add_near`], by gaps.
    pub(super) fn add_by_gaps(
        &mut self,
        part: &Part,
        simd: Simd,
        window: u16,
        tags: &StoredRows<'_>,
        counts: &mut [u128],
    ) -> Option<()> {
        let &StoredRows { gaps, labels, number_of, .. } = tags;
        self.all.clear();
        self.before.clear();
        let rows = tags.rows.clone();
        gaps::matrix(simd, gaps, labels, rows, window, number_of, &mut self.all)?;
        self.add_to(part, counts);
        Some(())
    }

    fn add_to(&self, part: &Part, counts: &mut [u128]) {
        for (count, group) in counts.iter_mut().zip(&part.numbered) {
            let (a, b) = (group[0], group[1]);
            *count += u128::from(self.all.either(a, b).wrapping_sub(self.before.either(a, b)));
        }
    }
}
