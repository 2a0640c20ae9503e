//! The numbers of a run from those of its parts.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::counts::{Asked, PartCounts};
use crate::{error::Error, run::counts::Counts, run::recording::Source};

/// The sum of all parts of a run.
#[derive(Debug)]
pub(super) struct Sum {
    counts: PartCounts,
    /// For each source the parts with rows in it, in order of rows.
    parts: BTreeMap<u32, Vec<Before>>,
    /// The first number that was asked for and that no part counted.
    missing: Mutex<Option<String>>,
}

/// What lies before a part of a source.
#[derive(Debug)]
struct Before {
    /// The first row of the part.
    row: u64,
    /// The tags of each channel before it.
    tags: BTreeMap<u16, u64>,
}

impl Sum {
    pub(super) fn new(counts: PartCounts) -> Self {
        let mut parts: BTreeMap<u32, Vec<Before>> = BTreeMap::new();
        let mut rows: Vec<_> = counts.rows.iter().map(|(&(of, _), rows)| (of, rows)).collect();
        rows.sort_by_key(|(of, rows)| (*of, rows.begin));
        let mut tags = BTreeMap::new();
        let mut last = None;
        for (of, rows) in rows {
            if last.replace(of) != Some(of) {
                tags.clear();
            }
            parts.entry(of).or_default().push(Before { row: rows.begin, tags: tags.clone() });
            for &(channel, count) in &rows.tags {
                let tags: &mut u64 = tags.entry(channel).or_default();
                *tags = tags.saturating_add(count);
            }
        }
        Self { counts, parts, missing: Mutex::default() }
    }

    pub(super) fn check_complete(&self) -> Result<(), Error> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.as_ref().map_or(Ok(()), |what| Err(Error::PartMissing { what: what.clone() }))
    }

    fn miss(&self, what: impl FnOnce() -> String) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.get_or_insert_with(what);
    }

    pub(super) fn counts(&self, asked: &Asked) -> Option<Counts> {
        let counts = self.counts.counts.get(asked).cloned();
        if counts.is_none() {
            self.miss(|| format!("the counts of `{}` in {:?}", asked.key, asked.range));
        }
        counts
    }

    pub(super) fn row_at(&self, of: u32, time: i64) -> usize {
        let row = self.counts.places.get(&(of, time)).copied().unwrap_or_else(|| {
            self.miss(|| format!("the row at {time} ticks of source {of}"));
            0
        });
        usize::try_from(row).unwrap_or(usize::MAX)
    }

    pub(super) fn add_rows(
        &self,
        (of, source): (u32, &Source<'_>),
        channels: &[u16],
        [start, end]: [usize; 2],
        counts: &mut [u64],
    ) {
        if start >= end {
            return;
        }
        for (count, &channel) in counts.iter_mut().zip(channels) {
            let [start, end] = [start, end].map(|row| self.before(of, source, channel, row));
            *count = count.saturating_add(end.saturating_sub(start));
        }
    }

    /// Returns the tags of a channel of a source before a row.
    fn before(&self, of: u32, source: &Source<'_>, channel: u16, row: usize) -> u64 {
        let all = source.singles_of(channel);
        if row == 0 || all == 0 {
            return 0;
        }
        if row >= source.rows() {
            return all;
        }
        let row = row as u64;
        let parts = self.parts.get(&of).map_or(&[][..], Vec::as_slice);
        let part = parts.partition_point(|part| part.row <= row).checked_sub(1);
        let Some(part) = part.map(|part| &parts[part]) else {
            self.miss(|| format!("the tags before row {row} of source {of}"));
            return 0;
        };
        let before = part.tags.get(&channel).copied().unwrap_or(0);
        if part.row == row {
            return before;
        }
        let inside = self.counts.singles.get(&(of, row, channel)).copied();
        let inside = inside.unwrap_or_else(|| {
            self.miss(|| format!("the tags of channel {channel} before row {row} of source {of}"));
            0
        });
        before.saturating_add(inside)
    }
}
