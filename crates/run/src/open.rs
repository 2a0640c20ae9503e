//! Opening a run: its store is updated, or answers as it is.
//!
//! A query never fails because the store cannot be written: then the last commit answers, with a note.

use std::{
    collections::HashMap,
    env, fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rayon::prelude::*;
use tagq_ingest::{Error as FilesError, late_settings};
use tagq_query::{Facts, Lookup, Recording, ScanProgress};
use tagq_store::{
    Access, Error as StoreError, Manifest, RowsId, Source, Store, SyncPulses, Tick, Writer, pasted,
};

use super::{
    location::RunLocation,
    memo::Memo,
    options::{Bounds, Caching, OpenOptions},
    room::{self, NewColumns},
    update::{self, Context},
    writer::{is_not_writable, open_writer},
};
use crate::{
    cache, error::Error, input::Input, notes::Notes, progress::Progress, remarks::remarks,
    unfinished::UnfinishedFolder,
};

/// Runs of more sources than this are not searched for settings that appeared after ingest.
const LATE_SETTINGS_MAX: usize = 64;
/// The fewest times that are worth a thread of their own.
const LOOKUPS: usize = 1 << 10;

/// A run, open for queries.
#[derive(Debug, Clone)]
pub struct Run {
    path: PathBuf,
    is_recursive: bool,
    /// The folder of the store, if the user gave it.
    given_store: Option<PathBuf>,
    store: Arc<Store>,
    access: Access,
    caching: Caching,
    bounds: Bounds,
    /// The run from whose rows it was derived, if a request asked for that.
    derived_from: Option<Arc<DerivedFrom>>,
    /// The note that its light is not steady: kept where it is looked for, and taken from there where no rows are.
    light: Arc<Mutex<Option<String>>>,
    memo: Arc<Memo>,
}

/// The rows from which a run was derived.
#[derive(Debug, Clone)]
struct DerivedFrom {
    rows: RowsId,
    commit: u64,
    tick_assumed: bool,
    /// The labels that were given to derived channels.
    labels: Vec<u16>,
}

impl Run {
    /// Opens a run at the last commit of its store.
    pub(crate) fn of_store(location: &RunLocation, options: &OpenOptions) -> Result<Self, Error> {
        let mut store = Store::open(&location.store, options.access)?;
        use_tick_here(location, &mut store, options)?;
        Ok(Self::new(location, store, options))
    }

    fn new(location: &RunLocation, store: Store, options: &OpenOptions) -> Self {
        let RunLocation { path, is_recursive, .. } = location;
        Self {
            path: path.clone(),
            is_recursive: *is_recursive,
            given_store: options.store.clone().filter(|store| store != path),
            store: Arc::new(store),
            access: options.access,
            caching: options.caching,
            bounds: options.bounds,
            derived_from: None,
            light: Arc::default(),
            memo: Arc::default(),
        }
    }

    /// Returns a run whose path the user gave as `path`, with a store; `light` is the note that its light is not
    /// steady.
    pub fn with_store(path: &Path, store: Store, light: Option<String>) -> Self {
        Self {
            path: path.into(),
            is_recursive: false,
            given_store: None,
            store: Arc::new(store),
            access: Access::Mapped,
            caching: Caching::Off,
            bounds: Bounds::default(),
            derived_from: None,
            light: Arc::new(Mutex::new(light)),
            memo: Arc::default(),
        }
    }

    /// Returns the run as a request counts it: with the rows of a store that was derived from it.
    pub(crate) fn derived(&self, store: Arc<Store>, caching: Caching, labels: Vec<u16>) -> Self {
        let manifest = self.store.manifest();
        let (rows, commit) = (manifest.rows_id(), manifest.commit);
        let tick_assumed = manifest.tick_assumed;
        let derived_from = DerivedFrom { rows, commit, tick_assumed, labels };
        let derived_from = Some(Arc::new(derived_from));
        Self { store, caching, derived_from, memo: Arc::default(), ..self.clone() }
    }

    /// Returns the run of its store alone, whatever that was derived from.
    pub(crate) fn alone(self) -> Self {
        let (path, given_store, derived_from) = (self.store.folder().into(), None, None);
        Self { path, is_recursive: false, given_store, derived_from, ..self }
    }

    /// Whether a request derived it from another run.
    pub fn is_derived(&self) -> bool {
        self.derived_from.is_some()
    }

    /// Whether the tick of the recording is assumed, not confirmed by the user.
    pub fn is_tick_assumed(&self) -> bool {
        let own = self.store.manifest().tick_assumed;
        self.derived_from.as_ref().map_or(own, |of| of.tick_assumed)
    }

    /// Returns the labels of derived channels, if a request derived it.
    pub fn derived_labels(&self) -> &[u16] {
        self.derived_from.as_ref().map_or(&[], |of| &of.labels)
    }

    /// Returns the identity of the rows that were recorded, and the commit of their store.
    pub fn recorded_rows(&self) -> (RowsId, u64) {
        let manifest = self.store.manifest();
        let own = || (manifest.rows_id(), manifest.commit);
        self.derived_from.as_ref().map_or_else(own, |of| (of.rows, of.commit))
    }

    /// Returns how its columns are read.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Returns the note that its light is not steady. `find` looks for it, where there are rows.
    pub fn light_note(&self, find: impl FnOnce() -> Option<String>) -> Option<String> {
        if !self.store.has_rows() {
            return self.kept_light_note();
        }
        // Not under the lock: the search gives tasks to threads, which may take up another query of this run.
        let light = find();
        self.light.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&light);
        light
    }

    /// Returns the values found in its rows, which are kept for later requests.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Returns the note that was kept.
    pub fn kept_light_note(&self) -> Option<String> {
        self.light.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the facts that are known of it without counting.
    pub fn facts(&self, is_joined: bool) -> Facts {
        Facts::of(&self.store, is_joined)
    }

    /// Returns the time since the last change of a source, by the clock of its files.
    pub fn data_age(&self) -> Duration {
        let changed = self.store.manifest().sources.iter().map(|source| source.facts.mtime_ns);
        let changed = changed.max().and_then(|ns| ns.try_into().ok()).unwrap_or(0);
        let changed = UNIX_EPOCH + Duration::from_nanos(changed);
        SystemTime::now().duration_since(changed).unwrap_or_default()
    }

    /// Returns the path that the user gave.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of its store, if the user gave it.
    pub fn given_store(&self) -> Option<&Path> {
        self.given_store.as_deref()
    }

    /// Whether sources in nested folders are part of it.
    pub fn is_recursive(&self) -> bool {
        self.is_recursive
    }

    /// Returns its rows at the last commit.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the period in ticks, rounded up, of sync pulses that are not tags, if they would be of this
    /// channel; that of the first source that has some.
    pub fn sync_period(&self, channel: u16) -> Option<i64> {
        let manifest = self.store.manifest();
        let is_tag = manifest.channels.iter().any(|rows| rows.channel == channel);
        let pulses = self.pulses()?;
        let ticks = pulses.period.in_ticks(manifest.tick)?.ceil().to_integer();
        i64::try_from(ticks).ok().filter(|_| pulses.channel == channel && !is_tag)
    }

    /// Returns the period of the light pulses in ticks, if all of its files state it: of sync pulses that no divider
    /// made fewer.
    pub fn pulse_period(&self) -> Option<f64> {
        let pulses = self.pulses()?;
        let is_it = |source: &Source| {
            source.facts.recording.as_ref().is_some_and(|recording| {
                let has_divider = recording.facts.iter().any(|(what, _)| what == "sync divider");
                recording.pulses == Some(pulses) && !has_divider
            })
        };
        let manifest = self.store.manifest();
        let ticks = pulses.period.in_ticks(manifest.tick)?;
        let period = *ticks.numer() as f64 / *ticks.denom() as f64;
        manifest.sources.iter().all(is_it).then_some(period)
    }

    /// Returns the same in seconds.
    pub fn pulse_period_s(&self) -> Option<f64> {
        Some(self.pulse_period()? * self.store.manifest().tick.seconds())
    }

    /// Returns the sync pulses that its files state.
    fn pulses(&self) -> Option<SyncPulses> {
        let mut sources = self.store.manifest().sources.iter();
        sources.find_map(|source| source.facts.recording.as_ref()?.pulses)
    }

    /// Returns the same store, for views of its columns that outlive this run.
    pub fn shared_store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    /// Checks that `tick` may take the place of its own: that none of its times depends on it.
    ///
    /// # Errors
    /// [`Error::ConvertedTimes`].
    pub fn check_tick_is_free(&self, tick: Tick) -> Result<(), Error> {
        check_tick_is_free(&self.path, self.store.manifest(), tick)
    }

    /// Returns whether results are cached.
    pub fn caching(&self) -> Caching {
        self.caching
    }

    /// Returns the bounds of its queries.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Counts over the run. If a column is truncated during the scan, this is an error, not a crash.
    ///
    /// # Errors
    /// Errors of the query, and from reading the columns.
    pub fn count<T>(
        &self,
        query: impl FnOnce(&Recording<'_>) -> Result<T, tagq_query::Error>,
    ) -> Result<T, Error> {
        self.count_as(false, None, query)
    }

    /// Counts in the same way, with all sources as one if they are joined. Reports progress to
    /// `progress`.
    pub fn count_as<T>(
        &self,
        is_joined: bool,
        progress: Option<&ScanProgress>,
        query: impl FnOnce(&Recording<'_>) -> Result<T, tagq_query::Error>,
    ) -> Result<T, Error> {
        self.store.guarded(|store| {
            let recording = if is_joined { Recording::joined(store) } else { Recording::of(store) };
            query(&recording.with_progress(progress)).map_err(|error| self.named(error))
        })?
    }

    /// Returns for each of `times`, in ticks as recorded, the first row at this time or later; the number of rows if
    /// there is none. Many times are looked up by the threads of the rayon pool that this is called in.
    ///
    /// # Errors
    /// [`Error::Unordered`] for a row or an index out of order, and errors from reading the store.
    pub fn lookup(&self, times: &[i64]) -> Result<Vec<u64>, Error> {
        let rows = self.store.guarded(|store| {
            let lookup = Lookup::of(store);
            let row = |&time: &i64| lookup.row(time).map(|row| row as u64);
            times.par_iter().with_min_len(LOOKUPS).map(row).collect::<Result<Vec<u64>, _>>()
        })?;
        rows.map_err(|error| self.named(error))
    }

    /// Returns an error of a scan with the file that it is about.
    fn named(&self, error: tagq_query::Error) -> Error {
        match error {
            tagq_query::Error::Unordered { row, block } => {
                Error::Unordered { path: self.store.rows_path(), row, block }
            }
            error => error.into(),
        }
    }

    /// Returns the readable notes of the recorder next to each source. They are searched next to the
    /// files of the run that the user named, and in the folder around the store, because a store from
    /// another user may name files anywhere.
    pub fn notes(&self) -> Vec<Option<Notes>> {
        let files = self.files();
        let home = self.store.folder().parent().unwrap_or(Path::new(""));
        let beside = |name: &str| {
            let file = match files.get(name) {
                Some(file) => file.clone(),
                None if name.contains(['/', '\\']) => return None,
                None => home.join(name),
            };
            Notes::beside(&file).ok().flatten()
        };
        let sources = &self.store.manifest().sources;
        sources.iter().map(|source| beside(&source.facts.name)).collect()
    }

    /// Returns the files of the run that the user named, by their names in the manifest; empty if the
    /// user named the store itself.
    pub fn files(&self) -> HashMap<String, PathBuf> {
        let location = RunLocation::find(&self.path, Some(self.store.folder()), self.is_recursive);
        location.map(|location| location.files()).unwrap_or_default()
    }

    /// Returns the live time in ticks: for each source the last minus the first time over all its tags, without
    /// the times during which its instrument recorded nothing, summed.
    pub fn live_ticks(&self) -> i128 {
        self.store.manifest().sources.iter().filter_map(Source::live_ticks).sum()
    }

    /// Returns the ticks from the first to the last tag of the longest source, or of the run if its sources are joined;
    /// `None` without tags.
    pub fn longest_ticks(&self, is_joined: bool) -> Option<i128> {
        let manifest = self.store.manifest();
        let of_source = Source::span;
        let spans = if is_joined {
            vec![manifest.span()]
        } else {
            manifest.sources.iter().map(of_source).collect()
        };
        let length = |(first, last): (i64, i64)| i128::from(last) - i128::from(first);
        spans.into_iter().flatten().map(length).max()
    }

    /// Returns the last minus the first time of the run in ticks, including gaps between sources.
    pub fn elapsed_ticks(&self) -> i128 {
        let manifest = self.store.manifest();
        match manifest.span() {
            Some((first, last)) => i128::from(last) - i128::from(first),
            None => 0,
        }
    }
}

/// Opens the run that `path` names for queries, after ingesting new sources into its store.
///
/// A query never fails because it cannot write: while another process writes the store, or in a
/// read-only folder, the last commit answers, with a note.
///
/// # Errors
/// [`Error::NoSuchPath`], [`Error::NoSources`]; errors from reading sources; if nothing is committed
/// yet, also errors from writing the store.
pub fn open(path: &Path, options: &OpenOptions, progress: &dyn Progress) -> Result<Run, Error> {
    let location = &RunLocation::find(path, options.store.as_deref(), options.recursive)?;
    if options.ingest {
        update_if_possible(Context { location, options, progress })?;
    }
    let mut store = Store::open(&location.store, options.access).map_err(|error| match error {
        StoreError::NotAStore { .. } => Error::NothingIngested { path: path.into() },
        error => error.into(),
    })?;
    if let Some(tick) = options.tick {
        store.use_tick(tick, false)?;
    }
    let manifest = store.manifest();
    if let Some(tick) = options.tick_here
        && !manifest.tick_assumed
        && manifest.tick != tick
    {
        let (path, paste) = (pasted(path), tick.paste());
        progress.note(&format!(
            "tick {} in place of {}, for this query alone; `tagq set --tick {paste} {path}` keeps it",
            tick.exact(),
            manifest.tick.exact()
        ));
    }
    use_tick_here(location, &mut store, options)?;
    note_sources(&store, location, progress);
    if options.caching != Caching::Off
        && let Some(obstacle) = cache::obstacle(store.folder())
    {
        progress.note(&format!("no answers are kept for the next time: {obstacle}"));
    }
    Ok(Run::new(location, store, options))
}

/// Opens a stream as a run, for queries: its store is created in a temporary folder and removed again
/// before this returns. Its data remain until the run is dropped: mapped where the system can remove a mapped file,
/// otherwise copied.
///
/// # Errors
/// Same as [`open`]; [`Error::Aside`] if the folder for temporary files has not enough space.
pub fn open_input(
    input: &Input,
    options: &OpenOptions,
    progress: &dyn Progress,
) -> Result<Run, Error> {
    let aside = |source| Error::Aside { folder: env::temp_dir(), source };
    let folder = UnfinishedFolder::create_in(&env::temp_dir()).map_err(aside)?;
    progress.temporary(folder.path());
    let location = &input.location(folder.path().join("run"));
    update(Context { location, options, progress }).map_err(|error| match error {
        Error::Store(StoreError::Io { source, .. })
        | Error::Files(FilesError::Store(StoreError::Io { source, .. }))
            if is_not_writable(&source) =>
        {
            aside(source)
        }
        Error::NoRoom { .. } => aside(io::ErrorKind::StorageFull.into()),
        error => error,
    })?;
    let run = Run::of_store(location, &options.of_removed_store())?;
    note_sources(&run.store, location, progress);
    // A store that is removed is never queried again.
    Ok(Run { caching: Caching::Off, ..run })
}

/// Ingests the new sources of the run that `path` names into its store.
///
/// # Errors
/// Same as [`open`]; [`tagq_store::Error::Busy`] if another process is writing the store.
pub fn ingest(path: &Path, options: &OpenOptions, progress: &dyn Progress) -> Result<Run, Error> {
    let location = RunLocation::find(path, options.store.as_deref(), options.recursive)?;
    update_durably(Context { location: &location, options, progress })
}

/// Ingests several sources (files, folders of files, or a buffered stream) into the single store
/// `store`. A stream is listed as `stdin-1`, the next one as `stdin-2`, and so on; a stream that starts
/// with the content of an earlier one is that source, grown or not.
///
/// # Errors
/// Same as [`ingest`].
pub fn ingest_sources(
    paths: &[PathBuf],
    input: Option<&Input>,
    store: &Path,
    options: &OpenOptions,
    progress: &dyn Progress,
) -> Result<Run, Error> {
    let mut sources = Vec::new();
    for path in paths {
        sources.extend(
            RunLocation::find(path, Some(store), options.recursive)?.sources.unwrap_or_default(),
        );
    }
    let input = match input {
        Some(input) => {
            sources.push(input.path().into());
            Some((input.path().to_path_buf(), Input::next_name(store)?))
        }
        None => None,
    };
    let (path, is_recursive) = (store.into(), options.recursive);
    let location =
        RunLocation { path, store: store.into(), sources: Some(sources), is_recursive, input };
    update_durably(Context { location: &location, options, progress })
}

/// Changes of a store that change no tag.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoreChanges {
    /// The tick, replacing one that was given before.
    pub tick: Option<Tick>,
    /// Whether the store has a column of gaps (docs/format.md, section "Gaps").
    pub gaps: Option<bool>,
    /// Whether the store has a column of times (docs/format.md, section "Far distances").
    pub times: Option<bool>,
}

/// The size of a store before and after its columns were changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSizes {
    /// Bytes of its files before.
    pub before: u64,
    /// Bytes of its files after.
    pub after: u64,
}

impl fmt::Display for StoreSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} before, {} now", room::amount(self.before), room::amount(self.after))
    }
}

