//! F1 for what queries keep, answers and views: kills a query at every call that may write it, and queries again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Checked, Tried,
    ground::Ground,
    kill::{check_killed, inject},
    program,
    strace::{self, Traced},
};

/// Calls that change a file system, for any file.
const WRITES: &str = "openat,?mkdir,?mkdirat,write,pwrite64,ftruncate,fsync,fdatasync,?rename,?renameat,renameat2,\
    ?unlink,unlinkat,?utimensat";

/// Queries that keep something: the folder, and the arguments.
const QUESTIONS: [(&str, &[&str]); 2] = [
    ("cache", &["coincidences", "--window", "2ns", "--delay", "2=1us", "--rule", "once"]),
    ("views", &["rates", "--derive", "X = 1 unless 2 in 0ns..1us", "--gate", "2 for 10us"]),
];

/// Sources whose scan is long enough to be cached.
const SOURCES: [&str; 2] = ["--start 0s --seed 1", "--start 9s --seed 2"];

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    if !strace::is_there() {
        return Ok(Tried::skipped("no strace"));
    }
    Ok(Tried::points(try_all(ground, &ground.folder, &mut |_| Ok(()))?))
}

/// The work on a file system: before a query is killed there, and after it.
pub(super) enum Around {
    Before,
    After,
}

/// Kills each query at every call, in a folder below `at`. Returns the number of calls.
pub(super) fn try_all(
    ground: &Ground,
    at: &Path,
    around: &mut dyn FnMut(Around) -> Checked<()>,
) -> Checked<usize> {
    let mut points = 0;
    for question in QUESTIONS {
        points += try_question(ground, at, question, around)?;
    }
    Ok(points)
}

/// Kills a query at every call, with an empty folder and when the run has grown. Returns the number of calls.
fn try_question(
    ground: &Ground,
    at: &Path,
    (kept, arguments): (&str, &[&str]),
    around: &mut dyn FnMut(Around) -> Checked<()>,
) -> Checked<usize> {
    let folder = tempfile::tempdir_in(at)?;
    let logs = tempfile::tempdir_in(&ground.folder)?;
    let run = folder.path().join("run");
    fs::create_dir(&run)?;
    let kept = run.join(".tagq").join(kept);
    let query = || query(ground, &run, arguments);
    let mut points = 0;
    for (i, options) in SOURCES.iter().enumerate() {
        // The cache of the shorter run, or an empty one.
        let before = folder.path().join(format!("before-{i}"));
        copy(&kept, &before)?;
        let mut simulate = ground.tagq("simulate");
        simulate.args(["--rate", "600kHz", "--duration", "1s"]).args(options.split(' '));
        program::run_well(simulate.arg(run.join(format!("{i}.tags.zst"))))?;
        program::run_well(ground.tagq("ingest").arg("--quiet").arg(&run))?;
        let expected = program::run_well(query().arg("--no-cache"))?.stdout;
        let traced = |inject: Option<&str>| Traced::of(&query(), &[], logs.path(), WRITES, inject);
        let calls = strace::calls_of(traced(None))?;
        if files(&kept)?.is_empty() || files(&kept)? == files(&before)? {
            return Err("nothing was kept of an undisturbed query".into());
        }
        for call in &calls {
            copy(&before, &kept)?;
            let what = format!("source {}, {} number {}", i + 1, call.name, call.number);
            around(Around::Before)?;
            let inject = inject(call);
            let ended = traced(Some(&inject)).run()?;
            check_killed(&ended).map_err(|e| format!("{what}: {e}"))?;
            around(Around::After)?;
            // Queries with the cache that was left, then with the cache of that query.
            for _ in 0..2 {
                if program::run_well(&mut query())?.stdout != expected {
                    return Err(format!("{what}: another answer").into());
                }
            }
        }
        points += calls.len();
    }
    Ok(points)
}

fn query(ground: &Ground, run: &Path, arguments: &[&str]) -> Command {
    let mut command = ground.tagq(arguments[0]);
    command.args(&arguments[1..]);
    command.args(["--no-ingest", "--format", "csv", "--threads", "1"]).arg(run);
    command
}

/// Returns the files below a folder with their bytes; empty if there is no folder.
fn files(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        if entry.file_type()?.is_dir() {
            let below = self::files(&entry.path())?.into_iter();
            files.extend(below.map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            files.push((name, fs::read(entry.path())?));
        }
    }
    files.sort();
    Ok(files)
}

/// Makes `to` contain the files below `from`, and no others.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let of_from = files(from)?;
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(to)?;
    of_from.iter().try_for_each(|(name, bytes)| {
        let path = to.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)
    })
}
