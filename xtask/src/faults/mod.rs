//! Fault trials on the release program. `docs/format.md` guarantees that a store contains the old commit or
//! the new one, after any fault of a writer. Each trial sets up a run, disturbs `tagq`, and compares the
//! result with an undisturbed ingest.

mod cache;
mod errors;
mod full;
mod ground;
mod inputs;
mod kill;
mod live;
mod mount;
mod output;
mod power;
mod program;
mod readers;
mod reference;
mod signals;
mod strace;
mod writers;

use std::{
    env,
    error::Error,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    time::Instant,
};

use serde_json::Value;

use crate::workspace::cargo;
use ground::Ground;

/// The error describes the fault and its point.
type Checked<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Result of a successful trial.
#[derive(Debug, Default)]
struct Tried {
    points: usize,
    /// Skipped points, and why.
    skipped: Vec<String>,
}

impl Tried {
    fn points(points: usize) -> Self {
        Self { points, skipped: Vec::new() }
    }

    fn skipped(why: &str) -> Self {
        Self { points: 0, skipped: vec![why.to_owned()] }
    }
}

type Trial = fn(&Ground) -> Checked<Tried>;

const TRIALS: [(&str, Trial); 11] = [
    ("kill", kill::run),
    ("errors", errors::run),
    ("power", power::run),
    ("full", full::run),
    ("readers", readers::run),
    ("writers", writers::run),
    ("signals", signals::run),
    ("output", output::run),
    ("inputs", inputs::run),
    ("cache", cache::run),
    ("live", live::run),
];

/// Returns the names of the trials, for the usage text.
pub(crate) fn names() -> String {
    TRIALS.map(|(name, _)| name).join(", ")
}

/// Runs the given trials, or all, and stops at the first broken invariant. `--program PATH` tests another
/// program than the one built from this tree. `--keep-going` tries all points and lists all failures.
pub(crate) fn run(args: &[String]) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(args: &[String]) -> Checked<()> {
    let (mut program, mut keep_going, mut named) = (None, false, Vec::new());
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--program" => program = Some(args.next().ok_or("--program names a file")?.into()),
            "--keep-going" => keep_going = true,
            name if TRIALS.iter().any(|trial| trial.0 == name) => named.push(name),
            other => return Err(format!("no trial `{other}`; there are {}", names()).into()),
        }
    }
    let program = program.map_or_else(build, Ok)?;
    let folder = tempfile::tempdir_in(memory())?;
    let result = try_all(&program, &folder.path().canonicalize()?, &named, keep_going);
    if result.is_err() {
        // Keep the folder of a failed point for inspection.
        drop(folder.keep());
    }
    result
}

fn try_all(program: &Path, folder: &Path, named: &[&str], keep_going: bool) -> Checked<()> {
    // Copy the program, so that a rebuild does not affect it and other users can run it.
    let copy = folder.join("tagq");
    fs::copy(program, &copy)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    let ground = Ground::new(copy, folder.into(), keep_going)?;
    let mut failed = Vec::new();
    for (name, trial) in TRIALS {
        if !named.is_empty() && !named.contains(&name) {
            continue;
        }
        let start = Instant::now();
        match trial(&ground) {
            Ok(tried) => {
                let seconds = start.elapsed().as_secs_f64();
                if tried.points > 0 {
                    println!("{name}: {} points in {seconds:.0} s", tried.points);
                }
                tried.skipped.iter().for_each(|why| println!("{name}: skipped: {why}"));
            }
            Err(error) if keep_going => {
                println!("{name}: failed");
                failed.extend(error.to_string().lines().map(|line| format!("{name}: {line}")));
            }
            Err(error) => return Err(format!("{name}: {error}").into()),
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// Returns a folder in memory if there is one: thousands of runs need no disk there.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { env::temp_dir() }
}

/// Builds the release program. Returns the path that cargo reports.
fn build() -> Checked<PathBuf> {
    let output = cargo()
        .args(["build", "--release", "--bin", "tagq"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the program cannot be built".into());
    }
    let built = String::from_utf8(output.stdout)?;
    let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = messages.filter_map(|message| Some(message["executable"].as_str()?.into()));
    programs.next_back().ok_or_else(|| "cargo names no program".into())
}
