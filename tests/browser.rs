//! Pages in a browser: runs the tests of `tests/browser` by Playwright, in an environment below the target folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    support::{root, skipped},
    web,
};

/// The browser is that of the system: none is downloaded.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const LIBRARIES: [&str; 3] = ["playwright>=1.50", "pytest>=8", "pytest-xdist>=3.6"];

/// Returns the interpreter of an environment with all libraries, or why there is none.
fn environment() -> Result<PathBuf, String> {
    let folder = web::target().join("browser");
    let (venv, stamp) = (folder.join("venv"), folder.join("stamp"));
    let inside = venv.join("bin/python");
    let wanted = LIBRARIES.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == wanted) && inside.exists() {
        return Ok(inside);
    }
    fs::create_dir_all(&folder).unwrap();
    web::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1"];
    web::run(Command::new(&inside).args(install).args(LIBRARIES))?;
    fs::write(stamp, wanted).unwrap();
    Ok(inside)
}

#[test]
fn pages_work_in_a_browser() {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    if !BROWSERS.iter().any(is_there) {
        skipped("there is no chromium");
        return;
    }
    let interpreter = match environment() {
        Ok(interpreter) => interpreter,
        Err(why) => {
            skipped(&format!("there is no Playwright: {why}"));
            return;
        }
    };
    let mut pytest = Command::new(interpreter);
    // Most of these tests wait for a recording.
    pytest.args(["-m", "pytest", "--quiet", "--tb=short", "-p", "no:cacheprovider", "-n", "2"]);
    pytest.arg(root().join("tests/browser"));
    pytest.env("TAGQ_PROGRAM", env!("CARGO_BIN_EXE_tagq")).env("PYTHONDONTWRITEBYTECODE", "1");
    if let Some(folder) = web::built() {
        pytest.env("TAGQ_WEB_MADE", Path::new(folder).join("made"));
    }
    web::run(&mut pytest).unwrap_or_else(|failures| panic!("{failures}"));
}
