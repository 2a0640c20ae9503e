//! A disk that fails: every call of a writer in turn, in every way, and the store that is left.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tagq_sampling::some;

use crate::{
    Access, Channels, Creation, Error, Folder, MicroColumn, Recording, Rows, RunId, SourceFacts,
    Store, Tick, Writer, disk::Disk, error::io_error, format::MICRO_NONE, os,
};

/// How call number `at` fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    /// It and all calls after it are not made: the process is gone.
    Kill,
    /// It and all calls after it are not made, and what was not synced is lost.
    PowerLoss,
    /// It fails with this error number, once.
    Once(i32),
    /// It and all calls after it fail with this error number.
    Forever(i32),
    /// It writes one byte less than asked for, or half of it: no fault at all.
    Short,
    /// It is interrupted, once: no fault at all when it writes.
    Interrupted,
}

#[derive(Debug)]
struct FaultyDisk {
    fault: InjectedFault,
    at: usize,
    calls: AtomicUsize,
    cache: Mutex<Cache>,
}

/// Changes that a power loss would take back.
#[derive(Debug, Default)]
struct Cache {
    /// Length that survives, by path, of files written here.
    synced: HashMap<PathBuf, u64>,
    /// Files whose names are not durable yet.
    unnamed: HashSet<PathBuf>,
    /// The bytes that stood under a name before a rename that is not durable yet.
    renamed: HashMap<PathBuf, Option<Vec<u8>>>,
}

impl FaultyDisk {
    fn new(fault: InjectedFault, at: usize) -> Arc<Self> {
        Arc::new(Self { fault, at, calls: AtomicUsize::new(0), cache: Mutex::default() })
    }

    fn call(&self) -> io::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            InjectedFault::Kill | InjectedFault::PowerLoss if call >= self.at => {
                Err(io::Error::other("the process is gone"))
            }
            InjectedFault::Forever(errno) if call >= self.at => {
                Err(io::Error::from_raw_os_error(errno))
            }
            InjectedFault::Once(errno) if call == self.at => {
                Err(io::Error::from_raw_os_error(errno))
            }
            InjectedFault::Interrupted if call == self.at => Err(io::ErrorKind::Interrupted.into()),
            _ => Ok(()),
        }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// The disk after the power came back.
    fn lose_power(&self) {
        let cache = self.cache.lock().unwrap();
        for (path, bytes) in &cache.renamed {
            match bytes {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => drop(fs::remove_file(path)),
            }
        }
        for (path, &len) in &cache.synced {
            if cache.unnamed.contains(path) {
                drop(fs::remove_file(path));
            } else if let Ok(file) = File::options().write(true).open(path) {
                let found = file.metadata().unwrap().len();
                file.set_len(len.min(found)).unwrap();
            }
        }
    }
}

impl Disk for FaultyDisk {
    fn create(&self, folder: &Folder, name: &str) -> Result<File, Error> {
        let path = folder.path().join(name);
        self.call().map_err(io_error(&path, "create this file"))?;
        let mut cache = self.cache.lock().unwrap();
        cache.unnamed.insert(path.clone());
        cache.synced.insert(path, 0);
        folder.create_file(name)
    }

