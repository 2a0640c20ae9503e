//! The request for a histogram of micro times.

mod request;

pub use request::{MICRO, MicroTimes};

use std::sync::Arc;

use serde::Serialize;
use tagq_query::{
    Bins, Error as QueryError, Execution, MicroTimes as Query, Plan, Recording, Scope,
};
use tagq_store::Tick;

use super::{
    context::QueryContext,
    header::in_ticks,
    histogram::Reach,
    kind::{Finished, Kind, Resolved},
    limits,
    selection::{Selected, Selection},
    used::SelectionUsed,
};
use crate::setup::arguments::Channel;
use crate::{
    cells::Cells,
    error::Error,
    figure::FigureKind,
    run::Run,
    table::{Column, Table, Unit},
};

/// Bytes of a bin while it is counted, in each task that a thread has begun.
const BIN_BYTES: u64 = 16;
/// Why answers to a growing run are counted again.
const RECOUNT: &str = "micro times are counted again each time";

/// The query as it was counted.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    channel: u16,
    /// The unit of micro times, as a fraction of attoseconds.
    micro_tick: String,
    bin_ticks: i64,
    bin_s: f64,
    range_ticks: [i64; 2],
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl Kind for MicroTimes {
    type Query = Query;
    type Counts = Vec<u64>;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        vec![&self.channel]
    }

    fn recount_reason(&self) -> Option<&'static str> {
        Some(RECOUNT)
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        first: Option<&Query>,
    ) -> Result<Query, Error> {
        let channel = context.setup.channel(&self.channel)?;
        context.note_dark(run, vec![channel]);
        let scope = selected.scope.clone();
        let bins = match first {
            Some(first) => first.bins.clone(),
            None => self.bins(run, channel, &scope, context)?,
        };
        Ok(Query { channel, bins, scope })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        (one.channel, &one.bins) == (other.channel, &other.bins)
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(), Error> {
        let (bins, threads) =
            (resolved.query.bins.count(), resolved.context.pool.current_num_threads());
        let copies = (threads + runs) as u64;
        limits::check(bins as u128, "bins", copies * BIN_BYTES, |most| {
            format!("a range of {most} bins would fit")
        })
    }

    fn count(&self, resolved: &Resolved<'_, Query>) -> Result<Vec<u64>, Error> {
        let Resolved { run, context, query, .. } = resolved;
        run.count_as(self.selection.join, context.progress.scan(), |recording| {
            context.pool.install(|| query.run(recording, &Execution::best()))
        })
    }

    fn add(&self, _: &[Resolved<'_, Query>], counts: Vec<Vec<u64>>) -> Result<Vec<u64>, Error> {
        let sum = counts.into_iter().reduce(|mut sum, more| {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            sum
        });
        Ok(sum.unwrap_or_default())
    }

    fn finish(&self, all: &[Resolved<'_, Query>], counts: Vec<u64>) -> Result<Finished, Error> {
        let first = &all[0];
        let unit = micro_tick(first.run)?;
        for other in all {
            if micro_tick(other.run)? != unit {
                return Err(Error::Request("the runs have micro times of different units".into()));
            }
        }
        let mut used = self.used(first)?;
        used.selection.sums_up(all.len());
        let name = first.context.setup.name_of(first.query.channel);
        let tags: u64 = counts.iter().sum();
        let header =
            format!("{}; {tags} tags in the bins; tick {}", words(first, &used)?, first.tick());
        let figure = FigureKind::Bins {
            title: "Micro times".into(),
            name,
            labels: ["micro time", "tags per bin"],
            value: ["count", "count_err"],
            is_ratio: false,
            is_logarithmic: false,
        };
        let rows = table(&first.query.bins, counts, unit);
        Ok(Finished { header, query: serde_json::to_value(used)?, singles: None, rows, figure })
    }

    fn plan(
        &self,
        query: &Query,
        _: Option<i64>,
        _: Tick,
        recording: &Recording<'_>,
    ) -> Result<Plan, QueryError> {
        query.plan(recording, &Execution::best())
    }

    fn described(
        &self,
        resolved: &Resolved<'_, Query>,
    ) -> Result<(String, serde_json::Value), Error> {
        let used = self.used(resolved)?;
        let header = format!("{}; tick {}", words(resolved, &used)?, resolved.tick());
        Ok((header, serde_json::to_value(used)?))
    }
}

impl MicroTimes {
    fn bins(
        &self,
        run: &Run,
        channel: u16,
        scope: &Scope,
        context: &QueryContext<'_>,
    ) -> Result<Bins, Error> {
        let unit = micro_tick(run)?;
        let width = self.bin.as_ref().map_or(Ok(1), |bin| bin.ticks(unit))?;
        match &self.range {
            Some(range @ Reach::Between(..)) => range.bins(|_| width, unit, context),
            Some(Reach::Around(_)) => Err(Error::Request(
                "a range of micro times has two ends, as `range` 0ns..12ns".into(),
            )),
            None => {
                let largest = run.count_as(self.selection.join, None, |recording| {
                    let execution = Execution::best();
                    context.pool.install(|| Query::largest(channel, scope, recording, &execution))
                })?;
                Ok(Bins::linear(0, i64::from(largest.unwrap_or(0)) + 1, width)?)
            }
        }
    }

    fn used(&self, resolved: &Resolved<'_, Query>) -> Result<Used, Error> {
        let (query, unit) = (&resolved.query, micro_tick(resolved.run)?);
        let bin = query.bins.edge(1) - query.bins.edge(0);
        Ok(Used {
            kind: "micro",
            channel: query.channel,
            micro_tick: unit.fraction(),
            bin_ticks: bin,
            bin_s: unit.seconds_of(bin.into()),
            range_ticks: [query.bins.edge(0), query.bins.edge(query.bins.count())],
            selection: SelectionUsed::of(&resolved.selected, self.selection.join, resolved.tick()),
        })
    }
}

/// Returns the unit of the micro times of a run.
fn micro_tick(run: &Run) -> Result<Tick, Error> {
    run.store().manifest().micro_tick.ok_or_else(|| {
        Error::Request(format!(
            "{} has no micro times, or their unit is not known; files of mode T3 have them",
            run.path().display()
        ))
    })
}

/// Returns the request as text for the header.
fn words(resolved: &Resolved<'_, Query>, used: &Used) -> Result<String, Error> {
    let (context, unit) = (resolved.context, micro_tick(resolved.run)?);
    let [low, high] = used.range_ticks.map(|ticks| unit.format(ticks.into()));
    Ok(format!(
        "micro times of {} from {low} to {high} in bins of {}{}",
        context.setup.name_of(used.channel),
        in_ticks(used.bin_ticks.into(), unit),
        used.selection.words(context.setup, resolved.tick())
    ))
}

/// Returns a row for each bin. Errors are those of counts, √max(C, 1).
fn table(bins: &Bins, counts: Vec<u64>, unit: Tick) -> Table {
    let rows = counts.len();
    let (bins, counts) = (Arc::new(bins.clone()), Arc::new(counts));
    let edges = Arc::clone(&bins);
    let low = Cells::made(rows, move |k| edges.edge(k));
    let edges = Arc::clone(&bins);
    let width = Cells::made(rows, move |k| edges.edge(k + 1) - edges.edge(k));
    let middle = Cells::made(rows, move |k| {
        let [low, high] = [k, k + 1].map(|edge| i128::from(bins.edge(edge)));
        Some(unit.seconds_of(low + high - 1) / 2.0)
    });
    let of_row = Arc::clone(&counts);
    let errors = Cells::made(rows, move |k| Some((of_row[k].max(1) as f64).sqrt()));
    let counts = Cells::made(rows, move |k| counts[k]);
    Table::default()
        .with(Column::integers("delay_ticks", low).heading("from (ticks)").key())
        .with(Column::integers("width_ticks", width).heading("ticks").hidden())
        .with(Column::floats("delay_s", middle).heading("micro time").unit(Unit::Seconds))
        .with(Column::counts("count", counts).err("count_err").compared())
        .with(Column::floats("count_err", errors).hidden())
}
