//! An answer in a file, read with its provenance. Rows of older versions get the keys of today: `delay_ticks` becomes
//! `first_tick`.

use std::path::{Path, PathBuf};

use serde_json::{Deserializer, Map, Value};
use tagq_ask::{Provenance, SCHEMA_VERSION};
use tagq_run::Error as RunError;
use tagq_store::read_side_file;

use crate::error::Error;

/// The largest file that is read, in bytes.
const BYTES_MAX: u64 = 64 << 20;
/// The first bytes of files of Arrow and Parquet.
const BINARY: [&[u8]; 2] = [b"ARROW1", b"PAR1"];
/// The version of keys since which `first_tick` replaces `delay_ticks`, and fits and delays lack the keys [`GONE`].
pub(super) const FIRST_TICK: u64 = 4;
/// Keys that answers no longer have; those of [`renamed`] are left out of older rows.
const GONE: [&str; 3] = ["centre_s", "centre_err_s", "deviance_per_degree"];
/// Maximum number of runs of an answer.
const RUNS_MAX: usize = 10_000;

/// An answer as it was written, with its provenance.
#[derive(Debug)]
pub struct SavedAnswer {
    pub(super) path: PathBuf,
    /// The version of its keys.
    pub(super) version: u64,
    pub(super) provenance: Provenance,
    /// The query as it was counted, and the facts, of each run.
    pub(super) counted: Vec<(Value, Value)>,
    pub(super) rows: Vec<Value>,
    pub(super) total: Option<Vec<Value>>,
}

/// Gives a row of an older answer the keys of today.
fn renamed(row: &mut Map<String, Value>) {
    if let Some(first) = row.remove("delay_ticks") {
        row.insert("first_tick".into(), first);
    }
    // Of a fit, the centre is a parameter.
    let gone: &[&str] = if row.contains_key("peak_s") { &GONE } else { &GONE[2..] };
    row.retain(|key, _| !gone.contains(&key.as_str()));
}

impl SavedAnswer {
    /// Reads the answers in the file at `path`: JSON, one document or several, such as the lines of a watch.
    ///
    /// # Errors
    /// [`Error::NotAnAnswer`], [`tagq_run::Error::NoSuchPath`], [`tagq_run::Error::Io`].
    pub fn read(path: &Path) -> Result<Vec<Self>, Error> {
        let bytes = read_side_file(path, BYTES_MAX).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => RunError::NoSuchPath { path: path.into() },
            _ => RunError::Io { path: path.into(), action: "read this answer", source },
        })?;
        Self::parse(&bytes, path)
    }

    /// Parses the text of answers; `path` names where it comes from.
    ///
    /// # Errors
    /// [`Error::NotAnAnswer`].
    pub fn parse(text: &[u8], path: &Path) -> Result<Vec<Self>, Error> {
        let mut answers = Vec::new();
        for document in Deserializer::from_slice(text).into_iter::<Value>() {
            let document = document.map_err(|error| {
                let is_binary = BINARY.iter().any(|start| text.starts_with(start));
                let reason = if is_binary {
                    "it is Arrow or Parquet, and answers are reproduced from JSON; its metadata `tagq.provenance` says \
                     what was asked of which tags"
                        .into()
                } else {
                    format!("it is no answer of tagq in JSON ({error})")
                };
                fault(path, reason)
            })?;
            let Value::Object(mut document) = document else { return Err(no_answer(path)) };
            match document.remove("answers") {
                Some(Value::Array(several)) => {
                    let version = document.get("schema_version").cloned().unwrap_or_default();
                    for answer in several {
                        let Value::Object(mut answer) = answer else { return Err(no_answer(path)) };
                        answer.insert("schema_version".into(), version.clone());
                        answers.push(Self::of_document(answer, path)?);
                    }
                }
                _ => answers.push(Self::of_document(document, path)?),
            }
        }
        if answers.is_empty() { Err(no_answer(path)) } else { Ok(answers) }
    }

    /// Takes an answer from its keys (docs/outputs.md, section "JSON").
    ///
    /// # Errors
    /// [`Error::NotAnAnswer`].
    pub fn of_document(mut document: Map<String, Value>, path: &Path) -> Result<Self, Error> {
        let fault = |reason: String| fault(path, reason);
        let Some(version) = document.get("schema_version").and_then(Value::as_u64) else {
            return Err(no_answer(path));
        };
        let provenance = document.remove("provenance");
        let by = provenance.as_ref().and_then(|of| of.get("tagq")?.as_str());
        let by =
            by.map_or("another version of tagq".to_owned(), |version| format!("tagq {version}"));
        let this = env!("CARGO_PKG_VERSION");
        if version > u64::from(SCHEMA_VERSION) {
            return Err(fault(format!(
                "it was made by {by} and has version {version} of the keys of answers; this is tagq {this}, which \
                 knows those up to {SCHEMA_VERSION}"
            )));
        }
        let Some(provenance) = provenance else {
            return Err(fault(
                "it does not say what was counted: it has no `provenance`, which answers have since tagq 0.1, but not \
                 those of `explain`, `info` and other facts"
                    .into(),
            ));
        };
        let provenance: Provenance = serde_json::from_value(provenance)
            .map_err(|error| fault(format!("its provenance cannot be read ({error})")))?;
        if provenance.runs.is_empty() || provenance.runs.len() > RUNS_MAX {
            let runs = provenance.runs.len();
            return Err(fault(format!("it is of {runs} runs, and answers are of 1 to {RUNS_MAX}")));
        }
        let query = document.remove("query").unwrap_or_default();
        let counted = match (document.remove("run"), document.remove("runs")) {
            (Some(run), None) => vec![(query, run)],
            (None, Some(Value::Array(runs))) => {
                let of = |run: Value| (run.get("query").cloned().unwrap_or_default(), run);
                runs.into_iter().map(of).collect()
            }
            _ => return Err(no_answer(path)),
        };
        let mut rows = |key| match document.remove(key) {
            Some(Value::Array(rows)) => Ok(Some(rows)),
            None => Ok(None),
            Some(_) => Err(no_answer(path)),
        };
        let Some(mut found) = rows("rows")? else { return Err(no_answer(path)) };
        if version < FIRST_TICK {
            found.iter_mut().filter_map(Value::as_object_mut).for_each(renamed);
        }
        let total = rows("total")?;
        Ok(Self { path: path.into(), version, provenance, counted, rows: found, total })
    }

    /// Returns what was asked of which rows.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    pub(super) fn fault(&self, reason: String) -> Error {
        fault(&self.path, reason)
    }
}

fn fault(path: &Path, reason: String) -> Error {
    Error::NotAnAnswer { path: path.into(), reason }
}

fn no_answer(path: &Path) -> Error {
    fault(path, "it is no answer of tagq; `--format json` and `-o FILE.json` write one".into())
}