/// Changes the store of a run permanently: times first, then gaps, in one commit. Returns its sizes if columns were
/// made or dropped. `progress` receives the bytes of new columns before they are written.
///
/// # Errors
/// [`Error::NothingIngested`], [`Error::ConvertedTimes`], [`Error::NeitherColumn`], [`Error::NoRoomForColumns`], and
/// errors from reading and writing the store.
pub fn change_store(
    path: &Path,
    store: Option<&Path>,
    changes: StoreChanges,
    progress: &dyn Progress,
) -> Result<Option<StoreSizes>, Error> {
    let StoreChanges { tick, times, gaps } = changes;
    if times == Some(false) && gaps == Some(false) {
        return Err(Error::NeitherColumn);
    }
    let location = RunLocation::find(path, store, false)?;
    // A store that cannot be read is there.
    if Manifest::read(&location.store)?.is_none() {
        return Err(Error::NothingIngested { path: path.into() });
    }
    let mut writer = open_writer(&location, &OpenOptions::default())?;
    let columns = writer.manifest().columns();
    let before = room::store_bytes(&location.store)?;
    if let Some(tick) = tick {
        check_tick_is_free(path, writer.manifest(), tick)?;
        writer.set_tick(tick, true)?;
    }
    if let Some(new) = NewColumns::of(writer.manifest(), times, gaps) {
        new.check(&location.store, progress)?;
    }
    match times {
        Some(true) => writer.make_times()?,
        Some(false) => writer.drop_times()?,
        None => {}
    }
    match gaps {
        Some(true) => writer.make_gaps()?,
        Some(false) => writer.drop_gaps()?,
        None => {}
    }
    let is_other = writer.manifest().columns() != columns;
    writer.commit()?;
    drop(writer);
    let sizes = || {
        let after = room::store_bytes(&location.store)?;
        Ok(StoreSizes { before, after })
    };
    is_other.then(sizes).transpose()
}

