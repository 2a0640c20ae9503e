use super::*;
use crate::{follow::poll_loop::FollowLoop, follow::poll_loop::Waiter, progress::Silent};
use std::{fs, io::Write as _, ops::ControlFlow};
use tagq_ingest::encode::Encoder;
use tagq_store::{Access, Creation, Error as StoreError, Tag, Writer};

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
    Follower::new(folder, &OpenOptions::default(), HOLD_BACK.parse().unwrap()).unwrap()
}

fn times(folder: &Path) -> Vec<i64> {
    let store = Store::open(&folder.join(".tagq"), Access::Copied).unwrap();
    store.tags().time.to_vec()
}

/// Polls and ingests; returns the error that stops it.
fn step_at(follower: &mut Follower, now: Instant, progress: &dyn Progress) -> Result<(), Error> {
    match follower.advance_at(now, progress) {
        Some(FollowChange::Busy(error) | FollowChange::Stopped(error)) => Err(error),
        Some(FollowChange::Resumed | FollowChange::Removed(_)) | None => Ok(()),
    }
}

fn retry_now(follower: &mut Follower) {
    if let Health::Failing { retry_at, .. } = &mut follower.health {
        *retry_at = Instant::now();
    }
}

/// Records the notes that it receives.
#[derive(Debug, Default)]
struct Notes(RefCell<Vec<String>>);

impl Progress for Notes {
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
    step_at(&mut follower, begun, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), 0, "an empty folder has no store");
    let source = folder.path().join("a.tags.zst");
    append(&source, &frame(&[0, 10, HELD + 5, HELD + 20]));
    step_at(&mut follower, begun, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10], "older than the newest by more than was held");
    let commit = follower.commit().unwrap();
    step_at(&mut follower, begun + PAUSE_MIN, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), commit, "nothing new");
    // Late by 10, and sorted in.
    append(&source, &frame(&[HELD + 10, HELD + 30]));
    step_at(&mut follower, begun + 2 * PAUSE_MIN, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10]);
    step_at(&mut follower, begun + 2 * PAUSE_MIN + STILL, &Silent).unwrap();
    let all = [0, 10, HELD + 5, HELD + 10, HELD + 20, HELD + 30];
    assert_eq!(times(folder.path()), all);
    let commit = follower.commit().unwrap();
    step_at(&mut follower, begun + 3 * STILL, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), commit, "it is still only once");
    follower.poll_time.set(Duration::ZERO);
    assert_eq!(follower.pause(), PAUSE_STILL);
    append(&source, &frame(&[3 * HELD, 5 * HELD]));
    step_at(&mut follower, begun + 4 * STILL, &Silent).unwrap();
    assert_eq!(times(folder.path()), [&all[..], &[3 * HELD]].concat());
    follower.poll_time.set(Duration::ZERO);
    assert_eq!(follower.pause(), PAUSE_MIN, "it grows again");
}

#[test]
fn a_source_that_another_one_follows_is_taken_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut follower = follower(folder.path());
    let begun = Instant::now();
    append(&folder.path().join("1.tags.zst"), &frame(&[0, 10]));
    step_at(&mut follower, begun, &Silent).unwrap();
    // A frame that stays torn, and a restarted recorder.
    let torn = frame(&[20, 30]);
    append(&folder.path().join("1.tags.zst"), &torn[..torn.len() / 2]);
    append(&folder.path().join("2.tags.zst"), &frame(&[40, 50]));
    step_at(&mut follower, begun + PAUSE_MIN, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10]);
    // A source that vanished keeps its rows.
    fs::remove_file(folder.path().join("1.tags.zst")).unwrap();
    step_at(&mut follower, begun + STILL + 2 * PAUSE_MIN, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10, 40, 50]);
}

