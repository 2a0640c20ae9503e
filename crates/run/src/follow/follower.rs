//! Ingests new data of the sources of one run as it arrives.
//!
//! While a source grows, a poll of 5 ms is followed by a pause of 40 ms, so that polls take at most one ninth of the
//! time until the pause reaches its maximum of 250 ms.

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    fmt, fs, io, mem,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tagq_store::{Duration as Ticks, MANIFEST_NAME, Manifest, Store, Tick, os::FileStamp};

use crate::{error::Error, progress::Progress};
use crate::{
    location::RunLocation, open::Run, options::OpenOptions, update::Activity, update::Context,
    update::IngestState, update::Update, update::note_kept,
};

/// Pause between two polls, at least. A poll compares the stamps of files, which works on network file
/// systems.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// Pause between two polls, at least, while no source grows.
const PAUSE_STILL: Duration = Duration::from_millis(50);
/// Pause between two polls, at most.
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// Pause between two polls, as a multiple of the duration of a poll.
const POLLS: u32 = 8;
/// Default hold-back of a growing source: recorders deliver tags late by less than this.
pub const HOLD_BACK: &str = "10ms";
/// A source without changes for this time is ingested to its end.
const STILL: Duration = Duration::from_secs(2);
/// Time before a retry after an error.
const RETRY: Duration = Duration::from_secs(1);

/// The words of a note about a store that is gone.
const REMOVED: &str = "the store was removed";

/// Keeps the store of a run up to date while sources grow and new ones appear.
///
/// Holds the lock of the store while a source grows, so that queries of other processes answer from the last commit:
/// they would ingest the newest tags without waiting for late ones. Once all sources are still and committed to their
/// ends, it gives the lock back, and takes it again when one changes; the store may have other commits by then. If
/// another process holds the lock, the commits of that process can be followed.
pub struct Follower {
    path: PathBuf,
    location: RunLocation,
    options: OpenOptions,
    hold_back: Ticks,
    health: Health,
    memory: IngestState,
    /// Duration of the last poll.
    poll_time: Cell<Duration>,
    /// Rows of the store when this follower gave its lock back; `None` before that, and once it was wanted again.
    given_back: Option<u64>,
    /// Whether the store was removed, and is not there again.
    removal: Removal,
    /// The run at the commit that was opened last.
    pub(super) run: Option<Run>,
    noted: RefCell<HashSet<String>>,
}

/// Whether the store was removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Removal {
    None,
    /// It is gone, which was not told yet.
    Found,
    Told,
}

/// Whether ingest works.
enum Health {
    Working,
    /// An error stopped ingest.
    Failing {
        retry_at: Instant,
        /// The message; empty if another process writes the store.
        cause: String,
    },
}

/// A change in the health of a follower.
#[derive(Debug)]
pub enum FollowChange {
    /// Another process ingests the recording; its commits are followed.
    Busy(Error),
    /// An error stops ingest; the follower retries.
    Stopped(Error),
    /// The store at this path was removed, and there is nothing to make it from.
    Removed(PathBuf),
    /// Ingest works again after an error.
    Resumed,
}

