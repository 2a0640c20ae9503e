//! Puts tables between their markers in a document. The prose around them stays.

use std::{fs, path::Path};

use super::Table;
use crate::{Result, measure::Plan};

/// What every table says about its measurement.
pub struct About {
    tags: &'static str,
    runs: usize,
    machine: String,
}

impl About {
    /// Describes this machine and a plan.
    pub fn of(plan: &Plan) -> Self {
        let tags = if plan.recorded { "recorded tags" } else { "simulated tags, seed 1" };
        Self { tags, runs: plan.runs, machine: machine() }
    }

    /// Returns the text, with what is `shown` of several rounds.
    pub(crate) fn text(&self, shown: Option<&str>) -> String {
        let Self { tags, runs, machine } = self;
        match shown {
            Some(shown) if *runs > 1 => format!("{tags}; {runs} rounds, {shown}; {machine}"),
            _ => format!("{tags}; {machine}"),
        }
    }
}

/// Returns the processor, its cores and the kernel.
fn machine() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        let line = about.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.trim().to_owned())
    };
    let model = of("model name").unwrap_or_else(|| "an unknown processor".into());
    let part = of("cpu family")
        .zip(of("model\t"))
        .map(|(family, model)| format!(" (family {family}, model {model})"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}{}, {cores} cores, Linux {}", part.unwrap_or_default(), kernel.trim())
}

/// Replaces the tables in the document at `path`. Returns the names of tables that have no place there.
pub fn write(path: &Path, plan: &Plan, tables: &[Table]) -> Result<Vec<String>> {
    let mut text = fs::read_to_string(path)?;
    let about = About::of(plan);
    let mut without_place = Vec::new();
    for table in tables {
        let name = marker_name(plan, table);
        let (begin, end) =
            (format!("<!-- formats:{name} -->\n"), format!("<!-- /formats:{name} -->"));
        let Some((before, rest)) = text.split_once(&begin) else {
            without_place.push(name);
            continue;
        };
        let (_, after) =
            rest.split_once(&end).ok_or_else(|| format!("no `{end}` in the document"))?;
        text = format!("{before}{begin}{}{end}{after}", table.markdown(&about));
    }
    fs::write(path, text)?;
    Ok(without_place)
}

fn marker_name(plan: &Plan, table: &Table) -> String {
    let suffix = if plan.recorded { "-recorded" } else { "" };
    format!("{}{suffix}", table.name)
}
