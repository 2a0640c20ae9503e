//! The Python package: an environment below target/ with the libraries that its tests compare with, the package as
//! cargo built it, and the wheel.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    tools::{Tools, made_in, output, succeed},
    workspace::{root, target},
};

/// Libraries for the tests and for comparison, also those of the tests in a browser and of notebooks.
const LIBRARIES: [&str; 34] = [
    "anywidget>=0.9",
    "dask[array]>=2024.5",
    "dask-jobqueue>=0.9",
    "distributed>=2024.5",
    "duckdb>=1.3",
    "h5py>=3.12",
    "htcondor>=24; sys_platform == 'linux'",
    "hypothesis>=6.100",
    "ipykernel>=6.29",
    "jsonschema>=4.18",
    "matplotlib>=3.8",
    "moto[server]>=5",
    "mypy>=1.15",
    "nbmake>=1.5",
    "numpy>=2",
    "obstore>=0.8",
    "ome-types>=0.5",
    "pandas>=3",
    "phasorpy>=0.7",
    "phconvert>=0.10",
    "playwright>=1.50",
    "polars>=1.30",
    "ptufile>=2024.12",
    "pyarrow>=20",
    "pypdf>=5",
    "pyright[nodejs]>=1.1.390",
    "pytest>=8",
    "pytest-xdist>=3.6",
    "scipy>=1.14",
    "sdtfile>=2025.3",
    "swabian-timetagger>=2.20; sys_platform == 'linux' and platform_machine == 'x86_64'",
    "tifffile>=2024.8",
    "xarray>=2024.10",
    "xmlschema>=3",
];

/// Those for the recipes with a viewer.
const OF_VIEWER: [&str; 7] = [
    "napari>=0.5",
    "numpy>=2",
    "phasorpy>=0.7",
    "pytest>=8",
    "pytest-xdist>=3.6",
    "tifffile>=2024.8",
    "xarray>=2024.10",
];

/// Manifest of the package.
pub(crate) const PACKAGE: &str = "crates/python/Cargo.toml";

/// An environment below target/ in which all libraries are installed.
pub(crate) struct Environment {
    home: PathBuf,
    interpreter: PathBuf,
    /// The folder of a package that is taken in place of the one that cargo built.
    wheel: Option<PathBuf>,
}

impl Environment {
    /// Returns the environment, and creates it if it is missing or incomplete. `None` without python3.
    pub(crate) fn prepared() -> io::Result<Option<Self>> {
        let python = program();
        if Command::new(&python).arg("--version").output().is_err() {
            return Ok(None);
        }
        let home = target().join("python");
        let interpreter = environment(&python, &home, &LIBRARIES)?;
        Ok(Some(Self { home, interpreter, wheel: None }))
    }

