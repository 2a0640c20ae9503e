//! Answers on stdout: as a table, as JSON, as CSV. Everything else goes to stderr.

mod csv;
mod json;
mod table;

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
};

use anyhow::Context as _;
use serde::Serialize;
use tagq::{
    Run,
    query::{Estimate, Measured},
    store::Tick,
};

use crate::args::Format;

pub(crate) use table::thousands;

/// What was asked, of what, and what came out.
#[derive(Debug)]
pub(crate) struct Answer {
    pub query: QueryUsed,
    pub run: RunUsed,
    pub rows: Vec<PairRow>,
    pub tick: Tick,
    pub live_ticks: i128,
}

/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(crate) struct QueryUsed {
    pub kind: &'static str,
    pub rule: &'static str,
    pub window_ticks: i64,
    pub window_s: f64,
    pub window_asked: String,
    pub acceptance_ticks: i128,
    pub delays: Vec<DelayUsed>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DelayUsed {
    pub channel: u16,
    pub ticks: i64,
    pub seconds: f64,
}

/// The run that was counted over.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RunUsed {
    pub path: String,
    /// A fraction of attoseconds.
    pub tick: String,
    pub tick_assumed: bool,
    pub commit: u64,
    pub tags: u64,
    pub sources: usize,
    pub live_s: f64,
    pub elapsed_s: f64,
    pub channels: Vec<ChannelCount>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ChannelCount {
    pub channel: u16,
    pub count: u64,
}

impl RunUsed {
    pub(crate) fn new(run: &Run) -> Self {
        let manifest = run.store().manifest();
        let tick = manifest.tick;
        Self {
            path: run.path().display().to_string(),
            tick: tick.fraction(),
            tick_assumed: manifest.tick_assumed,
            commit: manifest.commit,
            tags: manifest.rows,
            sources: manifest.sources.len(),
            live_s: tick.seconds_of(run.live_ticks()),
            elapsed_s: tick.seconds_of(run.elapsed_ticks()),
            channels: manifest
                .channels
                .iter()
                .map(|of| ChannelCount { channel: of.channel, count: of.rows })
                .collect(),
        }
    }
}

/// The coincidences of one pair, under the keys of docs/queries.md.
#[derive(Debug, Serialize)]
pub(crate) struct PairRow {
    pub channels: [u16; 2],
    pub count: u64,
    pub count_err: f64,
    pub rate_hz: Option<f64>,
    pub rate_err_hz: Option<f64>,
    pub singles: [u64; 2],
    pub accidentals: Option<f64>,
    pub accidentals_err: Option<f64>,
    pub car: Option<f64>,
    pub car_err: Option<f64>,
    pub heralding: [Option<f64>; 2],
    pub heralding_err: [Option<f64>; 2],
}

impl PairRow {
    pub(crate) fn new(
        channels: [u16; 2],
        count: u64,
        singles: [u64; 2],
        estimate: &Estimate,
    ) -> Self {
        let value = |measured: Option<Measured>| measured.map(|m| m.value);
        let err = |measured: Option<Measured>| measured.map(|m| m.err);
        Self {
            channels,
            count,
            count_err: estimate.count_err,
            rate_hz: value(estimate.rate_hz),
            rate_err_hz: err(estimate.rate_hz),
            singles,
            accidentals: value(estimate.accidentals),
            accidentals_err: err(estimate.accidentals),
            car: value(estimate.car),
            car_err: err(estimate.car),
            heralding: estimate.heralding.map(value),
            heralding_err: estimate.heralding.map(err),
        }
    }
}

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
pub(crate) fn print_info(
    runs: &[Run],
    used: &[RunUsed],
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

/// What was asked and what was done, on one line.
fn header(answer: &Answer) -> String {
    let QueryUsed { rule, window_ticks, window_asked, acceptance_ticks, delays, .. } =
        &answer.query;
    let tick = answer.tick;
    let assumed = if answer.run.tick_assumed { " (assumed)" } else { "" };
    let mut delayed = String::new();
    for DelayUsed { channel, ticks, .. } in delays {
        let time = tick.format((*ticks).into());
        let _ = write!(delayed, "; delay of channel {channel} {ticks} ticks = {time}");
    }
    format!(
        "rule {rule}: |\u{394}t| \u{2264} {window_ticks} ticks = {} (asked {}); full width \
         {acceptance_ticks} ticks = {}{delayed}; T = {}; tick {tick}{assumed}",
        tick.format((*window_ticks).into()),
        spaced(window_asked),
        tick.format(*acceptance_ticks),
        tick.format(answer.live_ticks),
    )
}

/// `2ns` as `2 ns`.
fn spaced(duration: &str) -> String {
    match duration.find(|c: char| c.is_alphabetic()) {
        Some(at) => format!("{} {}", duration[..at].trim_end(), &duration[at..]),
        None => duration.to_owned(),
    }
}
