//! Counts from the rows of a recording.
//!
//! Given that 40 tags are before 1,000, the number before 1,005 is 40 plus the tags between, so few rows are read.

use super::counter::{CountQuestion, Counter, Rank};
use crate::{
    error::Error,
    partial::Partial,
    run::{
        Pass,
        counts::Counts,
        facts::Facts,
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        singles::{add_rows, prefetch, rows_in},
    },
};

/// Up to this many rows between two ranks, the order of all of them is checked; above, only that of the rows around
/// the rank.
const FAR_ROWS: usize = 1_040;

/// Counts the rows of a recording.
#[derive(Debug, Clone)]
pub struct Scan<'a> {
    recording: &'a Recording<'a>,
    /// The same recording without progress, for pieces of a larger pass.
    silent: Recording<'a>,
    execution: Execution,
}

impl<'a> Scan<'a> {
    /// Creates the counter of a recording.
    pub fn new(recording: &'a Recording<'a>, execution: &Execution) -> Self {
        Self { recording, silent: recording.in_silence(), execution: *execution }
    }

    /// Counts in an interval, whatever the range that is asked; continues from `before`, which ends where it begins.
    ///
    /// # Errors
    /// See [`crate::Kind::partial`].
    pub fn partial(
        &self,
        asked: &CountQuestion<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
    ) -> Result<Partial, Error> {
        self.with(asked, |recording| {
            asked.what.partial(recording, interval, before, &self.execution)
        })
    }

    /// Passes on the recording that a question is about.
    fn with<T>(&self, asked: &CountQuestion<'_>, count: impl FnOnce(&Recording<'_>) -> T) -> T {
        let recording = if asked.is_silent { &self.silent } else { self.recording };
        match asked.source {
            Some(source) => count(&recording.of_source(source as usize)),
            None => count(recording),
        }
    }

    fn source(&self, number: u32) -> &Source<'a> {
        &self.recording.sources[number as usize]
    }
}

impl Counter for Scan<'_> {
    fn facts(&self) -> Facts {
        self.recording.facts()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error> {
        self.with(asked, |recording| {
            Ok(asked.what.counted(recording, asked.range, None, &self.execution)?.0)
        })
    }

    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, counts: &mut [u64]) {
        let source = self.source(source);
        add_rows(source, channels, rows_in(source, 0, range), self.execution.simd, counts);
    }

    /// Reads only the rows between both times.
    fn rank(&self, source: u32, channel: u16, time: i64, near: Rank) -> Rank {
        let source = self.source(source);
        let row = source.tags.time.seek(near.row, |other| other < time);
        let mut count = [0];
        let rows = near.row.min(row)..near.row.max(row);
        // Damaged times can mislead the search.
        if rows.len() > FAR_ROWS {
            source.check_near(row);
        } else if !rows.is_empty() {
            let around = rows.start.saturating_sub(1)..source.tags.len().min(rows.end + 1);
            source.is_in_order(self.execution.simd, around);
        }
        add_rows(source, &[channel], rows, self.execution.simd, &mut count);
        let count = if row < near.row {
            near.count.wrapping_sub(count[0])
        } else {
            near.count.wrapping_add(count[0])
        };
        Rank { row, count }
    }

    fn expect_ends(&self, source: u32, times: &mut dyn Iterator<Item = i128>) {
        prefetch(self.source(source), times);
    }

    fn pass(&self, range: TimeRange, is_silent: bool) -> Pass<'_> {
        if is_silent { self.silent.pass(range) } else { self.recording.pass(range) }
    }

    fn recording(&self) -> Option<&Recording<'_>> {
        Some(self.recording)
    }

    fn check(&self) -> Result<(), Error> {
        self.recording.check_pass()
    }
}
