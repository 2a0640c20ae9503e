//! Tests on a processor that this machine does not have: `cargo xtask emulate`.
//!
//! A kernel runs only on a processor with the instructions of its level. Bochs emulates a processor with
//! AVX-512 on any machine, but much more slowly. A Linux kernel boots in it and runs the tests of
//! `tagq-query`, compiled as for a release; the serial output contains the results. Nothing is installed and
//! no root access is needed: boot loader, kernel and programs are on a disc that is created for the run.

mod archive;
mod boot;
mod machine;

use std::{
    error::Error,
    fs,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use serde_json::Value;

use crate::workspace::{cargo, root};
use archive::Archive;
use machine::Machine;

type Checked<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A processor of Bochs with the features of the highest level. Newer ones report an inconsistent state size,
/// and kernels then disable all vector instructions.
const PROCESSOR: &str = "corei7_skylake_x";
/// The level that the tests must find.
const LEVEL: &str = "avx512";
const NO_KERNEL: &str = "no Linux kernel in /boot that you may read; name one: --kernel PATH. On Debian, \
     `apt-get download linux-image-cloud-amd64` names the package that has it (see its Depends), and \
     `dpkg -x PACKAGE.deb FOLDER` unpacks it to FOLDER/boot";

/// Files that the tests read.
const FILES: [&str; 1] = ["data/fixtures/partials/once.v1"];

const OPTIONS: &str = "--kernel, --processor, --level, --percent";

/// OpenOptions of the tests.
struct Asked {
    /// Best level that they must find.
    level: String,
    /// Percentage of the random cases to run.
    percent: u32,
    /// Parts of test names; empty for all tests.
    filters: Vec<String>,
}

/// Runs the tests whose names contain a filter, or all, on the emulated processor.
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
    let (mut kernel, mut processor, mut args) = (None, PROCESSOR.to_owned(), args.iter().cloned());
    let mut asked = Asked { level: LEVEL.to_owned(), percent: 100, filters: Vec::new() };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--kernel" => kernel = Some(PathBuf::from(value()?)),
            "--processor" => processor = value()?,
            "--level" => asked.level = value()?,
            "--percent" => {
                let percent: Result<NonZeroU32, _> = value()?.parse();
                asked.percent =
                    percent.map_err(|_| "--percent takes a whole number from 1 on")?.get();
            }
            option if option.starts_with('-') => {
                return Err(format!("no option `{option}`: {OPTIONS}").into());
            }
            // They are pasted into a shell script.
            _ if arg.chars().all(|c| c.is_alphanumeric() || "_:".contains(c)) => {
                asked.filters.push(arg);
            }
            _ => return Err(format!("`{arg}` is no part of a test's name").into()),
        }
    }
    let machine = Machine::new(&processor)?;
    let boot = boot::Loader::find()?;
    let kernel = kernel.or_else(newest_kernel).ok_or(NO_KERNEL)?;
    let folder = tempfile::tempdir()?;
    let archive = archive_of(&test_programs()?, &asked, folder.path())?;
    let disc = boot.write(folder.path(), &kernel, &archive)?;
    let level = &asked.level;
    println!("{processor}, expecting {level}; the kernel takes a minute or two to boot");
    let start = Instant::now();
    let failed = machine.run(&disc, folder.path())?;
    println!("{:.0} s on the emulated processor", start.elapsed().as_secs_f64());
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} test programs failed on {processor}").into()),
    }
}

/// Returns the kernel with the highest version in /boot, by plain string order.
fn newest_kernel() -> Option<PathBuf> {
    let mut kernels: Vec<PathBuf> =
        fs::read_dir("/boot").ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_kernel = |path: &Path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"vmlinuz"))
    };
    kernels.retain(|path| is_kernel(path) && fs::File::open(path).is_ok());
    kernels.into_iter().max()
}

/// Builds the tests of `tagq-query`, optimised because emulation is slow. Returns the paths that cargo
/// reports.
fn test_programs() -> Checked<Vec<PathBuf>> {
    let output = cargo()
        .args(["test", "--release", "--package", "tagq-query", "--lib", "--tests", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the tests cannot be built".into());
    }
    let built = String::from_utf8(output.stdout)?;
    let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs: Vec<PathBuf> =
        messages.filter_map(|message| Some(message["executable"].as_str()?.into())).collect();
    programs.sort();
    if programs.is_empty() { Err("cargo names no test program".into()) } else { Ok(programs) }
}

/// Returns the archive for the kernel: the programs, their libraries and input files, a shell, and the start
/// script.
fn archive_of(programs: &[PathBuf], asked: &Asked, folder: &Path) -> Checked<Vec<u8>> {
    let shell = Path::new("/bin/sh");
    let mut archive = Archive::default();
    archive.folder("tmp");
    archive.file("bin/sh", &fs::read(shell)?);
    let mut libraries = libraries_of(shell)?;
    let mut names = Vec::new();
    for program in programs {
        libraries.extend(libraries_of(program)?);
        let name = program.file_stem().and_then(|name| name.to_str()).ok_or("an odd file name")?;
        // Debug information is four fifths of a program.
        let stripped = folder.join("stripped");
        succeed(Command::new("strip").arg("-o").arg(&stripped).arg(program))?;
        let name = name.rsplit_once('-').map_or(name, |(name, _hash)| name);
        archive.file(&format!("tests/{name}"), &fs::read(stripped)?);
        names.push(name);
    }
    libraries.sort();
    libraries.dedup();
    for library in &libraries {
        let path = library.strip_prefix("/")?.to_str().ok_or("an odd file name")?;
        archive.file(path, &fs::read(library)?);
    }
    let root = root();
    let in_root = |path: &str| -> Checked<String> {
        let path = root.join(path);
        Ok(path.strip_prefix("/")?.to_str().ok_or("an odd folder name")?.to_owned())
    };
    // Tests use paths relative to their package.
    archive.folder(&in_root("crates/query")?);
    for file in FILES {
        archive.file(&in_root(file)?, &fs::read(root.join(file))?);
    }
    archive.file("init", machine::script(&names, asked).as_bytes());
    Ok(archive.finish())
}

/// Returns the shared libraries of a program, and their loader.
fn libraries_of(program: &Path) -> Checked<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output()?;
    let lines = String::from_utf8(output.stdout)?;
    let paths =
        lines.lines().filter_map(|line| line.split_whitespace().find(|w| w.starts_with('/')));
    Ok(paths.map(PathBuf::from).collect())
}

/// Runs a command, which must succeed.
fn succeed(command: &mut Command) -> Checked<()> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim_end()).into())
}
