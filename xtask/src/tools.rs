//! Programs that tasks call: those of an environment below target/, and those of the system.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    python,
    workspace::{cargo, target},
};

/// Tools that build for other targets and make wheels, from the Python package index.
const TOOLS: [&str; 5] = [
    "cargo-zigbuild>=0.22",
    "maturin>=1.16,<2",
    "py-rattler>=0.28,<0.29",
    "py-rattler-build>=0.73,<0.74",
    "ziglang>=0.14",
];

/// An environment of Python with these tools.
pub(crate) struct Tools {
    /// The folder of the environment, and of what else is made for the tools.
    pub home: PathBuf,
    /// The Python of the environment.
    pub interpreter: PathBuf,
    programs: PathBuf,
}

impl Tools {
    /// Installs the tools below `target`, once.
    ///
    /// # Errors
    /// Fails without Python or if they cannot be installed.
    pub(crate) fn installed(target: &Path) -> io::Result<Self> {
        let home = target.join("tools");
        let interpreter = python::environment(&python::program(), &home, &TOOLS);
        let interpreter = interpreter?;
        let programs = interpreter.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(Self { home, interpreter, programs })
    }

    /// Returns one of the programs, which finds the others.
    pub(crate) fn command(&self, name: &str) -> io::Result<Command> {
        let path = env::var_os("PATH").unwrap_or_default();
        let path = [self.programs.clone()].into_iter().chain(env::split_paths(&path));
        let path = env::join_paths(path).map_err(io::Error::other)?;
        let mut command = Command::new(self.programs.join(name));
        command.env("PATH", path);
        Ok(command)
    }
}

/// Returns a program of the registry of Rust in this version. Builds it below target/, with these features, when it is not
/// there.
pub(crate) fn from_registry(name: &str, version: &str, features: &str) -> io::Result<PathBuf> {
    let home = target().join("tools").join(format!("{name}-{version}"));
    let program = home.join("bin").join(name).with_extension(env::consts::EXE_EXTENSION);
    if !program.exists() {
        eprintln!("building {name} {version}");
        let mut install = cargo();
        install.args(["install", "--locked", "--quiet", name, "--version", version]);
        succeed(install.args(["--features", features, "--root"]).arg(home))?;
    }
    Ok(program)
}

/// Whether a program can be started with this argument.
pub(crate) fn can(program: impl AsRef<OsStr>, arg: &str) -> bool {
    Command::new(program).arg(arg).output().is_ok_and(|output| output.status.success())
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> io::Result<()> {
    let status = command.status().map_err(|error| failed(command, &error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(command, &status.to_string())) }
}

/// Runs a command that must succeed, and returns its output.
pub(crate) fn output(command: &mut Command) -> io::Result<String> {
    let output = command.output().map_err(|error| failed(command, &error.to_string()))?;
    if !output.status.success() {
        return Err(failed(command, &String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs maturin, and moves the file that it makes to `dist`.
pub(crate) fn made_in(maturin: &mut Command, dist: &Path) -> io::Result<PathBuf> {
    let folder = dist.join("made");
    succeed(maturin.arg("--out").arg(&folder))?;
    let none = || io::Error::other("maturin made no file");
    let made = fs::read_dir(&folder)?.next().ok_or_else(none)??;
    let path = dist.join(made.file_name());
    fs::rename(made.path(), &path)?;
    fs::remove_dir(&folder)?;
    Ok(path)
}

fn failed(command: &Command, why: &str) -> io::Error {
    io::Error::other(format!("{}: {}", command.get_program().display(), why.trim_end()))
}