    fn open(&self, folder: &Folder, name: &str) -> Result<File, Error> {
        let path = folder.path().join(name);
        self.call().map_err(io_error(&path, "open this file"))?;
        let file = folder.open_to_write(name)?;
        let len = file.metadata().unwrap().len();
        self.cache.lock().unwrap().synced.entry(path).or_insert(len);
        Ok(file)
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        let call = self.calls();
        if let Err(error) = self.call() {
            if self.fault == InjectedFault::Kill && call == self.at {
                // The process may be gone in the middle of a write.
                os::write_all_at(file, &bytes[..bytes.len() / 2], at)?;
            }
            return Err(error);
        }
        if self.fault == InjectedFault::Short && call == self.at {
            let len = if bytes.len() > 9 { bytes.len() / 2 } else { bytes.len() - 1 };
            return os::write_at(file, &bytes[..len.max(1)], at);
        }
        os::write_at(file, bytes, at)
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        self.call()?;
        os::cut(file, len)
    }

    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        self.call()?;
        let len = file.metadata()?.len();
        self.cache.lock().unwrap().synced.insert(path.into(), len);
        Ok(())
    }

    fn sync_names(&self, folder: &Folder) -> io::Result<()> {
        self.call()?;
        let mut cache = self.cache.lock().unwrap();
        let is_elsewhere = |file: &Path| file.parent() != Some(folder.path());
        cache.unnamed.retain(|file| is_elsewhere(file));
        cache.renamed.retain(|file, _| is_elsewhere(file));
        Ok(())
    }

    fn rename(&self, folder: &Folder, from: &str, to: &str) -> Result<(), Error> {
        let [old, new] = [from, to].map(|name| folder.path().join(name));
        self.call().map_err(io_error(&new, "replace this file"))?;
        let mut cache = self.cache.lock().unwrap();
        let before = fs::read(&new).ok();
        cache.renamed.entry(new.clone()).or_insert(before);
        let synced = cache.synced.remove(&old).unwrap_or(0);
        cache.unnamed.remove(&old);
        cache.synced.insert(new, synced);
        folder.rename(from, to)
    }

    fn remove(&self, folder: &Folder, name: &str) -> Result<(), Error> {
        self.call().map_err(io_error(&folder.path().join(name), "remove this file"))?;
        folder.remove(name)
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        fs::create_dir_all(path)
    }
}

/// Rows of each step of the story, their label, their micro time and the ticks between them. The second makes the
/// labels wide, the third brings micro times and fills a block, the fourth makes them wide, the sixth makes far
/// distances wide.
const STEPS: [(usize, u16, u32, i64); 7] = [
    (40, 3, NONE, 1),
    (25, 300, NONE, 70_000),
    (65_536, 7, 9, 1),
    (5, 7, 65_535, 1),
    (1_500, 7, NONE, 70_000),
    (3, 7, 1, 1 << 33),
    (6, 7, 1, 1),
];
const NONE: u32 = MICRO_NONE;

/// The steps before which the column of gaps is made, and dropped.
const GAPS_MADE: usize = 1;
const GAPS_DROPPED: usize = 3;
/// The steps before which the column of times is dropped, with a commit of its own, and made.
const TIMES_DROPPED: usize = 4;
const TIMES_MADE: usize = 6;

/// The rows of the story as slices of its columns.
type Slices = (&'static [i64], &'static [u16], &'static [u32]);

static STORY: LazyLock<(Vec<i64>, Vec<u16>, Vec<u32>)> = LazyLock::new(|| {
    let labels = STEPS.iter().flat_map(|&(rows, label, ..)| vec![label; rows]).collect();
    let micro = STEPS.iter().flat_map(|&(rows, _, micro, _)| vec![micro; rows]).collect();
    let ticks = STEPS.iter().flat_map(|&(rows, .., ticks)| vec![ticks; rows]);
    let times = ticks.scan(0, |time, ticks| {
        *time += ticks;
        Some(*time)
    });
    (times.collect(), labels, micro)
});

/// The facts of a step. Dead spans get their file with the fifth, which the sixth and the seventh append to.
fn facts_of(step: usize) -> SourceFacts {
    let spans = [0, 0, 3, 0, 4_200, 30, 10][step];
    let dead = (0..spans).map(|i| (10 * i, 10 * i + 5)).collect();
    let recording = Some(Recording { dead, ..Recording::default() });
    SourceFacts { recording, ..SourceFacts::named(&step.to_string()) }
}

fn rows_until(step: usize) -> Slices {
    let rows = STEPS[..step].iter().map(|(rows, ..)| rows).sum();
    let (times, labels, micro) = &*STORY;
    (&times[..rows], &labels[..rows], &micro[..rows])
}

/// Writes what is missing of the story, a writer and a commit for each step.
fn write(disk: &Arc<FaultyDisk>, folder: &Path) -> Result<(), Error> {
    let creation =
        Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([1; 16])) };
    for step in 0..STEPS.len() {
        let disk: Arc<dyn Disk> = Arc::clone(disk) as _;
        let mut writer = Writer::open_on(disk, folder, &creation)?;
        if writer.manifest().sources.len() > step {
            continue;
        }
        let start = rows_until(step).0.len();
        let (time, label, micro) = rows_until(step + 1);
        if step == GAPS_MADE {
            writer.make_gaps()?;
        } else if step == GAPS_DROPPED {
            writer.drop_gaps()?;
        } else if step == TIMES_DROPPED {
            writer.drop_times()?;
            writer.commit()?;
        } else if step == TIMES_MADE {
            writer.make_times()?;
        }
        writer.begin_source();
        writer.append_with_micro(&time[start..], &label[start..], &micro[start..])?;
        writer.finish_source(facts_of(step));
        writer.commit()?;
        // After a failed call the writer refuses everything, whatever the disk says by then.
    }
    Ok(())
}

