//! F11: queries while another process commits repeatedly.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use serde_json::Value;

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Stage, Step},
    program,
    reference::forget_paths,
    strace::{self, CHANGES, Traced},
};

const COMMITS: usize = 600;
/// This source has labels above 255: the channel column is replaced while readers are active.
const WIDENING: usize = 300;
const READERS: usize = 3;
/// Delay of a slow writer before each call: longer than several queries.
const DELAY_MICROS: u32 = 15_000;

/// Answers of both queries at one commit.
struct Answers {
    coincidences: Value,
    info: Value,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let folder = tempfile::tempdir_in(&ground.folder)?;
    let sources = folder.path().join("sources");
    fs::create_dir(&sources)?;
    for i in 1..=COMMITS {
        simulate(ground, i, &sources.join(name(i)))?;
    }
    let quiet = folder.path().join("quiet");
    let mut expected = Vec::new();
    commit_all(ground, &sources, &quiet, |_| {
        let coincidences = ask(ground, "coincidences", &quiet)?.1;
        expected.push(Answers { coincidences, info: ask(ground, "info", &quiet)?.1 });
        Ok(())
    })?;
    let busy = folder.path().join("busy");
    let (committed, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let read = || -> Checked<usize> {
        let (mut last, mut answers) = (0, 0);
        while !done.load(Ordering::Relaxed) {
            for query in ["coincidences", "info"] {
                let least = committed.load(Ordering::SeqCst);
                if least == 0 {
                    thread::yield_now();
                    continue;
                }
                let (commit, answer) = ask(ground, query, &busy)?;
                if commit < last.max(least) {
                    let last = last.max(least);
                    return Err(format!("{query}: commit {commit} after commit {last}").into());
                }
                last = commit;
                let expected = expected.get(commit - 1).ok_or("a commit too many")?;
                let expected = match query {
                    "info" => &expected.info,
                    _ => &expected.coincidences,
                };
                if answer != *expected {
                    return Err(format!(
                        "{query} at commit {commit}: expected {expected}, found {answer}"
                    )
                    .into());
                }
                answers += 1;
            }
        }
        Ok(answers)
    };
    let answers = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let written = commit_all(ground, &sources, &busy, |i| {
            committed.store(i, Ordering::SeqCst);
            if readers.iter().any(thread::ScopedJoinHandle::is_finished) {
                return Err("a reader failed".into());
            }
            Ok(())
        });
        done.store(true, Ordering::Relaxed);
        let mut answers = 0;
        for reader in readers {
            answers += reader.join().map_err(|_| "a reader is gone")??;
        }
        written.map(|()| answers)
    })?;
    if answers < COMMITS {
        return Err(format!("only {answers} answers during {COMMITS} commits").into());
    }
    if !strace::is_there() {
        let skipped = vec!["readers of a slow writer: no strace".to_owned()];
        return Ok(Tried { points: answers, skipped });
    }
    let mut tried = Tried::points(answers);
    for step in STEPS {
        let folder = tempfile::tempdir_in(&ground.folder)?;
        let stage = ground.stage(&ground.pool, &folder.path().join("run"), step)?;
        let answers = read_while_slow(ground, &stage, folder.path());
        tried.points += answers.map_err(|error| format!("{step}, slowed down: {error}"))?;
    }
    Ok(tried)
}

/// Runs queries during an ingest that waits before each of its calls.
fn read_while_slow(ground: &Ground, stage: &Stage<'_>, log: &Path) -> Checked<usize> {
    let Step { from, to, .. } = stage.step;
    let mut of_commits = Vec::new();
    for sources in (from..=to).filter(|&sources| sources > 0) {
        of_commits.push(ask(ground, "coincidences", &ground.pool.base(sources))?.1["rows"].take());
    }
    let done = AtomicBool::new(false);
    let read = || -> Checked<usize> {
        let (mut last, mut answers) = (None, 0);
        while !done.load(Ordering::Relaxed) {
            let ended = program::run(stage.query().arg("--no-ingest"))?;
            if from == 0 && last.is_none() && ended.code != Some(0) {
                ended.check_refusal(&[1])?;
                continue;
            }
            if ended.code != Some(0) {
                return Err(ended.to_string().into());
            }
            let rows = serde_json::from_slice::<Value>(&ended.stdout)?["rows"].take();
            let commit = of_commits.iter().position(|of_commit| *of_commit == rows);
            if commit.is_none() || commit < last {
                return Err(format!("commit {commit:?} after {last:?}, with {rows}").into());
            }
            (last, answers) = (commit, answers + 1);
        }
        Ok(answers)
    };
    let slow = format!("{CHANGES}:delay_enter={DELAY_MICROS}");
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(read));
        let ended = Traced::new(stage, log, CHANGES, Some(&slow)).run();
        done.store(true, Ordering::Relaxed);
        let mut answers = 0;
        for reader in readers {
            answers += reader.join().map_err(|_| "a reader is gone")??;
        }
        stage.check_after(&ended?)?;
        Ok(answers)
    })
}

fn name(i: usize) -> String {
    format!("{i}.tags.zst")
}

fn simulate(ground: &Ground, i: usize, path: &Path) -> Checked<()> {
    let channels = if i == WIDENING { "1,300" } else { "1,2" };
    // The first source is large, so that scans and the widening take long enough.
    let duration = if i == 1 { "900ms" } else { "1ms" };
    let mut command = ground.tagq("simulate");
    command.args(["--rate", "200kHz", "--duration", duration, "--channels", channels]);
    command.args(["--start", &format!("{i}s"), "--seed", &i.to_string()]).arg(path);
    program::run_well(&mut command)?;
    Ok(())
}

/// Puts the sources into `run` one by one, ingests each, and calls `then` with its number.
fn commit_all(
    ground: &Ground,
    sources: &Path,
    run: &Path,
    mut then: impl FnMut(usize) -> Checked<()>,
) -> Checked<()> {
    fs::create_dir(run)?;
    for i in 1..=COMMITS {
        fs::hard_link(sources.join(name(i)), run.join(name(i)))?;
        program::run_well(ground.tagq("ingest").arg("--quiet").arg(run))?;
        then(i).map_err(|error| format!("commit {i}: {error}"))?;
    }
    Ok(())
}

/// Returns the commit of the store and its answer.
fn ask(ground: &Ground, query: &str, run: &Path) -> Checked<(usize, Value)> {
    let mut command: Command = ground.tagq(query);
    if query == "coincidences" {
        command.args(["--window", "2ns"]);
    }
    command.args(["--no-ingest", "--format", "json"]).arg(run);
    let ended = program::run_well(&mut command)?;
    let mut answer: Value = serde_json::from_slice(&ended.stdout)?;
    if query != "info" {
        forget_paths(&mut answer);
    }
    let of_run = if query == "info" { &mut answer } else { &mut answer["run"] };
    let commit = of_run["commit"].as_u64().ok_or("an answer without a commit")?;
    // They depend on the folder, and on files of a running writer.
    // Rows of a commit that is being written are listed as leftovers.
    for own in ["path", "store", "store_bytes", "bytes_per_tag", "leftovers"] {
        if of_run.get(own).is_some() {
            of_run[own] = Value::Null;
        }
    }
    Ok((usize::try_from(commit)?, answer))
}
