//! Answers of tagq: those of its commands, and whole columns of a store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{checks, list::Way};
use crate::support::tagq;

/// A copy of a recording, whose store is beside it.
pub(super) struct Copied {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Copied {
    /// Copies a recording, with the settings beside it.
    pub(super) fn of(recording: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(recording.file_name().unwrap());
        fs::copy(recording, &path).unwrap();
        let settings = recording.with_extension("set");
        if settings.exists() {
            fs::copy(&settings, path.with_extension("set")).unwrap();
        }
        Self { _folder: folder, path }
    }

    pub(super) fn answer(&self, way: &Way) -> Value {
        match (&way.command, &way.check) {
            (Some(command), None) => self.of_command(command, way.at.as_ref().unwrap()),
            (None, Some(check)) => self.of_check(check),
            _ => panic!("neither a command nor a check"),
        }
    }

    /// Returns the value at a pointer in the JSON of a command; `*` takes all elements of an array.
    fn of_command(&self, command: &str, at: &str) -> Value {
        let args = command.split_whitespace().map(Into::into);
        let options = ["--format".into(), "json".into(), self.path.as_os_str().to_owned()];
        let answer = tagq(args.chain(options)).json();
        let found = match at.split_once("/*") {
            None => answer.pointer(at).cloned(),
            Some((list, rest)) => {
                let list = answer.pointer(list).and_then(Value::as_array);
                list.map(|list| list.iter().map(|row| row.pointer(rest).unwrap().clone()).collect())
            }
        };
        found.unwrap_or_else(|| panic!("{command}: nothing at {at}"))
    }

    fn of_check(&self, check: &str) -> Value {
        if check == "text" {
            let text = tagq(["cat".as_ref(), self.path.as_os_str()]);
            assert_eq!(text.code, 0, "{}", text.stderr);
            return json!(sha256(&text.stdout));
        }
        checks::answer(check, &self.path)
    }
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Returns the SHA-256 of an array of little-endian values.
pub(super) fn digest<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> String {
    sha256(&values.flatten().collect::<Vec<u8>>())
}
