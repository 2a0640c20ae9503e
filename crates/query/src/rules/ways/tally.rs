//! Pairs of many channels, counted in a matrix.
//!
//! A row of channel 1 at 0 and one of channel 2 at 3, window 5, add 1 to the cell (2, 1), the later row first. The
//! count of a group is the sum of both cells of its channels, so all pairs of channels are counted in one pass.

use crate::{
    kernels::{
        matrix::Matrix,
        neighbours::{self, ComparedRows, DelayedWindow},
        pair_bins::InBins,
        simd::Simd,
    },
    rules::ways::{
        crowded::{Crowded, Job},
        part::GroupScan,
    },
};

/// The counts of pairs of one thread: by their channels, or by their differences, too.
pub(super) struct PairTally {
    matrix: Matrix,
    bins: Vec<u64>,
}

impl PairTally {
    pub(super) fn new(side: usize, bins: usize) -> Self {
        Self { matrix: Matrix::new(side), bins: vec![0; bins] }
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
        self.take(part, simd, &all, rows)?;
        self.add_to(part, counts);
        Some(())
    }

    /// Adds the pairs of more channels than are counted side by side, or by their differences.
    pub(super) fn add_crowded(
        &mut self,
        part: &GroupScan,
        crowded: &mut Crowded,
        job: &Job<'_>,
        counts: &mut [u128],
    ) {
        self.clear();
        match &part.bins {
            Some(bins) => {
                let tags = (job.tags.time, job.tags.number);
                bins.add_crowded(job.simd, tags, job.head, &mut self.bins);
            }
            None => crowded.add_pairs(job, &mut self.matrix),
        }
        self.add_to(part, counts);
    }

    /// Forgets the pairs that were taken.
    pub(super) fn clear(&mut self) {
        self.matrix.clear();
        self.bins.fill(0);
    }

    /// Takes pairs by comparing neighbours. Returns `None` if there are too many of them or times decrease; then some
    /// may have been taken.
    pub(super) fn take(
        &mut self,
        part: &GroupScan,
        simd: Simd,
        window: &DelayedWindow,
        rows: &ComparedRows<'_>,
    ) -> Option<()> {
        match &part.bins {
            Some(bins) => {
                let mut take = InBins { bins, counts: &mut self.bins };
                neighbours::near_pairs(simd, rows, window.reach, &mut take)
            }
            None => neighbours::matrix(simd, rows, window, &mut self.matrix),
        }
    }

    /// Adds the pairs that were taken to the counts of the groups, or of their bins.
    pub(super) fn add_to(&self, part: &GroupScan, counts: &mut [u128]) {
        if let Some(bins) = &part.bins {
            for (count, more) in counts.iter_mut().zip(bins.of_bins(&self.bins)) {
                *count += u128::from(more);
            }
            return;
        }
        for (count, group) in counts.iter_mut().zip(&part.numbered) {
            *count += u128::from(self.matrix.either(group[0], group[1]));
        }
    }
}
