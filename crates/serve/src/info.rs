//! Facts about a run, as `tagq info --fast --json` prints them, without paths of the file system.

use serde_json::Value;
use tagq::{Run, RunFacts, requests::Setup};
use tagq_export::report::info::{Looked, json};

use crate::error::Refusal;

/// Keys with paths of the file system.
const PATHS: [&str; 2] = ["store", "leftovers"];

/// Returns the sources of a run, its store and remarks about them as JSON, without paths beside the run's name.
pub(crate) fn described(run: &Run, setup: &Setup) -> Result<Vec<u8>, Refusal> {
    let failed = |error: &dyn std::error::Error| Refusal::failed(error.to_string());
    let store_bytes = Some(run.store_bytes().map_err(|error| failed(&error))?);
    let facts = RunFacts::named(run, setup);
    let looked =
        Looked { run: run.clone(), facts, shortest: None, store_bytes, leftovers: Vec::new() };
    let text = json(&[looked]).map_err(|error| failed(&error))?;
    let mut described: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    if let Some(described) = described.as_object_mut() {
        described.retain(|key, _| !PATHS.contains(&key.as_str()));
    }
    Ok(described.to_string().into_bytes())
}
