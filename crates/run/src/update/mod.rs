//! Updating a store from its sources: unchanged sources are only checked, grown and new ones are
//! ingested in time order.
//!
//! An [`Update`] is a state machine:
//!
//! ```text
//!                ┌─────────┐ more sources
//!                ▼         │
//! Compare ───► Ingest ─► Commit ───► Done
//!    ▲           │ error   │ error of an earlier pass
//!    │           ▼         │
//!    └──────── Recover ◄───┘
//! ```

mod context;
mod ingest_state;
mod plan;
mod planned_source;

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tagq_ingest::{ClosedFile, ReadAhead, Settings};
use tagq_store::{Folder, Manifest, Source, Writer, pasted, remove_store};

use super::{
    location::RunLocation,
    options::OpenOptions,
    room,
    writer::{open_writer, open_writer_for_rebuild},
};
use crate::error::Error;
pub(super) use context::Context;
use ingest_state::Lateness;
pub(super) use ingest_state::{Activity, IngestState};
use plan::UpdatePlan;
use planned_source::PlannedSource;

/// Minimum time between commits, so that thousands of small files do not cause thousands of waits for
/// the disk.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// An update of a store.
pub(super) struct Update<'a> {
    context: Context<'a>,
    sources: &'a [PathBuf],
    memory: &'a mut IngestState,
    /// Whether the pass began with tags that an earlier update held in memory.
    uses_held: bool,
    /// A plan that was found before, and the sources of the store with which it compared.
    planned: Option<(UpdatePlan, Vec<Source>)>,
}

/// The work that remains after the preparation of an update.
struct Prepared {
    /// The sources to ingest.
    sources: Vec<PlannedSource>,
    /// Whether there is something to commit without them.
    is_changed: bool,
}

enum State {
    /// The sources are to be compared with the store. After a failed pass, these are the sources before
    /// the one that failed, and `failed` is its error.
    Compare { sources: Vec<PathBuf>, failed: Option<Error> },
    /// The next source of the pass is to be ingested.
    Ingest(Pass),
    /// The ingested sources are to be committed.
    Commit(Pass),
    /// An error ended a pass.
    Recover(Error),
    /// Everything is committed.
    Done,
}

/// One pass over the sources that have new data.
struct Pass {
    writer: Writer,
    sources: Vec<PlannedSource>,
    /// The whole files among them, if there are several.
    ahead: Option<ReadAhead>,
    /// Number of sources that are ingested.
    done: usize,
    is_changed: bool,
    committed: Instant,
    /// The error of the pass before.
    failed: Option<Error>,
}

/// Ingests all new data into the store, in several commits if needed.
pub(super) fn bring_up_to_date(context: Context<'_>, sources: &[PathBuf]) -> Result<(), Error> {
    let Context { location, options, .. } = context;
    let manifest = Manifest::read(&location.store)?;
    let known = manifest.as_ref().map_or(&[][..], |manifest| &manifest.sources);
    let is_first = manifest.as_ref().is_none_or(|manifest| manifest.commit == 0);
    let mut memory = IngestState::default();
    memory.is_first = is_first;
    if let Some(manifest) = &manifest {
        memory.learn(manifest);
    }
    // Sources are checked before the store is created, so that invalid files leave no store.
    let compared = if options.treatment.rebuild { &[] } else { known };
    let plan = UpdatePlan::find(context, sources, compared, &mut memory)?;
    plan.tick(context, manifest.as_ref())?;
    if let Some(manifest) = &manifest
        && options.tick.is_none_or(|tick| manifest.tick == tick && !manifest.tick_assumed)
        && plan.is_nothing()
        && !options.treatment.rebuild
    {
        // Either a killed writer left these bytes, or a writer is active; no answer depends on them.
        if manifest.leftovers(&location.store).is_ok_and(|left| !left.is_empty()) {
            drop(open_writer(location, options));
        }
        return plan.commit_touched(context);
    }
    let planned = Some((plan, compared.to_vec()));
    let is_new = fs::symlink_metadata(&location.store).is_err();
    let mut result = Update { planned, ..Update::new(context, sources, &mut memory) }.run();
    if let Err(Error::Overlap { merge, .. }) = &mut result {
        *merge = location.merge_command(sources, options);
    }
    drop(memory);
    if result.as_ref().is_err_and(|error| is_new && leaves_none(location, error)) {
        remove(&location.store);
    }
    result
}

