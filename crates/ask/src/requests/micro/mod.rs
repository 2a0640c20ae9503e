//! The request for histograms of micro times.
//!
//! Without `range`, bins reach from 0 to the largest micro time: with a unit of 25 ps and a largest one of 99, 100 bins
//! of 25 ps. Several runs are added only if their units are equal; bins and channels are those of the first run.

mod counts;
mod request;

pub use request::{MICRO, MicroTimes};

use std::collections::BTreeMap;

use serde::Serialize;
use tagq_ingest::HeldCounts;
use tagq_query::{
    Bins, Error as QueryError, Execution, Kind as _, Ledger, MicroTimes as Query, Scope, TimeBin,
    TimeDivision,
};
use tagq_run::{Channel, RequestError, Run, Work, counted};
use tagq_store::Tick;

use self::counts::{MicroBins, MicroCounts, Units};
use super::{
    columns::Place,
    context::QueryContext,
    detectors,
    division::{Division, each_bin},
    header::bin_width,
    held,
    histogram::Reach,
    kind::{Finished, RequestKind, Resolved},
    limits,
    options::RequestType,
    selection::{Selected, Selection},
    used::SelectionUsed,
};
use crate::{error::Error, figure::FigureKind};

/// Bytes of a bin while it is counted, in each task that a thread has begun.
const BIN_BYTES: u64 = 16;
/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    kind: &'static str,
    /// The unit of micro times, as a fraction of attoseconds.
    micro_tick: String,
    bin_ticks: i64,
    bin_s: f64,
    range_ticks: [i64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl RequestKind for MicroTimes {
    const TYPES: &'static [&'static RequestType] = &[&MICRO];
    const OF_COUNTS: &'static [&'static str] = &["channels", "bin", "exact_bins", "range"];

    type Query = Query;
    type Counts = MicroCounts;
    type Used = Used;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        Vec::new()
    }

    fn division(&self) -> Division<'_> {
        Division {
            bin: self.trace.as_ref(),
            by: self.by.as_deref(),
            is_exact: self.exact_bins,
            ..Division::default()
        }
    }

    fn chosen_bins(&self, query: &Query) -> Option<Bins> {
        self.range.is_none().then(|| query.bins.clone())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        bins: Option<&Bins>,
    ) -> Result<Query, Error> {
        let scope = selected.scope.clone();
        let channels = if let Some(counts) = run.held_counts()? {
            held::labels(run, scope.channels.as_deref(), counts.labels().map(|(label, _)| label))?
        } else {
            let in_use = || scope.in_use(&run.facts(self.selection.join));
            let taken = || detectors::with_micro_times(run, in_use(), context);
            let channels = scope.channels.clone().unwrap_or_else(taken);
            context.note_dark(run, channels.clone());
            channels
        };
        let bins = match bins {
            Some(bins) if self.range.is_none() => bins.clone(),
            _ => self.bins(run, &channels, &scope, context)?,
        };
        Ok(Query { channels, bins, scope })
    }

    /// Channels and bins are those of the first run.
    fn is_alike(&self, _: &Query, _: &Query) -> bool {
        true
    }

    fn unify(&self, all: &mut [Resolved<'_, Query>]) -> Result<(), Error> {
        let Some((first, others)) = all.split_first_mut() else { return Ok(()) };
        let micro = micro_tick(first.run)?;
        for other in others {
            if micro_tick(other.run)? != micro {
                return Err(RequestError::Runs(
                    "the runs have micro times of different units".into(),
                )
                .into());
            }
            if other.query.channels != first.query.channels && !other.run.holds_counts() {
                other.context.note_dark(other.run, first.query.channels.clone());
                other.query.channels.clone_from(&first.query.channels);
            }
        }
        Ok(())
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Work, Error> {
        let Resolved { run, context, query, .. } = resolved;
        let bins = query.bins.count() as u128 * query.channels.len() as u128;
        let copies = (context.pool.current_num_threads() + runs) as u64;
        limits::check(bins, "bins", copies * BIN_BYTES, |most| {
            format!("a range of {most} bins would fit")
        })?;
        let span = limits::span(&run.facts(self.selection.join), query.scope.range);
        let rows = u64::try_from(bins).unwrap_or(u64::MAX);
        resolved.check_trace(span, rows, runs as u64 * BIN_BYTES, "trace")?;
        let taken = run.count_as(self.selection.join, None, |recording| {
            Ok(context.pool.install(|| query.plan(recording, &Execution::best()))?.rows_taken())
        })?;
        let bytes = (copies * BIN_BYTES * rows) as f64;
        Ok(Work { rows: taken as f64, bytes, scans: 1.0, ..Work::default() })
    }

    fn count(
        &self,
        query: &Query,
        trace: Option<&TimeDivision>,
        _: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<MicroCounts, QueryError> {
        let Some(division) = trace else {
            let whole = MicroBins { counts: query.ask(ledger)?, is_partial: false };
            return Ok(MicroCounts(BTreeMap::from([(Place::default(), whole)])));
        };
        let scope = Scope { channels: Some(query.channels.clone()), ..query.scope.clone() };
        let frontier = |last| query.frontier(last);
        let of_bin = |ledger: &Ledger<'_>, bin: &TimeBin| query.over(bin.range).ask(ledger);
        let bins = each_bin(ledger, &scope, division, frontier, of_bin)?;
        let interval = |(bin, counts): (TimeBin, Vec<u64>)| {
            (Place::of(&bin), MicroBins { counts, is_partial: bin.is_partial() })
        };
        Ok(MicroCounts(bins.into_iter().map(interval).collect()))
    }

    fn take(
        &self,
        resolved: &Resolved<'_, Query>,
        counts: &HeldCounts,
    ) -> Result<MicroCounts, Error> {
        let Query { channels, bins, .. } = &resolved.query;
        let places = held::CountPlaces::new(channels, bins, counts);
        let mut sums = vec![0_u64; bins.count() * channels.len()];
        counts.read(|label, _, curve| {
            let Some(place) = places.of(label) else { return };
            for (bin, &count) in places.bins.iter().zip(curve) {
                if let Some(bin) = bin {
                    sums[place * bins.count() + bin] += u64::from(count);
                }
            }
        })?;
        let whole = MicroBins { counts: sums, is_partial: false };
        Ok(MicroCounts(BTreeMap::from([(Place::default(), whole)])))
    }

    fn add(
        &self,
        _: &[Resolved<'_, Query>],
        counts: Vec<MicroCounts>,
    ) -> Result<MicroCounts, Error> {
        Ok(counts.into_iter().reduce(MicroCounts::added).unwrap_or_default())
    }

    fn head(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(String, Used), Error> {
        let (query, tick) = (&resolved.query, resolved.tick());
        let micro = micro_tick(resolved.run)?;
        let bin = query.bins.edge(1) - query.bins.edge(0);
        let used = Used {
            kind: "micro",
            micro_tick: micro.fraction(),
            bin_ticks: bin,
            bin_s: micro.seconds_of(bin.into()),
            range_ticks: [query.bins.edge(0), query.bins.edge(query.bins.count())],
            trace_ticks: resolved.bin(),
            by: self.by.clone(),
            selection: SelectionUsed::of(&resolved.selected, self.selection.join, tick)
                .of_runs(runs),
        };
        let [low, high] = used.range_ticks.map(|ticks| micro.format(ticks.into()));
        let trace = match &self.by {
            Some(by) => format!("; by {by}"),
            None => used.trace_ticks.map_or(String::new(), |width| {
                format!("; trace in bins of {}", bin_width(width, self.trace.as_ref(), tick))
            }),
        };
        let words = format!(
            "micro times from {low} to {high} in bins of {}{trace}{}",
            bin_width(bin, self.bin.as_ref(), micro),
            used.selection.words(resolved.context.setup, tick)
        );
        Ok((words, used))
    }

    fn finish(&self, all: &[Resolved<'_, Query>], counts: MicroCounts) -> Result<Finished, Error> {
        let first = &all[0];
        let micro = micro_tick(first.run)?;
        let (words, used) = self.head(first, all.len())?;
        let header = format!(
            "{words}; {} in the bins; tick {}",
            counted(counts.tags(), if first.run.holds_counts() { "photon" } else { "tag" }),
            first.tick()
        );
        let Query { channels, bins, .. } = &first.query;
        let figure = match first.trace {
            Some(_) => FigureKind::MapOverTime {
                title: "Micro times over time".into(),
                labels: ["micro time", "tags per bin"],
                value: "count",
                unit: micro,
                is_logarithmic: false,
                width_s: first.bin_s(),
            },
            None => FigureKind::Bins {
                title: "Micro times".into(),
                name: None,
                unit: micro,
                labels: ["micro time", "tags per bin"],
                value: ["count", "count_err"],
                is_ratio: false,
                is_logarithmic: false,
            },
        };
        let units = Units { tick: first.tick(), micro, trace: first.trace.clone() };
        let rows = counts.table(channels, bins, &units);
        let query = serde_json::to_value(used)?;
        Ok(Finished { header, query, singles: None, rows, total: None, figure })
    }
}

impl MicroTimes {
    pub(super) fn bins(
        &self,
        run: &Run,
        channels: &[u16],
        scope: &Scope,
        context: &QueryContext<'_>,
    ) -> Result<Bins, Error> {
        let micro = micro_tick(run)?;
        let width = self.bin.as_ref().map_or(Ok(1), |bin| bin.ticks(micro, self.exact_bins))?;
        match &self.range {
            Some(range @ Reach::Between(..)) => range.bins(|_| width, micro, context),
            Some(Reach::Around(_)) => Err(RequestError::options(
                &["range"],
                "a range of micro times has two ends, as `range` 0ns..12ns".into(),
            )
            .into()),
            None if let Some(counts) = run.held_counts()? => {
                Ok(Bins::linear(0, counts.bins().into(), width)?)
            }
            None => {
                let largest = run.count_as(self.selection.join, None, |recording| {
                    let best = Execution::best();
                    let largest = || Query::largest(channels, scope, recording, &best);
                    context.pool.install(largest)
                })?;
                let largest = largest.unwrap_or(0);
                Ok(Bins::linear(0, i64::from(largest) + 1, width)?)
            }
        }
    }
}

/// Returns the unit of the micro times of a run.
pub(super) fn micro_tick(run: &Run) -> Result<Tick, Error> {
    if let Some(counts) = run.held_counts()? {
        return Ok(counts.unit());
    }
    let micro_tick = run.store().manifest().micro_tick;
    micro_tick.ok_or_else(|| Error::NoMicroTimes { run: run.path().to_path_buf() })
}
