//! Updating a store from its sources: unchanged sources are only checked, grown and new ones are
//! ingested in time order.

mod ingest_state;
mod plan;
mod planned_source;

use std::{
    collections::HashSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use tagq_ingest::Settings;
use tagq_store::{Manifest, Writer};

use super::{
    location::RunLocation,
    options::Options,
    room,
    writer::{creation, open_writer},
};
use crate::{error::Error, progress::Progress};
pub(super) use ingest_state::IngestState;
use ingest_state::settings;
use plan::Plan;

/// Minimum time between commits, so that thousands of small files do not cause thousands of waits for
/// the disk.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// Ingests all new data into the store of `location`, in several commits if needed.
pub(crate) fn bring_up_to_date(
    location: &RunLocation,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let manifest = Manifest::read(&location.store)?;
    let known = manifest.as_ref().map_or(&[][..], |manifest| &manifest.sources);
    let mut state = IngestState::default();
    state.know(known);
    // Sources are checked before the store is created, so that invalid files leave no store.
    let found = Plan::find(
        location,
        sources,
        if options.treatment.rebuild { &[] } else { known },
        options,
        progress,
        &mut state,
    )?;
    found.check_tick(location, manifest.as_ref(), options)?;
    let is_up_to_date = manifest.as_ref().is_some_and(|manifest| {
        let has_tick =
            options.tick.is_none_or(|tick| manifest.tick == tick && !manifest.tick_assumed);
        has_tick && found.is_nothing() && !options.treatment.rebuild
    });
    if is_up_to_date {
        // Either a killed writer left these bytes, or a writer is active; no answer depends on them.
        if manifest.as_ref().is_some_and(|manifest| {
            manifest.leftovers(&location.store).is_ok_and(|left| !left.is_empty())
        }) {
            drop(open_writer(location, options));
        }
        return found.note_touched(location, options, progress);
    }
    take_all(&mut None, location, sources, options, progress, &mut state)
}

/// Same as [`bring_up_to_date`], with a writer that stays open and holds the lock of the store. After
/// an error there is no writer, and the next call opens one.
pub(crate) fn take_all(
    writer: &mut Option<Writer>,
    location: &RunLocation,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    state: &mut IngestState,
) -> Result<(), Error> {
    // More of them may be complete by now.
    state.torn.clear();
    loop {
        let is_held = state.held.is_some();
        match work(writer, location, sources, options, progress, state) {
            // If reading starts without the held tags, the error depends on the files alone.
            Err(_) if is_held => state.held = None,
            // Counted from the start of reading, which advances with each commit.
            Err(Error::Files(tagq_ingest::Error::TornMessage { path, message }))
                if state.torn.get(&path) != Some(&(message - 1)) =>
            {
                state.torn.insert(path, message - 1);
            }
            // It may be ingested if there is time to sort it in.
            Err(Error::LateRest { path, .. })
                if state.hold_back.is_some() && state.disordered.insert(path.clone()) => {}
            Err(Error::LateRest { path, source }) if state.stopped.insert(path.clone()) => {
                let name = location.name_of(&path);
                let error = location.shown(Error::Files(*source));
                let longer = match state.hold_back {
                    Some(_) => ", and a longer --hold-back waits for such tags",
                    None => "",
                };
                progress.note(&format!(
                    "{error}; {name} stays as it was taken: `tagq ingest --rebuild` takes it \
                     anew{longer}"
                ));
            }
            result => return result,
        }
    }
}

/// Replaces the assumed tick of a store by the given one.
pub(crate) fn confirm_tick(location: &RunLocation, options: &Options) -> Result<(), Error> {
    let Some(tick) = options.tick else { return Ok(()) };
    let Some(manifest) = Manifest::read(&location.store)? else { return Ok(()) };
    if !manifest.tick_assumed && manifest.tick == tick {
        return Ok(());
    }
    let mut writer = open_writer(location, options)?;
    writer.set_tick(tick, false)?;
    Ok(writer.commit()?)
}

/// Returns the names of the sources that the last commit does not contain.
pub(crate) fn left_out(location: &RunLocation) -> Result<Vec<String>, Error> {
    let manifest = Manifest::read(&location.store)?;
    let known: HashSet<&str> =
        manifest.iter().flat_map(|m| &m.sources).map(|source| source.facts.name.as_str()).collect();
    let sources = location.sources.iter().flatten().map(|source| location.name_of(source));
    Ok(sources.filter(|name| !known.contains(name.as_str())).collect())
}

fn work(
    kept: &mut Option<Writer>,
    location: &RunLocation,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    state: &mut IngestState,
) -> Result<(), Error> {
    // Commits of another process before this one got the lock are no longer new.
    let mut writer = match kept.take() {
        Some(writer) => writer,
        None if options.treatment.rebuild => {
            check_all_there(location, sources)?;
            open_writer_from_scratch(location, options)?
        }
        None => open_writer(location, options)?,
    };
    let is_first = writer.manifest().commit == 0;
    let known = &writer.manifest().sources;
    let work = Plan::find(location, sources, known, options, progress, state)?;
    if let Err(error) = work.check_tick(location, Some(writer.manifest()), options) {
        writer.discard();
        return Err(error);
    }
    let mut changed = is_first || options.treatment.rebuild || !work.renames.is_empty();
    if let Some(tick) = options.tick.filter(|_| !is_first) {
        changed |= writer.manifest().tick_assumed || writer.manifest().tick != tick;
        writer.set_tick(tick, options.treatment.rebuild)?;
    }
    for (from, to) in &work.renames {
        writer.rename_source(from, to);
    }
    let new = work.grown.iter().chain(&work.new).map(|take| {
        let settings = Settings {
            start_byte: if take.is_rest { rest_byte(&writer) } else { 0 },
            ..settings(options, state, &take.name)
        };
        (take.path.as_path(), settings)
    });
    if let Err(error) = room::check(&location.store, new) {
        writer.discard();
        return Err(error);
    }
    changed |= work.touch(&mut writer);
    let mut last_commit = Instant::now();
    let takes = work.grown.iter().len() + work.new.len();
    for (done, take) in work.grown.iter().chain(&work.new).enumerate() {
        // A source that is followed by another one does not grow.
        let hold_back = state.hold_back_of(&take.path).filter(|_| done + 1 == takes);
        if let Err(error) = take.run(location, options, &mut writer, progress, state, hold_back) {
            // The uncommitted rows of this source are discarded, and with them all sources since the
            // last commit: those are complete, and are ingested again.
            writer.discard();
            let before: Vec<PathBuf> = work
                .grown
                .iter()
                .chain(&work.new)
                .take(done)
                .map(|take| take.path.clone())
                .collect();
            if changed && !before.is_empty() && !options.treatment.rebuild {
                self::work(kept, location, &before, options, progress, state)?;
            }
            return Err(error);
        }
        // A frame that is still being written is not visible: the commit follows at its end.
        changed |= !take.is_rest || hold_back.is_none() || writer.uncommitted_rows() > 0;
        if last_commit.elapsed() >= COMMIT_INTERVAL && !options.treatment.rebuild {
            writer.commit()?;
            last_commit = Instant::now();
            changed = false;
        }
    }
    if changed {
        writer.commit()?;
    }
    *kept = Some(writer);
    Ok(())
}

/// Returns the byte at which reading of the last finished source continues.
fn rest_byte(writer: &Writer) -> u64 {
    writer.last_source().map_or(0, |source| source.facts.resume.byte)
}

/// Opens a writer for a store that starts from scratch.
fn open_writer_from_scratch(location: &RunLocation, options: &Options) -> Result<Writer, Error> {
    drop(open_writer(location, options)?);
    Ok(Writer::open_anew(&location.store, &creation(options))?)
}

/// Checks that every source of the store still exists, so that a rebuild loses nothing.
fn check_all_there(location: &RunLocation, sources: &[PathBuf]) -> Result<(), Error> {
    let Some(manifest) = Manifest::read(&location.store)? else { return Ok(()) };
    let names = sources.iter().map(|path| location.name_of(path));
    let old_names = sources.iter().filter_map(|path| location.old_name_of(path));
    let names: HashSet<String> = names.chain(old_names).collect();
    let gone = manifest
        .sources
        .iter()
        .find(|source| source.rows > 0 && !names.contains(&source.facts.name));
    match gone {
        Some(source) => Err(Error::SourceGone {
            store: location.store.clone(),
            name: source.facts.name.clone(),
            rows: source.rows,
        }),
        None => Ok(()),
    }
}
