//! Fuzz targets: `cargo xtask fuzz`.
//!
//! `cargo xtask fuzz stores 600` runs one target for ten minutes, with at most 512 MiB and inputs of at most 1,024
//! bytes. New inputs go to `fuzz/found`, inputs that fail to `fuzz/artifacts`.

use std::{
    env, fs, io,
    path::Path,
    process::{ExitCode, Stdio},
};

use crate::workspace::{cargo, root};

/// Name of a target, the length of its longest input in bytes, and the limit of its memory in MiB.
type Target = (&'static str, u32, u32);

const TARGETS: [Target; 9] = [
    ("messages", 4096, MEMORY),
    ("sources", 4096, MEMORY),
    ("instruments", 4096, MEMORY),
    ("tables", 12 << 10, MEMORY),
    ("stores", 1024, MEMORY),
    ("questions", 1024, MEMORY),
    ("durations", 160, MEMORY),
    ("partials", 1024, MEMORY),
    ("bodies", 2048, COUNTS_MEMORY),
];
/// Default run time per target in seconds.
const SECONDS: u32 = 60;
/// Limit of the resident memory in MiB.
const MEMORY: u32 = 512;
/// The same, where the counts of one question may take 1 GiB.
const COUNTS_MEMORY: u32 = 2_048;

const INSTALL: &str = "cargo-fuzz is not installed: cargo install cargo-fuzz --locked";

/// Runs one target, or all of them in order, until one fails.
pub fn run(args: &[String]) -> ExitCode {
    let (targets, seconds) = match parse(args) {
        Ok(asked) => asked,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::from(2);
        }
    };
    let installed =
        cargo().args(["fuzz", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !installed.is_ok_and(|status| status.success()) {
        eprintln!("{INSTALL}");
        return ExitCode::FAILURE;
    }
    for target @ (name, ..) in targets {
        match fuzz(target, seconds) {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Returns the targets to run and the seconds for each.
fn parse(args: &[String]) -> Result<(Vec<Target>, u32), String> {
    let mut targets = TARGETS.to_vec();
    let mut seconds = SECONDS;
    for arg in args {
        if let Some(target) = TARGETS.iter().find(|(name, ..)| name == arg) {
            targets = vec![*target];
        } else {
            let names = TARGETS.map(|(name, ..)| name).join(", ");
            let refused = |_| format!("`{arg}` is no number of seconds and none of {names}");
            seconds = arg.parse().map_err(refused)?;
        }
    }
    Ok((targets, seconds))
}

/// Runs a target for some seconds. Returns whether no fault was found. New inputs go to `fuzz/found`, failing
/// inputs to `fuzz/artifacts`.
fn fuzz((target, input_max, memory): Target, seconds: u32) -> io::Result<bool> {
    let root = root();
    let (found, corpus) = (format!("fuzz/found/{target}"), format!("fuzz/corpus/{target}"));
    fs::create_dir_all(root.join(&found))?;
    let mut command = cargo();
    // Without a sanitizer, because those need a nightly compiler.
    command.args(["fuzz", "run", "--sanitizer", "none", target, &found, &corpus, "--"]);
    command.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={input_max}"));
    command.arg(format!("-rss_limit_mb={memory}")).args(["-timeout=10", "-print_final_stats=1"]);
    let words = format!("fuzz/{target}.dict");
    if root.join(&words).exists() {
        command.arg(format!("-dict={words}"));
    }
    // Each input creates a store: use a folder in memory if there is one.
    if env::var_os("TMPDIR").is_none() && Path::new("/dev/shm").is_dir() {
        command.env("TMPDIR", "/dev/shm");
    }
    Ok(command.current_dir(root).status()?.success())
}
