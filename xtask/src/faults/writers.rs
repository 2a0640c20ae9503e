//! F12: two writers at once, queries during a write, and stores that disappear during a query.

use std::{
    fmt,
    fs::{self, File},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Stage, Step, copy_files},
    program,
};

const ROUNDS: usize = 60;
const REPLACEMENTS: usize = 150;

struct Round {
    step: Step,
    number: usize,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let mut tried = try_two_at_once(ground)?;
    let folder = tempfile::tempdir_in(&ground.folder)?;
    for step in STEPS.into_iter().filter(|step| step.from > 0) {
        let stage = ground.stage(&ground.pool, &folder.path().join("run"), step)?;
        try_locked(&stage).map_err(|error| format!("locked, {step}: {error}"))?;
        tried += 1;
    }
    let first = ground.stage(&ground.pool, &folder.path().join("first"), STEPS[0])?;
    try_first_locked(&first).map_err(|error| format!("locked before a commit: {error}"))?;
    let replaced = try_replaced(ground).map_err(|error| format!("store replaced: {error}"))?;
    Ok(Tried::points(tried + 1 + replaced))
}

/// One writer waits or exits with 4, and no tag is doubled.
fn try_two_at_once(ground: &Ground) -> Checked<usize> {
    let rounds: Vec<Round> =
        (0..ROUNDS).map(|number| Round { step: STEPS[number % STEPS.len()], number }).collect();
    ground.each(&rounds, |folder, round| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), round.step)?;
        let first = program::start(&mut stage.write())?;
        // From simultaneous starts to one after another.
        thread::sleep(Duration::from_micros(300 * (round.number / STEPS.len()) as u64));
        let second = program::start(&mut stage.write())?;
        let (first, second) = (first.wait()?, second.wait()?);
        for ended in [&first, &second] {
            if ended.code != Some(0) {
                ended.check_refusal(&[4])?;
            }
        }
        if first.code != Some(0) && second.code != Some(0) {
            return Err(format!("both were turned away: {first}; {second}").into());
        }
        stage.check_after(if first.code == Some(0) { &first } else { &second })?;
        stage.recover()
    })
}

/// Checks that a locked store with a commit answers from it, and that an ingest is refused.
fn try_locked(stage: &Stage<'_>) -> Checked<()> {
    let before = program::run_well(stage.query().arg("--no-ingest"))?;
    let lock = lock(&stage.store)?;
    program::run(&mut stage.write())?.check_refusal(&[4])?;
    let answer = program::run_well(&mut stage.query())?;
    if answer.stdout != before.stdout {
        return Err("another answer than that of the last commit".into());
    }
    let left_out = format!("{}.tags.zst", stage.step.to);
    // A rebuild has no new data.
    let is_behind = stage.step.from < stage.step.to;
    let says = answer.stderr.contains("last commit") && answer.stderr.contains(&left_out);
    if is_behind && !says {
        return Err(format!("does not say what it left out: {answer}").into());
    }
    drop(lock);
    stage.recover()
}

/// Checks that a query waits for the writer before the first commit.
fn try_first_locked(stage: &Stage<'_>) -> Checked<()> {
    fs::create_dir(&stage.store)?;
    let lock = lock(&stage.store)?;
    program::run(&mut stage.write())?.check_refusal(&[4])?;
    let mut waiting = program::start(&mut stage.query())?;
    thread::sleep(Duration::from_millis(200));
    if !waiting.is_running()? {
        return Err(format!("the query did not wait: {}", waiting.wait()?).into());
    }
    drop(lock);
    let ended = waiting.wait()?;
    if ended.code != Some(0) {
        return Err(format!("the query that waited: {ended}").into());
    }
    stage.check_after(&ended)?;
    stage.recover()
}

fn lock(store: &Path) -> Checked<File> {
    let path = store.join("lock");
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    file.try_lock()?;
    Ok(file)
}

/// Runs queries on a store that is moved, replaced, deleted and created again meanwhile. Each must give the
/// correct answer of one of the stores, or an error.
fn try_replaced(ground: &Ground) -> Checked<usize> {
    let folder = tempfile::tempdir_in(&ground.folder)?;
    let store = folder.path().join("store");
    let mut expected = Vec::new();
    for sources in [3, 4, 5] {
        expected.push(rows(&query(ground, &ground.pool.base(sources))?.stdout)?);
    }
    let done = AtomicBool::new(false);
    let ask = || -> Checked<usize> {
        let mut answers = 0;
        while !done.load(Ordering::Relaxed) {
            let ended = query(ground, &store)?;
            if ended.code != Some(0) {
                ended.check_refusal(&[1, 3])?;
            } else if !expected.contains(&rows(&ended.stdout)?) {
                return Err("an answer of no store".into());
            }
            answers += 1;
        }
        Ok(answers)
    };
    let disturb = || -> Checked<()> {
        for i in 0..REPLACEMENTS {
            let fresh = folder.path().join(format!("fresh.{i}"));
            let old = folder.path().join(format!("old.{i}"));
            copy_files(&ground.pool.base([3, 4, 5][i % 3]), &fresh)?;
            if store.exists() && i % 2 == 0 {
                fs::rename(&store, &old)?;
                fs::rename(&fresh, &store)?;
                fs::remove_dir_all(&old)?;
            } else {
                if store.exists() {
                    fs::remove_dir_all(&store)?;
                }
                fs::rename(&fresh, &store)?;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(ask));
        let disturbed = disturb();
        done.store(true, Ordering::Relaxed);
        let mut answers = 0;
        for reader in readers {
            answers += reader.join().map_err(|_| "a reader is gone")??;
        }
        disturbed.map(|()| answers)
    })
}

fn query(ground: &Ground, store: &Path) -> Checked<program::Ended> {
    let mut command = ground.tagq("coincidences");
    command.args(["--no-ingest", "--window", "2ns", "--format", "json"]);
    program::run(command.arg(store))
}

fn rows(answer: &[u8]) -> Checked<Value> {
    Ok(serde_json::from_slice::<Value>(answer)?["rows"].take())
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, twice at once, round {}", self.step, self.number)
    }
}
