//! What a developer runs: `cargo xtask test`.

mod faults;
mod fuzz;

use std::{
    env,
    process::{Command, ExitCode},
};

const USAGE: &str = "usage: cargo xtask test | bench | large | faults | fuzz

  test    all tests of the workspace, documentation examples included
  bench   the benches, from the released program; makes runs of 1.2 GB below target/
  large   files of 35 M tags in one frame and in 2,000, from simulation to answer, with the memory
          that it takes
  faults  what the released program leaves when it is killed, refused or cut off, by strace, mounts and
          signals, about five minutes; some trials need root: faults [--program PATH] [TRIAL…]
  fuzz    tries to break what must hold for any input: fuzz [TARGET] [SECONDS], all targets for a minute
          each when nothing is named; the targets are messages, sources, stores and durations";

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("test") => cargo(&[&["test", "--workspace", "--no-fail-fast"]]),
        Some("bench") => cargo(&[
            &["build", "--release", "--bin", "tagq"],
            &["bench", "--package", "tagq-benches", "--bench", "coincidences"],
            &["bench", "--package", "tagq-benches", "--bench", "histogram"],
        ]),
        Some("large") => cargo(&[
            &["build", "--release", "--bin", "tagq"],
            &["bench", "--package", "tagq-benches", "--bench", "large"],
        ]),
        Some("faults") => faults::run(&env::args().skip(2).collect::<Vec<_>>()),
        Some("fuzz") => fuzz::run(&env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs cargo with one list of arguments after the other, until one fails.
fn cargo(calls: &[&[&str]]) -> ExitCode {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for args in calls {
        match Command::new(&cargo).args(*args).status() {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("cargo cannot be started: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
