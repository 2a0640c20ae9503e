//! Compares the sources of a run with its store and plans the ingest.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use tagq_ingest::{Change, compare, first_time, is_unchanged, read_header};
use tagq_store::{Error as StoreError, Manifest, Source, Writer};

use super::{
    ingest_state::{FileStamp, IngestState, columns_of, settings},
    planned_source::PlannedSource,
};
use crate::{
    error::Error,
    progress::Progress,
    run::{
        location::RunLocation,
        options::Options,
        writer::{is_not_writable, open_writer},
    },
};

/// The work to be done on a store.
#[derive(Default)]
pub(super) struct Plan {
    /// Sources that are listed under another name: the listed name and the new one.
    pub(super) renames: Vec<(String, String)>,
    /// Sources whose file has another modification time but the same bytes.
    touched: Vec<Touched>,
    /// Data that was appended to the last source of the run.
    pub(super) grown: Option<PlannedSource>,
    /// Sources that the store does not contain, in the order of ingest.
    pub(super) new: Vec<PlannedSource>,
}

/// The current state of the file of a source.
struct Touched {
    name: String,
    stamp: FileStamp,
}

impl Plan {
    pub(super) fn find(
        location: &RunLocation,
        sources: &[PathBuf],
        known: &[Source],
        options: &Options,
        progress: &dyn Progress,
        state: &mut IngestState,
    ) -> Result<Self, Error> {
        let mut work = Self::default();
        let names: Vec<String> = sources.iter().map(|path| location.name_of(path)).collect();
        let by_name: HashMap<&str, &Source> =
            known.iter().map(|source| (source.facts.name.as_str(), source)).collect();
        // Sources whose file is gone may exist under another name.
        let gone: Vec<&Source> = known
            .iter()
            .filter(|source| source.facts.read_byte > 0 && !names.contains(&source.facts.name))
            .collect();
        for (path, name) in sources.iter().zip(&names) {
            let old_name = location.old_name_of(path).filter(|old| !names.contains(old));
            let of_name = by_name.get(name.as_str()).copied();
            let of_old_name = old_name.and_then(|old| by_name.get(old.as_str()).copied());
            let source = match of_name {
                Some(source) => Some(source),
                None if of_old_name.is_some() => of_old_name,
                None => find_renamed(&gone, path)?,
            };
            let Some(source) = source else {
                let begins = first_time(path, &settings(options, state, name))?;
                let (path, name) = (path.clone(), name.clone());
                work.new.push(PlannedSource {
                    path,
                    name,
                    begins,
                    is_rest: false,
                    is_interrupted: false,
                });
                continue;
            };
            if let (Some(given), Some(before)) = (options.columns, columns_of(source))
                && given != before
            {
                let (path, run) = (path.clone(), location.path.clone());
                return Err(Error::Columns { path, run, before: before.to_string(), given });
            }
            let is_input = location.input.as_ref().is_some_and(|(input, _)| input == path);
            // A stream has no name of its own.
            let name = if is_input { &source.facts.name } else { name };
            if of_name.is_none() && !is_input {
                work.renames.push((source.facts.name.clone(), name.clone()));
            }
            let file = FileState::of(location, path, source, options, progress, state)?;
            if let Some(stamp) = file.touched.filter(|_| !is_input) {
                work.touched.push(Touched { name: name.clone(), stamp });
            }
            if file.is_grown && !state.stopped.contains(path) {
                if known.last() != Some(source) {
                    return Err(changed(location, path, "it grew, and another source follows it"));
                }
                let (path, name) = (path.clone(), name.clone());
                let is_interrupted = !source.facts.finished;
                work.grown =
                    Some(PlannedSource { path, name, begins: None, is_rest: true, is_interrupted });
            }
        }
        // Stable, so that sources with the same first time stay in natural order; sources without tags
        // are last.
        work.new.sort_by_key(|take| (take.begins.is_none(), take.begins));
        Ok(work)
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.renames.is_empty() && self.grown.is_none() && self.new.is_empty()
    }