/// Takes the tick of this opening as that of the opened run.
fn use_tick_here(
    location: &RunLocation,
    store: &mut Store,
    options: &OpenOptions,
) -> Result<(), Error> {
    let Some(tick) = options.tick_here else { return Ok(()) };
    if tick != store.manifest().tick {
        check_tick_is_free(&location.path, store.manifest(), tick)?;
    }
    Ok(store.use_tick(tick, true)?)
}

/// Checks that another tick would change no times: those that were converted to ticks at ingest depend on it.
fn check_tick_is_free(run: &Path, manifest: &Manifest, given: Tick) -> Result<(), Error> {
    match manifest.sources.iter().find(|source| update::is_converted(source)) {
        Some(source) => {
            let (run, name) = (run.into(), source.facts.name.clone());
            Err(Error::ConvertedTimes { run, name, given })
        }
        None => Ok(()),
    }
}

fn update_durably(context: Context<'_>) -> Result<Run, Error> {
    update(context)?;
    // Commits of another process are reported as done by this call, so they must be durable.
    Writer::make_durable(&context.location.store)?;
    let run = Run::of_store(context.location, context.options)?;
    note_sources(&run.store, context.location, context.progress);
    Ok(run)
}

/// Notes oddities of sources at each opening.
fn note_sources(store: &Store, location: &RunLocation, progress: &dyn Progress) {
    let manifest = store.manifest();
    // A single file, as files of instruments that need another file often are, and a few in a folder.
    let files = location.sources.as_ref().filter(|sources| sources.len() <= LATE_SETTINGS_MAX);
    let files = files.map(|_| location.files()).unwrap_or_default();
    for source in &manifest.sources {
        let path = files.get(&source.facts.name);
        if let Some(settings) = path.and_then(|path| late_settings(&source.facts, path)) {
            progress.note(&format!(
                "{}: ingested without {}, which is there now; `tagq ingest --rebuild {}` takes its micro times up",
                source.facts.name,
                settings.display(),
                pasted(&location.path)
            ));
        }
        for remark in remarks(source, manifest.tick) {
            // A command to paste is for this run.
            let remark = remark.replace(" RUN`", &format!(" {}`", pasted(&location.path)));
            progress.note(&format!("{}: {remark}", source.facts.name));
        }
    }
}

