//! Damage that scans find in the rows of a source: times out of order, and gaps with a wrong checksum.
//!
//! A scan checks the rows that it reads and goes on; [`Recording::check_pass`](super::Recording) then rejects its
//! counts.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use tagq_store::format::BLOCK_ROWS;

use super::{recording::Source, time_range::TimeRange};
use crate::{
    error::Error,
    kernels::{first_fall, simd::Simd},
};

/// Rows on each side of the end of a range whose order is checked: more than a page of times, which can be lost.
const AROUND_END: usize = 520;

/// The first damaged rows that scans found in a source; all bits are set if there are none.
#[derive(Debug)]
pub(super) struct Damage {
    unordered: AtomicUsize,
    gaps: AtomicUsize,
}

impl Damage {
    /// Creates the record of a source in which no scan has found damage.
    pub(super) fn none() -> Self {
        Self { unordered: AtomicUsize::new(usize::MAX), gaps: AtomicUsize::new(usize::MAX) }
    }
}

impl Source<'_> {
    /// Returns whether these rows are in order of time and in the span of the source. If not, they must not
    /// be counted, because times with their delays, and differences, may not fit in 64 bits; the row is
    /// recorded for [`Source::check_damage`].
    pub(crate) fn is_in_order(&self, simd: Simd, rows: Range<usize>) -> bool {
        let time = &self.tags.time[rows.clone()];
        let Some(((first, last), (&begin, &end))) = self.span().zip(time.first().zip(time.last()))
        else {
            return true;
        };
        let found = match first_fall(simd, time) {
            // If the next row is also before the preceding one, the preceding row is the damaged one.
            Some(row) if time.get(row + 1).is_some_and(|&next| next < time[row - 1]) => row - 1,
            Some(row) => row,
            None if begin < first => 0,
            None if end > last => time.partition_point(|&time| time <= last),
            None => return true,
        };
        self.damage.unordered.fetch_min(rows.start + found, Relaxed);
        false
    }

    /// Returns whether these recorded times, if they are in order, lie in the span of the source.
    pub(crate) fn spans(&self, time: &[i64]) -> bool {
        let ends = self.span().zip(time.first().zip(time.last()));
        ends.is_none_or(|((first, last), (&begin, &end))| {
            first <= begin && begin <= end && end <= last
        })
    }

    /// Checks the order of the rows near the ends of a range of delayed time, for each of the delays. A damaged time
    /// that misleads a search is next to the row that the search finds.
    pub(crate) fn check_around(&self, range: TimeRange, delays: &[i64]) {
        if range.is_open() || self.tags.is_empty() {
            return;
        }
        let time = self.tags.time;
        for &delay in delays {
            for end in range.from.into_iter().chain(range.to) {
                let is_before = |&time: &i64| i128::from(time) + i128::from(delay) < end.into();
                self.check_near(time.partition_point(is_before));
            }
        }
    }

    /// Checks the order of the rows near the row that a search for a time found.
    pub(crate) fn check_near(&self, row: usize) {
        let rows = row.saturating_sub(AROUND_END)..(row + AROUND_END).min(self.tags.len());
        self.is_in_order(Simd::best(), rows);
    }

    /// Returns whether the blocks of gaps that hold these rows, and the rows that they can be compared with, have the
    /// right checksums. If not, the row is recorded for [`Source::check_damage`].
    pub(crate) fn has_right_gaps(&self, rows: Range<usize>, look_back: usize) -> bool {
        let Some((store, first)) = self.gap_rows() else { return true };
        let mut row = rows.start.saturating_sub(look_back);
        while row < rows.end {
            if !store.has_right_gaps(first + row) {
                self.damage.gaps.fetch_min(row, Relaxed);
                return false;
            }
            let of_run = store.opened().start + first + row;
            row += BLOCK_ROWS - of_run % BLOCK_ROWS;
        }
        true
    }

    /// Rejects a source whose first and last row already show that rows are out of order. Reads other rows
    /// only if they do.
    pub(crate) fn check_ends(&self) -> Result<(), Error> {
        if !self.spans(self.tags.time) {
            self.is_in_order(Simd::best(), 0..self.tags.len());
        }
        self.check_damage()
    }

    /// Rejects the counts of scans that found damaged rows.
    pub(super) fn check_damage(&self) -> Result<(), Error> {
        let of_run = |row: usize| {
            let row = self.first_row() + row as u64;
            (row, row / BLOCK_ROWS as u64)
        };
        let Damage { unordered, gaps } = &*self.damage;
        match (unordered.load(Relaxed), gaps.load(Relaxed)) {
            (usize::MAX, usize::MAX) => Ok(()),
            (usize::MAX, row) => Err(Error::Gaps { block: of_run(row).1 }),
            (row, _) => {
                let (row, block) = of_run(row);
                Err(Error::Unordered { row, block })
            }
        }
    }
}