    /// Rejects the first tags of a run if neither the user nor the file states the tick.
    pub(super) fn check_tick(
        &self,
        location: &RunLocation,
        manifest: Option<&Manifest>,
        options: &Options,
    ) -> Result<(), Error> {
        let is_known = manifest.is_some_and(|manifest| {
            let is_recorded =
                |source: &Source| source.facts.read_byte > 0 && source.facts.columns.is_none();
            // A store that is rebuilt has no rows now.
            let is_rebuilt = options.treatment.rebuild && manifest.commit > 0;
            let is_begun = manifest.rows > 0 || is_rebuilt;
            is_begun || !manifest.tick_assumed || manifest.sources.iter().any(is_recorded)
        });
        if options.tick.is_some() || is_known {
            return Ok(());
        }
        let mut without_tick = None;
        for take in self.grown.iter().chain(&self.new) {
            match read_header(&take.path)? {
                Some(header) if header.tick.is_none() => without_tick = without_tick.or(Some(take)),
                Some(_) => return Ok(()),
                None => {}
            }
        }
        without_tick.map_or(Ok(()), |take| {
            Err(Error::NoTick { path: take.path.clone(), command: location.ingest_command() })
        })
    }

    /// Updates the listed state of touched files; returns whether there were any.
    pub(super) fn touch(&self, writer: &mut Writer) -> bool {
        for Touched { name, stamp } in &self.touched {
            writer.touch_source(name, stamp.mtime_ns, stamp.inode);
        }
        !self.touched.is_empty()
    }

    /// Commits the current state of touched files, so that they are not compared again. If this cannot
    /// be written, the last commit still answers.
    pub(super) fn note_touched(
        &self,
        location: &RunLocation,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let Some(Touched { name, .. }) = self.touched.first() else { return Ok(()) };
        let committed = open_writer(location, options).and_then(|mut writer| {
            self.touch(&mut writer);
            Ok(writer.commit()?)
        });
        match committed {
            Err(error) if error.is_busy() => Ok(()),
            Err(Error::Store(StoreError::Io { source, .. })) if is_not_writable(&source) => {
                progress.note(&format!(
                    "{name}: its modification time is not the one it had when it was ingested; its \
                     bytes are compared each time, because the store cannot be written ({source})"
                ));
                Ok(())
            }
            result => result,
        }
    }
}

/// How the file of a source differs from its ingested state.
struct FileState {
    /// There is more data to ingest.
    is_grown: bool,
    /// The current state, if the file was touched and all ingested bytes are unchanged.
    touched: Option<FileStamp>,
}

impl FileState {
    /// # Errors
    /// [`Error::Changed`] if it is not the file that was ingested.
    fn of(
        location: &RunLocation,
        path: &Path,
        source: &Source,
        options: &Options,
        progress: &dyn Progress,
        state: &mut IngestState,
    ) -> Result<Self, Error> {
        let facts = &source.facts;
        let metadata = fs::metadata(path).map_err(|source| Error::Io {
            path: path.into(),
            action: "look at it",
            source,
        })?;
        let can_salvage = options.treatment.salvage && facts.torn.is_some() && !facts.salvaged;
        if is_unchanged(facts, &metadata) {
            return Ok(Self { is_grown: can_salvage, touched: None });
        }
        let stamp = FileStamp::of(&metadata);
        let is_grown = match compare(facts, path)? {
            Change::None => can_salvage,
            // An unchanged torn end has nothing to ingest, but tags that were held back have.
            Change::Grown => stamp.size != facts.size || can_salvage || !facts.finished,
            Change::Other => {
                let what = format!("{} bytes then, {} now", facts.size, stamp.size);
                return Err(changed(location, path, &what));
            }
        };
        if stamp.size != facts.size || stamp.mtime_ns == facts.mtime_ns {
            return Ok(Self { is_grown, touched: None });
        }
        let touched = match state.compare_bytes(path, source, stamp, options, progress)? {
            Some(true) => Some(stamp).filter(|_| facts.finished),
            Some(false) => return Err(changed(location, path, "the same length, other bytes")),
            None => None,
        };
        Ok(Self { is_grown, touched })
    }
}

/// Returns the source among `gone` that is the file at `path`.
fn find_renamed<'m>(gone: &[&'m Source], path: &Path) -> Result<Option<&'m Source>, Error> {
    for source in gone {
        if compare(&source.facts, path)? != Change::Other {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

fn changed(location: &RunLocation, path: &Path, what: &str) -> Error {
    Error::Changed { path: path.into(), run: location.path.clone(), what: what.into() }
}
