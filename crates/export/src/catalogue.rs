//! A list of runs as one table.

use std::{io::Write, sync::Arc};

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampSecondArray,
    builder::{Int64Builder, ListBuilder, UInt16Builder},
};
use tagq::{FoundRun, Moment, RunFacts};

use crate::{BatchWriter, Error, TableForm};

/// Returns a row for each run: name, path, state, end, seconds from first to last tag, live seconds, tags, their
/// rate, channels and the tags of each, tick and sources. Facts that a run without a store lacks are null.
///
/// # Errors
/// Errors of Arrow.
pub fn batch_of_runs(runs: &[FoundRun]) -> Result<RecordBatch, Error> {
    let texts = |of: &dyn Fn(&FoundRun) -> Option<String>| -> ArrayRef {
        Arc::new(runs.iter().map(of).collect::<StringArray>())
    };
    let facts = |of: fn(&RunFacts) -> f64| -> ArrayRef {
        let of = |run: &FoundRun| run.facts.as_ref().map(of);
        Arc::new(runs.iter().map(of).collect::<Float64Array>())
    };
    let numbers = |of: fn(&RunFacts) -> u64| -> ArrayRef {
        // Below 2^63, because each tag takes several bytes of a file.
        let of = |run: &FoundRun| run.facts.as_ref().map(|facts| of(facts).cast_signed());
        Arc::new(runs.iter().map(of).collect::<Int64Array>())
    };
    let ended = runs.iter().map(|run| run.ended.map(Moment::seconds));
    let ended = ended.collect::<TimestampSecondArray>().with_timezone("UTC");
    let mut channels = ListBuilder::new(UInt16Builder::new());
    let mut counts = ListBuilder::new(Int64Builder::new());
    for run in runs {
        let of =
            |facts: &RunFacts| facts.channels.iter().map(|of| Some(of.channel)).collect::<Vec<_>>();
        channels.append_option(run.facts.as_ref().map(of));
        let of = |facts: &RunFacts| {
            facts.channels.iter().map(|of| Some(of.count.cast_signed())).collect::<Vec<_>>()
        };
        counts.append_option(run.facts.as_ref().map(of));
    }
    let rates = runs.iter().map(|run| run.facts.as_ref().and_then(RunFacts::rate_hz));
    let columns: [(&str, ArrayRef); 12] = [
        ("name", texts(&|run| Some(run.name.clone()))),
        ("path", texts(&|run| Some(run.path_text()))),
        ("state", texts(&|run| Some(run.state.word().into()))),
        ("ended", Arc::new(ended)),
        ("elapsed_s", facts(|facts| facts.elapsed_s)),
        ("live_s", facts(|facts| facts.live_s)),
        ("tags", numbers(|facts| facts.tags)),
        ("rate_hz", Arc::new(rates.collect::<Float64Array>())),
        ("channels", Arc::new(channels.finish())),
        ("counts", Arc::new(counts.finish())),
        ("tick", texts(&|run| run.facts.as_ref().map(|facts| facts.tick.clone()))),
        ("sources", numbers(|facts| facts.sources as u64)),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns.map(|(name, of)| (name, of, true)))?)
}

/// Writes a list of runs as one table to `out`, and returns `out`.
///
/// # Errors
/// Errors of [`batch_of_runs`] and of `out`.
pub fn write_runs<W: Write + Send>(runs: &[FoundRun], out: W, form: TableForm) -> Result<W, Error> {
    let batch = batch_of_runs(runs)?;
    let mut writer = BatchWriter::new(out, form, &batch.schema())?;
    writer.push(&batch)?;
    writer.finish()
}
