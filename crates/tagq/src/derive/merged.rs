//! The tags of a source of the derived run: those of the run and derived ones in order of time, inside of the gate.

use tagq_store::{Store, Writer};
use tagq_views::{Frontier, Intervals, LabelledTags};

use crate::{error::Error, new_store::micro_of};

/// Merges tags and writes them.
pub(super) struct Merged<'a> {
    writer: &'a mut Writer,
    store: &'a Store,
    span: (i64, i64),
    /// Tags of the run and derived tags that are not written yet.
    waiting: [LabelledTags; 2],
    moved_out: u64,
    /// The tags that are being written.
    ready: LabelledTags,
    /// Rows that the writer has already: the next ones must be equal.
    expected: ExpectedRows,
    /// Rows that were written, expected ones among them.
    written: u64,
}

/// Rows, the first of which are not compared yet.
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
        let (waiting, ready) = Default::default();
        Self { writer, store, span, waiting, moved_out: 0, ready, expected, written: 0 }
    }

    /// Adds tags of the run and derived ones, each in order of time.
    pub(super) fn add(&mut self, of_run: &LabelledTags, derived: &mut LabelledTags) {
        let (first, last) = self.span;
        let start = derived.times.partition_point(|&time| time < first);
        let end = derived.times.partition_point(|&time| time <= last).max(start);
        self.moved_out += (start + derived.len() - end) as u64;
        let [run, more] = &mut self.waiting;
        append(run, of_run, 0..of_run.len());
        append(more, derived, start..end);
        derived.clear();
    }

    /// Writes the tags before this time that are inside of the gate: no others come before it.
    pub(super) fn write(&mut self, until: Frontier, gate: &Intervals) -> Result<(), Error> {
        let [run, derived] = &self.waiting;
        let ends = [run, derived].map(|tags| until.count(&tags.times));
        let mut at = [0, 0];
        self.ready.clear();
        while at != ends {
            let time = |of: usize| {
                let tags = [run, derived][of];
                (at[of] < ends[of]).then(|| tags.times[at[of]])
            };
            // Of equal times the tag of the run is the first.
            let is_derived = match (time(0), time(1)) {
                (Some(run), Some(derived)) => derived < run,
                (run, _) => run.is_none(),
            };
            let of = usize::from(is_derived);
            append(&mut self.ready, [run, derived][of], at[of]..at[of] + 1);
            at[of] += 1;
        }
        for (tags, end) in self.waiting.iter_mut().zip(ends) {
            tags.times.drain(..end);
            tags.rows.drain(..end);
            tags.labels.drain(..end);
        }
        let LabelledTags { times, rows, labels } = &self.ready;
        let has_micro = self.store.manifest().has_micro();
        for inside in gate.inside(times) {
            let (times, labels) = (&times[inside.clone()], &labels[inside.clone()]);
            let rows = rows[inside].iter().filter(|_| has_micro);
            let micro: Vec<u32> = rows.map(|&row| micro_of(self.store.micro(), row)).collect();
            self.written += times.len() as u64;
            let there = self.expected.take(times, labels, &micro);
            if self.expected.is_other {
                return Ok(());
            }
            if there < times.len() {
                let micro = micro.get(there..).unwrap_or_default();
                self.writer.append_with_micro(&times[there..], &labels[there..], micro)?;
            }
        }
        Ok(())
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

    /// Returns the number of derived tags that were outside of the source.
    pub(super) fn moved_out(&self) -> u64 {
        self.moved_out
    }
}

fn append(to: &mut LabelledTags, from: &LabelledTags, tags: std::ops::Range<usize>) {
    to.times.extend_from_slice(&from.times[tags.clone()]);
    to.rows.extend_from_slice(&from.rows[tags.clone()]);
    to.labels.extend_from_slice(&from.labels[tags]);
}