/// The store holds exactly the rows of some commit; returns which.
fn check(folder: &Path, context: &str) -> usize {
    let store = match Store::open(folder, Access::Mapped) {
        Err(Error::NotAStore { .. }) => return 0,
        store => store.unwrap_or_else(|e| panic!("{context}: {e}")),
    };
    let steps = store.manifest().sources.len();
    let (time, label, micro) = rows_until(steps);
    assert_eq!(store.tags().time, time, "{context}");
    for (step, source) in store.manifest().sources.iter().enumerate() {
        assert!(source.facts == facts_of(step), "{context}: dead spans of source {step}");
    }
    let found: Vec<u16> = match store.tags().channels {
        Channels::U8(labels) => labels.all().iter().map(|&label| label.into()).collect(),
        Channels::U16(labels) => labels.all().to_vec(),
    };
    assert!(found == label, "{context}: labels");
    let width = store.micro().map(|column| match column {
        MicroColumn::U16(_) => 2,
        MicroColumn::U32(_) => 4,
    });
    let expected = [None, None, None, Some(2)].get(steps).copied().unwrap_or(Some(4));
    assert_eq!(width, expected, "{context}");
    let found = |row: usize| store.micro().and_then(|column| column.get(row)).unwrap_or(NONE);
    assert!((0..micro.len()).map(found).eq(micro.iter().copied()), "{context}: micro times");
    // The columns as before or after the commit without rows, and as they must be otherwise.
    let has_times = store.manifest().has_times();
    if steps != TIMES_DROPPED {
        let has_none = (TIMES_DROPPED..=TIMES_MADE).contains(&steps);
        assert_eq!(has_times, !has_none, "{context}: times");
    }
    let has_gaps = !has_times
        || steps > TIMES_MADE
        || (GAPS_MADE..GAPS_DROPPED).contains(&steps.wrapping_sub(1));
    assert_eq!(store.gaps().is_some(), has_gaps, "{context}: gaps");
    for block in store.blocks().unwrap() {
        store.check_block(&block).unwrap();
    }
    steps
}

/// How many calls the whole story makes.
fn calls_of_the_story() -> usize {
    let folder = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(InjectedFault::Kill, usize::MAX);
    write(&disk, &folder.path().join("s")).unwrap();
    assert_eq!(check(&folder.path().join("s"), "no fault"), STEPS.len());
    disk.calls()
}

