//! A run during recording, with late tags and a recorder that stops at times. An ingest and a watch follow it
//! in turn and are killed again and again. No tag may be lost or counted twice.
//!
//! `TAGQ_LIVE_SECONDS` and `TAGQ_LIVE_RATE` turn it into a soak test.

use std::{
    env,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use super::{Checked, Tried, ground::Ground, program, reference::file_of};
use crate::workspace::target;

const SECONDS: u64 = 12;
const RATE: &str = "400kHz";
/// Maximum lifetime of a follower in milliseconds.
const LIFE_MS: u64 = 900;

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let seconds = env::var("TAGQ_LIVE_SECONDS").ok().map(|text| text.parse()).transpose()?;
    // A soak test does not fit in memory.
    let disk = target();
    let folder = tempfile::tempdir_in(if seconds.is_some() { &disk } else { &ground.folder })?;
    let run = folder.path().join("run");
    fs::create_dir(&run)?;
    let seconds = seconds.unwrap_or(SECONDS);
    let rate = env::var("TAGQ_LIVE_RATE").unwrap_or_else(|_| RATE.into());
    let log = folder.path().join("appended");
    // Half of the tags are pairs on two channels and half dark counts, at the rate of appending.
    let mut recorder = ground.tagq("simulate");
    recorder.args(["--live", &rate, "--rate", &quarter(&rate)?, "--dark", &quarter(&rate)?]);
    recorder.args(["--late", "3ms", "--faults", "--duration", &format!("{seconds}s")]);
    let mut recorder = recorder
        .arg(&run)
        .stdin(Stdio::null())
        .stdout(File::create(&log)?)
        .stderr(Stdio::null())
        .spawn()?;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut killed = 0;
    while recorder.try_wait()?.is_none() {
        let follower = program::start(&mut follow(ground, &run, killed % 2 == 1))?;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread::sleep(Duration::from_millis(100 + random % LIFE_MS));
        follower.signal(Signal::KILL);
        let ended = follower.wait()?;
        if ended.signal != Some(Signal::KILL.as_raw()) {
            return Err(format!("a follower ended by itself: {ended}").into());
        }
        killed += 1;
    }
    let appended = fs::read_to_string(&log)?;
    let last: Value = serde_json::from_str(appended.lines().last().ok_or("nothing appended")?)?;
    // Ingest the remaining tags, as a query would.
    program::run_well(ground.tagq("ingest").arg(&run))?;
    program::run_well(ground.tagq("verify").arg(&run))?;
    check_tags(ground, &run, &last["tags"])?;
    // The cache of the watches must equal a count from scratch.
    let asked = |cached: &[&str]| {
        let mut command = ground.tagq("coincidences");
        command.args(["--window", "2ns", "--delay", "2=1us", "--format", "csv"]).args(cached);
        program::run_well(command.arg(&run))
    };
    if asked(&[])?.stdout != asked(&["--no-cache"])?.stdout {
        return Err("the cache of a watch differs from a new count".into());
    }
    let again = folder.path().join("again.tagq");
    program::run_well(ground.tagq("ingest").arg(&run).arg("--store").arg(&again))?;
    for key in ["channel", "blocks", "counts", "gap", "gaps", "far", "steps"] {
        if !have_same_values(&file_of(&run.join(".tagq"), key)?, &file_of(&again, key)?)? {
            return Err(format!("{key} is not what an ingest of the same files makes").into());
        }
    }
    Ok(Tried::points(killed))
}

/// Compares the tags of the run with those that the recorder reported as appended.
fn check_tags(ground: &Ground, run: &Path, expected: &Value) -> Checked<()> {
    let ended = program::run_well(ground.tagq("info").args(["--format", "json"]).arg(run))?;
    let info: Value = serde_json::from_slice(&ended.stdout)?;
    if info["tags"] == *expected {
        return Ok(());
    }
    Err(format!("{} tags were appended, {} are in the store", expected, info["tags"]).into())
}

/// Returns a follower: an ingest, or a watch that answers from its cache.
fn follow(ground: &Ground, run: &Path, is_watch: bool) -> Command {
    let mut command = ground.tagq(if is_watch { "watch" } else { "ingest" });
    if is_watch {
        command.args(["coincidences", "--window", "2ns", "--delay", "2=1us", "--quiet"]).arg(run);
    } else {
        command.args(["--follow", "--quiet"]).arg(run);
    }
    command
}

/// Returns whether two files are equal after their header pages, which name their runs.
fn have_same_values(a: &Path, b: &Path) -> Checked<bool> {
    const HEADER: u64 = 4096;
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    let bytes = a.metadata()?.len();
    if bytes != b.metadata()?.len() {
        return Ok(false);
    }
    a.seek(SeekFrom::Start(HEADER))?;
    b.seek(SeekFrom::Start(HEADER))?;
    let (mut of_a, mut of_b) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut left = bytes.saturating_sub(HEADER);
    while left > 0 {
        let len = of_a.len().min(usize::try_from(left)?);
        a.read_exact(&mut of_a[..len])?;
        b.read_exact(&mut of_b[..len])?;
        if of_a[..len] != of_b[..len] {
            return Ok(false);
        }
        left -= len as u64;
    }
    Ok(true)
}

/// Returns a quarter of a rate in kHz or MHz.
fn quarter(rate: &str) -> Checked<String> {
    let digits = rate.find(|c: char| !c.is_ascii_digit()).unwrap_or(rate.len());
    let (number, unit) = rate.split_at(digits);
    Ok(format!("{}{unit}", number.parse::<f64>()? / 4.0))
}
