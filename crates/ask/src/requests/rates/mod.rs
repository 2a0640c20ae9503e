//! The rates request. Without bins it reads little but the index, so that its counts are not cached; parts of each
//! block of time are counted like the whole, with the channels that the whole has.

mod counts;
mod request;

pub use request::{RATES, Rates};

use serde::Serialize;
use tagq_query::{
    Bins, Error as QueryError, Execution, Kind as _, Ledger, Rated, Rates as Query, ReadPlan,
    Recording, Scope, TimeBin, TimeDivision, TimeRange,
};
use tagq_run::{Channel, RequestError, Run, Work};
use tagq_store::Tick;

use self::counts::{RateBlock, RateCounts, add_to};
use super::{
    context::QueryContext,
    division::{Division, each_bin, each_block},
    header::header_end,
    kind::{Finished, RequestKind, Resolved},
    limits,
    options::RequestType,
    selection::{Selected, Selection},
    unlikely,
    used::{LIVE_TIME_OF_BINS, SelectionUsed},
};
use crate::{error::Error, figure::FigureKind};

/// Bytes of a bin of a trace in addition to its counts.
const BIN_BYTES: u64 = 24;

/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_blocks: Option<u32>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl RequestKind for Rates {
    const TYPES: &'static [&'static RequestType] = &[&RATES];

    type Query = Query;
    type Counts = RateCounts;
    type Used = Used;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        Vec::new()
    }

    fn division(&self) -> Division<'_> {
        Division {
            bin: self.bin.as_ref(),
            by: self.by.as_deref(),
            is_exact: self.exact_bins,
            errors: self.errors,
        }
    }

    fn check(&self) -> Result<(), Error> {
        if self.division().is_trace() && self.selection.live_time.is_some() {
            return Err(RequestError::options(&["live_time"], LIVE_TIME_OF_BINS.into()).into());
        }
        Ok(())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        _: Option<&Bins>,
    ) -> Result<Query, Error> {
        let scope = selected.scope.clone();
        context.note_dark(run, scope.channels.clone().unwrap_or_default());
        Ok(Query { scope, trace: None })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        one.scope.delays == other.scope.delays
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Work, Error> {
        let Resolved { run, context, query, .. } = resolved;
        if resolved.trace.is_none() {
            return Ok(Work::default());
        }
        let facts = run.facts(self.selection.join);
        let span = limits::span(&facts, query.scope.range);
        let channels = query.scope.in_use(&facts).len().max(1) as u64;
        // Sums hold the bins of two runs and of their sum.
        let copies = if runs > 1 { 3 } else { 1 };
        let blocks = u64::from(self.errors.blocks().unwrap_or(0));
        let bytes = BIN_BYTES + 24 * channels + blocks * (BIN_BYTES + 8 * channels);
        let scans = resolved.check_trace(span, copies, bytes, "bin")? * (blocks + 1) as f64;
        let traced = Query { trace: resolved.trace.clone(), ..query.clone() };
        let rows = run.count_as(self.selection.join, None, |recording| {
            let plan = context.pool.install(|| traced.plan(recording, &Execution::best()))?;
            Ok(plan.rows_taken() as f64)
        })?;
        Ok(Work { rows, scans: scans / 4.0, ..Work::default() })
    }

    /// It reads little but the index.
    fn is_kept(&self, _: &Query) -> bool {
        false
    }

    fn count(
        &self,
        query: &Query,
        trace: Option<&TimeDivision>,
        _: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<RateCounts, QueryError> {
        let query = Query { trace: trace.cloned(), ..query.clone() };
        let rated = query.ask(ledger)?;
        let blocks = self.blocks_of(ledger, &query, &rated)?;
        Ok(RateCounts::of(rated, blocks))
    }

    fn add(&self, _: &[Resolved<'_, Query>], counts: Vec<RateCounts>) -> Result<RateCounts, Error> {
        Ok(counts.into_iter().reduce(|sum, more| sum.added(&more)).unwrap_or_default())
    }

    fn head(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(String, Used), Error> {
        let tick = resolved.tick();
        let used = Used {
            kind: "rates",
            bin_ticks: resolved.bin(),
            bin_s: resolved.bin_s(),
            by: self.by.clone(),
            error_blocks: self.errors.blocks(),
            selection: SelectionUsed::of(&resolved.selected, self.selection.join, tick)
                .of_runs(runs),
        };
        let words = format!(
            "rates{}{}{}",
            resolved.trace_words(self.division()),
            self.errors.words(),
            used.selection.words(resolved.context.setup, tick)
        );
        Ok((words, used))
    }

    fn finish(&self, all: &[Resolved<'_, Query>], counts: RateCounts) -> Result<Finished, Error> {
        let first = &all[0];
        let tick = first.tick();
        let live_s = first.selected.live_s;
        if let Some(note) = unlikely::live_time(live_s, counts.live(), tick) {
            first.context.progress.note(&note);
        }
        let (words, used) = self.head(first, all.len())?;
        let live = match live_s {
            Some(seconds) => format!("{seconds} s (given)"),
            None => tick.format(counts.live()),
        };
        let header = format!("{words}; {}", header_end(first.run, &live));
        let figure = match first.trace {
            Some(_) => {
                let width_s = first.bin_s();
                FigureKind::Trace { title: ["Rate of", "Rates"], label: "rate", width_s }
            }
            None => FigureKind::Rates,
        };
        let query = serde_json::to_value(used)?;
        let (rows, total) = counts.tables(first.trace.as_ref(), live_s, tick);
        Ok(Finished { header, query, singles: None, rows, total: Some(total), figure })
    }

    fn plan(
        &self,
        query: &Query,
        trace: Option<&TimeDivision>,
        _: Tick,
        recording: &Recording<'_>,
    ) -> Result<ReadPlan, QueryError> {
        let query = Query { trace: trace.cloned(), ..query.clone() };
        query.plan(recording, &Execution::best())
    }
}

impl Rates {
    /// Counts each block of time: of the whole selection, or of each bin of the trace.
    fn blocks_of(
        &self,
        ledger: &Ledger<'_>,
        query: &Query,
        rated: &Rated,
    ) -> Result<Vec<Vec<RateBlock>>, QueryError> {
        let Some(blocks) = self.errors.blocks() else { return Ok(Vec::new()) };
        let of_range = |ledger: &Ledger<'_>, range: TimeRange| {
            let counted = each_block(ledger, range, blocks, |source, range| {
                let channels = Some(rated.channels.clone());
                let scope = Scope { channels, range, ..query.scope.clone() };
                let rated = Query { scope, trace: None }.ask(source)?;
                Ok((rated.counts(), rated.live()))
            })?;
            let block = |sources: Vec<(Vec<u64>, i128)>| {
                let mut block = RateBlock { counts: vec![0; rated.channels.len()], live: 0 };
                for (counts, live) in sources {
                    add_to(&mut block.counts, &counts);
                    block.live += live;
                }
                block
            };
            Ok(counted.into_iter().map(block).collect::<Vec<RateBlock>>())
        };
        let Some(division) = &query.trace else {
            return Ok(vec![of_range(ledger, query.scope.range)?]);
        };
        let of_bin = |ledger: &Ledger<'_>, bin: &TimeBin| of_range(ledger, bin.range);
        let frontier = |last| query.frontier(last);
        let bins = each_bin(ledger, &query.scope, division, frontier, of_bin)?;
        Ok(bins.into_iter().map(|(_, blocks)| blocks).collect())
    }
}
