//! Answers on stdout: as a table, as JSON, as CSV. Everything else goes to stderr.

mod csv;
mod json;
mod list;
mod quantities;
mod table;

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use tagq::{Answer, Run, RunFacts, ask::Listing};

use crate::args::Format;

pub(crate) use quantities::{hertz, thousands};

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

/// Prints lists as they are found, without holding them.
pub(crate) fn print_list(listings: &[Listing<'_>], format: Option<Format>) -> anyhow::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout());
    match chosen(format) {
        Format::Table => list::table(listings, &mut out)?,
        Format::Json => list::json(listings, &mut out)?,
        Format::Csv => list::csv(listings, &mut out)?,
    }
    out.flush().context("cannot write to standard output")
}

/// Prints what is known of the runs themselves.
pub(crate) fn print_info(
    runs: &[Run],
    used: &[RunFacts],
    format: Option<Format>,
) -> anyhow::Result<()> {
    let text = match chosen(format) {
        Format::Table => table::info(runs, used),
        Format::Json => json::info(runs, used)?,
        Format::Csv => csv::info(used),
    };
    put(&text)
}

fn put(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}
