//! Predicts the rows that a query reads, with the same code that reads them.
//!
//! A plan cuts the run into the same morsels as the scan, and asks the stages of the scan which rows each of
//! them reads. Decisions that a kernel makes when it sees the tags are not known beforehand: such a scan is
//! marked as reading at least this much. Planning reads only the index and a few rows.

use std::ops::Range;

use tagq_store::Channels;

use crate::{
    kernels::simd::Simd,
    run::{
        recording::{Acquisition, Recording},
        scope::Scope,
    },
    scan::{morsels::Execution, singles::rows_read},
};

/// The rows that a query would read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The level of vector instructions.
    pub level: Simd,
    /// The threads that share the morsels.
    pub threads: usize,
    /// Bytes of a label in the channel column.
    pub label_bytes: u64,
    /// The passes over the columns, in this order.
    pub scans: Vec<PlannedScan>,
}

/// Scans of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedScan {
    /// How the scans count, and from which data.
    pub method: &'static str,
    /// The number of scans: one for each bin, shift or part of the groups.
    pub scans: usize,
    /// The number of groups or channels that these scans count.
    pub counted: usize,
    /// The number of tasks.
    pub morsels: usize,
    /// Rows read, numbered over all sources, in any order.
    taken: Vec<Range<u64>>,
    /// The number of rows read; rows that are looked back at, or read by several lists, count each time.
    pub rows_taken: u64,
    /// Whether times are read; if not, only labels are.
    pub has_times: bool,
    /// Whether rows may have to be read again, or additional rows.
    pub is_at_least: bool,
}

impl Plan {
    pub(crate) fn new(recording: &Recording<'_>, execution: &Execution) -> Self {
        let is_wide = |source: &Acquisition<'_>| matches!(source.tags.channels, Channels::U16(_));
        Self {
            level: execution.simd,
            threads: rayon::current_num_threads(),
            label_bytes: if recording.sources.iter().any(is_wide) { 2 } else { 1 },
            scans: Vec::new(),
        }
    }

    /// Adds a scan to those of its kind.
    pub(crate) fn push(&mut self, scan: PlannedScan) {
        let is_same = |known: &&mut PlannedScan| {
            (known.method, known.has_times) == (scan.method, scan.has_times)
        };
        match self.scans.iter_mut().find(is_same) {
            Some(known) => known.add(scan),
            None => self.scans.push(scan),
        }
    }

    pub(crate) fn push_all(&mut self, scans: Vec<PlannedScan>) {
        for scan in scans {
            self.push(scan);
        }
    }

    /// Adds the plan of another query that belongs to the same question.
    pub fn add(&mut self, other: Self) {
        self.push_all(other.scans);
    }

    /// Marks that rows beyond those of the scans are read, which only the counting finds.
    #[must_use]
    pub fn with_more(mut self) -> Self {
        for scan in &mut self.scans {
            scan.is_at_least = true;
        }
        self
    }

    /// Returns the rows of all scans, each once, ascending.
    pub fn rows(&self) -> Vec<Range<u64>> {
        merged(self.scans.iter().flat_map(|scan| scan.taken.iter().cloned()).collect())
    }

    /// Returns the number of rows read by all scans together.
    pub fn rows_taken(&self) -> u64 {
        self.scans.iter().map(|scan| scan.rows_taken).sum()
    }

    /// Returns the bytes of the columns that are read, each once.
    pub fn bytes(&self) -> u64 {
        let with_times = self.scans.iter().filter(|scan| scan.has_times);
        let timed = merged(with_times.flat_map(|scan| scan.taken.iter().cloned()).collect());
        len(&timed) * TIME_BYTES + len(&self.rows()) * self.label_bytes
    }

    /// Returns the bytes of the columns that a scan reads, each once.
    pub fn bytes_of(&self, scan: &PlannedScan) -> u64 {
        let times = if scan.has_times { TIME_BYTES } else { 0 };
        len(&scan.rows()) * (times + self.label_bytes)
    }

    /// Returns whether one of the scans may read more.
    pub fn is_at_least(&self) -> bool {
        self.scans.iter().any(|scan| scan.is_at_least)
    }
}

const TIME_BYTES: u64 = 8;

impl PlannedScan {
    pub(crate) fn new(method: &'static str, counted: usize) -> Self {
        Self {
            method,
            scans: 1,
            counted,
            morsels: 0,
            taken: Vec::new(),
            rows_taken: 0,
            has_times: true,
            is_at_least: false,
        }
    }

    /// Adds rows of the source whose first row is row `first` of the recording.
    pub(crate) fn take(&mut self, first: u64, rows: Range<usize>) {
        if !rows.is_empty() {
            self.rows_taken += rows.len() as u64;
            self.taken.push(first + rows.start as u64..first + rows.end as u64);
        }
    }

    pub(crate) fn take_all(&mut self, first: u64, rows: impl IntoIterator<Item = Range<usize>>) {
        for rows in rows {
            self.take(first, rows);
        }
    }

    /// Adds the rows that counting the tags of `channels` in the scope reads, one channel after the other.
    pub(crate) fn plan_singles(
        &mut self,
        recording: &Recording<'_>,
        channels: &[u16],
        scope: &Scope,
    ) {
        self.has_times = false;
        self.counted = channels.len();
        for (first, source) in numbered(recording) {
            for &channel in channels {
                let delay = scope.delay_of(channel);
                rows_read(source, delay, scope.range, |rows| self.take(first, rows));
            }
        }
    }

    /// Returns the rows, numbered over all sources, each once, ascending.
    pub fn rows(&self) -> Vec<Range<u64>> {
        merged(self.taken.clone())
    }

    fn add(&mut self, more: Self) {
        self.scans += more.scans;
        self.counted = self.counted.max(more.counted);
        self.morsels += more.morsels;
        self.taken.extend(more.taken);
        self.rows_taken += more.rows_taken;
        self.is_at_least |= more.is_at_least;
    }
}

/// Returns the sources, each with the row of the recording that is its first.
pub(crate) fn numbered<'r>(
    recording: &'r Recording<'r>,
) -> impl Iterator<Item = (u64, &'r Acquisition<'r>)> {
    recording.sources.iter().scan(0, |rows, source| {
        let first = *rows;
        *rows += source.tags.len() as u64;
        Some((first, source))
    })
}

/// Merges ranges so that they are in order and do not touch.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn len(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

#[cfg(test)]
mod tests;