    /// Makes the package of the module that cargo built, which the environment then finds.
    pub(crate) fn place(&self) -> io::Result<()> {
        let package = self.home.join("package");
        remove(&package)?;
        let inside = package.join("tagq");
        fs::create_dir_all(&inside)?;
        for entry in fs::read_dir(root().join("crates/python/python/tagq"))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), inside.join(entry.file_name()))?;
            }
        }
        let built = format!("{}_tagq{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
        let name = if cfg!(windows) { "_tagq.pyd" } else { "_tagq.abi3.so" };
        fs::copy(target().join("debug").join(built), inside.join(name))?;
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let libraries = output(Command::new(&self.interpreter).args(["-c", code]))?;
        let listed = Path::new(libraries.trim()).join("tagq.pth");
        fs::write(listed, format!("{}\n", package.display()))
    }

    /// Returns an environment with a viewer, in which the package that was placed is found.
    pub(crate) fn with_viewer(self) -> io::Result<Self> {
        let interpreter = environment(&program(), &self.home.join("viewer"), &OF_VIEWER)?;
        Ok(Self { interpreter, wheel: Some(self.home.join("package")), ..self })
    }

    /// Builds the wheel and takes the package from it.
    pub(crate) fn with_wheel(mut self) -> io::Result<Self> {
        let wheels = self.home.join("wheels");
        remove(&wheels)?;
        fs::create_dir_all(&wheels)?;
        let mut maturin = Tools::installed(&target())?.command("maturin")?;
        maturin.args(["build", "--quiet", "--profile", "dev", "--interpreter"]);
        maturin.arg(&self.interpreter).env("CARGO_TARGET_DIR", target());
        let wheel = made_in(maturin.arg("--manifest-path").arg(root().join(PACKAGE)), &wheels)?;
        self.wheel = Some(ask(&self.interpreter, &wheel)?);
        Ok(self)
    }

    /// Returns `python ARGS…`, which finds the package.
    pub(crate) fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(args).env("PYTHONDONTWRITEBYTECODE", "1");
        if let Some(folder) = &self.wheel {
            command.env("PYTHONPATH", folder);
        }
        command
    }

    /// Returns the command that runs the tests of the package, or a part of them.
    pub(crate) fn tests<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut tests = self.pytest("2", args);
        tests.current_dir(root().join("crates/python"));
        tests.env("HYPOTHESIS_STORAGE_DIRECTORY", self.home.join("hypothesis"));
        tests.env("MPLBACKEND", "agg");
        tests
    }

    /// Returns the command that runs the tests in a browser, or a part of them.
    pub(crate) fn browser<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        // They wait for pages and recordings.
        let mut tests = self.pytest("4", args);
        tests.current_dir(root().join("tests/browser"));
        // tests/web.rs makes it.
        tests.env("TAGQ_WEB_MADE", target().join("web/made"));
        tests
    }

    /// Returns the command that runs the notebooks in examples/, each in a kernel of its own.
    pub(crate) fn notebooks(&self) -> Command {
        let mut tests = self.pytest("2", ["--nbmake", "examples"]);
        tests.current_dir(root());
        tests
    }

    /// Most tests wait for something, so that `beside` of them run at a time.
    fn pytest<'a>(&self, beside: &str, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut tests =
            self.command(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-n", beside]);
        // The tests compare with this program.
        let program = target().join("debug/tagq").with_extension(env::consts::EXE_EXTENSION);
        tests.args(args).env("TAGQ_PROGRAM", program);
        tests
    }
}

/// Returns the interpreter of the system, or that of the variable `PYTHON`.
pub(crate) fn program() -> PathBuf {
    let usual = if cfg!(windows) { "python" } else { "python3" };
    env::var_os("PYTHON").map_or_else(|| usual.into(), PathBuf::from)
}

/// Returns the interpreter of an environment with these libraries. Creates the environment if it is missing or
/// incomplete.
pub(crate) fn environment(python: &Path, home: &Path, libraries: &[&str]) -> io::Result<PathBuf> {
    let (folder, stamp) = (home.join("venv"), home.join("venv.stamp"));
    let inside = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let wanted = libraries.join("\n");
    fs::create_dir_all(home)?;
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == wanted) && inside.exists() {
        return Ok(inside);
    }
    eprintln!("preparing {}", folder.display());
    succeed(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    succeed(
        Command::new(&inside)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(libraries),
    )?;
    fs::write(stamp, wanted)?;
    Ok(inside)
}

/// Installs a wheel into a folder of its own and asks it for the pairs of the fixture. Returns the folder.
pub(crate) fn ask(python: &Path, wheel: &Path) -> io::Result<PathBuf> {
    let folder = target().join("python/wheel");
    remove(&folder)?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    succeed(Command::new(python).args(install).arg("--target").arg(&folder).arg(wheel))?;
    let asked = Command::new(python)
        .arg(root().join("crates/python/tests/smoke.py"))
        .arg(root().join("data/fixtures/pairs"))
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .status();
    if asked?.success() {
        Ok(folder)
    } else {
        Err(io::Error::other(format!("{}: the package gives a wrong answer", wheel.display())))
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
