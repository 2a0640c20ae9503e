//! The tags of a source in pieces: those that definitions need, by delayed time, and those that are kept, by recorded time.

use std::ops::Range;

use tagq_store::Store;
use tagq_views::{Frontier, LabelledTags, TagBatch};

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

/// Reads a source.
pub(super) struct Feed<'a> {
    store: &'a Store,
    /// The rows that are not read yet.
    rows: Range<usize>,
    /// The delay of each channel that is needed.
    delay_of: Box<[Option<i64>]>,
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
        rows: Range<usize>,
        needed: &Needed,
        is_kept: &'a [bool],
    ) -> Self {
        let mut delay_of = vec![None; 1 << 16];
        for &(label, delay) in &needed.channels {
            delay_of[usize::from(label)] = Some(delay);
        }
        let delays = || needed.channels.iter().map(|(_, delay)| *delay);
        Self {
            store,
            rows,
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

    /// Reads the next rows. Returns the tags of needed channels that are complete, and the delayed time before which all of
    /// them have been returned.
    pub(super) fn read(&mut self) -> (TagBatch<'_>, Frontier) {
        let rows = self.rows.start..self.rows.end.min(self.rows.start + PIECE_ROWS);
        self.rows.start = rows.end;
        let tags = self.store.tags();
        let times = tags.time.read(rows.clone(), &mut self.times);
        self.waiting.drain(..self.given);
        for (row, &time) in rows.zip(times) {
            let label = tags.channels.label(row);
            if let Some(delay) = self.delay_of[usize::from(label)] {
                self.waiting.push((time.saturating_add(delay), row as u64, label));
            }
            if self.is_kept.get(usize::from(label)) == Some(&true) {
                self.kept.times.push(time);
                self.kept.rows.push(row as u64);
                self.kept.labels.push(label);
            }
        }
        if self.has_delays {
            // Times and rows are in order but for the delays.
            self.waiting.sort_unstable();
        }
        let until = match self.recorded() {
            Frontier::Before(next) => Frontier::Before(next.saturating_add(self.smallest_delay)),
            Frontier::End => Frontier::End,
        };
        self.given = self.waiting.partition_point(|&(time, ..)| until.is_after(time));
        self.batch.clear();
        for &(time, row, label) in &self.waiting[..self.given] {
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
        (TagBatch { times, rows, labels, micro }, until)
    }

    /// Returns the recorded time before which all tags have been read.
    pub(super) fn recorded(&self) -> Frontier {
        let next = (!self.rows.is_empty()).then(|| self.store.tags().time.at(self.rows.start));
        next.map_or(Frontier::End, Frontier::Before)
    }

    /// Takes the tags of kept channels that were read.
    pub(super) fn take_kept(&mut self) -> LabelledTags {
        std::mem::take(&mut self.kept)
    }
}
