//! Answers on stdout: as a table, as JSON, as CSV. Everything else goes to stderr.

mod csv;
mod json;
mod quantities;
mod table;

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use tagq::{Answer, Run, RunFacts};

use crate::args::Format;

pub(crate) use quantities::thousands;

/// The format asked for; without one, a table for a person and JSON for a program.
fn chosen(format: Option<Format>) -> Format {
    let is_terminal = io::stdout().is_terminal();
    format.unwrap_or(if is_terminal { Format::Table } else { Format::Json })
}

/// Prints the answers for all runs.
pub(crate) fn print(answers: &[Answer], format: Option<Format>) -> anyhow::Result<()> {
    let text = match chosen(format) {
        Format::Table => table::answers(answers),
        Format::Json => json::answers(answers)?,
        Format::Csv => csv::answers(answers),
    };
    put(&text)
}

/// Prints what is known of the runs themselves.
pub(crate) fn print_info(runs: &[Run], format: Option<Format>) -> anyhow::Result<()> {
    let used: Vec<RunFacts> = runs.iter().map(RunFacts::of).collect();
    let text = match chosen(format) {
        Format::Table => table::info(runs, &used),
        Format::Json => json::info(runs, &used)?,
        Format::Csv => csv::info(&used),
    };
    put(&text)
}

fn put(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}
