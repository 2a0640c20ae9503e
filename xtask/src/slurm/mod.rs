//! Trials on a real Slurm of two nodes: `cargo xtask slurm`.
//!
//! The cluster is started on this host for the trials and ended after them. A task is cancelled in the
//! middle of each trial, and the result must be that of a single process.

mod array;
mod cluster;

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use crate::{built, python::Environment, tests::package, workspace::target};
use cluster::Cluster;

type Checked<T> = Result<T, Box<dyn Error + Send + Sync>>;

const TRIALS: [&str; 2] = ["array", "jobqueue"];
/// Two channels with 4 million tags each; counting the query below takes some ten seconds of a core.
const SIMULATE: [&str; 8] =
    ["simulate", "--quiet", "--rate", "500kHz", "--dark", "500kHz", "--duration", "4s"];

/// Runs the named trials, or all. Skipped without Slurm or without root.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if let Some(other) = args.iter().find(|arg| !TRIALS.contains(&arg.as_str())) {
        eprintln!("no trial `{other}`; there are {}", TRIALS.join(", "));
        return ExitCode::from(2);
    }
    if let Some(missing) = cluster::missing() {
        eprintln!("skipped: a Slurm cluster needs what is missing here: {missing}");
        return ExitCode::SUCCESS;
    }
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slurm: {error}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(args: &[String]) -> Checked<()> {
    let wanted = |trial: &str| args.is_empty() || args.iter().any(|arg| arg == trial);
    // Everything is built before the cluster is started.
    let program = build()?;
    let python = if wanted("jobqueue") {
        let python = package()?;
        if python.is_none() {
            eprintln!("jobqueue: skipped: there is no python3");
        }
        python
    } else {
        None
    };
    let folder = tempfile::tempdir()?;
    let work = folder.path().join("work");
    fs::create_dir(&work)?;
    simulate(&program, &work)?;
    // The cluster ends before its folder is removed.
    let mut cluster = Cluster::new(folder.path())?;
    let trials = |cluster: &mut Cluster| -> Checked<()> {
        cluster.start()?;
        if wanted("array") {
            let start = Instant::now();
            let tried = array::run(cluster, &program, &work)?;
            println!("array: {tried}; {:.1} s", start.elapsed().as_secs_f64());
        }
        if let Some(python) = &python {
            let start = Instant::now();
            jobqueue(cluster, python, &work)?;
            println!("jobqueue: {:.1} s", start.elapsed().as_secs_f64());
        }
        Ok(())
    };
    let result = trials(&mut cluster);
    if result.is_err() {
        eprint!("{}", cluster.tails(&work));
    }
    result
}

/// Makes the run `run` with a store.
fn simulate(program: &Path, work: &Path) -> Checked<()> {
    let run = work.join("run");
    fs::create_dir(&run)?;
    let made = Command::new(program).args(SIMULATE).arg(run.join("1.tags.zst")).status()?;
    let stored = Command::new(program).args(["ingest", "--quiet"]).arg(&run).status()?;
    if made.success() && stored.success() {
        Ok(())
    } else {
        Err("the run could not be made".into())
    }
}

/// Counts with workers that dask-jobqueue starts as jobs. The script compares, and prints its measurements.
fn jobqueue(cluster: &Cluster, python: &Environment, work: &Path) -> Checked<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/slurm/jobqueue.py");
    let status = python
        .command([])
        .arg(script)
        .arg("run")
        .current_dir(work)
        .env("SLURM_CONF", cluster.conf())
        .stdin(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("jobqueue: {status}").into()) }
}

/// Builds the released program. Returns its path.
fn build() -> Checked<PathBuf> {
    built()?;
    Ok(target().join("release/tagq"))
}
