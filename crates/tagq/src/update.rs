//! Updating a store from its sources: unchanged sources are only checked, grown and new ones are
//! ingested in time order.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tagq_ingest::{
    Change, Held, Part, Settings, compare, first_time, ingest_holding, is_intact, is_unchanged,
    mtime_ns, read_header, text::TextColumns,
};
use tagq_store::{Error as StoreError, Manifest, Source, Writer};

use crate::{
    error::Error,
    notes::Notes,
    options::Options,
    place::Place,
    progress::Progress,
    room,
    writer::{is_not_writable, open_writer},
};

/// Minimum time between commits, so that thousands of small files do not cause thousands of waits for
/// the disk.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// A long source is committed after this many rows, so that little is read again after a crash.
const COMMIT_ROWS: u64 = 64 << 20;

/// If a source has this many new bytes, tags are written while it is read.
const EAGER_BYTES: u64 = 64 << 20;

/// The work to be done on a store.
#[derive(Default)]
struct Work {
    /// Sources that are listed under another name: the listed name and the new one.
    renames: Vec<(String, String)>,
    /// Sources whose file has another modification time but the same bytes.
    touched: Vec<Touched>,
    /// Data that was appended to the last source of the run.
    grown: Option<Take>,
    /// Sources that the store does not contain, in the order of ingest.
    new: Vec<Take>,
}

/// The current state of the file of a source.
struct Touched {
    name: String,
    look: Look,
}

/// Length, modification time and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    size: u64,
    mtime_ns: i64,
    inode: u64,
}

/// A file to ingest, completely or in part.
#[derive(Clone)]
struct Take {
    path: PathBuf,
    name: String,
    /// Its first time in ticks; `None` if it has no tags, or if only its rest is ingested.
    begins: Option<i64>,
    is_rest: bool,
    /// Whether the rest is ingested because an earlier ingest was interrupted: the source was never
    /// read completely.
    is_interrupted: bool,
}

/// State of the sources that was found while they were read.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    /// Number of complete messages before a torn one.
    torn: HashMap<PathBuf, u64>,
    /// Grown sources with a tag that was too late: they are not ingested further.
    stopped: HashSet<PathBuf>,
    /// Sources whose new data has tags that are later than the hold-back.
    disordered: HashSet<PathBuf>,
    /// Files whose bytes were compared with the ingested ones and are equal, and their state at that
    /// time.
    intact: HashMap<PathBuf, Look>,
    /// The column order with which text sources were ingested before, by name.
    columns: HashMap<String, TextColumns>,
    /// The hold-back of growing sources, in ticks: newer tags are not ingested yet.
    pub(crate) hold_back: Option<i64>,
    /// Sources that do not grow any more: none of their tags are held back.
    pub(crate) still: HashSet<PathBuf>,
    /// Tags of the last ingested source that were read and held back.
    held: Option<Held>,
}

/// Ingests all new data into the store of `place`, in several commits if needed.
pub(crate) fn bring_up_to_date(
    place: &Place,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let manifest = Manifest::read(&place.store)?;
    let known = manifest.as_ref().map_or(&[][..], |manifest| &manifest.sources);
    let mut learnt = Learnt::default();
    learnt.know(known);
    // Sources are checked before the store is created, so that invalid files leave no store.
    let found = Work::find(
        place,
        sources,
        if options.treatment.rebuild { &[] } else { known },
        options,
        progress,
        &mut learnt,
    )?;
    found.check_tick(place, manifest.as_ref(), options)?;
    let is_up_to_date = manifest.as_ref().is_some_and(|manifest| {
        let has_tick =
            options.tick.is_none_or(|tick| manifest.tick == tick && !manifest.tick_assumed);
        has_tick && found.is_nothing() && !options.treatment.rebuild
    });
    if is_up_to_date {
        // Either a killed writer left these bytes, or a writer is active; no answer depends on them.
        if manifest.as_ref().is_some_and(|manifest| {
            manifest.leftovers(&place.store).is_ok_and(|left| !left.is_empty())
        }) {
            drop(open_writer(place, options));
        }
        return found.note_touched(place, options, progress);
    }
    take_all(&mut None, place, sources, options, progress, &mut learnt)
}

