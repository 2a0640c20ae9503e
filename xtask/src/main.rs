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
mod nightly;
mod python;
mod release;
mod rivals;
#[cfg(target_os = "linux")]
mod slurm;
mod steps;
mod targets;
mod tests;
mod tools;
mod validate;
mod worked;
mod workspace;

use std::{env, io, process::ExitCode};

use tools::succeed;
use workspace::cargo;

const USAGE: &str = "usage: cargo xtask test | python | browser | notebooks | nightly | bench | large | scale | latency | rivals | formats | faults | fuzz
                   | emulate | slurm | coverage | damage | validate | dist | book
                   | examples | release

  test    all tests of the workspace, documentation examples included, those of the Python package, and those of pages
          in a browser, with a tenth of the random cases;
          with --quick those in Rust alone, without documentation examples and the slowest; with
          --target TARGET the same for another system or processor, whose programs Wine or QEMU runs
          (PLATFORMS.md lists the targets, and what is not tested there): test --target TARGET [FILTER…]
  python  the tests of the Python package alone, in an environment below target/: python [PYTEST ARGUMENT…];
          python --wheel [PYTEST ARGUMENT…] builds the wheel, and tests it as it is installed
  browser the tests of pages alone, in Chromium: browser [PYTEST ARGUMENT…]
  notebooks  runs the notebooks in examples/
  nightly all tests with all random cases, the wheel, and the longer checks below that end by themselves: what
          each change is not checked by
  bench   the benches, from the released program; makes runs of 1.2 GB below target/
  large   files of 35 M tags in one frame and in 2,000, from simulation to answer, with the memory
          that it takes
  scale   10 M, 100 M and 1,000 M rows, warm, from disk, and the memory that queries take; makes a store
          of 9 GB and removes it: scale [make] [warm] [memory] [cold] [--keep]
  latency from a frame's last byte to the answer of a watch, at 10 M tags a second; with a store, after
          a copy of it: latency [STORE]; TAGQ_LIVE_SECONDS=100 makes it 10^9 tags
  rivals  the same questions to NumPy, Numba, Polars, DuckDB and the tools of the field, in a Python
          environment below target/: rivals [--rounds N] [--rows N] [--write] [--record]; first
          answers: rivals first [--rounds N] [--tags N]; images and cubes: rivals images [--rounds N]
          [--frames N]; lifetimes: rivals lifetimes
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
  damage  what each kind of query answers after random damage of each file of a store, some minutes; writes
          docs/damage.md: damage [PLACES]
  validate  what other programs answer on recordings of instruments, compared with tagq; writes
          docs/validation.md: validate FOLDER [--programs PYTHON (asks them again, where it can import them)]
  dist    the released program of each target as an archive, as .deb packages and as wheels, with their checksums
          and the sources of the Python package, below target/dist; zig, maturin and MinGW-w64 build for all
          targets on Linux: dist [TARGET…], all that PLATFORMS.md lists when none is named
  book    runs the commands of docs/book, puts their outputs and figures into its pages, makes HTML of them and of the
          reference of the Python package below target/book, with mdbook, which it builds once, and checks the links
  examples  the patches of docs/examples, which add a file format and a kind of query: applied to a copy below
          target/examples, built and tested there
  release a version, made and tried up to the upload in target/release: packages of the crates, archives, .deb, wheels,
          each tried in a place of its own; with --dry-run from a commit that has not the version yet, and before
          the files for persons are filled in: release VERSION [--dry-run]";

/// The comparison of file formats, a workspace of its own.
const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/formats/Cargo.toml");

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let Some((task, args)) = args.split_first() else { return usage() };
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match &**task {
        "test" => match &words[..] {
            [] => tests::all(),
            ["--quick"] => ended(tests::quick()),
            ["--target", target, ..] => ended(tests::on_target(target, &args[2..])),
            _ => usage(),
        },
        "python" => ended(tests::of_python(args)),
        "browser" => ended(tests::in_browser(args)),
        "notebooks" => ended(tests::notebooks()),
        "nightly" => nightly::run(),
        "bench" => ended(bench("coincidences", &[]).and_then(|()| bench("histogram", &[]))),
        "large" => ended(bench("large", &[])),
        "scale" => ended(bench("scale", &words)),
        #[cfg(target_os = "linux")]
        "latency" => match built() {
            Ok(()) => latency::run(args),
            failed => ended(failed),
        },
        "rivals" => rivals::run(args),
        "formats" => ended(formats(&words)),
        #[cfg(target_os = "linux")]
        "faults" => faults::run(args),
        "fuzz" => fuzz::run(args),
        #[cfg(target_os = "linux")]
        "emulate" => emulate::run(args),
        #[cfg(target_os = "linux")]
        "slurm" => slurm::run(args),
        "coverage" => ended(tests::coverage(words.first().unwrap_or(&"1000"))),
        "damage" => ended(tests::damage(words.first().unwrap_or(&"2"))),
        "validate" => validate::run(args),
        "dist" => dist::run(args),
        "book" => book::run(),
        "examples" => ended(worked::run()),
        "release" => release::run(&words),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Returns the exit code of a task, and prints why it failed.
fn ended(task: io::Result<()>) -> ExitCode {
    match task {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the released program.
fn built() -> io::Result<()> {
    succeed(cargo().args(["build", "--release", "--bin", "tagq"]))
}

/// Runs a bench of the released program.
fn bench(name: &str, args: &[&str]) -> io::Result<()> {
    built()?;
    let bench = ["bench", "--package", "tagq-benches", "--bench", name, "--"];
    succeed(cargo().args(bench).args(args))
}

/// Compares formats of files. No other command builds this workspace: its tests run first.
fn formats(args: &[&str]) -> io::Result<()> {
    format_tests()?;
    succeed(cargo().args(["run", "--release", "--manifest-path", FORMATS, "--"]).args(args))
}

/// Runs the tests of the comparison of formats.
fn format_tests() -> io::Result<()> {
    succeed(cargo().args(["test", "--release", "--manifest-path", FORMATS]))
}
