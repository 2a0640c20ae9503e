//! What a query would read, found by the code that would read it.
//!
//! A plan cuts the run into the very morsels that the scan takes, and asks the stages of the scan which
//! rows each would take. Only what a kernel decides when it sees the tags is not known beforehand: such
//! a scan says that it reads at least so much. To plan, only index and a few rows are looked at.

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

/// What a query would read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The level of vector instructions.
    pub level: Simd,
    /// The threads that share the morsels.
    pub threads: usize,
    /// Bytes of a label in the channel column.
    pub label_bytes: u64,
    /// What goes over the columns, in this order.
    pub scans: Vec<PlannedScan>,
}

/// Scans of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedScan {
    /// How it counts, and from what.
    pub method: &'static str,
    /// How many scans: one for each bin, shift or part of the groups.
    pub scans: usize,
    /// Groups that these scans count, or channels.
    pub counted: usize,
    /// Pieces of work.
    pub morsels: usize,
    /// Rows taken, counted through all sources, in any order.
    taken: Vec<Range<u64>>,
    /// How many rows are taken: what is looked back at, and what each list takes, again each time.
    pub rows_taken: u64,
    /// Whether times are read; only labels without.
    pub has_times: bool,
    /// Whether it may turn out that rows must be taken again, or some more.
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

    /// Adds scans to those of their kind.
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

    /// Takes in what another query of the same question would read.
    pub fn add(&mut self, other: Self) {
        self.push_all(other.scans);
    }

    /// Says that rows beyond those of the scans are read, which only the counting finds.
    #[must_use]
    pub fn with_more(mut self) -> Self {
        for scan in &mut self.scans {
            scan.is_at_least = true;
        }
        self
    }

    /// The rows of all scans, each once, ascending.
    pub fn rows(&self) -> Vec<Range<u64>> {
        merged(self.scans.iter().flat_map(|scan| scan.taken.iter().cloned()).collect())
    }

    /// How many rows are taken by all scans together.
    pub fn rows_taken(&self) -> u64 {
        self.scans.iter().map(|scan| scan.rows_taken).sum()
    }

    /// The bytes of the columns that are read, each once.
    pub fn bytes(&self) -> u64 {
        let with_times = self.scans.iter().filter(|scan| scan.has_times);
        let timed = merged(with_times.flat_map(|scan| scan.taken.iter().cloned()).collect());
        len(&timed) * TIME_BYTES + len(&self.rows()) * self.label_bytes
    }

    /// The bytes of the columns that a scan reads, each once.
    pub fn bytes_of(&self, scan: &PlannedScan) -> u64 {
        let times = if scan.has_times { TIME_BYTES } else { 0 };
        len(&scan.rows()) * (times + self.label_bytes)
    }

    /// Whether one of the scans may take more.
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

    /// Adds what counting the tags of `channels` in the scope takes, one after the other.
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

    /// The rows, counted through all sources, each once, ascending.
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

/// The sources, each with the row of the recording that is its first.
pub(crate) fn numbered<'r>(
    recording: &'r Recording<'r>,
) -> impl Iterator<Item = (u64, &'r Acquisition<'r>)> {
    recording.sources.iter().scan(0, |rows, source| {
        let first = *rows;
        *rows += source.tags.len() as u64;
        Some((first, source))
    })
}

/// Ranges in order, none touching the next.
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
