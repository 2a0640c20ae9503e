//! The checks of the rows that a scan reads: their order, and the checksums of their blocks.
//!
//! A scan continues after damage; [`Recording::check_pass`] then rejects its counts.
//!
//! Times 5, 90, 7 and 12: the row at 7 is before the one at 90, and so is the row after it, so the row at 90 is
//! recorded as damaged.

use std::ops::Range;

use tagq_store::Times;

use super::{
    recording::{Recording, Source},
    scope::Delay,
    time_range::TimeRange,
};
use crate::{
    error::Error,
    kernels::{first_fall, simd::Simd},
};

/// Rows on each side of the end of a range whose order is checked: more than a page of times, which can be lost.
const AROUND_END: usize = 520;

impl Recording<'_> {
    /// Checks the order of the rows around the ends of a range of delayed time, for each of these delays.
    pub(crate) fn check_around(&self, range: TimeRange, delays: &[Delay]) {
        let mut delays: Vec<i64> = delays.iter().map(|delay| delay.ticks).collect();
        delays.push(0);
        delays.sort_unstable();
        delays.dedup();
        self.sources.iter().for_each(|source| source.check_around(range, &delays));
    }

    /// Rejects sources whose first and last row already show that rows are out of order.
    pub(crate) fn check_ends(&self) -> Result<(), Error> {
        self.sources.iter().try_for_each(Source::check_ends)
    }

    /// Rejects the counts if a scan found damaged rows.
    pub(crate) fn check_damage(&self) -> Result<(), Error> {
        self.sources.iter().try_for_each(Source::check_damage)
    }

    /// Rejects counts that may be incomplete, because threads were told to stop or skipped damaged rows.
    pub(crate) fn check_pass(&self) -> Result<(), Error> {
        match self.progress {
            Some(progress) if progress.is_cancelled() => Err(Error::Cancelled),
            _ => self.check_damage(),
        }
    }
}

impl Source<'_> {
    /// Returns whether these rows are in order of time and in the span of the source. If not, they must not
    /// be counted, because times with their delays, and differences, may not fit in 64 bits; the row is
    /// recorded for [`Source::check_damage`].
    pub(crate) fn is_in_order(&self, simd: Simd, rows: Range<usize>) -> bool {
        let times = self.tags.time.rows(rows.clone());
        let Some((first, last)) = self.span() else { return true };
        let mut buffer = Vec::new();
        let found = times.pieces().find_map(|piece| {
            // With the row before, and the one after.
            let own = piece.start.saturating_sub(1)..times.len().min(piece.end + 1);
            let (start, time) = (own.start, times.read(own, &mut buffer));
            let found = match first_fall(simd, time) {
                // If the next row is also before the preceding one, the preceding row is the damaged one.
                Some(row) if time.get(row + 1).is_some_and(|&next| next < time[row - 1]) => row - 1,
                Some(row) => row,
                None if time.first().is_some_and(|&begin| begin < first) => 0,
                None if time.last().is_some_and(|&end| end > last) => {
                    time.partition_point(|&time| time <= last)
                }
                None => return None,
            };
            Some(start + found)
        });
        if let Some(found) = found {
            self.damage.add_unordered(rows.start + found);
        }
        found.is_none()
    }

    /// Returns whether these recorded times, if they are in order, lie in the span of the source.
    pub(crate) fn spans(&self, time: Times<'_>) -> bool {
        let ends = self.span().zip(time.first().zip(time.last()));
        ends.is_none_or(|((first, last), (begin, end))| {
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
                let is_before = |time: i64| i128::from(time) + i128::from(delay) < end.into();
                self.check_near(time.partition_point(is_before));
            }
        }
    }

    /// Checks the order of the rows near the row that a search for a time found. Decoded times are in order, or their
    /// files do not have their checksums.
    pub(crate) fn check_near(&self, row: usize) {
        if self.tags.time.column().is_none() {
            return;
        }
        let rows = row.saturating_sub(AROUND_END)..(row + AROUND_END).min(self.tags.len());
        self.is_in_order(Simd::best(), rows);
    }

    /// Rejects a source whose first and last row already show that rows are out of order. Reads other rows
    /// only if they do.
    fn check_ends(&self) -> Result<(), Error> {
        // Rows that are counted are checked where they are read.
        if !self.spans(self.tags.time.unchecked()) {
            self.is_in_order(Simd::best(), 0..self.tags.len());
        }
        self.check_damage()
    }

    /// Rejects the counts of scans that found damaged rows.
    pub(super) fn check_damage(&self) -> Result<(), Error> {
        self.damage.check(self.first_row())?;
        match self.damaged_block() {
            Some(block) => Err(Error::Damaged { block }),
            None => Ok(()),
        }
    }
}
