//! Following a run while it is recorded: new data of its sources is ingested as it arrives.

#[cfg(test)]
mod tests;

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tagq_store::{Duration as Ticks, Manifest, Store, Tick, Writer};

use super::{
    location::RunLocation,
    open::Run,
    options::Options,
    update::{self, IngestState},
};
use crate::{error::Error, progress::Progress};

/// Sources are polled again after this time: polling compares length and modification time, so that it
/// works on network file systems. The pause between two polls is [`LOOKS`] times the duration of one
/// poll, up to [`POLL_MAX`].
const POLL: Duration = Duration::from_millis(10);
const POLL_MAX: Duration = Duration::from_millis(250);
/// Poll interval while no source changes.
const POLL_STILL: Duration = Duration::from_millis(50);
const LOOKS: u32 = 8;
/// Default hold-back of a growing source: recorders deliver tags late by less than this.
pub const HOLD_BACK: &str = "10ms";
/// A source without changes for this time is ingested to its end.
const STILL: Duration = Duration::from_secs(2);
/// Time before a retry after an error.
const RETRY: Duration = Duration::from_secs(1);

/// Keeps the store of a run up to date while sources grow and new ones appear.
///
/// Holds the lock of the store from its first step on, so that queries of other processes answer from
/// the last commit and do not ingest. If another process holds the lock, the commits of that process
/// can be followed ([`Follower::commit`]).
pub struct Follower {
    path: PathBuf,
    location: RunLocation,
    options: Options,
    hold_back: Ticks,
    writer: Option<Writer>,
    state: IngestState,
    looks: HashMap<PathBuf, FileStamp>,
    /// Duration of the last poll.
    looked: Cell<Duration>,
    /// No retry before this time after an error.
    retry_at: Option<Instant>,
    /// The current error message, if any.
    trouble: Option<String>,
    /// The commit that was returned last; 0 before the first.
    handed: u64,
    said: HashSet<String>,
}

/// Change since the last step.
#[derive(Debug)]
pub enum Change {
    /// Another process ingests the recording; its commits are followed.
    Busy,
    /// An error stops ingest; the follower retries.
    Stopped(Error),
    /// Ingest works again after an error.
    GoesOn,
}

/// The observed state of a source.
struct FileStamp {
    /// Length and modification time.
    stamp: (u64, Option<std::time::SystemTime>),
    since: Instant,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Follower {
    /// Follows the run that `path` names. For a growing source, tags within `hold_back` of its newest
    /// tag are held back, so that late tags can still be sorted in.
    ///
    /// # Errors
    /// [`Error::NoSuchPath`]. The folder may still be empty.
    pub fn new(path: &Path, options: &Options, hold_back: Ticks) -> Result<Self, Error> {
        let location = match RunLocation::find(path, options.store.as_deref()) {
            Err(Error::NoSources { .. }) => {
                RunLocation::of_empty_folder(path, options.store.as_deref())?
            }
            location => location?,
        };
        Ok(Self {
            path: path.into(),
            location,
            options: options.clone(),
            hold_back,
            writer: None,
            state: IngestState::default(),
            looks: HashMap::new(),
            looked: Cell::default(),
            retry_at: None,
            trouble: None,
            handed: 0,
            said: HashSet::new(),
        })
    }

    /// Executes one step of a loop that continues after errors: returns `None` if nothing changed,
    /// otherwise the change to report. If the options disable ingest, only commits of other processes
    /// are followed.
    pub fn advance(&mut self, progress: &dyn Progress) -> Option<Change> {
        if !self.options.ingest {
            return None;
        }
        let change = match self.step(progress) {
            Ok(()) if self.retry_at.is_some() => return None,
            Ok(()) => return self.trouble.take().map(|_| Change::GoesOn),
            Err(error) if error.is_busy() => Change::Busy,
            Err(error) => Change::Stopped(error),
        };
        let trouble = match &change {
            Change::Stopped(error) => error.to_string(),
            _ => String::new(),
        };
        let is_new = self.trouble.as_ref() != Some(&trouble);
        self.trouble = Some(trouble);
        is_new.then_some(change)
    }

    /// Whether there is a commit that [`Follower::newer`] has not returned yet. A commit that cannot be
    /// read now may be readable the next time.
    pub fn is_newer(&self) -> bool {
        self.commit().is_ok_and(|commit| commit != self.handed)
    }

    /// Returns the run at its last commit, once per commit.
    ///
    /// # Errors
    /// Errors from opening a store.
    pub fn newer(&mut self) -> Result<Option<Run>, Error> {
        if !self.is_newer() {
            return Ok(None);
        }
        let run = match self.run() {
            Err(Error::NothingIngested { .. }) => return Ok(None),
            run => run?,
        };
        self.handed = run.store().manifest().commit;
        Ok(Some(run))
    }

    /// Returns the number of the last commit of the store; 0 before the first.
    ///
    /// # Errors
    /// A damaged manifest.
    pub fn commit(&self) -> Result<u64, Error> {
        if let Some(writer) = &self.writer {
            return Ok(writer.manifest().commit);
        }
        let begun = Instant::now();
        let manifest = Manifest::read(&self.location.store)?;
        self.looked.set(begun.elapsed());
        Ok(manifest.map_or(0, |manifest| manifest.commit))
    }

    /// Returns the pause before the next step: 10 ms if polling is fast, more if polling is slow, so
    /// that it uses at most a ninth of the time, and at most 250 ms. 50 ms once all sources have been
    /// unchanged for two seconds.
    pub fn pause(&self) -> Duration {
        let is_still =
            self.writer.is_some() && self.looks.keys().all(|path| self.state.still.contains(path));
        let least = if is_still { POLL_STILL } else { POLL };
        (self.looked.get() * LOOKS).clamp(least, POLL_MAX)
    }

    /// Returns the rows of the store while this follower holds its lock; 0 while another process does.
    pub fn rows(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| writer.manifest().rows)
    }