fn update(context: Context<'_>) -> Result<(), Error> {
    let Context { location, options, .. } = context;
    let Some(sources) = &location.sources else {
        // The user named the store itself: its sources are ignored, but its tick may be set.
        return update::confirm_tick(location, options);
    };
    let updated = update::bring_up_to_date(context, sources);
    let updated = match updated {
        Err(error) if error.is_without_tick() => match options.keeping_tick_here() {
            Some(options) => {
                let context = Context { options: &options, ..context };
                update::bring_up_to_date(context, sources).map(|()| update::note_kept(context))
            }
            None => Err(error),
        },
        updated => updated,
    };
    updated.map_err(|error| location.shown(error))
}

/// Updates the store, unless the last commit can answer although nothing can be written. Waits for
/// another process that creates the store, until it has committed something.
fn update_if_possible(context: Context<'_>) -> Result<(), Error> {
    let Context { location, progress, .. } = context;
    let mut is_waiting = false;
    let refusal = loop {
        let Err(error) = update(context) else { return Ok(()) };
        match &error {
            Error::Store(StoreError::Busy { .. }) if !Store::is_at(&location.store) => {
                if !is_waiting {
                    progress.note("another tagq makes the store; waiting for it");
                    is_waiting = true;
                }
                thread::sleep(Duration::from_millis(50));
            }
            Error::Store(StoreError::Busy { .. }) if is_waiting => return Ok(()),
            Error::Store(StoreError::Busy { holder, .. }) => {
                let holder = holder.as_ref().map_or_else(String::new, |of| format!(", {of}"));
                break format!("another tagq is writing the store{holder}");
            }
            Error::Store(StoreError::Io { path, source, .. })
            | Error::Files(FilesError::Store(StoreError::Io { path, source, .. }))
                if is_not_writable(source) && Store::is_at(&location.store) =>
            {
                break format!("{} cannot be written ({source})", path.display());
            }
            Error::NoRoom { .. } if Store::is_at(&location.store) => break error.to_string(),
            _ => return Err(error),
        }
    };
    let left_out = match &update::left_out(location)?[..] {
        [] => String::new(),
        names => format!("; left out: {}", names.join(", ")),
    };
    progress.note(&format!("answered from the last commit: {refusal}{left_out}"));
    Ok(())
}
