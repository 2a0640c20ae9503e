//! What answering would read: as a table, as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use tagq::{
    RunFacts, SCHEMA_VERSION, escaped,
    requests::{Explained, PlanFacts, Reading},
};

use super::{
    json::pretty,
    quantities::{short, thousands},
    table::plain,
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

pub(super) fn json(explained: &[Explained]) -> anyhow::Result<String> {
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

pub(super) fn table(explained: &[Explained]) -> String {
    let mut text = String::new();
    for (i, Explained { header, run, plan, .. }) in explained.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if explained.len() > 1 {
            let _ = writeln!(text, "{}", escaped(&run.path));
        }
        let _ = writeln!(text, "{}\n", escaped(header));
        let _ = writeln!(
            text,
            "not counted; would read{}, of {} rows; level {}, threads {}\n",
            if plan.at_least { " at least" } else { "" },
            thousands(run.tags),
            plan.level,
            plan.threads
        );
        let head = ["", "scans", "groups", "morsels", "rows", "bytes", "passes", "blocks skipped"];
        let mut table = plain(&head, 1);
        for scan in &plan.scans {
            let numbers = [scan.scans, scan.counted, scan.morsels];
            let numbers = numbers.map(|number| thousands(number as u64));
            let fields = [scan.method.to_owned()].into_iter().chain(numbers);
            table.add_row(fields.chain(reading(&scan.reading, scan.at_least)));
        }
        let nothing = [const { String::new() }; 3];
        let fields = ["all".to_owned()].into_iter().chain(nothing);
        table.add_row(fields.chain(reading(&plan.all, plan.at_least)));
        let _ = writeln!(text, "{table}");
    }
    text
}

fn reading(of: &Reading, at_least: bool) -> [String; 4] {
    let sign = if at_least { "\u{2265} " } else { "" };
    [
        format!("{sign}{}", thousands(of.rows)),
        format!("{sign}{}", thousands(of.bytes)),
        format!("{sign}{}", short(of.passes)),
        format!("{} of {}", thousands(of.blocks_skipped as u64), thousands(of.blocks as u64)),
    ]
}
