//! JSON: one object, whatever was asked.

use serde::Serialize;
use serde_json::Value;
use tagq::{Answer, Columns, Row, RunFacts};

/// Grows only by new keys while the version stays.
pub(super) const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct One<'a> {
    schema_version: u32,
    query: &'a Value,
    run: &'a RunFacts,
    rows: &'a Columns,
}

#[derive(Serialize)]
struct Several<'a> {
    schema_version: u32,
    query: &'a Value,
    runs: Vec<RunOfSeveral<'a>>,
    rows: Vec<RowOfSeveral<'a>>,
}

/// A run with the query as it was counted there: its tick may be another.
#[derive(Serialize)]
pub(super) struct RunOfSeveral<'a> {
    #[serde(flatten)]
    pub run: &'a RunFacts,
    pub query: &'a Value,
}

#[derive(Serialize)]
pub(super) struct RowOfSeveral<'a> {
    pub run: &'a str,
    #[serde(flatten)]
    pub row: Row<'a>,
}

pub(super) fn answers(answers: &[Answer]) -> anyhow::Result<String> {
    let text = match answers {
        [Answer { query, run, rows, .. }] => {
            serde_json::to_string_pretty(&One { schema_version: SCHEMA_VERSION, query, run, rows })?
        }
        several => serde_json::to_string_pretty(&Several {
            schema_version: SCHEMA_VERSION,
            query: &several[0].query,
            runs: several
                .iter()
                .map(|Answer { run, query, .. }| RunOfSeveral { run, query })
                .collect(),
            rows: several
                .iter()
                .flat_map(|Answer { run, rows, .. }| {
                    rows.rows().map(|row| RowOfSeveral { run: &run.path, row })
                })
                .collect(),
        })?,
    };
    Ok(text + "\n")
}

#[derive(Serialize)]
struct Update<'a> {
    schema_version: u32,
    #[serde(rename = "update")]
    number: u64,
    at_s: f64,
    took_s: f64,
    answers: Vec<Answered<'a>>,
}

#[derive(Serialize)]
struct Answered<'a> {
    query: &'a Value,
    run: &'a RunFacts,
    rows: &'a Columns,
}

pub(super) fn update(
    number: u64,
    at_s: f64,
    took_s: f64,
    answers: &[Answer],
) -> anyhow::Result<String> {
    let answers =
        answers.iter().map(|Answer { query, run, rows, .. }| Answered { query, run, rows });
    let answers = answers.collect();
    let update = Update { schema_version: SCHEMA_VERSION, number, at_s, took_s, answers };
    Ok(serde_json::to_string(&update)? + "\n")
}