    /// Returns the run at its last commit.
    ///
    /// # Errors
    /// [`Error::NothingIngested`] before the first commit, and errors from opening a store.
    pub fn run(&self) -> Result<Run, Error> {
        if !Store::is_at(&self.location.store) {
            return Err(Error::NothingIngested { path: self.path.clone() });
        }
        Run::of_store(&self.path, &self.location.store, &self.options)
    }

    /// Polls the sources once and ingests the complete data of those that changed. After an error, such
    /// as a full disk or an invalid source, the step is retried a second later.
    ///
    /// # Errors
    /// The error that stopped ingest; earlier commits stay, and the next call continues.
    /// [`tagq_store::Error::Busy`] while another process writes the store.
    pub fn step(&mut self, progress: &dyn Progress) -> Result<(), Error> {
        self.step_at(Instant::now(), progress)
    }

    fn step_at(&mut self, now: Instant, progress: &dyn Progress) -> Result<(), Error> {
        if self.retry_at.is_some_and(|at| now < at) {
            return Ok(());
        }
        let is_retry = self.retry_at.take().is_some();
        let begun = Instant::now();
        let sources = self.sources()?;
        let is_due = self.look(&sources, now);
        self.looked.set(begun.elapsed());
        if !is_due && !is_retry {
            return Ok(());
        }
        let once = Once { progress, said: RefCell::new(std::mem::take(&mut self.said)) };
        let result = self.take(&sources, &once);
        self.said = once.said.into_inner();
        if result.is_err() {
            self.retry_at = Some(now + RETRY);
        }
        result.map_err(|error| self.location.shown(error))
    }

    /// Returns the current sources. Sources that vanished keep their rows.
    fn sources(&mut self) -> Result<Vec<PathBuf>, Error> {
        match RunLocation::find(&self.path, self.options.store.as_deref()) {
            Ok(location) => self.location = location,
            Err(Error::NoSuchPath { .. } | Error::NoSources { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        Ok(self.location.sources.clone().unwrap_or_default())
    }

    /// Polls the sources; whether one changed, or has just become still.
    fn look(&mut self, sources: &[PathBuf], now: Instant) -> bool {
        let mut is_due = false;
        for path in sources {
            // A source that vanishes at this moment is skipped.
            let Ok(metadata) = fs::metadata(path) else { continue };
            let stamp = (metadata.len(), metadata.modified().ok());
            match self.looks.get(path).filter(|look| look.stamp == stamp) {
                Some(look) if now - look.since >= STILL => {
                    is_due |= self.state.still.insert(path.clone());
                }
                Some(_) => {}
                None => {
                    self.looks.insert(path.clone(), FileStamp { stamp, since: now });
                    self.state.still.remove(path);
                    is_due = true;
                }
            }
        }
        is_due
    }

    fn take(&mut self, sources: &[PathBuf], progress: &dyn Progress) -> Result<(), Error> {
        if sources.is_empty() {
            return Ok(());
        }
        let tick = if let Some(writer) = &self.writer {
            writer.manifest().tick
        } else {
            let manifest = Manifest::read(&self.location.store)?;
            self.state.know(manifest.as_ref().map_or(&[], |manifest| &manifest.sources));
            let tick = self.options.tick.unwrap_or(Tick::DEFAULT);
            manifest.map_or(tick, |manifest| manifest.tick)
        };
        self.state.hold_back = Some(self.hold_back.nearest(tick)?);
        let Self { writer, location, options, state, .. } = self;
        update::take_all(writer, location, sources, options, progress, state)
    }
}

/// Reports each note only once.
struct Once<'a> {
    progress: &'a dyn Progress,
    said: RefCell<HashSet<String>>,
}

impl Progress for Once<'_> {
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        self.progress.source(name, bytes, read);
    }

    fn done(&self) {
        self.progress.done();
    }

    fn note(&self, note: &str) {
        if self.said.borrow_mut().insert(note.into()) {
            self.progress.note(note);
        }
    }

    fn temporary(&self, path: &Path) {
        self.progress.temporary(path);
    }
}
