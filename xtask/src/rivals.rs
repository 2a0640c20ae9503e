//! Comparison with other systems: `cargo xtask rivals`; of first answers, images and lifetimes `cargo xtask rivals first`, and so on. They
//! have their own Python environment, which no build of the workspace needs.

use std::{
    fs, io,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use crate::{
    python::{environment, program},
    tools::succeed,
    workspace::{cargo, root, target},
};

const ROWS: &str = "100000000";

/// Builds the programs, prepares the environment and the run, and starts `benches/rivals`.
pub fn run(args: &[String]) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(args: &[String]) -> io::Result<()> {
    let programs = target().join("release");
    let build = ["build", "--release", "--bin", "tagq", "--bin", "tagq-timed"];
    succeed(cargo().args(build))?;
    // Exactly these packages.
    let required = fs::read_to_string(root().join("benches/rivals/requirements.txt"))?;
    let required: Vec<&str> = required.lines().filter(|line| !line.starts_with('#')).collect();
    let python = environment(&program(), &target().join("rivals"), &required)?;
    let mut rivals = Command::new(python);
    let rest = match args.split_first() {
        Some((what, rest)) if ["first", "images", "lifetimes"].contains(&what.as_str()) => {
            rivals.arg(root().join("benches/rivals").join(format!("{what}.py")));
            rest
        }
        _ => {
            rivals.arg(root().join("benches/rivals")).arg("--store").arg(store(&programs)?);
            args
        }
    };
    succeed(rivals.arg("--programs").arg(programs).args(rest))
}

/// Makes the run that is queried. Returns its store.
fn store(programs: &Path) -> io::Result<String> {
    let made = Command::new(programs.join("tagq-timed"))
        .args(["make", ROWS])
        .stderr(Stdio::inherit())
        .output()?;
    if !made.status.success() {
        return Err(io::Error::other("the run cannot be made"));
    }
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}
