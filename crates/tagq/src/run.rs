//! Opening a run: its store brought up to date, or answered from as it is.

use std::{
    collections::HashMap,
    env, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    thread,
};

use tagq_ingest::{Error as FilesError, text::TextColumns};
use tagq_query::{Course, Recording};
use tagq_store::{Access, Creation, Error as StoreError, RunId, Store, Tick, Writer};

use crate::{
    cache::{self, Caching},
    error::Error,
    input::Input,
    notes::Notes,
    place::Place,
    update,
};

/// How to open a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the store is, when not in its usual place.
    pub store: Option<PathBuf>,
    /// The tick of the run; the instrument's 156.25 ps is assumed without it.
    pub tick: Option<Tick>,
    /// Whether new sources are taken into the store first.
    pub ingest: bool,
    /// What is done with sources that are not just new.
    pub treatment: Treatment,
    /// How the columns come into memory.
    pub access: Access,
    /// The id of a store that is made; random without it.
    pub run_id: Option<RunId>,
    /// The order of the columns of text without a header; what was taken before keeps its own.
    pub columns: Option<TextColumns>,
    /// Set by another thread to end an ingest; what was committed stays.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Whether answers are kept for the next time.
    pub caching: Caching,
}

/// What is done with sources that are not just new.
#[derive(Debug, Clone, Copy, Default)]
pub struct Treatment {
    /// Take everything anew, in one commit. Only where every source is still there.
    pub rebuild: bool,
    /// Put a source that begins before the run's end 1 s behind it.
    pub rebase: bool,
    /// Take what can be read of torn ends, too. Such a source is closed.
    pub salvage: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            store: None,
            tick: None,
            ingest: true,
            treatment: Treatment::default(),
            access: Access::Mapped,
            run_id: None,
            columns: None,
            cancelled: None,
            caching: Caching::default(),
        }
    }
}

/// Who is told what happens while a store is brought up to date.
pub trait Progress {
    /// A source of `bytes` bytes is being read; `read` counts those done.
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>);
    /// The source is done.
    fn done(&self);
    /// Something a person should know that stops nothing.
    fn note(&self, note: &str);
    /// A file or folder that is removed before the call ends; whoever ends the process before that
    /// may do so.
    fn temporary(&self, _path: &Path) {}
    /// Who is told how far queries are, and may end them.
    fn course(&self) -> Option<&Course> {
        None
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, _: &str) {}
}

/// A run, open for queries.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    store: Arc<Store>,
    caching: Caching,
}

impl Run {
    /// The run that `path` names, as of the last commit of its store.
    pub(crate) fn of_store(path: &Path, store: &Path, options: &Options) -> Result<Self, Error> {
        let store = Store::open(store, options.access)?;
        Ok(Self { path: path.into(), store: Arc::new(store), caching: options.caching })
    }

    /// What was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its rows as of the last commit.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The same, for views of its columns that outlive this run.
    pub fn shared_store(&self) -> Arc<Store> {
        Arc::clone(&self.store)
    }

    /// Whether answers are kept for the next time.
    pub(crate) fn caching(&self) -> Caching {
        self.caching
    }

