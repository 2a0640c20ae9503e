//! Setup of the trials: sources, the stores of undisturbed ingests, and runs to disturb.

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    Checked, program,
    reference::{Content, debris, file_of},
};

/// Arguments of the simulated sources: two small ones, one that fills a block, one with labels above 255, and
/// one after it.
const SOURCES: [&str; 5] = [
    "--duration 2ms --start 0s --seed 1",
    "--duration 2ms --start 1s --seed 2",
    "--duration 400ms --start 2s --seed 3",
    "--duration 2ms --start 3s --seed 4 --channels 1,300",
    "--duration 2ms --start 4s --seed 5",
];

/// The program, its sources, and the expected content of their stores.
#[derive(Debug)]
pub(super) struct Ground {
    pub program: PathBuf,
    /// Folder for all trials.
    pub folder: PathBuf,
    pub pool: Pool,
    /// Whether to continue after a point has failed.
    pub keep_going: bool,
    /// Expected content by number of sources; the first entry means no commit.
    contents: Vec<Option<Content>>,
    /// Expected content of all sources in a store with a column of times.
    with_times: Content,
}

/// A folder with the sources, and initial stores of the first of them.
#[derive(Debug)]
pub(super) struct Pool {
    folder: PathBuf,
}

/// The work of a writer: from a store of the first `from` sources to one of the first `to`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub from: usize,
    pub to: usize,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Ingest,
    /// Ingests all sources again.
    Rebuild,
    /// Makes the column of times, and drops the files that it replaces.
    MakeTimes,
    /// Drops the column of times, and makes the files that replace it.
    DropTimes,
}

/// All actions of a writer: create a store, append, fill a block, widen, append wide labels, rebuild, make and drop
/// times while readers may be active.
pub(super) const STEPS: [Step; 9] = [
    Step { from: 0, to: 2, action: Action::Ingest },
    Step { from: 2, to: 3, action: Action::Ingest },
    Step { from: 3, to: 4, action: Action::Ingest },
    Step { from: 4, to: 5, action: Action::Ingest },
    Step { from: 0, to: 5, action: Action::Ingest },
    Step { from: 3, to: 3, action: Action::Rebuild },
    Step { from: 5, to: 5, action: Action::Rebuild },
    Step { from: 5, to: 5, action: Action::MakeTimes },
    Step { from: 5, to: 5, action: Action::DropTimes },
];

/// A run before an ingest.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    ground: &'a Ground,
    pub step: Step,
    pub run: PathBuf,
    pub store: PathBuf,
}

impl Ground {
    pub(super) fn new(program: PathBuf, folder: PathBuf, keep_going: bool) -> Checked<Self> {
        let pool = Pool { folder: folder.join("pool") };
        fs::create_dir(&pool.folder)?;
        let mut tags = Vec::new();
        let mut contents = vec![None];
        for (i, options) in SOURCES.iter().enumerate() {
            let source = pool.source(i);
            program::run_well(
                Command::new(&program).arg("simulate").args(options.split(' ')).arg(&source),
            )?;
            let store = pool.base(i + 1);
            program::run_well(
                Command::new(&program)
                    .args(["ingest", "--store"])
                    .arg(&store)
                    .args((0..=i).map(|i| pool.source(i))),
            )?;
            let content = Content::read(&program, &store)?.ok_or("an ingest without a commit")?;
            tags.extend(tags_of(&program, &source)?);
            if content.tags() != tags {
                return Err(
                    format!("undisturbed, {} is not what `cat` says", store.display()).into()
                );
            }
            contents.push(Some(content));
        }
        pool.make_with_times(&program)?;
        let with_times = Content::read(&program, &pool.with_times())?.ok_or("no commit")?;
        if with_times.tags() != tags {
            return Err("undisturbed, times are not what `cat` says".into());
        }
        Ok(Self { program, folder, pool, keep_going, contents, with_times })
    }

    pub(super) fn tagq(&self, command: &str) -> Command {
        let mut tagq = Command::new(&self.program);
        tagq.arg(command);
        tagq
    }

