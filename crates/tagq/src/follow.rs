//! Following a run while it is recorded: new data of its sources is ingested as it arrives.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tagq_store::{Duration as Ticks, Manifest, Store, Tick, Writer};

use crate::{
    error::Error,
    options::Options,
    place::Place,
    progress::Progress,
    run::Run,
    update::{self, Learnt},
};

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
    place: Place,
    options: Options,
    hold_back: Ticks,
    writer: Option<Writer>,
    learnt: Learnt,
    looks: HashMap<PathBuf, Look>,
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
struct Look {
    /// Length and modification time.
    stamp: (u64, Option<std::time::SystemTime>),
    since: Instant,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Follower {
    /// Follows the run that `path` names. For a growing source, tags within `hold_back` of its newest
    /// tag are held back, so that late tags can still be sorted in.
    ///
    /// # Errors
    /// [`Error::NoSuchPath`]. The folder may still be empty.
    pub fn new(path: &Path, options: &Options, hold_back: Ticks) -> Result<Self, Error> {
        let place = match Place::find(path, options.store.as_deref()) {
            Err(Error::NoSources { .. }) => Place::of_empty_folder(path, options.store.as_deref())?,
            place => place?,
        };
        Ok(Self {
            path: path.into(),
            place,
            options: options.clone(),
            hold_back,
            writer: None,
            learnt: Learnt::default(),
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
        let manifest = Manifest::read(&self.place.store)?;
        self.looked.set(begun.elapsed());
        Ok(manifest.map_or(0, |manifest| manifest.commit))
    }

    /// Returns the pause before the next step: 10 ms if polling is fast, more if polling is slow, so
    /// that it uses at most a ninth of the time, and at most 250 ms. 50 ms once all sources have been
    /// unchanged for two seconds.
    pub fn pause(&self) -> Duration {
        let is_still =
            self.writer.is_some() && self.looks.keys().all(|path| self.learnt.still.contains(path));
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
        if !Store::is_at(&self.place.store) {
            return Err(Error::NothingIngested { path: self.path.clone() });
        }
        Run::of_store(&self.path, &self.place.store, &self.options)
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
        result.map_err(|error| self.place.shown(error))
    }

    /// Returns the current sources. Sources that vanished keep their rows.
    fn sources(&mut self) -> Result<Vec<PathBuf>, Error> {
        match Place::find(&self.path, self.options.store.as_deref()) {
            Ok(place) => self.place = place,
            Err(Error::NoSuchPath { .. } | Error::NoSources { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        Ok(self.place.sources.clone().unwrap_or_default())
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
                    is_due |= self.learnt.still.insert(path.clone());
                }
                Some(_) => {}
                None => {
                    self.looks.insert(path.clone(), Look { stamp, since: now });
                    self.learnt.still.remove(path);
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
            let manifest = Manifest::read(&self.place.store)?;
            self.learnt.know(manifest.as_ref().map_or(&[], |manifest| &manifest.sources));
            let tick = self.options.tick.unwrap_or(Tick::DEFAULT);
            manifest.map_or(tick, |manifest| manifest.tick)
        };
        self.learnt.hold_back = Some(self.hold_back.nearest(tick)?);
        let Self { writer, place, options, learnt, .. } = self;
        update::take_all(writer, place, sources, options, progress, learnt)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use std::io::Write as _;
    use tagq_ingest::encode::Encoder;
    use tagq_store::{Access, Tag};

    /// Ticks of 156.25 ps in 10 ms.
    const HELD: i64 = 64_000_000;

    fn frame(times: &[i64]) -> Vec<u8> {
        let tags: Vec<Tag> = times.iter().map(|&time| Tag { time, channel: 1 }).collect();
        let mut encoder = Encoder::new(Vec::new());
        encoder.frame(tags.len() as u64, [&tags[..]]).unwrap();
        encoder.into_inner()
    }

    fn append(path: &Path, bytes: &[u8]) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(bytes).unwrap();
    }

    fn follower(folder: &Path) -> Follower {
        Follower::new(folder, &Options::default(), HOLD_BACK.parse().unwrap()).unwrap()
    }

    fn times(folder: &Path) -> Vec<i64> {
        let store = Store::open(&folder.join(".tagq"), Access::Copied).unwrap();
        store.tags().time.to_vec()
    }

    /// Records the notes that it receives.
    #[derive(Default)]
    struct Told(RefCell<Vec<String>>);

    impl Progress for Told {
        fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
        fn done(&self) {}
        fn note(&self, note: &str) {
            self.0.borrow_mut().push(note.into());
        }
    }

    #[test]
    fn the_newest_tags_wait_for_late_ones_until_the_source_is_still() {
        let folder = tempfile::tempdir().unwrap();
        let mut follower = follower(folder.path());
        let begun = Instant::now();
        follower.step_at(begun, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), 0, "an empty folder has no store");
        let source = folder.path().join("a.tags.zst");
        append(&source, &frame(&[0, 10, HELD + 5, HELD + 20]));
        follower.step_at(begun, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10], "older than the newest by more than was held");
        let commit = follower.commit().unwrap();
        follower.step_at(begun + POLL, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), commit, "nothing new");
        // Late by 10, and sorted in.
        append(&source, &frame(&[HELD + 10, HELD + 30]));
        follower.step_at(begun + 2 * POLL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10]);
        follower.step_at(begun + 2 * POLL + STILL, &Silent).unwrap();
        let all = [0, 10, HELD + 5, HELD + 10, HELD + 20, HELD + 30];
        assert_eq!(times(folder.path()), all);
        let commit = follower.commit().unwrap();
        follower.step_at(begun + 3 * STILL, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), commit, "it is still only once");
        follower.looked.set(Duration::ZERO);
        assert_eq!(follower.pause(), POLL_STILL);
        append(&source, &frame(&[3 * HELD, 5 * HELD]));
        follower.step_at(begun + 4 * STILL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [&all[..], &[3 * HELD]].concat());
        follower.looked.set(Duration::ZERO);
        assert_eq!(follower.pause(), POLL, "it grows again");
    }