    /// Counts over the run. A column that is cut short meanwhile is an error, not a crash.
    ///
    /// # Errors
    /// Those of the query, and of reading the columns.
    pub fn count<T>(
        &self,
        query: impl FnOnce(&Recording<'_>) -> Result<T, tagq_query::Error>,
    ) -> Result<T, Error> {
        self.count_as(false, None, query)
    }

    /// The same, over all sources as one where they are joined. `course` is told how far it is.
    pub(crate) fn count_as<T>(
        &self,
        is_joined: bool,
        course: Option<&Course>,
        query: impl FnOnce(&Recording<'_>) -> Result<T, tagq_query::Error>,
    ) -> Result<T, Error> {
        self.store.guarded(|store| {
            let recording = if is_joined { Recording::joined(store) } else { Recording::of(store) };
            query(&recording.with_course(course)).map_err(|error| match error {
                tagq_query::Error::Unordered { row, block } => {
                    Error::Unordered { path: store.time_path(), row, block }
                }
                error => error.into(),
            })
        })?
    }

    /// What the recorder noted beside each source, as far as it can be read. Looked for beside the
    /// files of the run that was named, and in the folder around the store: a store from somebody else
    /// may name files anywhere.
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

    /// The files of the run that was named, by the names that the manifest has for them; none when the
    /// store itself was named.
    pub(crate) fn files(&self) -> HashMap<String, PathBuf> {
        let place = Place::find(&self.path, Some(self.store.folder()));
        place.map(|place| place.files()).unwrap_or_default()
    }

    /// Live time in ticks: for each source last minus first time over all its tags, summed.
    pub fn live_ticks(&self) -> i128 {
        let live = |(first, last): (i64, i64)| i128::from(last) - i128::from(first);
        let sources = &self.store.manifest().sources;
        sources.iter().filter_map(|s| s.time_first.zip(s.time_last)).map(live).sum()
    }

    /// Last minus first time of the run in ticks, gaps between sources included.
    pub fn elapsed_ticks(&self) -> i128 {
        let manifest = self.store.manifest();
        match manifest.time_first.zip(manifest.time_last) {
            Some((first, last)) => i128::from(last) - i128::from(first),
            None => 0,
        }
    }
}

/// Opens the run that `path` names for queries, after taking new sources into its store.
///
/// A query never fails because it cannot write: while another process writes the store, or in a
/// read-only folder, the last commit answers, with a note.
///
/// # Errors
/// [`Error::NoSuchPath`], [`Error::NoSources`]; those of reading sources; with nothing committed
/// yet, also that the store cannot be written.
pub fn open(path: &Path, options: &Options, progress: &dyn Progress) -> Result<Run, Error> {
    let place = Place::find(path, options.store.as_deref())?;
    if options.ingest
        && let Err(error) = bring_up_to_date(&place, options, progress)
    {
        answer_without_writing(&place, error, options, progress)?;
    }
    let mut store = Store::open(&place.store, options.access).map_err(|error| match error {
        StoreError::NotAStore { .. } => Error::NothingIngested { path: path.into() },
        error => error.into(),
    })?;
    if let Some(tick) = options.tick {
        store.use_tick(tick)?;
    }
    note_torn(&store, progress);
    if options.caching != Caching::Off
        && let Some(stranger) = cache::stranger(store.folder())
    {
        progress.note(&format!("no answers are kept for the next time: {stranger}"));
    }
    Ok(Run { path: place.path, store: Arc::new(store), caching: options.caching })
}

/// Opens a stream as a run, for queries: its store is made in a temporary folder, and removed again
/// before this returns. What is mapped of it stays until the run is dropped.
///
/// # Errors
/// As [`open`]; [`Error::Aside`] when the folder for temporary files has no room.
pub fn open_input(input: &Input, options: &Options, progress: &dyn Progress) -> Result<Run, Error> {
    let aside = |source| Error::Aside { folder: env::temp_dir(), source };
    let folder = tempfile::Builder::new().prefix("tagq-").tempdir().map_err(aside)?;
    progress.temporary(folder.path());
    let place = input.place(folder.path().join("run"));
    bring_up_to_date(&place, options, progress).map_err(|error| match error {
        Error::Store(StoreError::Io { source, .. })
        | Error::Files(FilesError::Store(StoreError::Io { source, .. }))
            if is_not_writable(&source) =>
        {
            aside(source)
        }
        Error::NoRoom { .. } => aside(io::ErrorKind::StorageFull.into()),
        error => error,
    })?;
    let store = Store::open(&place.store, options.access)?;
    note_torn(&store, progress);
    // Nobody asks a store again that is gone.
    Ok(Run { path: place.path, store: Arc::new(store), caching: Caching::Off })
}

/// Takes the new sources of the run that `path` names into its store.
///
/// # Errors
/// As [`open`]; [`tagq_store::Error::Busy`] when another process writes the store.
pub fn ingest(path: &Path, options: &Options, progress: &dyn Progress) -> Result<Run, Error> {
    let place = Place::find(path, options.store.as_deref())?;
    ingest_place(place, options, progress)
}

/// Takes several sources, files, folders of files or a stream set aside, into the one store `store`. A
/// stream is listed as `stdin-1`, the next one as `stdin-2`, and so on; one that begins with what the
/// store holds already is that source, grown or not.
///
/// # Errors
/// As [`ingest`].
pub fn ingest_sources(
    paths: &[PathBuf],
    input: Option<&Input>,
    store: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Run, Error> {
    let mut sources = Vec::new();
    for path in paths {
        sources.extend(Place::find(path, Some(store))?.sources.unwrap_or_default());
    }
    let input = match input {
        Some(input) => {
            sources.push(input.path().into());
            Some((input.path().to_path_buf(), Input::next_name(store)?))
        }
        None => None,
    };
    let place = Place { path: store.into(), store: store.into(), sources: Some(sources), input };
    ingest_place(place, options, progress)
}

/// Sets the tick of a run for good, also over one given before.
///
/// # Errors
/// [`Error::NothingIngested`], and those of writing the store.
pub fn set_tick(path: &Path, store: Option<&Path>, tick: Tick) -> Result<(), Error> {
    let place = Place::find(path, store)?;
    if !Store::is_at(&place.store) {
        return Err(Error::NothingIngested { path: path.into() });
    }
    let mut writer = open_writer(&place, &Options::default())?;
    writer.set_tick(tick, true)?;
    Ok(writer.commit()?)
}

fn ingest_place(place: Place, options: &Options, progress: &dyn Progress) -> Result<Run, Error> {
    bring_up_to_date(&place, options, progress)?;
    // What another process committed is reported as done here: it must be.
    Writer::make_durable(&place.store)?;
    let store = Store::open(&place.store, options.access)?;
    note_torn(&store, progress);
    Ok(Run { path: place.path, store: Arc::new(store), caching: options.caching })
}

/// Says each time what is missing at the end of sources.
fn note_torn(store: &Store, progress: &dyn Progress) {
    for source in &store.manifest().sources {
        if let Some(torn) = &source.facts.torn {
            let name = &source.facts.name;
            progress.note(&format!("{name}: {torn}; the {} tags before it are kept", source.rows));
        }
    }
}

/// The writer of the run's store, made if need be.
pub(crate) fn open_writer(place: &Place, options: &Options) -> Result<Writer, Error> {
    Writer::open(&place.store, &creation(options)).map_err(|error| match error {
        StoreError::Io { source, .. }
            if is_not_writable(&source) && !Store::is_at(&place.store) =>
        {
            Error::NotWritable { store: place.store.clone(), reason: source.to_string() }
        }
        error => error.into(),
    })
}

/// What a new store is made with.
pub(crate) fn creation(options: &Options) -> Creation {
    Creation {
        tick: options.tick.unwrap_or(Tick::DEFAULT),
        tick_assumed: options.tick.is_none(),
        run_id: options.run_id,
    }
}

fn bring_up_to_date(
    place: &Place,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let Some(sources) = &place.sources else {
        // The store itself was named: its sources are nobody's business, its tick may be.
        return update::confirm_tick(place, options);
    };
    update::bring_up_to_date(place, sources, options, progress).map_err(|error| place.shown(error))
}

/// Whether the last commit can answer although the store could not be brought up to date.
fn answer_without_writing(
    place: &Place,
    error: Error,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let refusal = match &error {
        Error::Store(StoreError::Busy { .. }) if Store::is_at(&place.store) => {
            "another tagq is writing the store".to_owned()
        }
        Error::Store(StoreError::Busy { .. }) => {
            progress.note("another tagq makes the store; waiting for it");
            return wait_and_update(place, options, progress);
        }
        Error::Store(StoreError::Io { path, source, .. })
        | Error::Files(FilesError::Store(StoreError::Io { path, source, .. }))
            if is_not_writable(source) && Store::is_at(&place.store) =>
        {
            format!("{} cannot be written ({source})", path.display())
        }
        Error::NoRoom { .. } if Store::is_at(&place.store) => error.to_string(),
        _ => return Err(error),
    };
    let left_out = update::left_out(place)?;
    let left_out = match &left_out[..] {
        [] => String::new(),
        names => format!("; left out: {}", names.join(", ")),
    };
    progress.note(&format!("answered from the last commit: {refusal}{left_out}"));
    Ok(())
}

/// Tries again until the other writer is done or has committed something.
fn wait_and_update(place: &Place, options: &Options, progress: &dyn Progress) -> Result<(), Error> {
    loop {
        match bring_up_to_date(place, options, progress) {
            Err(Error::Store(StoreError::Busy { .. })) if !Store::is_at(&place.store) => {
                thread::sleep(std::time::Duration::from_millis(50));
            }
            Err(Error::Store(StoreError::Busy { .. })) => return Ok(()),
            result => return result,
        }
    }
}

pub(crate) fn is_not_writable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge
            | io::ErrorKind::InvalidFilename
    )
}