/// Whether an error of the first ingest leaves no store: a part of files that belong together would answer as the
/// whole.
fn leaves_none(location: &RunLocation, error: &Error) -> bool {
    let are_named = location.path == location.store && location.input.is_none();
    match error {
        Error::Overlap { .. } => true,
        // The next ingest continues after the last commit.
        Error::Files(
            tagq_ingest::Error::Cancelled
            | tagq_ingest::Error::Io { .. }
            | tagq_ingest::Error::Store(_),
        ) => false,
        Error::Files(_) => are_named,
        _ => false,
    }
}

/// Removes a store that was made by this ingest.
fn remove(store: &Path) {
    let around = store.parent().filter(|around| !around.as_os_str().is_empty());
    let around = Folder::open(around.unwrap_or(Path::new(".")));
    if let (Ok(around), Some(name)) = (around, store.file_name().and_then(|name| name.to_str())) {
        // If another process writes it already, it stays.
        let _ = remove_store(&around, name);
    }
}

/// Replaces the assumed tick of a store by the given one.
pub(super) fn confirm_tick(location: &RunLocation, options: &OpenOptions) -> Result<(), Error> {
    let Some(tick) = options.tick else { return Ok(()) };
    let Some(manifest) = Manifest::read(&location.store)? else { return Ok(()) };
    if !manifest.tick_assumed && manifest.tick == tick {
        return Ok(());
    }
    let mut writer = open_writer(location, options)?;
    writer.set_tick(tick, false)?;
    Ok(writer.commit()?)
}

/// Notes that the store keeps the tick that was given for one opening.
pub(super) fn note_kept(context: Context<'_>) {
    let Context { location, options, progress } = context;
    // The store of a stream is removed again.
    if let Some(tick) = options.tick.filter(|_| location.input.is_none()) {
        progress.note(&format!(
            "{}: the files do not say their tick; the store keeps {tick}",
            location.path.display()
        ));
    }
}

/// Returns the names of the sources that the last commit does not contain.
pub(super) fn left_out(location: &RunLocation) -> Result<Vec<String>, Error> {
    let manifest = Manifest::read(&location.store)?;
    let known: HashSet<&str> =
        manifest.iter().flat_map(|m| &m.sources).map(|source| source.facts.name.as_str()).collect();
    let sources = location.sources.iter().flatten().map(|source| location.name_of(source));
    Ok(sources.filter(|name| !known.contains(name.as_str())).collect())
}

/// Whether times of a source were converted to ticks at ingest.
pub(super) fn is_converted(source: &Source) -> bool {
    ingest_state::columns_of(source).is_some_and(|columns| columns.time_unit.is_some())
}

impl<'a> Update<'a> {
    /// After the update the writer stays open in `memory` and holds the lock of the store. After most
    /// errors there is no writer, and the next update opens one.
    pub(super) fn new(
        context: Context<'a>,
        sources: &'a [PathBuf],
        memory: &'a mut IngestState,
    ) -> Self {
        Self { context, sources, memory, uses_held: false, planned: None }
    }

    pub(super) fn run(mut self) -> Result<(), Error> {
        // More messages and members may be complete by now.
        self.memory.forget_torn();
        let mut state = self.compare_all();
        while !matches!(state, State::Done) {
            state = self.step(state)?;
        }
        Ok(())
    }

    fn step(&mut self, state: State) -> Result<State, Error> {
        let next = match state {
            State::Compare { sources, failed } => self.compare(&sources, failed),
            State::Ingest(pass) => self.ingest(pass),
            State::Commit(pass) => self.commit(pass),
            State::Recover(error) => return self.recover(error),
            State::Done => Ok(State::Done),
        };
        Ok(next.unwrap_or_else(State::Recover))
    }