    /// Returns a run in the folder `run`, with the sources of `pool`, before `step`.
    pub(super) fn stage(&self, pool: &Pool, run: &Path, step: Step) -> Checked<Stage<'_>> {
        let stage = Stage { ground: self, step, run: run.into(), store: run.join(".tagq") };
        match fs::remove_dir_all(run) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
            _ => fs::create_dir_all(run)?,
        }
        for i in 0..step.to {
            // Use links: `tagq` sees the same file, while a copy would count as changed.
            fs::hard_link(pool.source(i), run.join(source_name(i)))?;
        }
        if step.from > 0 {
            copy_files(&pool.before(step), &stage.store)?;
            litter(&stage.store)?;
        }
        Ok(stage)
    }

    /// Returns the number of sources in the store, and whether it has a column of times. Its content must be exactly as
    /// expected.
    fn found_in(&self, store: &Path) -> Checked<(usize, bool)> {
        let Some(found) = Content::read(&self.program, store)? else { return Ok((0, false)) };
        let expected = if found.has_times() && found.sources == self.with_times.sources {
            Some(&self.with_times)
        } else {
            self.contents.get(found.sources).and_then(Option::as_ref)
        };
        let expected = expected.ok_or_else(|| format!("{} sources", found.sources))?;
        match expected.difference(&found) {
            None => Ok((found.sources, found.has_times())),
            Some(difference) => {
                Err(format!("not the commit of {} sources: {difference}", found.sources).into())
            }
        }
    }

    /// Tries all points in parallel, one thread per core, each in its own folder. Keeps the folder of a
    /// failed point, and stops there unless all points are requested.
    pub(super) fn each<T: fmt::Display + Sync>(
        &self,
        points: &[T],
        try_at: impl Fn(&Path, &T) -> Checked<()> + Sync,
    ) -> Checked<usize> {
        let next = AtomicUsize::new(0);
        let failures = Mutex::new(Vec::new());
        let work = || {
            while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.try_in_folder(|folder| try_at(folder, point)) {
                    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                    failures.push(format!("{point}: {error}"));
                    if !self.keep_going {
                        next.store(points.len(), Ordering::Relaxed);
                    }
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(points.len());
        thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failures.len() {
            0 => Ok(points.len()),
            1 => Err(failures.remove(0).into()),
            n => Err(format!("{}\n{n} of {} points", failures.join("\n"), points.len()).into()),
        }
    }

    fn try_in_folder(&self, try_in: impl Fn(&Path) -> Checked<()>) -> Checked<()> {
        let folder = tempfile::tempdir_in(&self.folder)?;
        try_in(folder.path()).map_err(|error| {
            let left = folder.keep();
            format!("{error} (left in {})", left.display()).into()
        })
    }
}

impl Pool {
    pub(super) fn source(&self, i: usize) -> PathBuf {
        self.folder.join(source_name(i))
    }

    /// Returns the store of the first `sources` sources.
    pub(super) fn base(&self, sources: usize) -> PathBuf {
        self.folder.join(format!("{sources}.tagq"))
    }

    /// Returns the store of all sources with a column of times.
    fn with_times(&self) -> PathBuf {
        self.folder.join("times.tagq")
    }

    fn make_with_times(&self, program: &Path) -> Checked<()> {
        let store = self.with_times();
        copy_files(&self.base(SOURCES.len()), &store)?;
        program::run_well(Command::new(program).args(["set", "--times", "on"]).arg(store))?;
        Ok(())
    }

    /// Returns the store before a step that has one.
    pub(super) fn before(&self, step: Step) -> PathBuf {
        match step.action {
            Action::DropTimes => self.with_times(),
            Action::Ingest | Action::Rebuild | Action::MakeTimes => self.base(step.from),
        }
    }

    /// Returns the store after a step.
    pub(super) fn after(&self, step: Step) -> PathBuf {
        match step.action {
            Action::MakeTimes => self.with_times(),
            Action::Ingest | Action::Rebuild | Action::DropTimes => self.base(step.to),
        }
    }

    /// Copies the sources to another file system.
    pub(super) fn copy_to(&self, folder: &Path, ground: &Ground) -> Checked<Self> {
        fs::create_dir(folder)?;
        let copy = Self { folder: folder.into() };
        for i in 0..SOURCES.len() {
            fs::copy(self.source(i), copy.source(i))?;
            let sources = (0..=i).map(|i| copy.source(i));
            let mut ingest = ground.tagq("ingest");
            program::run_well(ingest.arg("--store").arg(copy.base(i + 1)).args(sources))?;
        }
        copy.make_with_times(&ground.program)?;
        Ok(copy)
    }
}

impl Stage<'_> {
    /// Returns the command of the writer.
    pub(super) fn write(&self) -> Command {
        let (command, options) = match self.step.action {
            Action::Ingest => ("ingest", &[][..]),
            Action::Rebuild => ("ingest", &["--rebuild"][..]),
            Action::MakeTimes => ("set", &["--times", "on"][..]),
            Action::DropTimes => ("set", &["--times", "off"][..]),
        };
        let mut command = self.ground.tagq(command);
        command.args(options).arg(&self.run);
        command
    }

    pub(super) fn query(&self) -> Command {
        let mut command = self.ground.tagq("coincidences");
        command.args(["--window", "2ns", "--format", "json"]).arg(&self.run);
        command
    }

    /// Checks the invariant: the store contains exactly the old commit, the new one, or one between them. Returns how many
    /// sources are done: all of them have old columns or all have new ones.
    pub(super) fn check(&self) -> Checked<usize> {
        let (sources, has_times) = self.ground.found_in(&self.store)?;
        let Step { from, to, action } = self.step;
        let is_done = match action {
            Action::MakeTimes => has_times,
            Action::DropTimes => !has_times,
            Action::Ingest | Action::Rebuild if has_times => {
                return Err("a column of times that nobody asked for".into());
            }
            Action::Ingest | Action::Rebuild => true,
        };
        if (from..=to).contains(&sources) {
            return Ok(if is_done { sources } else { 0 });
        }
        Err(format!("{from} sources before, {to} to come, {sources} in the store").into())
    }

    /// Checks the invariant, and requires the new commit if success was reported.
    pub(super) fn check_after(&self, ended: &program::Ended) -> Checked<usize> {
        let sources = self.check().map_err(|e| format!("{e}; {ended}"))?;
        if ended.code == Some(0) && sources != self.step.to {
            return Err(format!("success reported with {sources} sources in the store").into());
        }
        Ok(sources)
    }

    /// Checks that the next undisturbed writer completes the store and cleans up, even if nothing is new. After a change
    /// of columns an ingest cleans up first, and leaves the columns as they are.
    pub(super) fn recover(&self) -> Checked<()> {
        let found = self.check()?;
        if matches!(self.step.action, Action::MakeTimes | Action::DropTimes) {
            let mut ingest = self.ground.tagq("ingest");
            program::run_well(ingest.arg(&self.run)).map_err(|e| format!("ingest: {e}"))?;
            if self.check()? != found {
                return Err("an ingest changed the columns".into());
            }
            self.check_clean()?;
        }
        let ended = program::run_well(&mut self.write()).map_err(|e| format!("recovery: {e}"))?;
        self.check_after(&ended).map_err(|e| format!("recovery: {e}"))?;
        self.check_clean()
    }

    fn check_clean(&self) -> Checked<()> {
        let debris = debris(&self.store)?;
        if !debris.is_empty() {
            return Err(format!("recovery left {}", debris.join(", ")).into());
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, action } = self;
        match action {
            Action::Ingest => write!(f, "ingest from {from} to {to} sources"),
            Action::Rebuild => write!(f, "rebuild of {to} sources"),
            Action::MakeTimes => write!(f, "set --times on of {to} sources"),
            Action::DropTimes => write!(f, "set --times off of {to} sources"),
        }
    }
}

