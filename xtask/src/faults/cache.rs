//! F1 for the cache of queries: kills a query at every call that may write it, and queries again.

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
const WRITES: &str =
    "openat,?mkdir,?mkdirat,write,?rename,?renameat,renameat2,?unlink,unlinkat,?utimensat";

/// Sources whose scan is long enough to be cached.
const SOURCES: [&str; 2] = ["--start 0s --seed 1", "--start 9s --seed 2"];

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    if !strace::is_there() {
        return Ok(Tried::skipped("no strace"));
    }
    let folder = tempfile::tempdir_in(&ground.folder)?;
    let run = folder.path().join("run");
    fs::create_dir(&run)?;
    let kept = run.join(".tagq/cache");
    let mut points = 0;
    for (i, options) in SOURCES.iter().enumerate() {
        // The cache of the shorter run, or an empty one.
        let before = folder.path().join(format!("before-{i}"));
        copy(&kept, &before)?;
        let mut simulate = ground.tagq("simulate");
        simulate.args(["--rate", "600kHz", "--duration", "1s"]).args(options.split(' '));
        program::run_well(simulate.arg(run.join(format!("{i}.tags.zst"))))?;
        program::run_well(ground.tagq("ingest").arg("--quiet").arg(&run))?;
        let expected = program::run_well(query(ground, &run).arg("--no-cache"))?.stdout;
        let traced = |inject: Option<&str>| {
            Traced::of(&query(ground, &run), &[], folder.path(), WRITES, inject)
        };
        let calls = strace::calls_of(traced(None))?;
        if files(&kept)?.is_empty() || files(&kept)? == files(&before)? {
            return Err("nothing was kept of an undisturbed query".into());
        }
        for call in &calls {
            copy(&before, &kept)?;
            let what = format!("source {}, {} number {}", i + 1, call.name, call.number);
            let inject = inject(call);
            let ended = traced(Some(&inject)).run()?;
            check_killed(&ended).map_err(|e| format!("{what}: {e}"))?;
            // Queries with the cache that was left, then with the cache of that query.
            for _ in 0..2 {
                if program::run_well(&mut query(ground, &run))?.stdout != expected {
                    return Err(format!("{what}: another answer").into());
                }
            }
        }
        points += calls.len();
    }
    Ok(Tried::points(points))
}

fn query(ground: &Ground, run: &Path) -> Command {
    let mut command = ground.tagq("coincidences");
    command.args(["--window", "2ns", "--delay", "2=1us", "--rule", "once", "--no-ingest"]);
    command.args(["--format", "csv", "--threads", "1"]).arg(run);
    command
}

/// Returns the files of a folder with their bytes; empty if there is no folder.
fn files(folder: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        files.push((entry.file_name().into(), fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}

/// Makes `to` contain the files of `from`, and no others.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let of_from = files(from)?;
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(to)?;
    of_from.iter().try_for_each(|(name, bytes)| fs::write(to.join(name), bytes))
}
