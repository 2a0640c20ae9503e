//! Tasks of a developer: `cargo xtask test`.

mod book;
mod dist;
#[cfg(target_os = "linux")]
mod emulate;
#[cfg(target_os = "linux")]
mod faults;
mod fuzz;
#[cfg(target_os = "linux")]
mod latency;
mod python;
mod rivals;
#[cfg(target_os = "linux")]
mod slurm;
mod targets;
mod tools;
mod validate;

use std::{
    env, io,
    process::{Command, ExitCode},
};

use targets::Target;
use tools::{Tools, succeed};

const USAGE: &str = "usage: cargo xtask test | python | bench | large | scale | latency | rivals | formats | faults | fuzz
                   | emulate | slurm | coverage | damage | validate | dist | book

  test    all tests of the workspace, documentation examples included, then those of the Python package;
          with --quick those of the workspace alone, without documentation examples and without the
          simulations of `coverage`, with a tenth of the random cases of queries and of the cache; with
          --target TARGET the same for another system or processor, whose programs Wine or QEMU runs
          (PLATFORMS.md lists the targets, and what is not tested there): test --target TARGET [FILTER…]
  python  those of the Python package alone, in an environment below target/: python [PYTEST ARGUMENT…]
  bench   the benches, from the released program; makes runs of 1.2 GB below target/
  large   files of 35 M tags in one frame and in 2,000, from simulation to answer, with the memory
          that it takes
  scale   10 M, 100 M and 1,000 M rows, warm, from disk, and the memory that queries take; makes a store
          of 9 GB and removes it: scale [make] [warm] [memory] [cold] [--keep]
  latency from a frame's last byte to the answer of a watch, at 10 M tags a second; with a store, after
          a copy of it: latency [STORE]; TAGQ_LIVE_SECONDS=100 makes it 10^9 tags
  rivals  the same questions to NumPy, Numba, Polars, DuckDB and the tools of the field, in a Python
          environment below target/: rivals [--rounds N] [--rows N] [--write] [--record]
  formats sizes, speeds, memory and look-ups of file formats for time tags, with tagq's store and its .tags.zst;
          first the tests of that comparison, which no other command builds:
          formats [--tags FILE | --simulate N] [--runs N] [--quick] [--part PART] [--out DIR] [--write] [FILTER…]
  faults  what the released program leaves when it is killed, refused or cut off, by strace, mounts and
          signals, about five minutes; some trials need root: faults [--program PATH] [TRIAL…]
  fuzz    tries to break what must hold for any input: fuzz [TARGET] [SECONDS], all targets for a minute
          each when nothing is named; the targets are messages, sources, instruments, stores, questions,
          durations and partials
  emulate the tests of the queries on an emulated processor with AVX-512, for machines without one; needs
          Bochs, ISOLINUX, xorriso and a Linux kernel, but not root:
          emulate [--kernel PATH] [--percent P (of the random cases)] [FILTER…]
  slurm   the Slurm script of docs/examples and dask-jobqueue on a real Slurm of two nodes, which is started
          on this host and ended afterwards, with a task cancelled in the middle, about two minutes; needs
          Slurm, MUNGE and root: slurm [array] [jobqueue]
  coverage  whether quoted errors cover the truth, in 1,000 simulations of each case, some minutes; writes
          docs/coverage.md: coverage [REPETITIONS]
  damage  what each kind of query answers after random damage of each file of a store, about a minute; writes
          docs/damage.md: damage [PLACES]
  validate  what other programs answer on recordings of instruments, compared with tagq; writes
          docs/validation.md: validate FOLDER [--programs PYTHON (asks them again, where it can import them)]
  dist    the released program of each target as an archive, as .deb packages and as wheels, with their checksums
          and the sources of the Python package, below target/dist; zig, maturin and MinGW-w64 build for all
          targets on Linux: dist [TARGET…], all that PLATFORMS.md lists when none is named
  book    runs the commands of docs/book, puts their outputs and figures into its pages, and makes HTML of
          them below target/book, where mdbook is";