fn source_name(i: usize) -> String {
    format!("{}.tags.zst", i + 1)
}

/// Creates leftovers of an earlier writer: rows without a commit, and files that no commit names, one of them
/// under the name used for widening.
fn litter(store: &Path) -> Checked<()> {
    for key in ["channel", "gap", "counts"] {
        let path = file_of(store, key)?;
        OpenOptions::new().append(true).open(path)?.write_all(&[0xA5; 1000])?;
    }
    for name in ["manifest.json.new", "channel.8.col", "blocks.9.idx", "time.8.col", "far.9.col"] {
        fs::write(store.join(name), [0x5A; 5000])?;
    }
    Ok(())
}

/// Copies the files of a folder into a new one.
pub(super) fn copy_files(from: &Path, to: &Path) -> Checked<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Returns the tags of a file, decoded without a store.
fn tags_of(program: &Path, file: &Path) -> Checked<Vec<(u16, i64)>> {
    let ended = program::run_well(Command::new(program).arg("cat").arg(file))?;
    let mut tags = Vec::new();
    for line in String::from_utf8(ended.stdout)?.lines() {
        let (channel, time) = line.split_once('\t').ok_or("no tab in a line of `tagq cat`")?;
        tags.push((channel.parse()?, time.parse()?));
    }
    Ok(tags)
}
