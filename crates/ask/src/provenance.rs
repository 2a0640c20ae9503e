//! The provenance of an answer: what was asked of which rows, so that it can be asked again.
//!
//! Coincidences with a window of 2 ns in the sum of two runs have the query `coincidences`, the options `window` 2ns,
//! `together` sum, and for each run its path, its tick, its setup and the identity of its rows. Every option that is
//! not as by default is in it; bins that were chosen are in the `query` of the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tagq_run::{Run, Setup, StatedSetup};
use tagq_store::{Duration, RowsId, Tick};

/// The question and the rows that were asked (docs/outputs.md, section "Provenance"). It has no time of the clock: the
/// same question about the same rows has the same provenance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of tagq that counted.
    pub tagq: String,
    /// The name of the query.
    pub query: String,
    /// Its options that are not as by default.
    pub options: Map<String, Value>,
    /// The length of the last interval that was counted beside the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_last: Option<Duration>,
    /// Whether the counted tags themselves are listed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub list: bool,
    /// The model that was fitted to the answer, and its options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Map<String, Value>>,
    /// That several values of an option were scanned, or the setting of each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<Map<String, Value>>,
    /// How answers of several runs belong together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// The runs.
    pub runs: Vec<CountedRun>,
}

/// How answers of several runs belong together, if each is not an answer by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Together {
    /// Their counts are added up.
    Sum,
    /// Each is answered for the groups of channels that occur in any of them.
    SameGroups,
}

/// A run, and exactly the rows of it that were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedRun {
    /// The path that the user gave.
    pub path: String,
    /// The folder of its store, if the user gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// Whether sources in nested folders are part of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recursive: bool,
    /// The identity of the rows.
    #[serde(flatten)]
    pub id: RowsId,
    /// The unit of its times that was in effect, as a fraction of attoseconds.
    pub tick: Tick,
    /// Names, delays and groups that were in effect.
    #[serde(default, skip_serializing_if = "StatedSetup::is_empty")]
    pub setup: StatedSetup,
}

impl Provenance {
    /// Returns the provenance of an answer of this version of tagq.
    pub(crate) fn of(query: &str, options: Map<String, Value>, runs: Vec<CountedRun>) -> Self {
        Self {
            tagq: env!("CARGO_PKG_VERSION").into(),
            query: query.into(),
            options,
            beside_last: None,
            list: false,
            fit: None,
            scan: None,
            together: (runs.len() > 1).then_some(Together::Sum),
            runs,
        }
    }

    /// Returns the provenance of the answers to one question, which are written together.
    #[must_use]
    pub fn of_all<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = all.into_iter();
        let mut first = all.next().cloned().unwrap_or_default();
        first.runs.extend(all.flat_map(|of| of.runs.iter().cloned()));
        first
    }
}

impl CountedRun {
    /// Returns a run with all its rows, and the setup in effect.
    pub(crate) fn of(run: &Run, setup: &Setup) -> Self {
        Self {
            path: run.path().display().to_string(),
            store: run.given_store().map(|store| store.display().to_string()),
            recursive: run.is_recursive(),
            id: run.recorded_rows().0,
            tick: run.store().manifest().tick,
            setup: StatedSetup::of(setup, run.derived_labels()),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_false(value: &bool) -> bool {
    !value
}
