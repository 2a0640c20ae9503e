//! Trials of what a release has: each file in a clean place, where it counts the pairs of the fixture.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{
    dist, python,
    tools::{Tools, output, succeed},
    workspace::{root, target},
};

/// The folder of the fixture, and its pairs of the channels 1 and 2 within 2 ns.
const FIXTURE: &str = "data/fixtures/pairs";
const PAIRS: &str = "1,2,1976,";
const QUESTION: [&str; 6] = ["coincidences", "1,2", "--window", "2ns", "--format", "csv"];

/// Returns the only file in `made` whose name begins and ends like this.
fn file(made: &Path, begin: &str, end: &str) -> io::Result<PathBuf> {
    let mut found = None;
    for entry in fs::read_dir(made)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(begin) && name.ends_with(end) {
            found = Some(made.join(&*name));
        }
    }
    found.ok_or_else(|| io::Error::other(format!("{} has no {begin}…{end}", made.display())))
}

/// Copies the recordings of the fixture to `folder`, without the store that they may have.
fn recordings(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for name in ["1.tags.zst", "2.tags.zst"] {
        fs::copy(root().join(FIXTURE).join(name), folder.join(name))?;
    }
    Ok(())
}

/// Prints the answer of a command, which must have the pairs of the fixture.
fn answered(ask: &mut Command) -> io::Result<()> {
    let answer = output(ask)?;
    println!("{answer}");
    if answer.lines().any(|line| line.starts_with(PAIRS)) {
        return Ok(());
    }
    Err(io::Error::other(format!("{} counts other pairs", ask.get_program().display())))
}

/// Asks a program for the pairs of the fixture, without any environment.
fn asked(program: &Path, work: &Path) -> io::Result<()> {
    let run = work.join("run");
    recordings(&run)?;
    answered(Command::new(program).args(QUESTION).arg(&run).env_clear())
}

/// The program of an archive.
pub(crate) fn archive(made: &Path, triple: &str) -> io::Result<()> {
    let work = tempfile::tempdir()?;
    let file = file(made, "tagq-", &format!("{triple}.tar.gz"))?;
    succeed(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(work.path()))?;
    let folder =
        fs::read_dir(work.path())?.next().ok_or_else(|| io::Error::other("no folder"))??;
    asked(&folder.path().join("tagq"), work.path())
}

/// The package for Debian, in a root of its own.
pub(crate) fn debian(made: &Path) -> io::Result<()> {
    let work = tempfile::tempdir()?;
    let place = work.path().join("root");
    for folder in ["info", "updates"] {
        fs::create_dir_all(place.join("var/lib/dpkg").join(folder))?;
    }
    fs::write(place.join("var/lib/dpkg/status"), "")?;
    let mut install = Command::new("dpkg");
    // The C library that it needs is that of the system around this root.
    install.arg(format!("--root={}", place.display())).arg("--force-depends");
    install.args(["--force-not-root", "--log=/dev/null", "-i"]);
    succeed(install.arg(file(made, "tagq_", "_amd64.deb")?))?;
    asked(&place.join("usr/bin/tagq"), work.path())
}

/// The package for conda, in a prefix of its own.
pub(crate) fn conda(made: &Path) -> io::Result<()> {
    let work = tempfile::tempdir()?;
    let package = file(made, "tagq-cli-", "linux_64_0.conda")?;
    let prefix = dist::installed(&Tools::installed(&target())?, &package, work.path())?;
    asked(&prefix.join("bin/tagq"), work.path())
}

/// The container image, run by runc.
pub(crate) fn image(made: &Path) -> io::Result<()> {
    let work = tempfile::tempdir()?;
    let (layout, bundle) = (work.path().join("layout"), work.path().join("bundle"));
    fs::create_dir(&layout)?;
    let file = file(made, "tagq-", "-amd64.oci.tar")?;
    succeed(Command::new("tar").arg("-xf").arg(file).arg("-C").arg(&layout))?;
    let index: serde_json::Value = serde_json::from_slice(&fs::read(layout.join("index.json"))?)?;
    let tag = index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"].as_str();
    let image = format!("{}:{}", layout.display(), tag.unwrap_or_default());
    succeed(Command::new("umoci").args(["unpack", "--rootless", "--image", &image]).arg(&bundle))?;
    recordings(&bundle.join("rootfs/data/run"))?;
    let path = bundle.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path)?)?;
    config["process"]["terminal"] = false.into();
    let args = ["/tagq"].into_iter().chain(QUESTION).chain(["run"]);
    config["process"]["args"] = args.collect::<Vec<_>>().into();
    fs::write(path, serde_json::to_vec(&config)?)?;
    let mut run = Command::new("runc");
    run.arg("--root").arg(work.path().join("state")).arg("run").arg("--bundle").arg(bundle);
    answered(run.arg("tagq-release"))
}

/// Makes an environment of Python below `home`, installs into it with these arguments, and asks the package for the pairs.
/// Returns the folder of its programs.
fn environment(home: &Path, name: &str, install: impl FnOnce(&mut Command)) -> io::Result<PathBuf> {
    let place = home.join(name);
    drop(fs::remove_dir_all(&place));
    succeed(Command::new(python::program()).args(["-m", "venv"]).arg(&place))?;
    let python = place.join("bin/python");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install(&mut pip);
    succeed(&mut pip)?;
    let smoke = root().join("crates/python/tests/smoke.py");
    succeed(Command::new(&python).arg(smoke).arg(root().join(FIXTURE)))?;
    Ok(place.join("bin"))
}

/// The wheel: the package, and the program that is in it.
pub(crate) fn wheel(made: &Path, home: &Path) -> io::Result<()> {
    let start = Instant::now();
    let programs = environment(home, "venv", |pip| {
        pip.args(["--no-index", "--only-binary", "tagq", "--find-links"]).arg(made).arg("tagq");
    })?;
    println!("from nothing to an answer by the wheel: {:.1} s", start.elapsed().as_secs_f64());
    asked(&programs.join("tagq"), tempfile::tempdir()?.path())
}

/// The sources of the Python package, which pip builds.
pub(crate) fn sources(made: &Path, version: &str, home: &Path) -> io::Result<()> {
    let sources = made.join(format!("tagq-{version}.tar.gz"));
    environment(home, "venv-sources", |pip| {
        pip.arg(sources);
    })?;
    Ok(())
}
