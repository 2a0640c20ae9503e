//! Comparison with other systems: `cargo xtask rivals`. They have their own Python environment, which no
//! build of the workspace needs.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let programs = target.join("release");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--release", "--bin", "tagq", "--bin", "tagq-timed"];
    succeed(Command::new(cargo).args(build).current_dir(&root))?;
    let made = Command::new(programs.join("tagq-timed"))
        .args(["make", ROWS])
        .stderr(Stdio::inherit())
        .output()?;
    if !made.status.success() {
        return Err(io::Error::other("the run cannot be made"));
    }
    let store = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let python = environment(&root, &target.join("rivals"))?;
    let mut rivals = Command::new(python);
    rivals.arg(root.join("benches/rivals")).arg("--store").arg(store);
    succeed(rivals.arg("--programs").arg(programs).args(args))
}

/// Returns the Python of an environment with exactly the packages of `benches/rivals/requirements.txt`.
fn environment(root: &Path, folder: &Path) -> io::Result<PathBuf> {
    let required = root.join("benches/rivals/requirements.txt");
    let installed = folder.join("installed.txt");
    let venv = folder.join("venv");
    let python = venv.join("bin/python");
    let wanted = fs::read(&required)?;
    if fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    fs::create_dir_all(folder)?;
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    succeed(Command::new(&python).args(pip).arg(&required))?;
    fs::write(installed, wanted)?;
    Ok(python)
}

fn succeed(command: &mut Command) -> io::Result<()> {
    let status = command
        .status()
        .map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {status}"))) }
}
