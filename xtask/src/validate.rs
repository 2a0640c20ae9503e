//! Comparison with other programs: `cargo xtask validate FOLDER`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::workspace::cargo;

const USAGE: &str = "usage: cargo xtask validate FOLDER [--programs PYTHON]";
/// Asks the other programs that this Python can import.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/validate.py");

/// Runs the test that compares and writes docs/validation.md.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let (folder, python) = match args {
        [folder] => (folder, None),
        [folder, flag, python] if flag == "--programs" => (folder, Some(python)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match try_run(folder, python) {
        Ok(is_equal) => ExitCode::from(u8::from(!is_equal)),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(folder: &str, python: Option<&String>) -> io::Result<bool> {
    let folder = named(Path::new(folder), fs::canonicalize(folder))?;
    let mut test = cargo();
    test.args(["test", "--quiet", "--workspace", "--test", "whole", "--"]);
    test.args(["--nocapture", "validation::other_programs"]);
    test.env("TAGQ_REAL_DATA", &folder).env("TAGQ_VALIDATION", "write");
    let answers = tempfile::NamedTempFile::new()?;
    if let Some(python) = python {
        let program = PathBuf::from(python);
        let asked = Command::new(&program).arg(SCRIPT).arg(&folder).output();
        let asked = named(&program, asked)?;
        if !asked.status.success() {
            let why = String::from_utf8_lossy(&asked.stderr).into_owned();
            return Err(io::Error::other(format!("{SCRIPT}: {why}")));
        }
        fs::write(answers.path(), asked.stdout)?;
        test.env("TAGQ_VALIDATION_PROGRAMS", answers.path());
    }
    Ok(test.status()?.success())
}

fn named<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
