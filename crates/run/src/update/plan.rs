//! Compares the sources of a run with its store and plans the ingest.
//!
//! A source that had 100 bytes and has 150 now, whose first 100 are intact, has grown and is read on from where its
//! reading ended. Only the last source of the run may grow, because rows are only appended.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use tagq_ingest::{Change, Columns, FormatName, SourceFile, is_unchanged};
use tagq_store::{Error as StoreError, Manifest, Source, Tick, Writer, os::FileStamp};

use super::{
    context::Context,
    ingest_state::{IngestState, Lateness, columns_of},
    planned_source::{Extent, PlannedSource},
};
use crate::{error::Error, location::RunLocation, writer::is_not_writable, writer::open_writer};

/// The most names of sources that a note has.
const SHOWN_NAMES: usize = 10;

/// The work to be done on a store.
#[derive(Default)]
pub(super) struct UpdatePlan {
    /// Sources that are listed under another name: the listed name and the new one.
    renames: Vec<(String, String)>,
    /// Sources whose file has another modification time but the same bytes, by name.
    touched: Vec<(String, FileStamp)>,
    /// Sources with new data, in the order of ingest: the last source of the run, if it has grown,
    /// and sources that the store does not contain.
    pub sources: Vec<PlannedSource>,
}

/// How the file of a source differs from its ingested state.
enum FileState {
    Unchanged,
    /// The file was touched, and all ingested bytes are unchanged.
    Touched(FileStamp),
    /// There is more data to ingest.
    Grown(Box<SourceFile>),
}

impl UpdatePlan {
    pub(super) fn find(
        context: Context<'_>,
        sources: &[PathBuf],
        known: &[Source],
        memory: &mut IngestState,
    ) -> Result<Self, Error> {
        let Context { location, options, .. } = context;
        let (mut plan, mut grown) = (Self::default(), None);
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
            let source = if let Some(source) = of_name.or(of_old_name) {
                source
            } else {
                let file = SourceFile::open(path)?;
                let Some(source) = find_renamed(&gone, &file)? else {
                    let settings = memory.reading_settings(options, name);
                    let extent = Extent::Whole { begins: file.first_time(&settings)? };
                    plan.sources.push(PlannedSource::new(file, name, extent, &settings)?);
                    continue;
                };
                source
            };
            // A source without columns has micro times only if the file says their unit.
            let no_columns = || options.columns.as_ref()?.micro_tick.map(|_| Columns::default());
            let before = columns_of(source).or_else(no_columns);
            if let (Some(given), Some(before)) = (&options.columns, before)
                && given.contradict(&before)
            {
                let (path, run) = (path.clone(), location.path.clone());
                let (before, given) = (before.to_string(), given.to_string());
                return Err(Error::Columns { path, run, before, given });
            }
            if let (Some(given), Some(before)) =
                (options.format, FormatName::of_source(&source.facts))
                && given != before
            {
                let (path, run) = (path.clone(), location.path.clone());
                return Err(Error::OtherFormat { path, run, before, given });
            }
            let is_input = location.input.as_ref().is_some_and(|(input, _)| input == path);
            // A stream has no name of its own.
            let name = if is_input { &source.facts.name } else { name };
            if of_name.is_none() && !is_input {
                plan.renames.push((source.facts.name.clone(), name.clone()));
            }
            match FileState::of(context, path, source, memory)? {
                FileState::Touched(stamp) if !is_input => plan.touched.push((name.clone(), stamp)),
                FileState::Grown(file) if memory.source(path).lateness != Lateness::Stopped => {
                    if known.last() != Some(source) {
                        let what = "it grew, and another source follows it";
                        return Err(changed(location, path, what));
                    }
                    let is_complete = source.facts.finished;
                    let extent = if is_complete { Extent::Growth } else { Extent::Remainder };
                    let settings = memory.reading_settings(options, name);
                    grown = Some(PlannedSource::new(*file, name, extent, &settings)?);
                }
                FileState::Unchanged | FileState::Touched(_) | FileState::Grown(_) => {}
            }
        }
        if options.treatment.rebase {
            plan.sort_by_dates();
        } else {
            // Stable, so that sources with the same first time stay in natural order; sources without tags
            // are last.
            plan.sources.sort_by_key(|source| (source.begins().is_none(), source.begins()));
        }
        plan.sources.splice(..0, grown);
        Ok(plan)
    }

    /// Puts sources whose counters may have begun again in the order of the dates in their headers, if all have one.
    fn sort_by_dates(&mut self) {
        if self.sources.iter().all(|source| source.began_s().is_some()) {
            self.sources.sort_by_key(PlannedSource::began_s);
        }
    }

    /// Describes the order of whole files whose counters may have begun again; `None` for fewer than two.
    pub(super) fn described_order(&self, location: &RunLocation) -> Option<String> {
        let whole: Vec<&PlannedSource> =
            self.sources.iter().filter(|source| !source.is_rest()).collect();
        let order = if whole.iter().all(|source| source.began_s().is_some()) {
            "of the dates in their headers"
        } else if location.path == location.store {
            "in which they were given, because not all headers have a date"
        } else {
            "of their names, because not all headers have a date"
        };
        let names: Vec<&str> = whole.iter().map(|source| &*source.name).collect();
        let names = match &names[..] {
            [] | [_] => return None,
            [first, .., last] if names.len() > SHOWN_NAMES => format!("{first}, …, {last}"),
            all => all.join(", "),
        };
        Some(format!("the order of the files is that {order}: {names}"))
    }

    /// Whether the store has all tags under the current names.
    pub(super) fn is_nothing(&self) -> bool {
        self.renames.is_empty() && self.sources.is_empty()
    }

    /// Returns the tick that the headers of new sources state, if the run has none yet.
    ///
    /// # Errors
    /// [`Error::NoTick`] if neither the user nor a file states the tick of the first tags,
    /// [`Error::OtherTick`] if a source states another one than the run.
    pub(super) fn tick(
        &self,
        context: Context<'_>,
        manifest: Option<&Manifest>,
    ) -> Result<Option<Tick>, Error> {
        let Context { location, options, .. } = context;
        let is_recorded =
            |source: &Source| source.facts.read_byte > 0 && source.facts.columns.is_none();
        let known = manifest.filter(|manifest| {
            // A store that is rebuilt has no rows now.
            let is_rebuilt = options.treatment.rebuild && manifest.commit > 0;
            let is_begun = manifest.rows > 0 || is_rebuilt;
            is_begun || !manifest.tick_assumed || manifest.sources.iter().any(is_recorded)
        });
        let known = options.tick.or(known.map(|manifest| manifest.tick));
        // A source that grows keeps the tick with which it was ingested, whatever its text states.
        let is_settled = |of: &PlannedSource| {
            of.is_rest() && options.tick.is_none() && manifest.is_some_and(|run| run.rows > 0)
        };
        let planned = || self.sources.iter().filter(|of| !is_settled(of));
        let headers = || planned().filter_map(|of| Some((of.path(), of.header.as_ref()?)));
        let stated = headers().find(|(_, header)| !header.tick_assumed);
        let stated = stated.and_then(|(_, header)| header.tick);
        let mut without_tick = None;
        for (path, header) in headers() {
            match (header.tick, known.or(stated)) {
                // A tick that is only usual yields to the one of the user.
                (Some(_), Some(_)) if header.tick_assumed && known.is_some() => {}
                (Some(of_source), Some(tick)) if of_source != tick => {
                    let path = path.into();
                    return Err(Error::OtherTick { path, stated: of_source, tick });
                }
                (None, _) => without_tick = without_tick.or(Some(path)),
                (Some(_), _) => {}
            }
        }
        let has_tick = known.is_some() || headers().any(|(_, header)| header.tick.is_some());
        match without_tick.filter(|_| !has_tick) {
            Some(path) => Err(Error::NoTick {
                path: path.into(),
                command: location.ingest_command("--tick 1ps", options),
            }),
            None => Ok(stated.filter(|_| known.is_none())),
        }
    }

    /// Updates the names of renamed files and the stamps of touched ones; returns whether there are any.
    pub(super) fn apply_to(&self, writer: &mut Writer) -> bool {
        for (from, to) in &self.renames {
            writer.rename_source(from, to);
        }
        for (name, stamp) in &self.touched {
            writer.touch_source(name, stamp.mtime_ns, stamp.inode);
        }
        !self.renames.is_empty() || !self.touched.is_empty()
    }

    /// Commits the stamps of touched files, so that they are not compared again. If this cannot be
    /// written, the last commit still answers.
    pub(super) fn commit_touched(&self, context: Context<'_>) -> Result<(), Error> {
        let Some((name, _)) = self.touched.first() else { return Ok(()) };
        let writer = open_writer(context.location, context.options);
        let committed = writer.and_then(|mut writer| {
            self.apply_to(&mut writer);
            Ok(writer.commit()?)
        });
        match committed {
            Err(error) if error.is_busy() => Ok(()),
            Err(Error::Store(StoreError::Io { source, .. })) if is_not_writable(&source) => {
                context.progress.note(&format!(
                    "{name}: its modification time is not the one it had when it was ingested; its \
                     bytes are compared each time, because the store cannot be written ({source})"
                ));
                Ok(())
            }
            result => result,
        }
    }
}

