//! Latency of single messages.

use std::{hint::black_box, time::Instant};

use super::{
    Plan,
    child::{Measured, Step, Task},
    parent::{Answers, Job, in_turn},
};
use crate::{
    Compression, Result,
    format::Format,
    report::{Table, count},
};

/// Tags of a message.
const BATCHES: [usize; 3] = [1, 10, 100];
const PERCENTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];
/// Tags that messages are made of, over and over.
const TAGS: usize = 100_000;

/// Encodes and decodes messages by each format that has some.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let (with, without): (Vec<_>, Vec<_>) =
        plan.formats.iter().copied().partition(|format| format.message().is_some());
    let job = |format: &&'static dyn Format| Job {
        count: plan.messages,
        ..Job::of(plan, Step::Latency, *format, Compression::None)
    };
    let jobs: Vec<Job<'_>> = with.iter().map(job).collect();
    let rounds = in_turn(&jobs, plan.runs, &mut Answers::default())?;
    let caption = "Nanoseconds to encode and to decode a message: median / p99 / p99.9";
    let caption = format!("{caption} of {} messages", count(plan.messages as u64));
    let mut table = Table::new("latency", caption);
    table.shown = Some("median");
    table.header = vec!["format".into()];
    for batch in BATCHES {
        table.header.push(format!("encode {batch}"));
        table.header.push(format!("decode {batch}"));
    }
    for (format, rounds) in with.iter().zip(&rounds) {
        let mut row = vec![format.name().to_owned()];
        for batch in BATCHES {
            for kind in ["encode", "decode"] {
                let cell = PERCENTILES.map(|(name, _)| {
                    count(nanoseconds(rounds.median(&format!("{kind}_{batch}_{name}"))))
                });
                row.push(cell.join(" / "));
            }
        }
        table.raw_rounds(format.name(), Compression::None, "latency", rounds);
        table.rows.push(row);
    }
    let names: Vec<&str> = without.iter().map(|format| format.name()).collect();
    if !names.is_empty() {
        table.notes.push(format!("Without messages, files only: {}.", names.join(", ")));
    }
    Ok(vec![table])
}

fn nanoseconds(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "durations, positive and short"
    )]
    let value = value as u64;
    value
}

/// Measures one format, and checks each message.
pub fn run(format: &dyn Format, task: &Task) -> Result<Measured> {
    let message = format.message().ok_or("a format without messages")?;
    let tags = task.source.first_tags(TAGS)?;
    let mut measured = Measured::default();
    for batch in BATCHES {
        let (mut encode, mut decode) = (Vec::new(), Vec::new());
        let (mut bytes, mut read) = (Vec::new(), Vec::new());
        for tags in tags.chunks_exact(batch).cycle().take(task.count) {
            bytes.clear();
            let start = Instant::now();
            message.encode(black_box(tags), &mut bytes)?;
            encode.push(start.elapsed().as_nanos() as f64);
            read.clear();
            let start = Instant::now();
            message.decode(black_box(&bytes), &mut read)?;
            decode.push(start.elapsed().as_nanos() as f64);
            if read != tags {
                return Err(format!("{}: other tags in a message", format.name()).into());
            }
        }
        for (kind, mut nanoseconds) in [("encode", encode), ("decode", decode)] {
            nanoseconds.sort_by(f64::total_cmp);
            for (name, part) in PERCENTILES {
                let value = at_part(&nanoseconds, part);
                measured.values.push((format!("{kind}_{batch}_{name}"), value));
            }
        }
    }
    Ok(measured)
}

fn at_part(sorted: &[f64], part: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index below the length"
    )]
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}