#[test]
fn every_call_may_fail_in_every_way() {
    let calls = calls_of_the_story();
    assert!(calls > 60, "{calls}");
    let (enospc, eio, edquot, emfile, erofs, eacces) = (28, 5, 122, 24, 30, 13);
    let mut tried = 0;
    let at_each_call = [
        InjectedFault::Kill,
        InjectedFault::PowerLoss,
        InjectedFault::Once(enospc),
        InjectedFault::Once(eio),
        InjectedFault::Forever(enospc),
        InjectedFault::Forever(eio),
    ];
    // Nothing depends on the number of an error.
    let at_some_calls = [
        InjectedFault::Once(edquot),
        InjectedFault::Once(emfile),
        InjectedFault::Forever(erofs),
        InjectedFault::Forever(eacces),
    ];
    for at in some(0..calls) {
        let others = at_some_calls.iter().filter(|_| at.is_multiple_of(3));
        for &fault in at_each_call.iter().chain(others) {
            let context = format!("{fault:?} at call {at}");
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("s");
            let disk = FaultyDisk::new(fault, at);
            let failed = write(&disk, &folder);
            assert!(failed.is_err(), "{context}: reported as done");
            if fault == InjectedFault::PowerLoss {
                disk.lose_power();
            }
            let left = check(&folder, &context);
            // The next writer takes it from there.
            write(&FaultyDisk::new(InjectedFault::Kill, usize::MAX), &folder)
                .unwrap_or_else(|e| panic!("{context}: recovery: {e}"));
            assert_eq!(check(&folder, &context), STEPS.len());
            assert!(left <= STEPS.len());
            tried += 1;
        }
    }
    eprintln!("{tried} faults at {calls} calls");
}

#[test]
fn a_fault_in_the_recovery_of_a_fault() {
    let calls = calls_of_the_story();
    let mut tried = 0;
    for first in some((0..calls).step_by(5)) {
        for second in (0..calls - first).step_by(8) {
            for fault in [InjectedFault::Kill, InjectedFault::PowerLoss] {
                let context = format!("{fault:?} at call {first}, then at {second}");
                let folder = tempfile::tempdir().unwrap();
                let folder = folder.path().join("s");
                let mut steps = 0;
                for at in [first, second, usize::MAX] {
                    let disk = FaultyDisk::new(fault, at);
                    let done = write(&disk, &folder).is_ok();
                    if fault == InjectedFault::PowerLoss && !done {
                        disk.lose_power();
                    }
                    let left = check(&folder, &context);
                    assert!(left >= steps, "{context}: a commit is gone");
                    assert!(!done || left == STEPS.len(), "{context}");
                    steps = left;
                }
                assert_eq!(steps, STEPS.len());
                tried += 1;
            }
        }
    }
    eprintln!("{tried} pairs of faults");
}

#[test]
fn short_and_interrupted_writes_are_no_faults() {
    for at in some(0..calls_of_the_story()) {
        for fault in [InjectedFault::Short, InjectedFault::Interrupted] {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("s");
            let written = write(&FaultyDisk::new(fault, at), &folder);
            let context = format!("{fault:?} at call {at}");
            match written {
                Ok(()) => assert_eq!(check(&folder, &context), STEPS.len()),
                // Calls that do not write say so, and the store is as it was.
                Err(Error::Io { .. }) if fault == InjectedFault::Interrupted => {
                    check(&folder, &context);
                }
                Err(error) => panic!("{context}: {error}"),
            }
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let creation =
        Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([1; 16])) };
    for at in some(0..calls_of_the_story()) {
        let folder = folder.path().join(at.to_string());
        let disk = FaultyDisk::new(InjectedFault::Once(5), at);
        let Ok(mut writer) = Writer::open_on(disk, &folder, &creation) else { continue };
        writer.begin_source();
        let appended = writer.append_with_micro(&[1], &[300], &[70_000]);
        let committed = writer.commit();
        if appended.is_err() {
            assert!(matches!(committed, Err(Error::Poisoned { .. })), "{committed:?}");
        }
        if committed.is_err() {
            let again = writer.commit();
            assert!(matches!(again, Err(Error::Poisoned { .. })), "{again:?}");
            let more = writer.append(&[2], &[1]);
            assert!(matches!(more, Err(Error::Poisoned { .. })), "{more:?}");
        }
    }
}

/// Rows that several threads write: 20 blocks and a part of one.
const MANY_ROWS: usize = 20 * 65_536 + 1_000;

