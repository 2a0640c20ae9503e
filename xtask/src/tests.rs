//! The tests: `cargo xtask test`, for this system and for others, in full and in part.
//!
//! Each run prints `PROPTEST_RNG_SEED`, the seed of its random cases; with the same value in the environment the same
//! cases run again. Tests that are left out are named in lists here, and `tests/tidy.rs` checks that they exist.

use std::{
    env,
    hash::{BuildHasher as _, RandomState},
    io,
    num::NonZero,
    panic::resume_unwind,
    process::ExitCode,
    thread,
};

use crate::{
    python::Environment,
    steps::{Step, Steps, aside},
    targets::Target,
    tools::{Tools, succeed},
    workspace::{cargo, target},
};

/// Percentage of the cases that tests run (tests/sampling).
const CASES: &str = "TAGQ_CASES_PERCENT";
/// The seed of random cases.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The number of tests at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// The arguments with which cargo builds for the tests: the features of all crates and their tests are resolved
/// together, so that no crate is compiled twice.
const BUILD: [&str; 5] = ["build", "--workspace", "--lib", "--bins", "--tests"];
/// The same features, but no tests are built: cargo gives examples the features of tests, and there are no examples.
const BUILD_WITHOUT_TESTS: [&str; 5] = ["build", "--workspace", "--lib", "--bins", "--examples"];

/// The slowest tests, which `--quick` and other targets leave out; `tests/tidy.rs` checks that they exist.
const SLOWEST: [&str; 8] = [
    "quoted_errors_cover_the_truth",
    "rows_are_written_as_they_are_made",
    "hostile_files_take_little_memory",
    "errors_of_centre_width_and_coincidences_cover",
    "damage_is_seen_and_named",
    "a_store_that_went_back_and_grew_otherwise_has_its_own_answers",
    "files_that_are_torn_or_foreign_are_not_believed",
    "several_frames_are_made_of_many_tags",
];

/// Tests of a few seconds that `--quick` leaves out, too.
const SLOW: [&str; 11] = [
    "a_long_scan_draws_how_far_it_is",
    "a_row_of_an_interval_is_that_of_its_times",
    "chance_has_no_peak_and_a_comb_is_named",
    "coverage::errors_cover",
    "coverage::pile_up_shortens_lifetimes",
    "every_command_has_two_examples_that_work",
    "every_command_runs_and_prints_what_is_shown",
    "kept_parts_are_taken_by_later_plans",
    "no_damage_stays_silent",
    "pulses_have_their_period_from_a_nanosecond_to_a_millisecond",
    "the_bar_of_an_ingest_stays_on_its_line_and_leaves_none",
];

/// Runs all tests: those in Rust, and beside them those in Python and those of pages in a browser.
pub(crate) fn all() -> ExitCode {
    let mut steps = Steps::default();
    run_all(&mut steps, None);
    steps.finish()
}