/// The comparison of file formats, a workspace of its own.
const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/formats/Cargo.toml");

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("test") => {
            // The Python module is included although it has no Rust tests: shared dependencies then have the
            // same features and are not compiled again for the wheel.
            let rust = ["test", "--workspace", "--no-fail-fast"];
            match env::args().nth(2).as_deref() {
                Some("--quick") => return quick(&rust),
                Some("--target") => return on_target(&env::args().skip(3).collect::<Vec<_>>()),
                _ => {}
            }
            let (rust, python) = (cargo(&[&rust]), python::test(&[]));
            if rust == ExitCode::SUCCESS { python } else { rust }
        }
        Some("python") => python::test(&env::args().skip(2).collect::<Vec<_>>()),
        Some("bench") => cargo(&[
            &["build", "--release", "--bin", "tagq"],
            &["bench", "--package", "tagq-benches", "--bench", "coincidences"],
            &["bench", "--package", "tagq-benches", "--bench", "histogram"],
        ]),
        Some("large") => cargo(&[
            &["build", "--release", "--bin", "tagq"],
            &["bench", "--package", "tagq-benches", "--bench", "large"],
        ]),
        Some("scale") => {
            let args = env::args().skip(2).collect::<Vec<_>>();
            let bench = ["bench", "--package", "tagq-benches", "--bench", "scale", "--"];
            let bench = bench.into_iter().chain(args.iter().map(String::as_str));
            cargo(&[&["build", "--release", "--bin", "tagq"], &bench.collect::<Vec<_>>()])
        }
        #[cfg(target_os = "linux")]
        Some("latency") => {
            let built = cargo(&[&["build", "--release", "--bin", "tagq"]]);
            let args = env::args().skip(2).collect::<Vec<_>>();
            if built == ExitCode::SUCCESS { latency::run(&args) } else { built }
        }
        Some("rivals") => rivals::run(&env::args().skip(2).collect::<Vec<_>>()),
        Some("formats") => {
            let args = env::args().skip(2).collect::<Vec<_>>();
            // No other command builds it: its tests run first.
            let run = ["run", "--release", "--manifest-path", FORMATS, "--"];
            let run = run.into_iter().chain(args.iter().map(String::as_str));
            cargo(&[&["test", "--release", "--manifest-path", FORMATS], &run.collect::<Vec<_>>()])
        }
        #[cfg(target_os = "linux")]
        Some("faults") => faults::run(&env::args().skip(2).collect::<Vec<_>>()),
        Some("fuzz") => fuzz::run(&env::args().skip(2).collect::<Vec<_>>()),
        #[cfg(target_os = "linux")]
        Some("emulate") => emulate::run(&env::args().skip(2).collect::<Vec<_>>()),
        #[cfg(target_os = "linux")]
        Some("slurm") => slurm::run(&env::args().skip(2).collect::<Vec<_>>()),
        Some("coverage") => in_full("coverage", "TAGQ_COVERAGE", "1000"),
        Some("damage") => in_full("damage", "TAGQ_DAMAGE", "100"),
        Some("validate") => validate::run(&env::args().skip(2).collect::<Vec<_>>()),
        Some("dist") => dist::run(&env::args().skip(2).collect::<Vec<_>>()),
        Some("book") => book::run(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The slowest tests, which `--quick` leaves out; `tests/tidy.rs` checks that they exist.
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

/// Runs these tests without documentation examples and [`SLOWEST`], with a tenth of the random cases.
fn quick(rust: &[&str]) -> ExitCode {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(rust).args(["--lib", "--bins", "--tests", "--"]);
    command.args(SLOWEST.iter().flat_map(|test| ["--skip", test]));
    command.env("TAGQ_CASES_PERCENT", "10");
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Packages whose tests are not of tagq itself, or not in Rust.
const BESIDES: [&str; 3] = ["xtask", "tagq-benches", "tagq-python"];

/// Tests that an emulator cannot run.
const NOT_EMULATED: [&str; 4] = [
    // It cannot start a browser.
    "pages_work_in_a_browser",
    // QEMU is ended by the system when a file becomes larger than the shell allows.
    "a_limit_of_the_shell_on_files_is_an_error_of_writing",
    // QEMU does not pass on the hint to read pages ahead.
    "values_are_brought_before_they_are_touched",
    // QEMU itself needs a part of the little memory.
    "hostile_files_are_refused_in_little_memory",
];

/// Runs what [`quick`] runs for another target, with filters of tests.
fn on_target(args: &[String]) -> ExitCode {
    let [triple, filters @ ..] = args else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let run = || -> io::Result<()> {
        let target = Target::named(triple)?;
        let work = python::target();
        let mut tests = target.cargo("test", &Tools::installed(&work)?)?;
        tests.args(["--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
        tests.args(BESIDES.iter().flat_map(|package| ["--exclude", package]));
        target.set_runner(&mut tests, &work)?;
        // Emulators read programs with symbols slowly.
        tests.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_STRIP", "symbols");
        tests.env("TAGQ_CASES_PERCENT", target.percent().to_string());
        tests.arg("--").args(filters);
        let beyond_it: &[&str] = if target.is_emulated() { &NOT_EMULATED } else { &[] };
        let skipped = SLOWEST.iter().chain(beyond_it);
        succeed(tests.args(skipped.flat_map(|test| ["--skip", test])))
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("test: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a test of crates/tagq with all of its cases, optimised; `variable` tells it how many.
fn in_full(test: &str, variable: &str, cases: &str) -> ExitCode {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["test", "--release", "--package", "tagq", "--test", test, "--", "--nocapture"];
    let cases = env::args().nth(2).unwrap_or_else(|| cases.into());
    match Command::new(cargo).args(args).env(variable, cases).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs cargo with each list of arguments, until one fails.
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
