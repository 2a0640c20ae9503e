//! The plan of a query, its rows, bytes and time before anything is counted, as a table or as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use tagq::{
    RunFacts, SCHEMA_VERSION, escaped,
    requests::{Explained, PlanFacts},
};

use super::{
    json::pretty,
    table::quantities::{short, thousands},
};

#[derive(Serialize)]
struct One<'a> {
    schema_version: u32,
    query: &'a Value,
    run: &'a RunFacts,
    plan: &'a PlanFacts,
}

#[derive(Serialize)]
struct Several<'a> {
    schema_version: u32,
    runs: Vec<RunOfSeveral<'a>>,
}

#[derive(Serialize)]
struct RunOfSeveral<'a> {
    #[serde(flatten)]
    run: &'a RunFacts,
    query: &'a Value,
    plan: &'a PlanFacts,
}

/// Returns plans as JSON: one object, or a list of several.
///
/// # Errors
/// Errors of the serializer.
pub fn json(explained: &[Explained]) -> serde_json::Result<String> {
    let text = match explained {
        [Explained { query, run, plan, .. }] => {
            pretty(&One { schema_version: SCHEMA_VERSION, query, run, plan })?
        }
        several => pretty(&Several {
            schema_version: SCHEMA_VERSION,
            runs: several
                .iter()
                .map(|Explained { query, run, plan, .. }| RunOfSeveral { run, query, plan })
                .collect(),
        })?,
    };
    Ok(text + "\n")
}

/// Returns plans as text for a person.
pub fn table(explained: &[Explained]) -> String {
    let mut text = String::new();
    for (i, Explained { header, run, plan, .. }) in explained.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if explained.len() > 1 {
            let _ = writeln!(text, "{}", escaped(&run.path));
        }
        let _ = writeln!(text, "{}\n", escaped(header));
        let _ = writeln!(text, "Nothing was counted. The query would read\n");
        let most =
            |number: String| if plan.at_least { format!("at least {number}") } else { number };
        let about = |number: String| format!("about {number}");
        let time = |seconds: Option<f64>| match seconds {
            Some(seconds) => about(format!("{} s", short(seconds))),
            None => "more memory is needed than there is".into(),
        };
        let of = |part: String, all: u64| format!("{part} of {}", thousands(all));
        for (what, value) in [
            ("rows", of(most(thousands(plan.rows)), run.tags)),
            ("bytes", most(thousands(plan.bytes))),
            ("passes", most(short(plan.passes))),
            ("blocks skipped", of(thousands(plan.blocks_skipped as u64), plan.blocks as u64)),
            ("method", plan.kernels.join("; ")),
            ("instructions", plan.level.to_string()),
            ("threads", plan.threads.to_string()),
            ("pairs", plan.pairs.map_or("not known".into(), |pairs| about(thousands(pairs)))),
            ("time", time(plan.estimated_s)),
        ] {
            let _ = writeln!(text, "{what:16}{value}");
        }
    }
    text
}