/// Adds the steps of [`all`], with this percentage of the random cases.
pub(crate) fn run_all(steps: &mut Steps, percent: Option<u32>) {
    let seed = seed();
    let mut environment = None;
    let prepared = thread::scope(|scope| {
        let prepared = scope.spawn(|| {
            Step::run("environment of Python", || {
                environment = Environment::prepared()?;
                Ok(())
            })
        });
        steps.run("build", || succeed(cargo().args(BUILD)));
        prepared.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    steps.add(prepared);
    if !steps.has_passed() {
        return;
    }
    if environment.is_none() {
        eprintln!(
            "skipped: there is no python3, and neither the Python package nor pages are tested"
        );
    }
    let environment = environment.as_ref();
    if let Some(environment) = environment {
        steps.run("package of Python", || environment.place());
    }
    let beside = thread::scope(|scope| {
        let beside = environment.map(|environment| {
            [
                scope.spawn(|| Step::run("Python tests", || aside([environment.tests([])]))),
                scope.spawn(|| Step::run("browser", || browser(environment, &[]))),
            ]
        });
        steps.run("Rust tests", || rust(&seed, percent, &["--workspace", "--no-fail-fast"], &[]));
        let ended = |step: thread::ScopedJoinHandle<'_, Step>| {
            step.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        beside.map(|steps| steps.map(ended))
    });
    for step in beside.into_iter().flatten() {
        steps.add(step);
    }
}

/// Runs the tests in Rust without documentation examples, [`SLOWEST`] and [`SLOW`].
pub(crate) fn quick() -> io::Result<()> {
    let skipped: Vec<&str> =
        SLOWEST.iter().chain(&SLOW).flat_map(|test| ["--skip", test]).collect();
    let tests = ["--workspace", "--no-fail-fast", "--tests"];
    rust(&seed(), None, &tests, &skipped)
}

/// Returns the seed of the random cases, and prints it, so that the same cases can be had again.
fn seed() -> String {
    let random = || (RandomState::new().hash_one(std::process::id()) >> 32).to_string();
    let seed = env::var(SEED).unwrap_or_else(|_| random());
    println!("{SEED}={seed} has the same random cases again");
    seed
}

/// Runs `cargo test ARGS… -- FILTERS…`, with this percentage of the cases, if one is given.
fn rust(seed: &str, percent: Option<u32>, args: &[&str], filters: &[&str]) -> io::Result<()> {
    let mut tests = cargo();
    tests.arg("test").args(args).arg("--").args(filters).env(SEED, seed);
    if let Some(percent) = percent {
        tests.env(CASES, percent.to_string());
    }
    if env::var_os(THREADS).is_none() {
        // Every other test waits for a process.
        let threads = thread::available_parallelism().map_or(2, NonZero::get) * 2;
        tests.env(THREADS, threads.to_string());
    }
    succeed(&mut tests)
}

/// Runs the tests of the package with these arguments of pytest.
///
/// With `--wheel` first, they test the wheel, as it is installed, and compare with the program that has none of the
/// features of tests.
pub(crate) fn of_python(args: &[String]) -> io::Result<()> {
    let (is_wheel, args) = match args {
        [flag, args @ ..] if flag == "--wheel" => (true, args),
        args => (false, args),
    };
    let environment = if is_wheel {
        let environment = Environment::prepared()?;
        succeed(cargo().args(["build", "--bin", "tagq"]))?;
        environment.map(Environment::with_wheel).transpose()?
    } else {
        package()?
    };
    let Some(environment) = environment else {
        eprintln!("skipped: there is no python3, and the Python package is not tested");
        return Ok(());
    };
    succeed(&mut environment.tests(args.iter().map(String::as_str)))
}

/// Runs the recipes of the book with a viewer, in an environment of its own: it has 70 packages, and its plugins of pytest
/// warn.
pub(crate) fn recipes() -> io::Result<()> {
    let Some(package) = package()? else {
        eprintln!("skipped: there is no python3, and the recipes are not tested");
        return Ok(());
    };
    succeed(&mut package.with_viewer()?.tests([
        "-p",
        "no:napari",
        "-p",
        "no:npe2",
        "tests/test_flim.py",
    ]))
}

/// Builds the package and the program for its tests. `None` without python3.
pub(crate) fn package() -> io::Result<Option<Environment>> {
    let environment = Environment::prepared()?;
    if let Some(environment) = &environment {
        succeed(cargo().args(BUILD_WITHOUT_TESTS))?;
        environment.place()?;
    }
    Ok(environment)
}

/// Runs the tests in a browser with these arguments of pytest.
pub(crate) fn in_browser(args: &[String]) -> io::Result<()> {
    let Some(environment) = package()? else {
        eprintln!("skipped: there is no python3, and pages are not tested");
        return Ok(());
    };
    browser(&environment, args)
}

/// Runs the notebooks in examples/, whose last cells compare their answers with the truth.
pub(crate) fn notebooks() -> io::Result<()> {
    let Some(environment) = package()? else {
        eprintln!("skipped: there is no python3, and notebooks are not tested");
        return Ok(());
    };
    succeed(&mut environment.notebooks())
}

fn browser(environment: &Environment, args: &[String]) -> io::Result<()> {
    // Tests in Rust build the scripts that these tests load.
    let mut scripts = cargo();
    scripts.args(["test", "--workspace", "--test", "whole", "--", "web::"]);
    aside([scripts, environment.browser(args.iter().map(String::as_str))])
}

/// Packages whose tests are not of tagq itself, or not in Rust.
const BESIDES: [&str; 3] = ["xtask", "tagq-benches", "tagq-python"];

/// Tests that an emulator cannot run.
const NOT_EMULATED: [&str; 3] = [
    // QEMU is ended by the system when a file becomes larger than the shell allows.
    "a_limit_of_the_shell_on_files_is_an_error_of_writing",
    // QEMU does not pass on the hint to read pages ahead.
    "values_are_brought_before_they_are_touched",
    // QEMU itself needs a part of the little memory.
    "hostile_files_are_refused_in_little_memory",
];

/// Runs the tests in Rust but [`SLOWEST`] for another target, with filters of tests.
pub(crate) fn on_target(triple: &str, filters: &[String]) -> io::Result<()> {
    let (of, work) = (Target::named(triple)?, target());
    let mut tests = of.cargo("test", &Tools::installed(&work)?)?;
    tests.args(["--workspace", "--no-fail-fast", "--tests"]);
    tests.args(BESIDES.iter().flat_map(|package| ["--exclude", package]));
    of.set_runner(&mut tests, &work)?;
    // Emulators read programs with symbols slowly.
    tests.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_STRIP", "symbols");
    tests.env(CASES, of.percent().to_string());
    tests.arg("--").args(filters);
    let beyond_it: &[&str] = if of.is_emulated() { &NOT_EMULATED } else { &[] };
    let skipped = SLOWEST.iter().chain(beyond_it);
    succeed(tests.args(skipped.flat_map(|test| ["--skip", test])))
}

/// Measures in so many simulations of each case whether quoted errors cover, and writes docs/coverage.md.
pub(crate) fn coverage(repetitions: &str) -> io::Result<()> {
    in_full(["tagq", "answers"], "coverage::", "TAGQ_COVERAGE", repetitions)
}

/// Measures which damage queries notice, at so many places of each file, and writes docs/damage.md.
pub(crate) fn damage(places: &str) -> io::Result<()> {
    in_full(["tagq-cli", "whole"], "damage::", "TAGQ_DAMAGE", places)
}

/// Runs tests of a package with all of their cases, optimised; `variable` tells them how many.
fn in_full(
    [package, program]: [&str; 2],
    tests: &str,
    variable: &str,
    cases: &str,
) -> io::Result<()> {
    let mut cargo = cargo();
    cargo.args(["test", "--release", "--package", package, "--test", program]);
    succeed(cargo.args(["--", "--nocapture", tests]).env(variable, cases))
}