#[test]
fn a_frame_that_is_still_written_is_no_commit_before_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut follower = follower(folder.path());
    let begun = Instant::now();
    let source = folder.path().join("a.tags.zst");
    append(&source, &frame(&[0, 10, 2 * HELD]));
    step_at(&mut follower, begun, &Silent).unwrap();
    let commit = follower.commit().unwrap();
    let next = frame(&[3 * HELD, 5 * HELD]);
    let (half, rest) = next.split_at(next.len() / 2);
    append(&source, half);
    step_at(&mut follower, begun + PAUSE_MIN, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), commit, "there is nothing that anybody can see");
    append(&source, rest);
    step_at(&mut follower, begun + 2 * PAUSE_MIN, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), commit + 1);
    assert_eq!(times(folder.path()), [0, 10, 2 * HELD, 3 * HELD]);
    // A source that stays torn is listed as torn once no more data arrives.
    append(&source, half);
    step_at(&mut follower, begun + 3 * PAUSE_MIN, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), commit + 1);
    step_at(&mut follower, begun + 3 * PAUSE_MIN + STILL, &Silent).unwrap();
    assert_eq!(follower.commit().unwrap(), commit + 2);
    assert_eq!(times(folder.path()), [0, 10, 2 * HELD, 3 * HELD, 5 * HELD]);
}

#[test]
fn what_stops_it_is_told_once_and_each_commit_is_handed_out_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, mut second) = (follower(folder.path()), follower(folder.path()));
    assert!(!first.refresh(&Silent), "nothing is there yet");
    let source = folder.path().join("a.tags.zst");
    append(&source, &frame(&[0, 10, 2 * HELD]));
    assert!(first.advance(&Silent).is_none(), "nothing stops it");
    assert!(matches!(second.advance(&Silent), Some(FollowChange::Busy(_))));
    for follower in [&mut first, &mut second] {
        assert!(follower.refresh(&Silent));
        assert_eq!(follower.run.as_ref().unwrap().store().manifest().rows, 2);
        assert!(!follower.refresh(&Silent));
    }
    drop(first);
    retry_now(&mut second);
    assert!(matches!(second.advance(&Silent), Some(FollowChange::Resumed)));
    append(&source, &[7; 100]);
    let told = match second.advance(&Silent) {
        Some(FollowChange::Stopped(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    retry_now(&mut second);
    assert!(second.advance(&Silent).is_none(), "{told} was told");
}

#[test]
fn looks_that_take_long_are_made_more_rarely() {
    let folder = tempfile::tempdir().unwrap();
    let follower = follower(folder.path());
    let pause_after = |looked| {
        follower.poll_time.set(Duration::from_micros(looked));
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
    step_at(&mut follower, begun, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10]);
    append(&source, &compressed(second));
    step_at(&mut follower, begun + PAUSE_MIN, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10, 3 * HELD]);
    append(&source, &frame(&[9 * HELD]));
    step_at(&mut follower, begun + 2 * PAUSE_MIN, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 10, 3 * HELD, 5 * HELD, 6 * HELD]);
}

#[test]
fn a_tag_later_than_what_was_held_stops_its_source_with_one_note() {
    let folder = tempfile::tempdir().unwrap();
    let mut follower = follower(folder.path());
    let begun = Instant::now();
    let source = folder.path().join("a.tags.zst");
    append(&source, &frame(&[0, 3 * HELD]));
    let told = Notes::default();
    step_at(&mut follower, begun, &told).unwrap();
    append(&source, &frame(&[-1, 4 * HELD]));
    step_at(&mut follower, begun + PAUSE_MIN, &told).unwrap();
    append(&source, &frame(&[5 * HELD]));
    step_at(&mut follower, begun + 2 * PAUSE_MIN, &told).unwrap();
    step_at(&mut follower, begun + 2 * STILL, &told).unwrap();
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
    step_at(&mut follower, begun, &Silent).unwrap();
    // In the order of a recorder that writes one channel after the other.
    let mut new: Vec<i64> = (1..=400_000).map(|i| i * (HELD / 1_000)).collect();
    new.rotate_right(150_000);
    let told = Notes::default();
    for at in [1, 2] {
        append(&source, &frame(&new));
        step_at(&mut follower, begun + at * PAUSE_MIN, &told).unwrap();
        for time in &mut new {
            *time += 400 * HELD;
        }
    }
    step_at(&mut follower, begun + 2 * PAUSE_MIN + STILL, &told).unwrap();
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
    step_at(&mut first, begun, &Silent).unwrap();
    let busy = step_at(&mut second, begun, &Silent).unwrap_err();
    assert!(busy.to_string().contains("another"), "{busy}");
    assert_eq!(second.commit().unwrap(), first.commit().unwrap());
    drop(first);
    append(&source, &frame(&[4 * HELD, 5 * HELD]));
    step_at(&mut second, begun + RETRY, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 3 * HELD]);
    step_at(&mut second, begun + RETRY + STILL, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 3 * HELD, 4 * HELD, 5 * HELD]);
}