impl FileState {
    /// # Errors
    /// [`Error::Changed`] if it is not the file that was ingested.
    fn of(
        context: Context<'_>,
        path: &Path,
        source: &Source,
        memory: &mut IngestState,
    ) -> Result<Self, Error> {
        let Context { location, options, .. } = context;
        let facts = &source.facts;
        let stamp = FileStamp::of_path(path).map_err(|source| Error::Io {
            path: path.into(),
            action: "look at it",
            source,
        })?;
        let can_salvage = options.treatment.salvage && facts.torn.is_some() && !facts.salvaged;
        if is_unchanged(facts, stamp) {
            return Ok(if can_salvage {
                Self::Grown(SourceFile::open(path)?.into())
            } else {
                Self::Unchanged
            });
        }
        let file = Box::new(SourceFile::open(path)?);
        let is_grown = match file.compare(facts)? {
            Change::None => can_salvage,
            // An unchanged torn end has nothing to ingest, but tags that were held back have.
            Change::Grown => stamp.size != facts.size || can_salvage || !facts.finished,
            Change::Other => {
                let what = format!("{} bytes then, {} now", facts.size, stamp.size);
                return Err(changed(location, path, &what));
            }
        };
        let is_touched = stamp.size == facts.size && stamp.mtime_ns != facts.mtime_ns;
        let is_intact =
            if is_touched { memory.is_intact(context, path, source, stamp)? } else { None };
        match is_intact {
            Some(false) => Err(changed(location, path, "the same length, other bytes")),
            _ if is_grown => Ok(Self::Grown(file)),
            Some(true) if facts.finished => Ok(Self::Touched(stamp)),
            Some(true) | None => Ok(Self::Unchanged),
        }
    }
}

/// Returns the source among `gone` that is the file at `path`.
fn find_renamed<'m>(gone: &[&'m Source], file: &SourceFile) -> Result<Option<&'m Source>, Error> {
    for source in gone {
        if file.compare(&source.facts)? != Change::Other {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

fn changed(location: &RunLocation, path: &Path, what: &str) -> Error {
    Error::Changed { path: path.into(), run: location.path.clone(), what: what.into() }
}
