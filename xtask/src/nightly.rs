//! Everything that can be checked without a person: `cargo xtask nightly`.

use std::{
    env, io,
    process::{Command, ExitCode},
};

#[cfg(target_os = "linux")]
use crate::{emulate, faults, slurm, tools::can};
use crate::{
    format_tests, fuzz,
    steps::Steps,
    tests::{coverage, damage, notebooks, of_python, recipes, run_all},
    validate, worked,
    workspace::cargo,
};

/// Percentage of the random cases on a processor that is emulated.
#[cfg(target_os = "linux")]
const EMULATED_PERCENT: &str = "2";

/// Runs all tests with all random cases and all cases of requests, then the longer checks. Each stands in the table at the
/// end, also if it was skipped because a program is missing.
pub(crate) fn run() -> ExitCode {
    let mut steps = Steps::default();
    run_all(&mut steps, Some(100));
    steps.run("notebooks", notebooks);
    // The features are those of users here, not those of the tests.
    steps.run("wheel, and the program without features of tests", || {
        of_python(&["--wheel".to_owned()])
    });
    steps.run("recipes with napari", recipes);
    steps.run("tests of the comparison of formats", format_tests);
    steps.run("worked examples", worked::run);
    steps.run("coverage of errors: writes docs/coverage.md", || coverage("1000"));
    steps.run("damage: writes docs/damage.md", || damage("2"));
    match env::var("TAGQ_REAL_DATA") {
        Ok(folder) => steps
            .run("other programs: writes docs/validation.md", || passed(validate::run(&[folder]))),
        Err(_) => steps.skip("other programs", "TAGQ_REAL_DATA names no folder of recordings"),
    }
    if is_there(cargo().args(["fuzz", "--version"])) {
        steps.run("fuzz", || passed(fuzz::run(&[])));
    } else {
        steps.skip("fuzz", "cargo-fuzz is not installed");
    }
    #[cfg(target_os = "linux")]
    {
        steps.run("faults", || passed(faults::run(&[])));
        steps.run("slurm", || passed(slurm::run(&[])));
        if can("bochs", "--help") {
            let percent = ["--percent".to_owned(), EMULATED_PERCENT.to_owned()];
            steps.run("emulated processor", || passed(emulate::run(&percent)));
        } else {
            steps.skip("emulated processor", "there is no Bochs");
        }
    }
    // The pages of these checks, as they are now.
    let changed = Command::new("git").args(["diff", "--stat", "docs"]).status();
    drop(changed);
    steps.finish()
}

fn is_there(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn passed(code: ExitCode) -> io::Result<()> {
    if code == ExitCode::SUCCESS { Ok(()) } else { Err(io::Error::other("it says why above")) }
}
