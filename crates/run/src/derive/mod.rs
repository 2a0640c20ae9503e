//! Runs with channels made from channels, and with the tags inside of gates (docs/queries.md, section "Derived channels
//! and gates").
//!
//! `derivation` is the request, and `evaluation` resolves it in a run and evaluates it source by source: `feed` reads
//! the tags of a source, `sources` evaluates them piece by piece, and `merged` writes derived tags and those of the run
//! in order of time; tags that wait are in a `queue`. `view` keeps the result in the folder `views` of the run's store,
//! and continues it from the file of `state` when the run grows. `intervals` are those of a gate, or from tag to tag,
//! for counts by interval, and `lanes` the tags and gates of a range of time.

mod derivation;
mod evaluation;
mod feed;
mod folder;
mod intervals;
mod lanes;
mod merged;
mod queue;
mod sources;
mod state;
mod view;

use std::path::Path;

use crate::{
    Run, error::Error, new_store::NewStore, options::OpenOptions, progress::Progress,
    setup::experiment::Setup,
};
pub use derivation::Derivation;
use evaluation::Evaluation;
pub use folder::KeptView;
pub(crate) use folder::verify as verify_views;
pub use intervals::intervals_by;
pub use lanes::{Lane, Lanes};

/// Makes a run with channels of `run` and channels that are derived from them, as far as all gates are open: a new
/// store at `at`, or a view in the store of the run, which is temporary if nothing can be written there. Definitions
/// see delayed times; channels of the run keep their recorded times.
///
/// # Errors
/// [`Error::View`] for definitions, [`Error::NoSuchChannel`], [`Error::StoreThere`], [`Error::Request`] for gates with
/// more than 4,194,304 intervals, or views of too many tags, and errors of reading and of the disk.
pub fn derive(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    at: Option<&Path>,
    progress: &dyn Progress,
) -> Result<Run, Error> {
    let evaluation = Evaluation::new(run, setup, of)?;
    match at {
        Some(at) => evaluation.written(Some(at), progress),
        None => view::open(&evaluation, progress).map(Run::alone),
    }
}

/// A view of a run.
pub struct View {
    /// Its tags.
    pub run: Run,
    /// The labels and names of its derived channels.
    pub derived: Vec<(u16, String)>,
    /// The names of those for which formulas of errors do not hold.
    pub without_statistics: Vec<String>,
}

/// Makes the view that `of` states, on so many threads.
pub fn view_of(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    threads: usize,
    progress: &dyn Progress,
) -> Result<View, Error> {
    let mut evaluation = Evaluation::new(run, setup, of)?;
    evaluation.threads = threads;
    Ok(View {
        run: view::open(&evaluation, progress)?,
        derived: evaluation.derived_names().collect(),
        without_statistics: evaluation.without_statistics(),
    })
}

impl Evaluation<'_> {
    /// Writes a new store at `at`, or a temporary one that goes with the run.
    fn written(&self, at: Option<&Path>, progress: &dyn Progress) -> Result<Run, Error> {
        let manifest = self.run.store().manifest();
        let mut new = NewStore::create(at, Some(manifest.tick))?;
        if let Some(tick) = manifest.micro_tick {
            new.set_micro_tick(tick)?;
        }
        self.evaluate(None, new.writer(), progress)?;
        new.place(&OpenOptions::default())
    }
}