    #[test]
    fn a_source_that_another_one_follows_is_taken_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut follower = follower(folder.path());
        let begun = Instant::now();
        append(&folder.path().join("1.tags.zst"), &frame(&[0, 10]));
        follower.step_at(begun, &Silent).unwrap();
        // A frame that stays torn, and a restarted recorder.
        let torn = frame(&[20, 30]);
        append(&folder.path().join("1.tags.zst"), &torn[..torn.len() / 2]);
        append(&folder.path().join("2.tags.zst"), &frame(&[40, 50]));
        follower.step_at(begun + POLL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10]);
        // A source that vanished keeps its rows.
        fs::remove_file(folder.path().join("1.tags.zst")).unwrap();
        follower.step_at(begun + STILL + 2 * POLL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10, 40, 50]);
    }

    #[test]
    fn a_frame_that_is_still_written_is_no_commit_before_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut follower = follower(folder.path());
        let begun = Instant::now();
        let source = folder.path().join("a.tags.zst");
        append(&source, &frame(&[0, 10, 2 * HELD]));
        follower.step_at(begun, &Silent).unwrap();
        let commit = follower.commit().unwrap();
        let next = frame(&[3 * HELD, 5 * HELD]);
        let (half, rest) = next.split_at(next.len() / 2);
        append(&source, half);
        follower.step_at(begun + POLL, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), commit, "there is nothing that anybody can see");
        append(&source, rest);
        follower.step_at(begun + 2 * POLL, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), commit + 1);
        assert_eq!(times(folder.path()), [0, 10, 2 * HELD, 3 * HELD]);
        // A source that stays torn is listed as torn once no more data arrives.
        append(&source, half);
        follower.step_at(begun + 3 * POLL, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), commit + 1);
        follower.step_at(begun + 3 * POLL + STILL, &Silent).unwrap();
        assert_eq!(follower.commit().unwrap(), commit + 2);
        assert_eq!(times(folder.path()), [0, 10, 2 * HELD, 3 * HELD, 5 * HELD]);
    }

    #[test]
    fn what_stops_it_is_told_once_and_each_commit_is_handed_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (follower(folder.path()), follower(folder.path()));
        assert!(first.newer().unwrap().is_none(), "nothing is there yet");
        let source = folder.path().join("a.tags.zst");
        append(&source, &frame(&[0, 10, 2 * HELD]));
        assert!(first.advance(&Silent).is_none(), "nothing stops it");
        assert!(matches!(second.advance(&Silent), Some(Change::Busy)));
        for follower in [&mut first, &mut second] {
            let run = follower.newer().unwrap().unwrap();
            assert_eq!(run.store().manifest().rows, 2);
            assert!(!follower.is_newer() && follower.newer().unwrap().is_none());
        }
        drop(first);
        second.retry_at = Some(Instant::now());
        assert!(matches!(second.advance(&Silent), Some(Change::GoesOn)));
        append(&source, &[7; 100]);
        let told = match second.advance(&Silent) {
            Some(Change::Stopped(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        second.retry_at = Some(Instant::now());
        assert!(second.advance(&Silent).is_none(), "{told} was told");
    }

    #[test]
    fn looks_that_take_long_are_made_more_rarely() {
        let folder = tempfile::tempdir().unwrap();
        let follower = follower(folder.path());
        let pause_after = |looked| {
            follower.looked.set(Duration::from_micros(looked));
            follower.pause().as_micros()
        };
        assert_eq!([20, 5_000, 1_000_000].map(pause_after), [10_000, 40_000, 250_000]);
    }

    #[test]
    fn a_message_that_a_frame_cuts_is_taken_when_the_next_one_brings_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut follower = follower(folder.path());
        let begun = Instant::now();
        let source = folder.path().join("a.tags.zst");
        // Two messages, the second of which ends in its own frame.
        let messages = [&[0, 10, 3 * HELD][..], &[5 * HELD, 6 * HELD]];
        let messages = messages.map(|times| zstd::decode_all(&frame(times)[..]).unwrap());
        let bytes = messages.concat();
        let (first, second) = bytes.split_at(bytes.len() - 8);
        let compressed = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
        append(&source, &compressed(first));
        follower.step_at(begun, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10]);
        append(&source, &compressed(second));
        follower.step_at(begun + POLL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10, 3 * HELD]);
        append(&source, &frame(&[9 * HELD]));
        follower.step_at(begun + 2 * POLL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 10, 3 * HELD, 5 * HELD, 6 * HELD]);
    }

    #[test]
    fn a_tag_later_than_what_was_held_stops_its_source_with_one_note() {
        let folder = tempfile::tempdir().unwrap();
        let mut follower = follower(folder.path());
        let begun = Instant::now();
        let source = folder.path().join("a.tags.zst");
        append(&source, &frame(&[0, 3 * HELD]));
        let told = Told::default();
        follower.step_at(begun, &told).unwrap();
        append(&source, &frame(&[-1, 4 * HELD]));
        follower.step_at(begun + POLL, &told).unwrap();
        append(&source, &frame(&[5 * HELD]));
        follower.step_at(begun + 2 * POLL, &told).unwrap();
        follower.step_at(begun + 2 * STILL, &told).unwrap();
        assert_eq!(times(folder.path()), [0]);
        let told = told.0.into_inner();
        assert!(told.len() == 1 && told[0].contains("--hold-back"), "{told:?}");
        assert!(told[0].contains("--rebuild"), "{told:?}");
    }

    #[test]
    fn tags_later_than_what_was_held_are_put_in_order_within_what_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let mut follower = follower(folder.path());
        let begun = Instant::now();
        let source = folder.path().join("a.tags.zst");
        append(&source, &frame(&[0]));
        follower.step_at(begun, &Silent).unwrap();
        // In the order of a recorder that writes one channel after the other.
        let mut new: Vec<i64> = (1..=400_000).map(|i| i * (HELD / 1_000)).collect();
        new.rotate_right(150_000);
        let told = Told::default();
        for at in [1, 2] {
            append(&source, &frame(&new));
            follower.step_at(begun + at * POLL, &told).unwrap();
            for time in &mut new {
                *time += 400 * HELD;
            }
        }
        follower.step_at(begun + 2 * POLL + STILL, &told).unwrap();
        let all: Vec<i64> = (0..=800_000).map(|i| i * (HELD / 1_000)).collect();
        assert!(times(folder.path()) == all, "{} tags", times(folder.path()).len());
        assert!(told.0.take().is_empty());
    }

    #[test]
    fn two_followers_of_one_run_take_turns_and_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (follower(folder.path()), follower(folder.path()));
        let begun = Instant::now();
        let source = folder.path().join("a.tags.zst");
        append(&source, &frame(&[0, 3 * HELD]));
        first.step_at(begun, &Silent).unwrap();
        let busy = second.step_at(begun, &Silent).unwrap_err();
        assert!(busy.to_string().contains("another"), "{busy}");
        assert_eq!(second.commit().unwrap(), first.commit().unwrap());
        drop(first);
        append(&source, &frame(&[4 * HELD, 5 * HELD]));
        second.step_at(begun + RETRY, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 3 * HELD]);
        second.step_at(begun + RETRY + STILL, &Silent).unwrap();
        assert_eq!(times(folder.path()), [0, 3 * HELD, 4 * HELD, 5 * HELD]);
    }
}