impl fmt::Display for FollowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(_) => {
                f.write_str("another process ingests this run; its commits are followed")
            }
            Self::Stopped(error) => write!(f, "{error}; trying again"),
            Self::Removed(store) => write!(f, "{}: {REMOVED}", store.display()),
            Self::Resumed => f.write_str("it goes on"),
        }
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Follower {
    /// Follows the run that `path` names. For a growing source, tags within `hold_back` of its newest
    /// tag are held back, so that late tags can still be sorted in.
    ///
    /// # Errors
    /// [`Error::NoSuchPath`]. The folder may still be empty.
    pub fn new(path: &Path, options: &OpenOptions, hold_back: Ticks) -> Result<Self, Error> {
        let (store, is_recursive) = (options.store.as_deref(), options.recursive);
        let location = match RunLocation::find(path, store, is_recursive) {
            Err(Error::NoSources { .. }) => {
                RunLocation { is_recursive, ..RunLocation::of_empty_folder(path, store)? }
            }
            location => location?,
        };
        Ok(Self {
            path: path.into(),
            location,
            options: options.clone(),
            hold_back,
            health: Health::Working,
            memory: IngestState::default(),
            poll_time: Cell::default(),
            given_back: None,
            removal: Removal::None,
            run: None,
            noted: RefCell::default(),
        })
    }

    /// Polls the sources once and ingests the complete data of those that changed. After an error, such
    /// as a full disk or an invalid source, earlier commits stay, and ingest is retried a second later.
    /// Returns a change to report. If the options disable ingest, only commits of other processes are
    /// followed.
    pub fn advance(&mut self, progress: &dyn Progress) -> Option<FollowChange> {
        self.advance_at(Instant::now(), progress)
    }

    pub(super) fn advance_at(
        &mut self,
        now: Instant,
        progress: &dyn Progress,
    ) -> Option<FollowChange> {
        self.forget_gone_store();
        let change = self.ingest_at(now, progress);
        change.or_else(|| self.removal_change(progress))
    }

    fn ingest_at(&mut self, now: Instant, progress: &dyn Progress) -> Option<FollowChange> {
        let is_retry = match self.health {
            _ if !self.options.ingest => return None,
            Health::Failing { retry_at, .. } if now < retry_at => return None,
            Health::Failing { .. } => true,
            Health::Working => false,
        };
        let result = self.ingest(now, is_retry, progress);
        let next = match &result {
            Ok(()) => Health::Working,
            Err(error) => {
                let cause = if error.is_busy() { String::new() } else { error.to_string() };
                Health::Failing { retry_at: now + RETRY, cause }
            }
        };
        let before = mem::replace(&mut self.health, next);
        match (before, &self.health, result) {
            (Health::Working, _, Ok(())) => None,
            (Health::Failing { .. }, _, Ok(())) => Some(FollowChange::Resumed),
            (Health::Failing { cause: before, .. }, Health::Failing { cause, .. }, _)
                if before == *cause =>
            {
                None
            }
            (_, _, Err(error)) if error.is_busy() => Some(FollowChange::Busy(error)),
            (_, _, Err(error)) => Some(FollowChange::Stopped(error)),
        }
    }

    /// Opens the run at its last commit, if it is a new one; returns whether it is. A commit that cannot
    /// be read now may be readable the next time.
    pub(super) fn refresh(&mut self, progress: &dyn Progress) -> bool {
        let opened = self.run.as_ref().map_or(0, |run| run.store().manifest().commit);
        if self.commit().is_none_or(|commit| commit == opened)
            || !Store::is_at(&self.location.store)
        {
            return false;
        }
        match Run::of_store(&self.location, &self.options) {
            Ok(run) => self.run = Some(run),
            Err(error) => Once { progress, noted: &self.noted }.note(&error.to_string()),
        }
        self.run.as_ref().is_some_and(|run| run.store().manifest().commit != opened)
    }

    /// Returns the number of the last commit of the store; 0 before the first, `None` if the manifest
    /// cannot be read.
    pub(super) fn commit(&self) -> Option<u64> {
        if let Some(writer) = &self.memory.writer {
            return Some(writer.manifest().commit);
        }
        let begun = Instant::now();
        let manifest = Manifest::read(&self.location.store).ok()?;
        self.poll_time.set(begun.elapsed());
        Some(manifest.map_or(0, |manifest| manifest.commit))
    }

    /// Returns the pause before the next poll: 10 ms if polling is fast, more if it is slow, so that it
    /// uses at most a ninth of the time, and at most 250 ms. 50 ms once all sources have been unchanged
    /// for two seconds.
    pub(super) fn pause(&self) -> Duration {
        let least = if self.given_back.is_some() { PAUSE_STILL } else { PAUSE_MIN };
        (self.poll_time.get() * POLLS).clamp(least, PAUSE_MAX)
    }

    /// Returns the rows of the store at the last commit of this follower; 0 while another process holds the lock.
    pub(super) fn rows(&self) -> u64 {
        let writer = self.memory.writer.as_ref();
        writer.map_or(self.given_back.unwrap_or(0), |writer| writer.manifest().rows)
    }

    fn ingest(
        &mut self,
        now: Instant,
        is_retry: bool,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        let before = self.location.sources.clone();
        let sources = self.sources()?;
        self.note_gone_sources(before.as_deref().unwrap_or_default(), &sources, progress);
        let is_due = self.poll(&sources, now);
        self.poll_time.set(begun.elapsed());
        if !sources.is_empty() && (is_due || is_retry) {
            self.given_back = None;
            self.update(&sources, progress).map_err(|error| self.location.shown(error))?;
        }
        if self.memory.is_all_committed(&sources) {
            // No tag is held back. The next writer begins at the resume point of the commit that it finds.
            self.memory.held = None;
            let writer = self.memory.writer.take();
            self.given_back = writer.map(|writer| writer.manifest().rows);
        }
        Ok(())
    }

    /// Returns the current sources. Sources that vanished keep their rows.
    fn sources(&mut self) -> Result<Vec<PathBuf>, Error> {
        let OpenOptions { store, recursive, .. } = &self.options;
        match RunLocation::find(&self.path, store.as_deref(), *recursive) {
            Ok(location) => self.location = location,
            Err(Error::NoSuchPath { .. } | Error::NoSources { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        Ok(self.location.sources.clone().unwrap_or_default())
    }

    /// Notes sources that were removed. One that has another name now is there.
    fn note_gone_sources(&self, before: &[PathBuf], now: &[PathBuf], progress: &dyn Progress) {
        if now.iter().any(|source| !before.contains(source)) {
            return;
        }
        let once = Once { progress, noted: &self.noted };
        for gone in before.iter().filter(|source| !now.contains(source)) {
            let (gone, store) = (gone.display(), self.location.store.display());
            once.note(&format!("{gone}: was removed; its tags stay in {store}"));
        }
    }

    /// Forgets a store that was removed. Its sources are ingested from scratch into a new one: the files that its
    /// writer has open have no names any more.
    fn forget_gone_store(&mut self) {
        let writer = self.memory.writer.as_ref();
        let had_commit =
            self.given_back.is_some() || writer.is_some_and(|writer| writer.manifest().commit > 0);
        let manifest = fs::symlink_metadata(self.location.store.join(MANIFEST_NAME));
        // Other errors, as without a file descriptor that is free, do not say that it is gone.
        let is_gone = manifest.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if is_gone && (had_commit || self.run.is_some()) {
            (self.memory, self.run, self.given_back) = (IngestState::default(), None, None);
            self.removal = Removal::Found;
        }
    }

    /// Returns the change of a store that was removed or is there again; notes one that was made again at once.
    fn removal_change(&mut self, progress: &dyn Progress) -> Option<FollowChange> {
        let store = &self.location.store;
        let is_there = Store::is_at(store);
        let before = self.removal;
        self.removal = match before {
            Removal::None => return None,
            _ if is_there => Removal::None,
            Removal::Found | Removal::Told => Removal::Told,
        };
        match before {
            Removal::Found if is_there => {
                progress.note(&format!("{}: {REMOVED}", store.display()));
                None
            }
            Removal::Found => Some(FollowChange::Removed(store.clone())),
            Removal::Told if is_there => Some(FollowChange::Resumed),
            Removal::Told | Removal::None => None,
        }
    }

    /// Polls the sources; returns whether one changed, or has just become still.
    fn poll(&mut self, sources: &[PathBuf], now: Instant) -> bool {
        let mut is_due = false;
        for path in sources {
            // A source that vanishes at this moment is skipped.
            let Ok(stamp) = FileStamp::of_path(path) else { continue };
            let activity = &mut self.memory.source(path).activity;
            let next = match *activity {
                Activity::Growing { stamp: before, since } if before == stamp => {
                    if now - since < STILL {
                        continue;
                    }
                    Activity::Still { stamp }
                }
                Activity::Still { stamp: before } if before == stamp => continue,
                Activity::Unknown | Activity::Growing { .. } | Activity::Still { .. } => {
                    Activity::Growing { stamp, since: now }
                }
            };
            *activity = next;
            is_due = true;
        }
        is_due
    }

    fn update(&mut self, sources: &[PathBuf], progress: &dyn Progress) -> Result<(), Error> {
        let tick = if let Some(writer) = &self.memory.writer {
            writer.manifest().tick
        } else {
            let manifest = Manifest::read(&self.location.store)?;
            if let Some(manifest) = &manifest {
                self.memory.learn(manifest);
            }
            let tick = self.options.tick.unwrap_or(Tick::DEFAULT);
            manifest.map_or(tick, |manifest| manifest.tick)
        };
        self.memory.hold_back = Some(self.hold_back.nearest(tick)?);
        let once = Once { progress, noted: &self.noted };
        let context = Context { location: &self.location, options: &self.options, progress: &once };
        let updated = Update::new(context, sources, &mut self.memory).run();
        match (updated, self.options.keeping_tick_here()) {
            (Err(error), Some(options)) if error.is_without_tick() => {
                let context = Context { options: &options, ..context };
                Update::new(context, sources, &mut self.memory).run()?;
                note_kept(context);
                Ok(())
            }
            (updated, _) => updated,
        }
    }
}

/// Reports each note only once.
struct Once<'a> {
    progress: &'a dyn Progress,
    noted: &'a RefCell<HashSet<String>>,
}

impl Progress for Once<'_> {
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>) {
        self.progress.source(name, bytes, read);
    }

    fn done(&self) {
        self.progress.done();
    }

    fn note(&self, note: &str) {
        if self.noted.borrow_mut().insert(note.into()) {
            self.progress.note(note);
        }
    }

    fn temporary(&self, path: &Path) {
        self.progress.temporary(path);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
