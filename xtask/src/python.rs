//! The Python package: an environment below target/, the wheel, and its tests with the libraries that read
//! its tables.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// Libraries for the tests and for comparison.
const LIBRARIES: [&str; 23] = [
    "maturin>=1.16,<2",
    "anywidget>=0.9",
    "dask[array]>=2024.5",
    "dask-jobqueue>=0.9",
    "distributed>=2024.5",
    "duckdb>=1.3",
    "h5py>=3.12",
    "htcondor>=24; sys_platform == 'linux'",
    "hypothesis>=6.100",
    "matplotlib>=3.8",
    "moto[server]>=5",
    "mypy>=1.15",
    "numpy>=2",
    "obstore>=0.8",
    "pandas>=3",
    "phconvert>=0.10",
    "polars>=1.30",
    "ptufile>=2024.12",
    "pyarrow>=20",
    "pyright[nodejs]>=1.1.390",
    "jsonschema>=4.18",
    "pytest>=8",
    "scipy>=1.14",
];

/// An environment below target/ in which all libraries and the package are installed.
pub(crate) struct Environment {
    home: PathBuf,
    interpreter: PathBuf,
}

#[cfg(target_os = "linux")]
impl Environment {
    pub(crate) fn interpreter(&self) -> &Path {
        &self.interpreter
    }
}

/// Builds and tests the package; `args` go to pytest. Skipped without python3.
pub(crate) fn test(args: &[String]) -> ExitCode {
    let tested = match installed() {
        Ok(Some(environment)) => tests(&environment, args),
        Ok(None) => {
            eprintln!("skipped: there is no python3, and the Python package is not tested");
            Ok(())
        }
        Err(error) => Err(error),
    };
    match tested {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the Python package: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the package and installs it into its environment. Returns `None` without python3.
pub(crate) fn installed() -> Result<Option<Environment>, Failure> {
    let python = program();
    if Command::new(&python).arg("--version").output().is_err() {
        return Ok(None);
    }
    let home = target().join("python");
    let interpreter = environment(&python, &home, &LIBRARIES)?;
    let wheel = wheel(&interpreter, &home)?;
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"];
    run(Command::new(&interpreter).args(install).arg(wheel))?;
    Ok(Some(Environment { home, interpreter }))
}

/// Returns the interpreter of the system, or that of the variable `PYTHON`.
pub(crate) fn program() -> PathBuf {
    let usual = if cfg!(windows) { "python" } else { "python3" };
    env::var_os("PYTHON").map_or_else(|| usual.into(), PathBuf::from)
}

/// Returns the folder in which cargo builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn tests(environment: &Environment, args: &[String]) -> Result<(), Failure> {
    // The tests compare the package with this program.
    run(cargo().args(["build", "--quiet", "--bin", "tagq"]))?;
    let tests = root().join("crates/python");
    run(Command::new(&environment.interpreter)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .args(args)
        .current_dir(tests)
        .env("TAGQ_PROGRAM", target().join("debug/tagq").with_extension(env::consts::EXE_EXTENSION))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HYPOTHESIS_STORAGE_DIRECTORY", environment.home.join("hypothesis"))
        .env("MPLBACKEND", "agg"))
}

/// Returns the interpreter of an environment with these libraries. Creates the environment if it is missing or
/// incomplete.
pub(crate) fn environment(
    python: &Path,
    home: &Path,
    libraries: &[&str],
) -> Result<PathBuf, Failure> {
    let (folder, stamp) = (home.join("venv"), home.join("venv.stamp"));
    let inside = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let wanted = libraries.join("\n");
    fs::create_dir_all(home)?;
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == wanted) && inside.exists() {
        return Ok(inside);
    }
    eprintln!("preparing {}", folder.display());
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(&inside)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(libraries))?;
    fs::write(stamp, wanted)?;
    Ok(inside)
}

/// Builds the wheel in the profile of the workspace's tests.
fn wheel(inside: &Path, home: &Path) -> Result<PathBuf, Failure> {
    let folder = home.join("wheels");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    run(Command::new(inside)
        .args(["-m", "maturin", "build", "--quiet", "--profile", "dev", "--out"])
        .arg(&folder)
        .arg("--manifest-path")
        .arg(root().join("crates/python/Cargo.toml"))
        .arg("--interpreter")
        .arg(inside)
        .env("CARGO_TARGET_DIR", target()))?;
    let wheel = fs::read_dir(&folder)?.next().ok_or(Failure::NoWheel(folder))??;
    Ok(wheel.path())
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = command.get_program().display().to_string();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => {
            let args: Vec<_> = command.get_args().map(|arg| arg.display().to_string()).collect();
            Err(Failure::Failed(format!("{shown} {}", args.join(" "))))
        }
        Err(error) => Err(Failure::Failed(format!("{shown}: {error}"))),
    }
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn root() -> &'static Path {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    home.parent().unwrap_or(home)
}

/// Reasons why the package was not installed or its tests did not finish.
#[derive(Debug)]
pub(crate) enum Failure {
    Failed(String),
    NoWheel(PathBuf),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(command) => write!(f, "`{command}` failed"),
            Self::NoWheel(folder) => write!(f, "no wheel was built in {}", folder.display()),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Failure {}
