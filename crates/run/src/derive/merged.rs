//! The tags of a source of the derived run: those of the run and derived ones in order of time, inside of the gate.
//!
//! Of equal times, the tag of the run comes first. Rows that the view already has are compared with the new ones; if
//! they differ, the view is made again.

use tagq_derived::{Intervals, LabelledTags};
use tagq_store::{Rows, Store, Writer};

use super::queue::Queue;
use crate::{error::Error, new_store::micro_of};

/// Rows that are written at once, by threads of the writer.
const TASK_ROWS: usize = 1 << 19;

/// Merges tags and writes them.
pub(super) struct Merged<'a> {
    writer: &'a mut Writer,
    store: &'a Store,
    span: (i64, i64),
    /// Tags of the run and derived tags that are not written yet.
    waiting: [Queue; 2],
    moved_out: u64,
    /// The tags that are being written.
    ready: LabelledTags,
    /// Times, labels and micro times that are written next.
    task: (Vec<i64>, Vec<u16>, Vec<u32>),
    /// Rows that the writer has already: the next ones must be equal.
    expected: ExpectedRows,
    /// Rows that were written, expected ones among them.
    written: u64,
}

/// Rows that the writer has already, and how far they were compared.
#[derive(Debug, Default)]
pub(super) struct ExpectedRows {
    pub times: Vec<i64>,
    pub labels: Vec<u16>,
    pub micro: Vec<u32>,
    /// The number of rows that were compared.
    pub at: usize,
    /// Whether a row differed.
    pub is_other: bool,
}

impl ExpectedRows {
    /// Compares the next rows. Returns how many of them are expected.
    fn take(&mut self, times: &[i64], labels: &[u16], micro: &[u32]) -> usize {
        let count = times.len().min(self.times.len() - self.at);
        let here = self.at..self.at + count;
        let is_micro = |expected: &[u32]| match micro {
            [] => expected.iter().all(|&of| of == tagq_store::format::MICRO_NONE),
            micro => *expected == micro[..count],
        };
        self.is_other |= self.times[here.clone()] != times[..count]
            || self.labels[here.clone()] != labels[..count]
            || !is_micro(self.micro.get(here.clone()).unwrap_or_default());
        self.at = here.end;
        count
    }

    fn is_over(&self) -> bool {
        self.at == self.times.len()
    }
}

impl<'a> Merged<'a> {
    /// Begins or continues a source with this first and last time.
    pub(super) fn new(
        writer: &'a mut Writer,
        store: &'a Store,
        span: Option<(i64, i64)>,
        expected: ExpectedRows,
    ) -> Self {
        // A source without tags derives none.
        let span = span.unwrap_or((i64::MAX, i64::MIN));
        let (waiting, ready, task) = Default::default();
        Self { writer, store, span, waiting, moved_out: 0, ready, task, expected, written: 0 }
    }

    /// Adds tags of the run, in order of time.
    pub(super) fn add_of_run(&mut self, tags: &mut LabelledTags) {
        self.waiting[0].take_in(tags);
    }

    /// Adds derived tags, in order of time.
    pub(super) fn add_derived(&mut self, derived: &mut LabelledTags) {
        let (first, last) = self.span;
        let start = derived.times.partition_point(|&time| time < first);
        let end = derived.times.partition_point(|&time| time <= last).max(start);
        self.moved_out += (start + derived.len() - end) as u64;
        self.waiting[1].append(derived, start..end);
        derived.clear();
    }

    /// Writes the tags before this time that are inside of the gate: no others come before it.
    pub(super) fn write(&mut self, until: i64, gate: &Intervals) -> Result<(), Error> {
        let [run, derived] = self.waiting.each_mut().map(|tags| tags.take(until));
        self.ready.clear();
        // Of equal times the tag of the run is the first.
        self.ready.append_merged([&run, &derived], [run.len(), derived.len()]);
        let LabelledTags { times, rows, labels } = &self.ready;
        let has_micro = self.store.manifest().has_micro();
        for mut inside in gate.inside(times) {
            self.written += inside.len() as u64;
            let micro_of_rows = |rows: &[u64]| -> Vec<u32> {
                let rows = rows.iter().filter(|_| has_micro);
                rows.map(|&row| micro_of(self.store.micro(), row)).collect()
            };
            if !self.expected.is_over() {
                let micro = micro_of_rows(&rows[inside.clone()]);
                inside.start +=
                    self.expected.take(&times[inside.clone()], &labels[inside.clone()], &micro);
                if self.expected.is_other {
                    return Ok(());
                }
            }
            self.task.0.extend_from_slice(&times[inside.clone()]);
            self.task.1.extend_from_slice(&labels[inside.clone()]);
            self.task.2.extend(micro_of_rows(&rows[inside]));
        }
        if self.task.0.len() >= TASK_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    /// Gives the rows that were collected to the writer.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let (times, labels, micro) = std::mem::take(&mut self.task);
        Ok(self.writer.append_rows(vec![Rows::new(times, labels, micro)])?)
    }

    /// Whether rows that the writer has already are not those that it should have.
    pub(super) fn is_other(&self) -> bool {
        self.expected.is_other
    }

    /// Whether all rows that the writer has already were compared.
    pub(super) fn has_expected(&self) -> bool {
        self.expected.is_over()
    }

    /// Returns the number of rows written, those that the writer had already among them.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of tags that wait for later ones.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.iter().map(Queue::len).sum()
    }

    /// Returns the number of derived tags that were outside of the source.
    pub(super) fn moved_out(&self) -> u64 {
        self.moved_out
    }
}
