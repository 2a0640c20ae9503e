//! The request for a histogram in two dimensions.
//!
//! A `range` of 0t..640t without `bin` has 64 bins of 10 ticks for each difference, 4,096 cells.

mod request;
mod table;

pub use request::{HISTOGRAM2D, Histogram2d};

use serde::Serialize;
use tagq_query::{
    Binned2d, Bins, Error as QueryError, Execution, Histogram2d as Query, Kind as _, Ledger,
    TimeDivision,
};
use tagq_run::{Channel, RequestError, Run, Work};
use tagq_store::Tick;

use super::{
    context::QueryContext,
    detectors::named_or_all,
    header::{bin_width, header_end},
    kind::{Finished, RequestKind, Resolved},
    limits,
    options::RequestType,
    selection::{Selected, Selection},
    used::SelectionUsed,
};
use crate::{error::Error, figure::FigureKind};

/// Number of bins of a range if no bin width is requested; up to twice as many are possible.
const BINS_OF_RANGE: i128 = 64;
/// Bins on either side of zero if no range is requested.
const DEFAULT_BINS: i64 = 32;

/// Bytes of a cell while it is counted, in each thread.
const CELL_BYTES: u64 = 8;

/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    kind: &'static str,
    herald: u16,
    a: u16,
    b: u16,
    bin_ticks: i64,
    bin_s: f64,
    range_ticks: [i64; 2],
    /// Heralds, tags of A and tags of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    singles: Option<[u64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live_s: Option<f64>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl RequestKind for Histogram2d {
    const TYPES: &'static [&'static RequestType] = &[&HISTOGRAM2D];

    type Query = Query;
    /// With g3, also the expected count of each cell.
    type Counts = (Binned2d, Option<Vec<f64>>);
    type Used = Used;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        self.herald.iter().chain(&self.a).chain(&self.b).collect()
    }

    fn groups(&self, resolved: &Resolved<'_, Query>) -> Result<Vec<Vec<u16>>, Error> {
        let Query { herald, others: [a, b], .. } = resolved.query;
        Ok(vec![vec![herald, a, b]])
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        _: Option<&Bins>,
    ) -> Result<Query, Error> {
        let named = [self.herald.as_ref(), self.a.as_ref(), self.b.as_ref()];
        let [herald, a, b] =
            named_or_all(named, ["herald", "a", "b"], run, &selected.scope, context)?;
        context.note_dark(run, vec![herald, a, b]);
        let bins = self.bins(run.store().manifest().tick, context)?;
        Ok(Query { herald, others: [a, b], bins, scope: selected.scope.clone() })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        // Without `..`: a new field must be compared or ignored on purpose.
        let alike = |query: &Query| {
            let Query { herald, others, bins, scope } = query;
            (*herald, *others, bins.clone(), scope.delays.clone())
        };
        alike(one) == alike(other)
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Work, Error> {
        let Resolved { run, context, query, .. } = resolved;
        let bins = query.bins.count() as u128;
        // Each thread counts in cells of its own; the cells of all runs are added at the end, and those of g3.
        let cells = context.pool.current_num_threads() + runs - 1;
        let copies = if self.g3 { cells + runs } else { cells };
        limits::check(bins * bins, "cells", copies as u64 * CELL_BYTES, |most| {
            format!("{} bins of each difference would fit", most.isqrt())
        })?;
        let reach = query.bins.edge(query.bins.count()) as f64 - query.bins.edge(0) as f64;
        let (taken, triples) = run.count_as(self.selection.join, None, |recording| {
            let plan = context.pool.install(|| query.plan(recording, &Execution::best()))?;
            let triples = recording.sources.iter().map(|source| {
                let tags = |channel| source.singles_of(channel) as f64;
                let live = source.span().map_or(0, |(first, last)| last.abs_diff(first)) as f64;
                // Of each herald, those within reach.
                let near = |channel| tags(channel) * (reach / live.max(1.0)).min(1.0);
                query.others.map(near).iter().product::<f64>() * tags(query.herald)
            });
            Ok((plan.rows_taken() as f64, triples.sum::<f64>()))
        })?;
        let bytes = (bins * bins) as f64 * copies as f64 * CELL_BYTES as f64;
        Ok(Work { rows: taken, pairs: triples, bytes, scans: 1.0 })
    }

    fn count(
        &self,
        query: &Query,
        _: Option<&TimeDivision>,
        _: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<Self::Counts, QueryError> {
        let binned = query.ask(ledger)?;
        let expected = self.g3.then(|| query.expected(ledger.facts(), &binned));
        Ok((binned, expected))
    }

    fn add(
        &self,
        _: &[Resolved<'_, Query>],
        counts: Vec<Self::Counts>,
    ) -> Result<Self::Counts, Error> {
        let sum = counts.into_iter().reduce(|(mut sum, mut expected), (more, more_expected)| {
            sum.counts.iter_mut().zip(more.counts).for_each(|(count, more)| *count += more);
            sum.sources.extend(more.sources);
            let both = expected.iter_mut().flatten().zip(more_expected.into_iter().flatten());
            both.for_each(|(expected, more)| *expected += more);
            (sum, expected)
        });
        sum.ok_or_else(|| RequestError::Runs("a sum is of at least one run".into()).into())
    }

    fn head(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(String, Used), Error> {
        let (query, context, tick) = (&resolved.query, resolved.context, resolved.tick());
        let bin = query.bins.edge(1) - query.bins.edge(0);
        let used = Used {
            kind: "histogram2d",
            herald: query.herald,
            a: query.others[0],
            b: query.others[1],
            bin_ticks: bin,
            bin_s: tick.seconds_of(bin.into()),
            range_ticks: [query.bins.edge(0), query.bins.edge(query.bins.count())],
            singles: None,
            live_s: None,
            selection: SelectionUsed::of(&resolved.selected, self.selection.join, tick)
                .of_runs(runs),
        };
        let [herald, a, b] = names(query, context);
        let [low, high] = used.range_ticks.map(|ticks| tick.format(ticks.into()));
        let words = format!(
            "histogram2d: {a} and {b} to {herald}, \u{394} from {low} to {high} in bins of {}{}",
            bin_width(bin, self.bin.as_ref(), tick),
            used.selection.words(context.setup, tick)
        );
        Ok((words, used))
    }

    fn finish(
        &self,
        all: &[Resolved<'_, Query>],
        (binned, expected): Self::Counts,
    ) -> Result<Finished, Error> {
        let first = &all[0];
        let (query, tick) = (&first.query, first.tick());
        let live = binned.sources.iter().map(|source| i128::from(source.live)).sum();
        let singles = [0, 1, 2].map(|i| binned.sources.iter().map(|of| of.singles[i]).sum());
        let (words, mut used) = self.head(first, all.len())?;
        used.singles = Some(singles);
        used.live_s = Some(tick.seconds_of(live));
        let [herald, a, b] = names(query, first.context);
        let figure = FigureKind::Map {
            title: format!(
                "{} of {a} and {b}, heralded by {herald}",
                if self.g3 { "g\u{b3}" } else { "Differences of times" }
            ),
            labels: [format!("{a} \u{2212} {herald}"), format!("{b} \u{2212} {herald}")],
            value: if self.g3 { "g3" } else { "count" },
            is_ratio: self.g3,
        };
        Ok(Finished {
            total: None,
            header: format!(
                "{words}; N = {}, {}, {}; {}",
                singles[0],
                singles[1],
                singles[2],
                header_end(first.run, &tick.format(live))
            ),
            query: serde_json::to_value(used)?,
            singles: None,
            rows: table::of(binned, expected, tick),
            figure,
        })
    }
}

impl Histogram2d {
    /// Returns the bins of both differences.
    fn bins(&self, tick: Tick, context: &QueryContext<'_>) -> Result<Bins, Error> {
        let width = self.bin.as_ref().map(|bin| bin.ticks(tick, self.exact_bins)).transpose()?;
        let width_of = |ticks: i128| {
            width.unwrap_or_else(|| i64::try_from(ticks / BINS_OF_RANGE).unwrap_or(i64::MAX).max(1))
        };
        match (&self.range, width) {
            (Some(range), _) => range.bins(width_of, tick, context),
            (None, Some(width)) => Ok(Bins::centred(DEFAULT_BINS.saturating_mul(width), width)?),
            (None, None) => Err(RequestError::missing(
                "range",
                "; state the differences to count, as 20ns for both sides of zero",
            )
            .into()),
        }
    }
}

fn names(query: &Query, context: &QueryContext<'_>) -> [String; 3] {
    [query.herald, query.others[0], query.others[1]].map(|channel| context.setup.name_of(channel))
}
