//! A writer that is killed at any moment, beside readers and other writers: on every system.

use std::{fs, path::Path, process::Stdio, thread, time::Duration};

use crate::support::{Killed, command, output, tagq};

/// Kills of a writer.
const KILLS: u64 = 12;

/// Returns the tags of the last commit, or `None` before the first.
fn committed(run: &Path) -> Option<u64> {
    let args = ["rates", "--no-ingest", "--no-cache", "--json", "-q"];
    let asked = output(command().args(args).arg(run));
    if asked.code == 0 {
        return asked.json()["run"]["tags"].as_u64();
    }
    assert!(asked.stderr.contains("--no-ingest"), "{}", asked.stderr);
    None
}

fn add(run: &Path, number: u64) -> u64 {
    let path = run.join(format!("{number}.tags.zst"));
    let start = format!("{}s", 10 * number);
    let args =
        ["simulate", "--duration", "2s", "--rate", "60kHz", "--start", &start, "--seed", "7"];
    let made = output(command().args(args).arg(&path));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let counted = output(command().args(["cat", "-q"]).arg(&path));
    counted.text().lines().count() as u64
}

#[test]
fn a_killed_ingest_loses_no_commit_and_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let (mut tags, mut before, mut kills) = (0, 0, 0);
    for number in 0..KILLS {
        tags += add(&run, number);
        let mut ingest = command();
        ingest.args(["ingest", "-q"]).arg(&run).stdin(Stdio::null()).stderr(Stdio::null());
        let mut ingest = Killed(ingest.stdout(Stdio::null()).spawn().unwrap());
        // A reader finds a commit while the writer is at work, or after it was killed.
        let reader = {
            let run = run.clone();
            thread::spawn(move || committed(&run))
        };
        thread::sleep(Duration::from_millis(number * 37 % 60));
        kills += u64::from(ingest.0.try_wait().unwrap().is_none());
        drop(ingest);
        let seen = reader.join().unwrap();
        assert!(seen.is_none_or(|seen| seen >= before && seen <= tags), "{seen:?} of {tags}");
        let left = committed(&run).unwrap_or(0);
        assert!(left >= before.max(seen.unwrap_or(0)), "{left} after {before} and {seen:?}");
        before = left;
    }
    // The others had ended before they were to be killed.
    assert!(kills >= 3, "{kills} of {KILLS} were at work when they were killed");
    let whole = tagq(["ingest".as_ref(), "-q".as_ref(), run.as_os_str()]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    assert_eq!(committed(&run), Some(tags));
    let verified = output(command().args(["verify", "--sources"]).arg(&run));
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    // Nothing that a killed writer left is there any more.
    let info = tagq(["info".as_ref(), run.as_os_str()]);
    assert!(!info.stderr.contains("interrupted"), "{}", info.stderr);
    let again = folder.path().join("again");
    fs::create_dir(&again).unwrap();
    for number in 0..KILLS {
        let name = format!("{number}.tags.zst");
        fs::copy(run.join(&name), again.join(&name)).unwrap();
    }
    let rows = |run: &Path| {
        let args = ["coincidences", "--window", "2ns", "--no-cache", "--json", "-q"];
        output(command().args(args).arg(run)).json()["rows"].clone()
    };
    assert_eq!(rows(&run), rows(&again));
}

#[test]
fn two_writers_at_once_make_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let tags: u64 = (0..3).map(|number| add(&run, number)).sum();
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let run = run.clone();
            thread::spawn(move || output(command().args(["ingest", "-q"]).arg(run)))
        })
        .collect();
    let ended: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    assert!(ended.iter().any(|of| of.code == 0), "{ended:?}");
    // Another one waits, or is refused while the store is locked.
    assert!(ended.iter().all(|of| [0, 4].contains(&of.code)), "{ended:?}");
    assert_eq!(committed(&run), Some(tags));
    let verified = output(command().args(["verify", "--sources"]).arg(&run));
    assert_eq!(verified.code, 0, "{}", verified.stderr);
}
