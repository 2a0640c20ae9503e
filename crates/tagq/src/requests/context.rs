//! The context of a request: the setup, the threads, and the receiver of notes.

use std::sync::Arc;

use tagq_query::{TimeInterval, Windows};

use crate::setup::experiment::Setup;
use crate::{answer::RunFacts, progress::Progress, run::Run};

/// The context in which a request is answered.
pub struct QueryContext<'a> {
    /// Tick, names, delays and groups of the experiment.
    pub setup: &'a Setup,
    /// The threads that count.
    pub pool: &'a rayon::ThreadPool,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
    /// The intervals that the time of the run is divided into, if the request names a marker or a gate for it.
    pub(crate) intervals: Option<&'a Arc<[TimeInterval]>>,
    /// Counts of pairs that were made in one pass for several queries.
    pub(crate) windows: Option<&'a Windows>,
}

impl std::fmt::Debug for QueryContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryContext").field("setup", self.setup).finish_non_exhaustive()
    }
}

impl<'a> QueryContext<'a> {
    /// Creates the context of a request.
    pub fn new(setup: &'a Setup, pool: &'a rayon::ThreadPool, progress: &'a dyn Progress) -> Self {
        Self { setup, pool, progress, intervals: None, windows: None }
    }
}

impl QueryContext<'_> {
    /// Returns the facts about a run, with the names of its channels.
    pub(super) fn facts(&self, run: &Run) -> RunFacts {
        RunFacts::named(run, self.setup)
    }

    /// Notes which of these channels have no tags: such a channel is a row of zeros, and the user may
    /// have meant another one. The note lists channels that have tags, the most similar first.
    pub(crate) fn note_dark(&self, run: &Run, mut channels: Vec<u16>) {
        let present: Vec<u16> = run.store().manifest().channels.iter().map(|c| c.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        for channel in channels.into_iter().filter(|channel| !present.contains(channel)) {
            if run.sync_period(channel).is_some() {
                self.progress.note(&format!(
                    "channel {} has no tags in {}: its sync pulses are not recorded as tags and count zero; a \
                     histogram can count from them, with {} as its start",
                    self.setup.name_of(channel),
                    run.path().display(),
                    self.setup.name_of(channel)
                ));
                continue;
            }
            let near = self.setup.nearest_first(channel, &present);
            let near: Vec<String> = near.into_iter().map(|c| self.setup.name_of(c)).collect();
            self.progress.note(&format!(
                "channel {} has no tags in {}; {}",
                self.setup.name_of(channel),
                run.path().display(),
                match &near[..] {
                    [] => "no channel has".to_owned(),
                    [only] => format!("the only one that has is {only}"),
                    near => format!("those that have, the nearest first: {}", near.join(", ")),
                }
            ));
        }
    }
}
