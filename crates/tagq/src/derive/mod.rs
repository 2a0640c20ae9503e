//! Runs with channels made from channels, and with the tags inside of gates (docs/queries.md, section "Derived channels
//! and gates").
//!
//! `evaluation` resolves definitions in a run, and evaluates them source by source: `feed` reads the tags of a source,
//! `sources` evaluates them piece by piece, `merged` writes derived tags and those of the run in order of time. `view` keeps
//! the result in the folder `views` of the run's store, and continues it when the run grows; `state` is the file that it
//! continues from.

mod evaluation;
mod feed;
mod folder;
mod merged;
mod sources;
mod state;
mod view;

use std::path::Path;

use tagq_store::Duration;

use crate::{
    error::Error,
    new_store::NewStore,
    progress::Progress,
    run::{Run, options::OpenOptions},
    setup::{arguments::Channel, definitions::Definition, experiment::Setup},
};
use evaluation::Evaluation;
pub use folder::KeptView;
use sources::Ending;

/// What a derived run has.
#[derive(Debug, Clone, Default)]
pub struct Derivation {
    /// Definitions of channels, with those of the setup. One replaces that of the setup with its name.
    pub derived: Vec<Definition>,
    /// Gates that must be open: names of definitions, or gates as a definition states them.
    pub gates: Vec<String>,
    /// Its channels, of the run and derived; all of them if empty.
    pub channels: Vec<Channel>,
    /// Delays of channels of the run, which definitions see; they override those of the setup.
    pub delays: Vec<(Channel, Duration)>,
    /// Whether sources follow each other without a gap, so that derived tags may come from two.
    pub join: bool,
}

/// Makes a run with channels of `run` and channels that are derived from them, as far as all gates are open: a new store at
/// `at`, or a view in the store of the run, which is temporary if nothing can be written there. Definitions see delayed
/// times; channels of the run keep their recorded times.
///
/// # Errors
/// [`Error::View`] for definitions, [`Error::NoSuchChannel`], [`Error::StoreThere`], [`Error::Request`] for gates with more
/// than 65,536 intervals in a source, and errors of reading and of the disk.
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

/// Makes the view that `of` states, and returns it with the names and labels of its derived channels.
pub(crate) fn view_of(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    progress: &dyn Progress,
) -> Result<(Run, Vec<(u16, String)>), Error> {
    let evaluation = Evaluation::new(run, setup, of)?;
    let view = view::open(&evaluation, progress)?;
    Ok((view, evaluation.derived_names().collect()))
}

impl Evaluation<'_> {
    /// Writes a new store at `at`, or a temporary one that goes with the run.
    fn written(&self, at: Option<&Path>, progress: &dyn Progress) -> Result<Run, Error> {
        let manifest = self.run.store().manifest();
        let mut new = NewStore::create(at, Some(manifest.tick))?;
        if let Some(tick) = manifest.micro_tick {
            new.set_micro_tick(tick)?;
        }
        self.evaluate(None, Ending::Whole, new.writer(), progress)?;
        new.place(&OpenOptions::default())
    }
}
