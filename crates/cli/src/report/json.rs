//! JSON: one object, whatever was asked.

use serde::Serialize;
use serde_json::Value;
use tagq::{Answer, Columns, Notes, Row, Run, RunFacts};

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

#[derive(Serialize)]
struct Info<'a> {
    schema_version: u32,
    #[serde(flatten)]
    run: &'a RunFacts,
    sources: Vec<SourceInfo<'a>>,
}

#[derive(Serialize)]
struct SourceInfo<'a> {
    name: &'a str,
    tags: u64,
    time_first: Option<i64>,
    time_last: Option<i64>,
    rebased: Option<i64>,
    reordered: u64,
    checksummed: bool,
    torn: Option<&'a str>,
    /// What its recorder noted of it.
    recorded: Option<Recorded>,
}

/// A recorder's notes of a source, and where it is not as they say.
#[derive(Serialize)]
struct Recorded {
    #[serde(flatten)]
    notes: Notes,
    duration_s: Option<f64>,
    differences: Vec<String>,
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

pub(super) fn info(runs: &[Run], used: &[RunFacts]) -> anyhow::Result<String> {
    let infos: Vec<Info<'_>> =
        runs.iter().zip(used).map(|(run, used)| one_info(run, used)).collect();
    let text = match &infos[..] {
        [info] => serde_json::to_string_pretty(info)?,
        infos => serde_json::to_string_pretty(infos)?,
    };
    Ok(text + "\n")
}

fn one_info<'a>(run: &'a Run, used: &'a RunFacts) -> Info<'a> {
    let manifest = run.store().manifest();
    let sources = manifest.sources.iter().zip(run.notes()).map(|(source, notes)| SourceInfo {
        name: &source.facts.name,
        tags: source.rows,
        time_first: source.time_first,
        time_last: source.time_last,
        rebased: source.facts.rebased,
        reordered: source.facts.reordered,
        checksummed: source.facts.checksummed,
        torn: source.facts.torn.as_deref(),
        recorded: notes.map(|notes| Recorded {
            duration_s: notes.duration_s(),
            differences: notes.differences(source, manifest.tick),
            notes,
        }),
    });
    Info { schema_version: SCHEMA_VERSION, run: used, sources: sources.collect() }
}
