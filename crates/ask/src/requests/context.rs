//! The context of a request: the setup, the threads, and the receiver of notes.

use std::sync::Arc;

use tagq_query::{TimeInterval, Windows};
use tagq_run::{Progress, Run, Setup};

use crate::answer::RunFacts;

/// The context in which a request is answered.
pub struct QueryContext<'a> {
    /// Tick, names, delays and groups of the experiment.
    pub setup: &'a Setup,
    /// The threads that count.
    pub pool: &'a rayon::ThreadPool,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
    /// The intervals that the time of the run is divided into, if the request names a marker or a gate for it.
    pub intervals: Option<&'a Arc<[TimeInterval]>>,
    /// Counts of pairs that were made in one pass for several queries.
    pub windows: Option<&'a Windows>,
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

    /// Notes which of these channels have no tags.
    pub(crate) fn note_dark(&self, run: &Run, channels: Vec<u16>) {
        self.setup.note_dark(run, channels, self.progress);
    }
}
