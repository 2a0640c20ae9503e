//! The tags of a source of the new store: those of the run and derived ones in order of time, inside of the gates.

use tagq_store::Store;
use tagq_views::{Frontier, Intervals, LabelledTags};

use crate::{
    error::Error,
    new_store::{NewStore, micro_of},
};

/// Merges tags and writes them.
pub(super) struct Merged<'a> {
    new: &'a mut NewStore,
    store: &'a Store,
    span: (i64, i64),
    gate: Option<&'a Intervals>,
    /// Tags of the run and derived tags that are not written yet.
    waiting: [LabelledTags; 2],
    moved_out: u64,
    /// The tags that are being written.
    ready: LabelledTags,
}

impl<'a> Merged<'a> {
    /// Begins a source with this first and last time.
    pub(super) fn new(
        new: &'a mut NewStore,
        store: &'a Store,
        span: Option<(i64, i64)>,
        gate: Option<&'a Intervals>,
    ) -> Self {
        // A source without tags derives none.
        let span = span.unwrap_or((i64::MAX, i64::MIN));
        let (waiting, ready) = Default::default();
        Self { new, store, span, gate, waiting, moved_out: 0, ready }
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

    /// Writes the tags before this time: no others come before it.
    pub(super) fn write(&mut self, until: Frontier) -> Result<(), Error> {
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
        let all = Intervals::always();
        let has_micro = self.store.manifest().has_micro();
        for inside in self.gate.unwrap_or(&all).inside(times) {
            let rows = rows[inside.clone()].iter().filter(|_| has_micro);
            let micro: Vec<u32> = rows.map(|&row| micro_of(self.store.micro(), row)).collect();
            self.new.append_with_micro(&times[inside.clone()], &labels[inside], &micro)?;
        }
        Ok(())
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
