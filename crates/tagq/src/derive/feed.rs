//! The tags of a source in pieces: those that definitions need, by delayed time, and those that are kept, by recorded time.

use std::ops::Range;

use tagq_store::Store;
use tagq_views::{LabelledTags, TagBatch};

use crate::new_store::micro_of;

/// Rows that are read at once.
const PIECE_ROWS: usize = 1 << 16;

/// The channels that definitions need, each with its delay in ticks.
#[derive(Debug, Default)]
pub(super) struct Needed {
    pub channels: Vec<(u16, i64)>,
    /// Whether micro times are needed, too.
    pub has_micro: bool,
}

/// The times from which tags of a source are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// The first delayed time for definitions.
    pub delayed: i64,
    /// The first recorded time of tags that are kept.
    pub recorded: i64,
}

impl Start {
    /// All tags.
    pub(super) const FIRST: Self = Self { delayed: i64::MIN, recorded: i64::MIN };
}

/// Reads a source.
pub(super) struct Feed<'a> {
    store: &'a Store,
    /// The rows that are not read yet.
    rows: Range<usize>,
    start: Start,
    /// The recorded time before which all tags have been read.
    recorded: i64,
    /// The delay of each channel that is needed.
    delay_of: Box<[Option<i64>]>,
    /// The smallest delay, at most 0.
    smallest_delay: i64,
    has_delays: bool,
    has_micro: bool,
    is_kept: &'a [bool],
    /// Tags of needed channels: their delayed times, rows and labels. The first `given` were given before.
    waiting: Vec<(i64, u64, u16)>,
    given: usize,
    batch: LabelledTags,
    micro: Vec<u32>,
    kept: LabelledTags,
    times: Vec<i64>,
}

impl<'a> Feed<'a> {
    /// Prepares to read these rows of the store.
    pub(super) fn new(
        store: &'a Store,
        mut rows: Range<usize>,
        needed: &Needed,
        is_kept: &'a [bool],
        start: Start,
    ) -> Self {
        let mut delay_of = vec![None; 1 << 16];
        for &(label, delay) in &needed.channels {
            delay_of[usize::from(label)] = Some(delay);
        }
        let delays = || needed.channels.iter().map(|(_, delay)| *delay).chain([0]);
        let largest = delays().max().unwrap_or(0);
        if start != Start::FIRST {
            let first = start.recorded.min(start.delayed.saturating_sub(largest));
            let row = store.tags().time.partition_point(|time| time < first);
            rows.start = row.clamp(rows.start, rows.end);
        }
        Self {
            store,
            rows,
            start,
            recorded: i64::MIN,
            delay_of: delay_of.into(),
            smallest_delay: delays().min().unwrap_or(0),
            has_delays: delays().any(|delay| delay != 0),
            has_micro: needed.has_micro,
            is_kept,
            waiting: Vec::new(),
            given: 0,
            batch: LabelledTags::default(),
            micro: Vec::new(),
            kept: LabelledTags::default(),
            times: Vec::new(),
        }
    }

    /// Reads the next rows. Returns the tags of needed channels that are complete however the source goes on, and the
    /// delayed time before which all of them have been returned.
    pub(super) fn read(&mut self) -> (TagBatch<'_>, i64) {
        let rows = self.rows.start..self.rows.end.min(self.rows.start + PIECE_ROWS);
        self.rows.start = rows.end;
        let tags = self.store.tags();
        let times = tags.time.read(rows.clone(), &mut self.times);
        let last = times.last().copied();
        self.waiting.drain(..self.given);
        for (row, &time) in rows.zip(times) {
            let label = tags.channels.label(row);
            if let Some(delay) = self.delay_of[usize::from(label)] {
                let delayed = time.saturating_add(delay);
                if delayed >= self.start.delayed {
                    self.waiting.push((delayed, row as u64, label));
                }
            }
            if self.is_kept[usize::from(label)] && time >= self.start.recorded {
                self.kept.times.push(time);
                self.kept.rows.push(row as u64);
                self.kept.labels.push(label);
            }
        }
        if self.has_delays {
            // Times and rows are in order but for the delays.
            self.waiting.sort_unstable();
        }
        // A tag that is still to come can have the time of the last one.
        let next = if self.is_read() { last } else { Some(tags.time.at(self.rows.start)) };
        self.recorded = next.unwrap_or(i64::MIN).max(self.recorded);
        let until = self.recorded.saturating_add(self.smallest_delay).max(self.start.delayed);
        self.given = self.waiting.partition_point(|&(time, ..)| time < until);
        (self.batch(0), until)
    }

    /// Returns the tags of needed channels that are left, after all rows were read.
    pub(super) fn rest(&mut self) -> TagBatch<'_> {
        let given = self.given;
        self.given = self.waiting.len();
        self.batch(given)
    }

    /// Returns the tags that wait, from `start` to those that are given.
    fn batch(&mut self, start: usize) -> TagBatch<'_> {
        self.batch.clear();
        for &(time, row, label) in &self.waiting[start..self.given] {
            self.batch.times.push(time);
            self.batch.rows.push(row);
            self.batch.labels.push(label);
        }
        if self.has_micro {
            self.micro.clear();
            let column = self.store.micro();
            self.micro.extend(self.batch.rows.iter().map(|&row| micro_of(column, row)));
        }
        let LabelledTags { times, rows, labels } = &self.batch;
        let micro = self.has_micro.then_some(&*self.micro);
        TagBatch { times, rows, labels, micro }
    }

    /// Whether all rows have been read.
    pub(super) fn is_read(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes the tags of kept channels that were read.
    pub(super) fn take_kept(&mut self) -> LabelledTags {
        std::mem::take(&mut self.kept)
    }
}