fn writer(folder: &Path) -> Result<Writer, StoreError> {
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    Writer::open(&folder.join(".tagq"), &creation)
}

#[test]
fn the_lock_is_given_back_while_nothing_grows() {
    let folder = tempfile::tempdir().unwrap();
    let mut follower = follower(folder.path());
    let begun = Instant::now();
    let source = folder.path().join("a.tags.zst");
    append(&source, &frame(&[0, 3 * HELD]));
    step_at(&mut follower, begun, &Silent).unwrap();
    let busy = writer(folder.path()).unwrap_err().to_string();
    let holder = format!(": process {} on ", std::process::id());
    assert!(cfg!(windows) || busy.contains(&holder) && busy.contains(" holds it; wait"), "{busy}");
    step_at(&mut follower, begun + STILL, &Silent).unwrap();
    assert!(follower.refresh(&Silent));
    assert_eq!(follower.rows(), 2);
    follower.poll_time.set(Duration::ZERO);
    assert_eq!(follower.pause(), PAUSE_STILL);
    // Another writer changes the tick, and a query ingests new tags to their end.
    let mut other = writer(folder.path()).unwrap();
    other.set_tick("4ps".parse().unwrap(), false).unwrap();
    other.commit().unwrap();
    drop(other);
    assert_eq!(fs::read(folder.path().join(".tagq/lock")).unwrap(), b"");
    assert!(follower.refresh(&Silent), "another commit is noticed");
    assert_eq!(follower.run.as_ref().unwrap().store().manifest().tick.to_string(), "4 ps");
    append(&source, &frame(&[4 * HELD, 5 * HELD]));
    crate::open::open(folder.path(), &OpenOptions::default(), &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 3 * HELD, 4 * HELD, 5 * HELD]);
    // Nothing is ingested twice, and nothing is lost. 10 ms are 39 times as many ticks now.
    append(&source, &frame(&[6 * HELD, 99 * HELD]));
    step_at(&mut follower, begun + 2 * STILL, &Silent).unwrap();
    assert!(writer(folder.path()).is_err(), "the source grows");
    assert_eq!(times(folder.path()), [0, 3 * HELD, 4 * HELD, 5 * HELD, 6 * HELD]);
    step_at(&mut follower, begun + 3 * STILL, &Silent).unwrap();
    assert_eq!(times(folder.path()), [0, 3 * HELD, 4 * HELD, 5 * HELD, 6 * HELD, 99 * HELD]);
    writer(folder.path()).unwrap();
    // A source that was removed does not grow.
    append(&folder.path().join("b.tags.zst"), &frame(&[100 * HELD]));
    step_at(&mut follower, begun + 4 * STILL, &Silent).unwrap();
    assert!(writer(folder.path()).is_err());
    fs::remove_file(folder.path().join("b.tags.zst")).unwrap();
    step_at(&mut follower, begun + 5 * STILL, &Silent).unwrap();
    writer(folder.path()).unwrap();
}

/// A clock that pauses only in name. It ends the loop at a time.
struct Clock {
    now: Instant,
    end: Instant,
    notes: Notes,
}

impl Progress for Clock {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, note: &str) {
        self.notes.note(note);
    }
}

impl Waiter for Clock {
    type End = u64;