    fn compare_all(&self) -> State {
        State::Compare { sources: self.sources.to_vec(), failed: None }
    }

    fn compare(&mut self, sources: &[PathBuf], failed: Option<Error>) -> Result<State, Error> {
        let Context { location, options, .. } = self.context;
        if failed.is_none() {
            self.uses_held = self.memory.held.is_some();
        }
        // Sources are compared with the last commit, so the lock is taken before.
        let mut writer = match self.memory.writer.take() {
            Some(writer) => writer,
            None if options.treatment.rebuild => {
                check_all_there(location, sources)?;
                drop(open_writer(location, options)?);
                open_writer_for_rebuild(location, options)?
            }
            None => open_writer(location, options)?,
        };
        match self.prepare(sources, &mut writer, failed.is_none()) {
            Ok(Prepared { sources, is_changed }) => {
                let (ahead, committed) = (self.read_ahead(&sources), Instant::now());
                let pass = Pass { writer, sources, ahead, done: 0, is_changed, committed, failed };
                Ok(State::Ingest(pass))
            }
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }

    /// Applies to the writer what needs no reading of tags.
    fn prepare(
        &mut self,
        sources: &[PathBuf],
        writer: &mut Writer,
        is_told: bool,
    ) -> Result<Prepared, Error> {
        let Context { location, options, progress } = self.context;
        let known = &writer.manifest().sources;
        let plan = match self.planned.take() {
            Some((plan, compared)) if compared == *known => plan,
            _ => UpdatePlan::find(self.context, sources, known, self.memory)?,
        };
        if let Some(order) = plan.described_order(location)
            && options.treatment.rebase
            && is_told
        {
            progress.note(&order);
        }
        let stated = plan.tick(self.context, Some(writer.manifest()))?;
        let is_first = writer.manifest().commit == 0;
        let is_rebuild = options.treatment.rebuild;
        let mut is_changed = is_first || is_rebuild;
        if let Some(tick) = options.tick.filter(|_| !is_first) {
            is_changed |= writer.manifest().tick_assumed || writer.manifest().tick != tick;
            writer.set_tick(tick, is_rebuild)?;
        }
        if let Some(tick) = stated {
            writer.set_tick(tick, false)?;
        }
        self.memory.learn(writer.manifest());
        let new = plan.sources.iter().map(|source| {
            let rest = || writer.last_source().map_or(0, |last| last.facts.resume.byte);
            let settings = Settings {
                start_byte: if source.is_rest() { rest() } else { 0 },
                ..self.memory.reading_settings(options, &source.name)
            };
            (&source.file, settings)
        });
        room::check(&location.store, writer.manifest(), new, progress)?;
        is_changed |= plan.apply_to(writer);
        Ok(Prepared { sources: plan.sources, is_changed })
    }

    /// Begins to decode the whole files among `sources`, if there are several.
    fn read_ahead(&mut self, sources: &[PlannedSource]) -> Option<ReadAhead> {
        let whole = sources.iter().filter(|source| !source.is_rest());
        let files: Vec<(ClosedFile, Settings)> = whole
            .map(|source| (source.file.clone(), source.reading_settings(self.context, self.memory)))
            .collect();
        (files.len() > 1).then(|| ReadAhead::new(files))
    }

    fn ingest(&mut self, mut pass: Pass) -> Result<State, Error> {
        let Some(source) = pass.sources.get(pass.done) else { return Ok(State::Commit(pass)) };
        let is_rebuild = self.context.options.treatment.rebuild;
        // A source that is followed by another one does not grow.
        let is_last = pass.done + 1 == pass.sources.len();
        let hold_back = self.memory.hold_back_of(source.path()).filter(|_| is_last);
        let ahead = pass.ahead.as_mut().filter(|_| !source.is_rest());
        let (writer, memory) = (&mut pass.writer, &mut *self.memory);
        if let Err(error) = source.ingest(self.context, ahead, hold_back, writer, memory) {
            // The rows of this source are discarded, and with them all sources since the last commit.
            // Those are complete, and are ingested again.
            pass.writer.discard();
            let complete = &pass.sources[..pass.done];
            let is_none_left = self.memory.is_first && leaves_none(self.context.location, &error);
            if !pass.is_changed || complete.is_empty() || is_rebuild || is_none_left {
                return Err(error);
            }
            let sources = complete.iter().map(|source| source.path().into()).collect();
            return Ok(State::Compare { sources, failed: Some(error) });
        }
        // A frame that is still being written is not visible: the commit follows at its end.
        pass.is_changed |=
            !source.is_rest() || hold_back.is_none() || pass.writer.uncommitted_rows() > 0;
        pass.done += 1;
        let is_due = pass.committed.elapsed() >= COMMIT_INTERVAL && !is_rebuild;
        Ok(if is_due { State::Commit(pass) } else { State::Ingest(pass) })
    }

    fn commit(&mut self, mut pass: Pass) -> Result<State, Error> {
        if pass.is_changed {
            if let Err(error) = pass.writer.commit() {
                pass.writer.discard();
                return Err(error.into());
            }
            (pass.is_changed, pass.committed) = (false, Instant::now());
        }
        if pass.done < pass.sources.len() {
            return Ok(State::Ingest(pass));
        }
        self.memory.writer = Some(pass.writer);
        Ok(pass.failed.map_or(State::Done, State::Recover))
    }

    /// Decides whether another pass can ingest more than the one that ended in `error`.
    fn recover(&mut self, error: Error) -> Result<State, Error> {
        let Context { location, progress, .. } = self.context;
        let memory = &mut *self.memory;
        let is_followed = memory.hold_back.is_some();
        match error {
            // If reading starts without the held tags, the error depends on the files alone.
            _ if self.uses_held => memory.held = None,
            // Counted from the start of reading, which advances with each commit.
            Error::Files(tagq_ingest::Error::TornMessage { path, message })
                if memory.source(&path).messages_max != Some(message - 1) =>
            {
                memory.source(&path).messages_max = Some(message - 1);
            }
            Error::Files(tagq_ingest::Error::TornMember { path, start })
                if memory.source(&path).torn_byte != Some(start) =>
            {
                memory.source(&path).torn_byte = Some(start);
            }
            Error::LateRest { path, source } => match memory.source(&path).lateness {
                // It may be ingested if there is time to sort it in.
                Lateness::WithinHoldBack if is_followed => {
                    memory.source(&path).lateness = Lateness::BeyondHoldBack;
                }
                Lateness::WithinHoldBack | Lateness::BeyondHoldBack => {
                    memory.source(&path).lateness = Lateness::Stopped;
                    let name = location.name_of(&path);
                    let error = location.shown(Error::Files(*source));
                    let longer = if is_followed {
                        ", and a longer --hold-back waits for such tags"
                    } else {
                        ""
                    };
                    progress.note(&format!(
                        "{error}; the ingested part of {name} is kept: `tagq ingest --rebuild {}` \
                         ingests it again{longer}",
                        pasted(&location.path)
                    ));
                }
                Lateness::Stopped => return Err(Error::LateRest { path, source }),
            },
            error => return Err(error),
        }
        Ok(self.compare_all())
    }
}

/// Checks that every source of the store still exists, so that a rebuild loses nothing.
fn check_all_there(location: &RunLocation, sources: &[PathBuf]) -> Result<(), Error> {
    let Some(manifest) = Manifest::read(&location.store)? else { return Ok(()) };
    let names = sources.iter().map(|path| location.name_of(path));
    let old_names = sources.iter().filter_map(|path| location.old_name_of(path));
    let names: HashSet<String> = names.chain(old_names).collect();
    let is_gone = |source: &&Source| source.rows > 0 && !names.contains(&source.facts.name);
    manifest.sources.iter().find(is_gone).map_or(Ok(()), |source| {
        Err(Error::SourceGone {
            store: location.store.clone(),
            name: source.facts.name.clone(),
            rows: source.rows,
        })
    })
}
