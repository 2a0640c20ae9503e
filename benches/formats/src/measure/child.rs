//! One measurement, in a process of its own.

use std::{io::Write as _, path::PathBuf};

use super::{latency, lookups, steps};
use crate::{Compression, Failure, Result, Source, formats};

/// What a child process measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Step {
    /// Writes a file.
    Write,
    /// Reads a file of varints, and suspends after every byte.
    SuspendBytes,
    /// Reads a file of varints, and suspends after every 4,093 bytes.
    SuspendPieces,
    /// Encodes and decodes messages.
    Latency,
    /// Looks times up.
    Lookups,
    /// Counts by a plain walk.
    Scan,
    /// Counts by a query on one thread.
    QueryOne,
    /// Counts by a query on all cores.
    QueryAll,
}

/// The arguments of a child process.
#[derive(Debug, clap::Args)]
pub struct Task {
    /// What to measure
    pub step: Step,
    /// The format
    pub format: String,
    /// The compression
    #[arg(allow_hyphen_values = true)]
    pub compression: Compression,
    /// The tags
    #[arg(value_parser = parse_source)]
    pub source: Source,
    /// The file or folder of the format
    pub path: PathBuf,
    /// How many look-ups or messages
    pub count: usize,
}

fn parse_source(text: &str) -> std::result::Result<Source, Failure> {
    Source::parse(text)
}

/// What was measured: numbers by their names, and what all formats must have in common.
#[derive(Debug, Default)]
pub struct Measured {
    /// Numbers.
    pub values: Vec<(String, f64)>,
    /// Answers, which must be equal.
    pub answers: Vec<(String, String)>,
}

impl Measured {
    /// One number.
    pub fn value(name: &str, value: f64) -> Self {
        Self { values: vec![(name.to_owned(), value)], answers: Vec::new() }
    }

    /// Adds an answer.
    #[must_use]
    pub fn with_answer(mut self, name: &str, answer: String) -> Self {
        self.answers.push((name.to_owned(), answer));
        self
    }
}

/// Measures, and prints what was measured for the parent.
pub fn run(task: &Task) -> Result<()> {
    let measured = measure(task)?;
    let mut out = std::io::stdout().lock();
    for (name, value) in measured.values {
        writeln!(out, "value {name} {value}")?;
    }
    for (name, answer) in measured.answers {
        writeln!(out, "answer {name} {answer}")?;
    }
    Ok(())
}

fn measure(task: &Task) -> Result<Measured> {
    let format = formats::of_name(&task.format)?;
    match task.step {
        Step::Write => steps::write(format, task),
        Step::SuspendBytes => steps::suspend(task, 1),
        Step::SuspendPieces => steps::suspend(task, 4_093),
        Step::Latency => latency::run(format, task),
        Step::Lookups => lookups::run(format, task),
        Step::Scan => steps::scan(format, task),
        Step::QueryOne => steps::query(format, task, 1),
        Step::QueryAll => steps::query(format, task, 0),
    }
}