/// Times of these many rows, far from each other in a store without a column of times.
fn many_times(drops_times: bool) -> impl Iterator<Item = i64> {
    let ticks = if drops_times { 70_000 } else { 1 };
    (0..).step_by(ticks).take(MANY_ROWS)
}

/// Writes a source of two rows, then one of many, whose writes are of several threads.
fn write_on_threads(disk: &Arc<FaultyDisk>, folder: &Path, drops_times: bool) -> Result<(), Error> {
    let creation =
        Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([1; 16])) };
    let mut writer = Writer::open_on(Arc::clone(disk) as _, folder, &creation)?;
    writer.set_threads(3);
    if writer.manifest().sources.is_empty() {
        writer.begin_source();
        writer.append(&[-2, -1], &[3, 3])?;
        writer.finish_source(SourceFacts::named("few"));
        writer.commit()?;
    }
    if writer.manifest().sources.len() == 1 {
        if drops_times {
            writer.drop_times()?;
        } else {
            writer.make_gaps()?;
        }
        writer.begin_source();
        let rows = |(time, label)| Rows::new(time, label, Vec::new());
        let mut all = rows((many_times(drops_times).collect(), vec![7; MANY_ROWS]));
        let later = all.split_off(MANY_ROWS / 3);
        let appended = writer.append_rows(vec![all, later]);
        writer.finish_source(SourceFacts::named("many"));
        let committed = writer.commit();
        if appended.is_err() || committed.is_err() {
            let again = writer.commit();
            assert!(matches!(again, Err(Error::Poisoned { .. })), "{again:?}");
        }
        assert!(appended.is_ok() || committed.is_err(), "a failed write was committed");
        appended.and(committed)?;
    }
    Ok(())
}

fn check_on_threads(folder: &Path, drops_times: bool, context: &str) -> usize {
    let store = match Store::open(folder, Access::Mapped) {
        Err(Error::NotAStore { .. }) => return 0,
        store => store.unwrap_or_else(|e| panic!("{context}: {e}")),
    };
    let steps = store.manifest().sources.len();
    let rows = [0, 2, 2 + MANY_ROWS][steps];
    let times: Vec<i64> = [-2, -1].into_iter().chain(many_times(drops_times)).take(rows).collect();
    assert!(store.tags().time == times, "{context}");
    assert_eq!(store.manifest().has_times(), steps < 2 || !drops_times, "{context}");
    for block in store.blocks().unwrap() {
        store.check_block(&block).unwrap();
    }
    steps
}

#[test]
fn any_write_of_other_threads_may_fail() {
    for drops_times in [false, true] {
        any_write_may_fail(drops_times);
    }
}

fn any_write_may_fail(drops_times: bool) {
    let folder = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(InjectedFault::Kill, usize::MAX);
    write_on_threads(&disk, &folder.path().join("s"), drops_times).unwrap();
    assert_eq!(check_on_threads(&folder.path().join("s"), drops_times, "no fault"), 2);
    let calls = disk.calls();
    assert!(calls > 100, "{calls}");
    for at in some((0..calls).step_by(5)) {
        for fault in [
            InjectedFault::Kill,
            InjectedFault::PowerLoss,
            InjectedFault::Once(28),
            InjectedFault::Short,
        ] {
            let context = format!("{fault:?} at call {at}, drops times: {drops_times}");
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path().join("s");
            let disk = FaultyDisk::new(fault, at);
            let written = write_on_threads(&disk, &folder, drops_times);
            assert_eq!(written.is_ok(), fault == InjectedFault::Short, "{context}");
            if fault == InjectedFault::PowerLoss {
                disk.lose_power();
            }
            check_on_threads(&folder, drops_times, &context);
            write_on_threads(
                &FaultyDisk::new(InjectedFault::Kill, usize::MAX),
                &folder,
                drops_times,
            )
            .unwrap_or_else(|e| panic!("{context}: recovery: {e}"));
            assert_eq!(check_on_threads(&folder, drops_times, &context), 2);
        }
    }
}