/// Same as [`bring_up_to_date`], with a writer that stays open and holds the lock of the store. After
/// an error there is no writer, and the next call opens one.
pub(crate) fn take_all(
    writer: &mut Option<Writer>,
    place: &Place,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    learnt: &mut Learnt,
) -> Result<(), Error> {
    // More of them may be complete by now.
    learnt.torn.clear();
    loop {
        let is_held = learnt.held.is_some();
        match work(writer, place, sources, options, progress, learnt) {
            // If reading starts without the held tags, the error depends on the files alone.
            Err(_) if is_held => learnt.held = None,
            // Counted from the start of reading, which advances with each commit.
            Err(Error::Files(tagq_ingest::Error::TornMessage { path, message }))
                if learnt.torn.get(&path) != Some(&(message - 1)) =>
            {
                learnt.torn.insert(path, message - 1);
            }
            // It may be ingested if there is time to sort it in.
            Err(Error::LateRest { path, .. })
                if learnt.hold_back.is_some() && learnt.disordered.insert(path.clone()) => {}
            Err(Error::LateRest { path, source }) if learnt.stopped.insert(path.clone()) => {
                let name = place.name_of(&path);
                let error = place.shown(Error::Files(*source));
                let longer = match learnt.hold_back {
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
pub(crate) fn confirm_tick(place: &Place, options: &Options) -> Result<(), Error> {
    let Some(tick) = options.tick else { return Ok(()) };
    let Some(manifest) = Manifest::read(&place.store)? else { return Ok(()) };
    if !manifest.tick_assumed && manifest.tick == tick {
        return Ok(());
    }
    let mut writer = open_writer(place, options)?;
    writer.set_tick(tick, false)?;
    Ok(writer.commit()?)
}

/// Returns the names of the sources that the last commit does not contain.
pub(crate) fn left_out(place: &Place) -> Result<Vec<String>, Error> {
    let manifest = Manifest::read(&place.store)?;
    let known: HashSet<&str> =
        manifest.iter().flat_map(|m| &m.sources).map(|source| source.facts.name.as_str()).collect();
    let sources = place.sources.iter().flatten().map(|source| place.name_of(source));
    Ok(sources.filter(|name| !known.contains(name.as_str())).collect())
}

fn work(
    kept: &mut Option<Writer>,
    place: &Place,
    sources: &[PathBuf],
    options: &Options,
    progress: &dyn Progress,
    learnt: &mut Learnt,
) -> Result<(), Error> {
    // Commits of another process before this one got the lock are no longer new.
    let mut writer = match kept.take() {
        Some(writer) => writer,
        None if options.treatment.rebuild => {
            check_all_there(place, sources)?;
            open_writer_anew(place, options)?
        }
        None => open_writer(place, options)?,
    };
    let is_first = writer.manifest().commit == 0;
    let known = &writer.manifest().sources;
    let work = Work::find(place, sources, known, options, progress, learnt)?;
    if let Err(error) = work.check_tick(place, Some(writer.manifest()), options) {
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
            ..settings(options, learnt, &take.name)
        };
        (take.path.as_path(), settings)
    });
    if let Err(error) = room::check(&place.store, new) {
        writer.discard();
        return Err(error);
    }
    changed |= work.touch(&mut writer);
    let mut last_commit = Instant::now();
    let takes = work.grown.iter().len() + work.new.len();
    for (done, take) in work.grown.iter().chain(&work.new).enumerate() {
        // A source that is followed by another one does not grow.
        let hold_back = learnt.hold_back_of(&take.path).filter(|_| done + 1 == takes);
        if let Err(error) = take.run(place, options, &mut writer, progress, learnt, hold_back) {
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
                self::work(kept, place, &before, options, progress, learnt)?;
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

impl Learnt {
    /// Adds the information of a store about its sources.
    pub(crate) fn know(&mut self, sources: &[Source]) {
        let columns = |source: &Source| Some((source.facts.name.clone(), columns_of(source)?));
        self.columns.extend(sources.iter().filter_map(columns));
    }

    /// Whether all ingested bytes of a source are unchanged in its file; compared once per state of the
    /// file. `None` if an older store has no information.
    fn compare_bytes(
        &mut self,
        path: &Path,
        source: &Source,
        look: Look,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Option<bool>, Error> {
        if self.intact.get(path) == Some(&look) {
            return Ok(Some(true));
        }
        let read = Arc::new(AtomicU64::new(0));
        let settings = Settings {
            bytes_read: Some(Arc::clone(&read)),
            cancelled: options.cancelled.clone(),
            ..Settings::default()
        };
        progress.source(&source.facts.name, source.facts.read_byte, &read);
        let result = is_intact(&source.facts, path, &settings);
        progress.done();
        let result = result?;
        if result == Some(true) {
            self.intact.insert(path.into(), look);
        }
        Ok(result)
    }

    /// Returns the hold-back of a source in ticks.
    fn hold_back_of(&self, path: &Path) -> Option<i64> {
        self.hold_back.filter(|_| !self.still.contains(path))
    }
}

impl Work {
    fn find(
        place: &Place,
        sources: &[PathBuf],
        known: &[Source],
        options: &Options,
        progress: &dyn Progress,
        learnt: &mut Learnt,
    ) -> Result<Self, Error> {
        let mut work = Self::default();
        let names: Vec<String> = sources.iter().map(|path| place.name_of(path)).collect();
        let by_name: HashMap<&str, &Source> =
            known.iter().map(|source| (source.facts.name.as_str(), source)).collect();
        // Sources whose file is gone may exist under another name.
        let gone: Vec<&Source> = known
            .iter()
            .filter(|source| source.facts.read_byte > 0 && !names.contains(&source.facts.name))
            .collect();
        for (path, name) in sources.iter().zip(&names) {
            let old_name = place.old_name_of(path).filter(|old| !names.contains(old));
            let of_name = by_name.get(name.as_str()).copied();
            let of_old_name = old_name.and_then(|old| by_name.get(old.as_str()).copied());
            let source = match of_name {
                Some(source) => Some(source),
                None if of_old_name.is_some() => of_old_name,
                None => find_renamed(&gone, path)?,
            };
            let Some(source) = source else {
                let begins = first_time(path, &settings(options, learnt, name))?;
                let (path, name) = (path.clone(), name.clone());
                work.new.push(Take { path, name, begins, is_rest: false, is_interrupted: false });
                continue;
            };
            if let (Some(given), Some(before)) = (options.columns, columns_of(source))
                && given != before
            {
                let (path, run) = (path.clone(), place.path.clone());
                return Err(Error::Columns { path, run, before: before.to_string(), given });
            }
            let is_input = place.input.as_ref().is_some_and(|(input, _)| input == path);
            // A stream has no name of its own.
            let name = if is_input { &source.facts.name } else { name };
            if of_name.is_none() && !is_input {
                work.renames.push((source.facts.name.clone(), name.clone()));
            }
            let state = State::of(place, path, source, options, progress, learnt)?;
            if let Some(look) = state.touched.filter(|_| !is_input) {
                work.touched.push(Touched { name: name.clone(), look });
            }
            if state.is_grown && !learnt.stopped.contains(path) {
                if known.last() != Some(source) {
                    return Err(changed(place, path, "it grew, and another source follows it"));
                }
                let (path, name) = (path.clone(), name.clone());
                let is_interrupted = !source.facts.finished;
                work.grown = Some(Take { path, name, begins: None, is_rest: true, is_interrupted });
            }
        }
        // Stable, so that sources with the same first time stay in natural order; sources without tags
        // are last.
        work.new.sort_by_key(|take| (take.begins.is_none(), take.begins));
        Ok(work)
    }

    fn is_nothing(&self) -> bool {
        self.renames.is_empty() && self.grown.is_none() && self.new.is_empty()
    }

    /// Rejects the first tags of a run if neither the user nor the file states the tick.
    fn check_tick(
        &self,
        place: &Place,
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
            Err(Error::NoTick { path: take.path.clone(), command: place.ingest_command() })
        })
    }

    /// Updates the listed state of touched files; returns whether there were any.
    fn touch(&self, writer: &mut Writer) -> bool {
        for Touched { name, look } in &self.touched {
            writer.touch_source(name, look.mtime_ns, look.inode);
        }
        !self.touched.is_empty()
    }

    /// Commits the current state of touched files, so that they are not compared again. If this cannot
    /// be written, the last commit still answers.
    fn note_touched(
        &self,
        place: &Place,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let Some(Touched { name, .. }) = self.touched.first() else { return Ok(()) };
        let committed = open_writer(place, options).and_then(|mut writer| {
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
struct State {
    /// There is more data to ingest.
    is_grown: bool,
    /// The current state, if the file was touched and all ingested bytes are unchanged.
    touched: Option<Look>,
}

impl State {
    /// # Errors
    /// [`Error::Changed`] if it is not the file that was ingested.
    fn of(
        place: &Place,
        path: &Path,
        source: &Source,
        options: &Options,
        progress: &dyn Progress,
        learnt: &mut Learnt,
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
        let look = Look::of(&metadata);
        let is_grown = match compare(facts, path)? {
            Change::None => can_salvage,
            // An unchanged torn end has nothing to ingest, but tags that were held back have.
            Change::Grown => look.size != facts.size || can_salvage || !facts.finished,
            Change::Other => {
                let what = format!("{} bytes then, {} now", facts.size, look.size);
                return Err(changed(place, path, &what));
            }
        };
        if look.size != facts.size || look.mtime_ns == facts.mtime_ns {
            return Ok(Self { is_grown, touched: None });
        }
        let touched = match learnt.compare_bytes(path, source, look, options, progress)? {
            Some(true) => Some(look).filter(|_| facts.finished),
            Some(false) => return Err(changed(place, path, "the same length, other bytes")),
            None => None,
        };
        Ok(Self { is_grown, touched })
    }
}

impl Look {
    fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), mtime_ns: mtime_ns(metadata), inode: metadata.ino() }
    }
}

impl Take {
    fn run(
        &self,
        place: &Place,
        options: &Options,
        writer: &mut Writer,
        progress: &dyn Progress,
        learnt: &mut Learnt,
        hold_back: Option<i64>,
    ) -> Result<(), Error> {
        let part = match self.begins {
            _ if self.is_rest => Part::Rest,
            Some(begins) if options.treatment.rebase => {
                Part::Whole { rebase: rebase(begins, writer)? }
            }
            Some(begins) => {
                self.check_after(place, begins, writer)?;
                Part::Whole { rebase: None }
            }
            None => Part::Whole { rebase: None },
        };
        let read = Arc::new(AtomicU64::new(0));
        let bytes = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        progress.source(&self.name, bytes, &read);
        // The user waits for the end of a recording, and most of it can be written before.
        let new = bytes.saturating_sub(writer.last_source().map_or(0, |last| last.facts.read_byte));
        let is_live = self.is_rest && hold_back.is_some() && new <= EAGER_BYTES;
        let eager = is_live && !learnt.disordered.contains(&self.path);
        let settings = Settings {
            messages_max: learnt.torn.get(&self.path).copied(),
            salvage: options.treatment.salvage,
            bytes_read: Some(read),
            cancelled: options.cancelled.clone(),
            commit_rows: (!options.treatment.rebuild && !eager).then_some(COMMIT_ROWS),
            hold_back,
            eager,
            ..settings(options, learnt, &self.name)
        };
        let held = &mut learnt.held;
        let result = ingest_holding(&self.path, &self.name, part, &settings, writer, held);
        progress.done();
        match result {
            // The first tag of the file was late enough, but another one was not.
            Err(tagq_ingest::Error::Store(StoreError::Unsorted { time, .. })) => {
                self.check_after(place, time, writer)?;
                result?;
            }
            Err(source @ tagq_ingest::Error::Late { .. })
                if self.is_rest && (!self.is_interrupted || learnt.hold_back.is_some()) =>
            {
                return Err(Error::LateRest { path: self.path.clone(), source: Box::new(source) });
            }
            result => {
                result?;
            }
        }
        // The notes of a recorder cover the whole recording, which is complete only at its end.
        if hold_back.is_none() {
            self.compare_with_notes(writer, progress);
        }
        Ok(())
    }

    /// Notes the differences between the source and the notes of its recorder. They do not stop ingest.
    fn compare_with_notes(&self, writer: &Writer, progress: &dyn Progress) {
        let differences = match (Notes::beside(&self.path), writer.last_source()) {
            (Ok(Some(notes)), Some(source)) => notes.differences(source, writer.manifest().tick),
            (Err(error), _) => vec![error],
            _ => Vec::new(),
        };
        for difference in differences {
            progress.note(&format!("{}: {difference}", self.name));
        }
    }

    /// Checks that the source can follow the rows of the run.
    fn check_after(&self, place: &Place, begins: i64, writer: &Writer) -> Result<(), Error> {
        match writer.span() {
            Some((_, ends)) if begins < ends => {
                let folder = self.path.parent().unwrap_or(Path::new("."));
                let before =
                    writer.last_source().map_or("the source before it", |last| &last.facts.name);
                Err(Error::Overlap {
                    path: self.path.clone(),
                    folder: folder.into(),
                    run: place.path.clone(),
                    begins,
                    ends,
                    before: before.into(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the settings for reading a text source.
fn settings(options: &Options, learnt: &Learnt, name: &str) -> Settings {
    let columns_before = learnt.columns.get(name).copied();
    Settings { columns: options.columns, columns_before, ..Settings::default() }
}

/// Returns the column order with which a text was ingested.
fn columns_of(source: &Source) -> Option<TextColumns> {
    source.facts.columns.as_deref()?.parse().ok()
}

/// Returns the ticks that move a source to 1 s after the end of the run; `None` if the source already
/// follows it.
fn rebase(begins: i64, writer: &Writer) -> Result<Option<i64>, Error> {
    let Some((_, ends)) = writer.span().filter(|&(_, ends)| begins < ends) else {
        return Ok(None);
    };
    let second = "1s".parse::<tagq_store::Duration>()?.nearest(writer.manifest().tick)?;
    let moved = i128::from(ends) + i128::from(second) - i128::from(begins);
    i64::try_from(moved)
        .map(Some)
        .map_err(|_| tagq_store::UnitError::OutOfRange { text: format!("{moved}t") }.into())
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

/// Opens a writer for a store that starts from scratch.
fn open_writer_anew(place: &Place, options: &Options) -> Result<Writer, Error> {
    drop(open_writer(place, options)?);
    Ok(Writer::open_anew(&place.store, &crate::writer::creation(options))?)
}

/// Checks that every source of the store still exists, so that a rebuild loses nothing.
fn check_all_there(place: &Place, sources: &[PathBuf]) -> Result<(), Error> {
    let Some(manifest) = Manifest::read(&place.store)? else { return Ok(()) };
    let names = sources.iter().map(|path| place.name_of(path));
    let old_names = sources.iter().filter_map(|path| place.old_name_of(path));
    let names: HashSet<String> = names.chain(old_names).collect();
    let gone = manifest
        .sources
        .iter()
        .find(|source| source.rows > 0 && !names.contains(&source.facts.name));
    match gone {
        Some(source) => Err(Error::SourceGone {
            store: place.store.clone(),
            name: source.facts.name.clone(),
            rows: source.rows,
        }),
        None => Ok(()),
    }
}

fn changed(place: &Place, path: &Path, what: &str) -> Error {
    Error::Changed { path: path.into(), run: place.path.clone(), what: what.into() }
}