    fn pause(&mut self, pause: Duration, rows: u64) -> ControlFlow<u64> {
        assert!((PAUSE_MIN..=PAUSE_MAX).contains(&pause), "{pause:?}");
        self.now += pause;
        if self.now < self.end { ControlFlow::Continue(()) } else { ControlFlow::Break(rows) }
    }

    fn now(&self) -> Instant {
        self.now
    }
}

#[test]
fn a_loop_returns_each_commit_once_and_not_before_its_interval() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.tags.zst");
    append(&source, &frame(&[0, 2 * HELD]));
    let begun = Instant::now();
    let mut clock = Clock { now: begun, end: begun + 10 * STILL, notes: Notes::default() };
    let interval = 2 * STILL;
    let mut runs = FollowLoop::new(vec![follower(folder.path())], Some(interval));
    let mut busy = FollowLoop::new(vec![follower(folder.path())], None);
    assert!(runs.run(0).is_none());
    assert_eq!(runs.wait(&mut clock), ControlFlow::Continue(()));
    assert_eq!((clock.now, runs.run(0).unwrap().store().manifest().rows), (begun, 1));
    // Still after 2 s, and returned after 4 s.
    assert_eq!(runs.wait(&mut clock), ControlFlow::Continue(()));
    assert_eq!(runs.run(0).unwrap().store().manifest().rows, 2);
    let waited = clock.now - begun;
    assert!((interval..=interval + PAUSE_MAX).contains(&waited), "{waited:?}");
    assert_eq!(runs.wait(&mut clock), ControlFlow::Break(2));
    assert!(clock.now >= clock.end);
    // Errors are noted once, and retried.
    let other = writer(folder.path()).unwrap();
    clock.end = clock.now + 3 * RETRY;
    assert_eq!(busy.wait(&mut clock), ControlFlow::Break(0), "the other one has the rows");
    drop((runs, other));
    clock.end = clock.now + 2 * RETRY;
    assert_eq!(busy.wait(&mut clock), ControlFlow::Break(2));
    let notes = clock.notes.0.into_inner();
    assert!(notes.len() == 2 && notes[0].contains("another process"), "{notes:?}");
    assert!(busy.run(0).is_none(), "without an interval, nothing is opened");
    assert!(busy.refresh(&Silent) && busy.run(0).is_some());
}

#[test]
fn what_is_removed_is_noted_and_a_store_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    append(&at("1.tags.zst"), &frame(&[1, 2]));
    append(&at("2.tags.zst"), &frame(&[3]));
    let mut follower = follower(folder.path());
    let (begun, notes) = (Instant::now(), Notes::default());
    step_at(&mut follower, begun, &notes).unwrap();
    step_at(&mut follower, begun + STILL, &notes).unwrap();
    assert_eq!(times(folder.path()), [1, 2, 3]);
    assert!(follower.refresh(&notes));
    // Another name is no removal.
    fs::rename(at("2.tags.zst"), at("3.tags.zst")).unwrap();
    step_at(&mut follower, begun + 2 * STILL, &notes).unwrap();
    assert_eq!(*notes.0.borrow(), [""; 0]);
    fs::remove_file(at("1.tags.zst")).unwrap();
    step_at(&mut follower, begun + 3 * STILL, &notes).unwrap();
    step_at(&mut follower, begun + 4 * STILL, &notes).unwrap();
    let gone = format!("1.tags.zst: was removed; its tags stay in {}", at(".tagq").display());
    assert!(notes.0.borrow().len() == 1 && notes.0.borrow()[0].ends_with(&gone), "{notes:?}");
    assert_eq!(times(folder.path()), [1, 2, 3]);
    if cfg!(windows) {
        // A store that is open cannot be removed.
        return;
    }
    fs::remove_dir_all(at(".tagq")).unwrap();
    step_at(&mut follower, begun + 5 * STILL, &notes).unwrap();
    assert!(follower.refresh(&notes));
    step_at(&mut follower, begun + 6 * STILL, &notes).unwrap();
    assert_eq!(times(folder.path()), [3]);
    let removed = format!("{}: the store was removed", at(".tagq").display());
    assert_eq!(notes.0.borrow()[1..], [removed]);
}
