//! A derived run that is kept in the store of its run, and continued when the run has grown.
//!
//! A view is used only if it was made from exactly the rows and facts that the run has now, with the same key, and is
//! not damaged. Otherwise it is continued or made again, under its lock; a view of a newer commit of the run stays.

use std::{
    collections::HashMap,
    convert::Infallible,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use tagq_store::{Access, Creation, Error as StoreError, Store, Writer, format::MICRO_NONE};

use super::{
    evaluation::Evaluation,
    folder::ViewFolder,
    merged::ExpectedRows,
    sources::{Evaluated, Resumed},
    state::{MadeFrom, ViewState},
};
use crate::{
    Run, error::Error, options::Caching, options::OpenOptions, progress::Progress,
    writer::choose_columns,
};

/// How often a view that another process writes is looked at again, in the time that a small update takes.
const LOOKS: u32 = 5;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Locks for the views that this process makes, by their paths: threads wait for each other instead of making a view
/// twice.
static IN_PROCESS: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> =
    LazyLock::new(Mutex::default);

/// Opens the view of an evaluation: as it is kept, continued, or made. It is temporary, with a note, if nothing can be
/// kept.
pub(super) fn open(of: &Evaluation<'_>, progress: &dyn Progress) -> Result<Run, Error> {
    let key = of.key()?;
    let Ok(known): Result<Arc<OnceLock<Run>>, Infallible> =
        of.run.memo().get(&key, || Ok(Arc::default()));
    if let Some(view) = known.get() {
        return Ok(view.clone());
    }
    let folder = ViewFolder::of(of.run.store().folder(), &key);
    let lock = {
        let mut locks = IN_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(locks.entry(folder.path()).or_default())
    };
    let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(view) = known.get() {
        return Ok(view.clone());
    }
    let kept = match of.run.caching() {
        Caching::Off => Err(None),
        Caching::Rows(_) => of.kept(&folder, &key, progress).map_err(Some),
    };
    let view = match kept {
        Ok(store) => of.run.derived(Arc::new(store), of.run.caching(), of.labels()),
        // A temporary view would fail with the same error.
        Err(Some(error @ (Error::View(_) | Error::Request(_)))) => return Err(error),
        Err(obstacle) => {
            let view = of.temporary(progress)?;
            if let Some(obstacle) = obstacle {
                progress.note(&format!("the view is not kept for the next time: {obstacle}"));
            }
            view
        }
    };
    Ok(known.get_or_init(|| view).clone())
}

impl Evaluation<'_> {
    /// Makes the view for this run alone.
    fn temporary(&self, progress: &dyn Progress) -> Result<Run, Error> {
        let made = self.written(None, progress)?;
        Ok(self.run.derived(made.shared_store(), Caching::Off, self.labels()))
    }

    /// Returns the view in its folder, after bringing it up to date.
    fn kept(
        &self,
        folder: &ViewFolder,
        key: &str,
        progress: &dyn Progress,
    ) -> Result<Store, Error> {
        let made_from = MadeFrom::of(self.run.store());
        let mut looks = 0;
        let mut writer = loop {
            if let Some(store) = self.current(folder, key, &made_from) {
                folder.touch();
                return Ok(store);
            }
            folder.make()?;
            match self.writer(folder) {
                Err(StoreError::Busy { .. }) if looks < LOOKS => {
                    looks += 1;
                    thread::sleep(LOOK_INTERVAL);
                }
                writer => break writer?,
            }
        };
        // Another process may have made it before the lock was ours.
        if let Some(store) = self.current(folder, key, &made_from) {
            return Ok(store);
        }
        let state = folder.open().ok().and_then(|folder| ViewState::read(&folder));
        let state = state.filter(|state| state.key == key);
        if state.as_ref().is_some_and(|state| state.made_from.is_after(&made_from)) {
            // The view of a newer commit of the run stays.
            return Err(StoreError::Busy { path: folder.path(), holder: None }.into());
        }
        self.prepare(&mut writer)?;
        let resumed = state.and_then(|state| self.resumed(folder, state, &writer));
        let is_resumed = resumed.is_some();
        if !is_resumed && writer.manifest().commit > 0 {
            writer = self.emptied(folder, writer)?;
        }
        let mut evaluated = self.evaluate(resumed, &mut writer, progress);
        if is_resumed && !matches!(evaluated, Ok(Evaluated::Written(_))) {
            // More tags have the last time that it had, or the state is of no use.
            writer = self.emptied(folder, writer)?;
            evaluated = self.evaluate(None, &mut writer, progress);
        }
        let evaluated = evaluated.and_then(|evaluated| {
            writer.commit()?;
            Ok(evaluated)
        });
        let evaluation = match evaluated {
            Ok(Evaluated::Written(state)) => state,
            Ok(Evaluated::Other) => unreachable!("no rows were expected"),
            Err(error) => {
                writer.discard();
                return Err(error);
            }
        };
        let view = (writer.manifest().run_id, writer.manifest().commit);
        let state = ViewState { key: key.into(), made_from, view, evaluation };
        state.write(&folder.open()?)?;
        // Before the lock is given back, after which the view may grow.
        let store = Store::open(&folder.path(), self.run.access())?;
        drop(writer);
        folder.tidy(self.run.store().manifest().run_id);
        Ok(store)
    }

    /// Returns the view if it is of exactly these rows, and not damaged.
    fn current(&self, folder: &ViewFolder, key: &str, made_from: &MadeFrom) -> Option<Store> {
        let state = ViewState::read(&folder.open().ok()?)?;
        if state.key != key || state.made_from != *made_from {
            return None;
        }
        let store = Store::open(&folder.path(), self.run.access()).ok()?;
        let manifest = store.manifest();
        let is_named = (manifest.run_id, manifest.commit) == state.view;
        (is_named && store.check().is_ok()).then_some(store)
    }

    /// Returns the point from which the view in the folder, which has this state, is continued, if that is possible:
    /// not if it is damaged.
    fn resumed(&self, folder: &ViewFolder, state: ViewState, writer: &Writer) -> Option<Resumed> {
        let manifest = writer.manifest();
        let is_of_run = state.view == (manifest.run_id, manifest.commit)
            && state.made_from.begins(self.run.store());
        let of_source =
            state.evaluation.filter(|of| is_of_run && of.source + 1 == manifest.sources.len())?;
        let store = Store::open(&folder.path(), Access::Mapped).ok()?;
        store.check().ok()?;
        let (source, rows) = store.sources().last()?;
        let before =
            usize::try_from(of_source.rows).ok().filter(|_| of_source.rows <= source.rows)?;
        let rows = rows.start + before..rows.end;
        let expected = store.guarded(|store| {
            let tags = store.tags();
            let mut times = Vec::new();
            let times = tags.time.read(rows.clone(), &mut times).to_vec();
            let micro = store.micro();
            let micro = rows.clone().filter_map(|row| Some(micro?.get(row).unwrap_or(MICRO_NONE)));
            ExpectedRows {
                times,
                labels: rows.clone().map(|row| tags.channels.label(row)).collect(),
                micro: micro.collect(),
                ..ExpectedRows::default()
            }
        });
        Some(Resumed { state: of_source, expected: expected.ok()? })
    }

    /// Opens the writer of the view. A view that cannot be opened is removed.
    fn writer(&self, folder: &ViewFolder) -> Result<Writer, StoreError> {
        let open = || Writer::open(&folder.path(), &self.creation());
        match open() {
            Err(busy @ StoreError::Busy { .. }) => Err(busy),
            Err(_) if folder.remove()? => {
                folder.make()?;
                open()
            }
            writer => writer,
        }
    }

    /// Begins the view from scratch. Its readers go on.
    fn emptied(&self, folder: &ViewFolder, writer: Writer) -> Result<Writer, Error> {
        drop(writer);
        let mut writer = Writer::open_for_rebuild(&folder.path(), &self.creation())?;
        self.prepare(&mut writer)?;
        Ok(writer)
    }

    fn prepare(&self, writer: &mut Writer) -> Result<(), Error> {
        if writer.manifest().commit == 0 {
            choose_columns(writer, &OpenOptions::default())?;
        }
        Ok(self.units.micro_tick.map_or(Ok(()), |tick| writer.set_micro_tick(tick))?)
    }

    fn creation(&self) -> Creation {
        Creation { tick: self.units.tick, tick_assumed: false, run_id: None }
    }
}
