//! The histogram request, including `g2`.
//!
//! A bin of 120 counts where 100 are expected for independent channels has a g2 of 1.2 ± 0.11, an error of √120/100.
//! Bins that are chosen for one run are kept for the parts and the other runs of its sum, since only counts of equal
//! bins add up.

mod bins;
mod cases;
mod counts;
mod kept;
mod pulsed;
mod request;

pub use kept::KeptBins;
pub use request::{G2, HISTOGRAM, Histogram, PulsePeriod, Reach};

use serde::Serialize;
use tagq_query::{
    Binned, Bins, Error as QueryError, Execution, Facts, Fold, Histogram as Query, Kind as _,
    Ledger, Period, ReadPlan, Recording, Scope, TimeBin, TimeDivision, TimeRange,
};
use tagq_run::{Channel, RequestError, Run, Work};
use tagq_store::Tick;

use self::{
    bins::instead,
    counts::{Expected, HistogramBlock, HistogramCounts, IntervalCounts, add_counts},
    pulsed::PeaksUsed,
    request::mode_name,
};
use super::{
    blocks::Errors,
    columns::Place,
    context::QueryContext,
    detectors::named_or_all,
    division::{Division, block_ranges, each_bin, each_block},
    header::{bin_width, header_end},
    kind::{Finished, RequestKind, Resolved},
    limits,
    options::RequestType,
    selection::{Selected, Selection},
    used::{MOVES, SelectionUsed},
};
use crate::{error::Error, figure::FigureKind};

/// Maximum number of bins of a result that is cached.
const KEPT_BINS_MAX: usize = 1 << 21;

/// Bytes of a row in text, about.
const ROW_TEXT: u64 = 500;
/// Maximum number of bins with a covariance.
const COVARIANCE_BINS_MAX: usize = 1 << 11;

/// The query as it was counted.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    mode: &'static str,
    start: u16,
    stop: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    range_ticks: [i64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    bins_per_decade: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period_ticks: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pulsed: Option<PeaksUsed>,
    /// The options that the user left open.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    chosen: &'static [&'static str],
    singles: [u64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    live_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_blocks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The query as it would be counted.
#[derive(Debug, Serialize)]
pub(super) struct UsedToExplain {
    kind: &'static str,
    mode: &'static str,
    start: u16,
    stop: u16,
    range_ticks: [i64; 2],
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl RequestKind for Histogram {
    const TYPES: &'static [&'static RequestType] = &[&G2, &HISTOGRAM];

    type Query = Query;
    type Counts = HistogramCounts;
    type Used = UsedToExplain;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        self.start.iter().chain(&self.stop).collect()
    }

    fn groups(&self, resolved: &Resolved<'_, Query>) -> Result<Vec<Vec<u16>>, Error> {
        Ok(vec![vec![resolved.query.start, resolved.query.stop]])
    }

    fn chosen_bins(&self, query: &Query) -> Option<Bins> {
        (!self.chosen().is_empty()).then(|| query.bins.clone())
    }

    fn recount_reason(&self) -> Option<&'static str> {
        if self.sync_divider.is_some() {
            return Some("its period is the mean over the whole run, and changes with it");
        }
        self.selection.moves().then_some(MOVES)
    }

    fn division(&self) -> Division<'_> {
        Division { by: self.by.as_deref(), errors: self.errors(), ..Division::default() }
    }

    fn check(&self) -> Result<(), Error> {
        if self.selection.live_time.is_some() {
            return Err(RequestError::options(
                &["live_time"],
                "a histogram has the live time that was recorded; leave `live_time` out".into(),
            )
            .into());
        }
        if self.by.is_some() && (self.pulsed.is_some() || self.errors() != Errors::Formula) {
            return Err(RequestError::options(&["pulsed", "errors"], 
                "intervals have errors by formula, and no `pulsed`; leave `pulsed` and `errors` out"
                    .into(),
            ).into());
        }
        if self.pulsed.is_some()
            && (!self.g2 || self.mode != tagq_query::Mode::All || self.covariance)
        {
            return Err(RequestError::options(
                &["pulsed", "mode", "covariance"],
                "`pulsed` is of g2, without its covariance; leave `mode` and `covariance` out"
                    .into(),
            )
            .into());
        }
        Ok(())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        bins: Option<&Bins>,
    ) -> Result<Query, Error> {
        let tick = run.store().manifest().tick;
        let named = [self.start.as_ref(), self.stop.as_ref()];
        let [start, stop] = named_or_all(named, ["start", "stop"], run, &selected.scope, context)?;
        // Sync pulses that are not tags are counted from, or refused.
        let of_tags = [start, stop].into_iter().filter(|&end| run.sync_period(end).is_none());
        context.note_dark(run, of_tags.collect());
        let (mode, fold) = (self.mode, self.fold(tick)?);
        let scope = selected.scope.clone();
        let any = Bins::Linear { low: 0, width: 1, count: 1 };
        let query = Query { start, stop, bins: any, mode, fold, scope };
        let bins = match bins {
            Some(bins) if !self.chosen().is_empty() => bins.clone(),
            _ => match self.peaks(run, &query, context)? {
                Some(peaks) => {
                    peaks.note_period(context);
                    peaks.bins()?
                }
                None => {
                    self.bins(run, &query, context).map_err(|error| self.too_many(error, tick))?
                }
            },
        };
        self.check_covariance(bins.count())?;
        Ok(Query { bins, ..query })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        // Without `..`: a new field must be compared or ignored on purpose.
        let alike = |query: &Query| {
            let Query { start, stop, bins, mode: _, fold: _, scope } = query;
            (*start, *stop, bins.clone(), scope.delays.clone())
        };
        alike(one) == alike(other)
    }

    fn unify(&self, all: &mut [Resolved<'_, Query>]) -> Result<(), Error> {
        if all.len() > 1 && self.sync_divider.is_some() {
            return Err(RequestError::options(&["period"], 
                "each run has a sync period of its own; for the sum of several runs give it with `period`".into(),
            ).into());
        }
        Ok(())
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Work, Error> {
        let Resolved { run, context, query, .. } = resolved;
        let tick = resolved.tick();
        let bins = query.bins.count();
        let copies = if runs > 1 { 2 } else { 1 };
        let width = query.bins.edge(1).saturating_sub(query.bins.edge(0));
        limits::check(bins as u128, "bins", copies * self.bin_bytes(), |most| {
            instead(bins as u128, width, most, tick)
        })?;
        let (taken, pairs) = run.count_as(self.selection.join, None, |recording| {
            self.check_g2(query, &recording.facts())?;
            let plan = context.pool.install(|| query.plan(recording, &Execution::best()))?;
            let reach = query.bins.edge(bins) as f64 - query.bins.edge(0) as f64;
            let pairs = recording.sources.iter().map(|source| {
                let [a, b] = [query.start, query.stop].map(|c| source.singles_of(c) as f64);
                let live = source.span().map_or(0, |(first, last)| last.abs_diff(first)) as f64;
                // Without single pairs: a step for each tag at each edge, twice as fast.
                let edges = bins as f64 * (2.0 * live / reach).min(1.0);
                let of_merges = (a + b) * edges / 2.0;
                if live > 0.0 { (a * b * (reach / live).min(1.0)).min(of_merges) } else { 0.0 }
            });
            Ok((plan.rows_taken() as f64, pairs.sum::<f64>()))
        })?;
        let span = limits::span(&run.facts(self.selection.join), query.scope.range);
        // The count, its sum over sources, and with g2 the expectation.
        let bytes = if self.g2 { 48 } else { 16 };
        resolved.check_trace(span, bins as u64, runs as u64 * bytes, "by")?;
        let passes = if self.errors() == Errors::Formula { 1.0 } else { 2.0 };
        let of_covariance = match self.errors().blocks() {
            Some(blocks) if self.covariance => bins as f64 * (100.0 + f64::from(blocks)),
            _ => 0.0,
        };
        let of_row = (copies * self.bin_bytes() + ROW_TEXT) as f64;
        let bytes = bins as f64 * (of_covariance + of_row);
        Ok(Work { rows: passes * taken, pairs: passes * pairs, bytes, scans: passes })
    }

    /// Results with more bins need the memory themselves.
    fn is_kept(&self, query: &Query) -> bool {
        query.bins.count() <= KEPT_BINS_MAX
    }

    /// Counts, and the same in each interval; with g2 also the expected counts, and with block errors the counts of each block.
    fn count(
        &self,
        query: &Query,
        trace: Option<&TimeDivision>,
        _: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<HistogramCounts, QueryError> {
        let binned = query.ask(ledger)?;
        let intervals = match trace {
            Some(division) => self.intervals(ledger, query, &binned, division)?,
            None => Vec::new(),
        };
        let expected = self.g2.then(|| query.expected(ledger)).transpose()?;
        let blocks = match self.errors().blocks() {
            Some(blocks) => self.blocks_of(ledger, query, &binned, blocks)?,
            None => Vec::new(),
        };
        Ok(HistogramCounts { binned, expected, blocks, intervals })
    }

    fn add(
        &self,
        _: &[Resolved<'_, Query>],
        counts: Vec<HistogramCounts>,
    ) -> Result<HistogramCounts, Error> {
        let sum = counts.into_iter().reduce(HistogramCounts::added);
        sum.ok_or_else(|| RequestError::Runs("a sum is of at least one run".into()).into())
    }

    fn finish(
        &self,
        all: &[Resolved<'_, Query>],
        tallied: HistogramCounts,
    ) -> Result<Finished, Error> {
        let first = &all[0];
        let (query, tick, context) = (&first.query, first.tick(), first.context);
        let live = tallied.live();
        let binned = &tallied.binned;
        let peaks = self.peaks(first.run, query, context)?;
        let found = peaks.map(|peaks| -> Result<_, Error> {
            for one in all {
                peaks.note_afterpulses(one.run, &one.query, self.selection.join, context);
            }
            let low = peaks.note_aside(query, binned, tick, context);
            Ok((peaks, low, peaks.found(&tallied, low.is_some(), context)?))
        });
        let found = found.transpose()?;
        let is_even = self.log.is_none() && peaks.is_none();
        let bin = is_even.then(|| binned.bins.edge(1) - binned.bins.edge(0));
        let used = Used {
            kind: "histogram",
            mode: mode_name(self.mode),
            start: query.start,
            stop: query.stop,
            bin_ticks: bin,
            bin_s: bin.map(|bin| tick.seconds_of(bin.into())),
            range_ticks: [binned.bins.edge(0), binned.bins.edge(binned.bins.count())],
            bins_per_decade: self.log,
            period_ticks: binned.period.map(ticks_of),
            pulsed: found.as_ref().map(|(peaks, _, found)| peaks.used(found, tick)),
            chosen: self.chosen(),
            singles: binned.singles(),
            dropped: binned.dropped,
            live_s: tick.seconds_of(live),
            error_blocks: self.errors().blocks(),
            by: self.by.clone(),
            selection: SelectionUsed::of(&first.selected, self.selection.join, tick)
                .of_runs(all.len()),
        };
        let names = [used.start, used.stop].map(|channel| context.setup.name_of(channel));
        let peak_words = peaks.map_or(String::new(), |peaks| peaks.words(tick));
        let mut header = self.header(first.run, &used, &peak_words, context, live);
        let mut figure = self.figure(names, tick);
        let rows = match (&first.trace, found) {
            (Some(division), _) => tallied.rows_of_intervals(query, tick, division),
            (None, Some((peaks, low, found))) => {
                if let FigureKind::Bins { title, .. } = figure {
                    figure = found.figure(title, &tallied.binned, tick, low);
                }
                header = format!("{header}; {}", found.words(&peaks, tick));
                peaks.rows(&tallied.binned, found, tick)
            }
            (None, None) => {
                let rows = tallied.rows(query, tick, (self.covariance, context.progress.scan()));
                context.progress.check()?;
                rows
            }
        };
        Ok(Finished {
            total: None,
            header,
            query: serde_json::to_value(used)?,
            singles: None,
            rows,
            figure,
        })
    }

    fn plan(
        &self,
        query: &Query,
        _: Option<&TimeDivision>,
        _: Tick,
        recording: &Recording<'_>,
    ) -> Result<ReadPlan, QueryError> {
        self.check_g2(query, &recording.facts())?;
        let mut plan = query.plan(recording, &Execution::best())?;
        plan.is_at_least |= self.g2;
        Ok(plan)
    }

    fn head(
        &self,
        resolved: &Resolved<'_, Query>,
        runs: usize,
    ) -> Result<(String, UsedToExplain), Error> {
        let Resolved { context, selected, query, .. } = resolved;
        let tick = resolved.tick();
        let kind = if self.g2 { "g2" } else { "histogram" };
        let [start, stop] = [query.start, query.stop].map(|channel| context.setup.name_of(channel));
        let used = UsedToExplain {
            kind: "histogram",
            mode: mode_name(query.mode),
            start: query.start,
            stop: query.stop,
            range_ticks: [query.bins.edge(0), query.bins.edge(query.bins.count())],
            selection: SelectionUsed::of(selected, self.selection.join, tick).of_runs(runs),
        };
        let words = used.selection.words(context.setup, tick);
        let [low, high] = used.range_ticks.map(|ticks| tick.format(ticks.into()));
        let words = format!(
            "{kind}, mode {}: {start} to {stop}, \u{394} from {low} to {high}{words}",
            used.mode
        );
        Ok((words, used))
    }
}

impl Histogram {
    /// Returns the method for errors: from blocks for pulsed light, whose pairs are not independent, unless the request states it.
    fn errors(&self) -> Errors {
        let of_light = match self.pulsed {
            Some(_) => Errors::Blocks(Errors::DEFAULT_BLOCKS),
            None => Errors::Formula,
        };
        self.errors.unwrap_or(of_light)
    }

    /// Returns the bytes of a bin while it is counted.
    fn bin_bytes(&self) -> u64 {
        // With g2, the expected and the actual counts; with block errors, the same for each block.
        let once = if self.g2 { 48 } else { 8 };
        let blocks = u64::from(self.errors().blocks().unwrap_or(0));
        once + blocks * if self.g2 { 40 } else { 16 }
    }

    /// Rejects a g2 of a query that has no expectation.
    fn check_g2(&self, query: &Query, facts: &Facts) -> Result<(), QueryError> {
        if self.g2 { query.check_g2(facts) } else { Ok(()) }
    }

    /// Rejects a covariance without blocks, or of too many bins.
    fn check_covariance(&self, bins: usize) -> Result<(), Error> {
        let has_blocks = self.g2 && self.errors() != Errors::Formula;
        match self.covariance {
            true if !has_blocks => Err(RequestError::options(&["covariance", "errors"], 
                "`covariance` is that of g2 from blocks; it goes with g2 and `errors` blocks"
                    .into(),
            ).into()),
            true if bins > COVARIANCE_BINS_MAX => Err(RequestError::TooLarge(format!(
                "the covariance of {bins} bins is too large; take at most {COVARIANCE_BINS_MAX} bins"
            )).into()),
            true | false => Ok(()),
        }
    }

    /// Counts each interval of a division, with g2 also the expected counts.
    fn intervals(
        &self,
        ledger: &Ledger<'_>,
        query: &Query,
        whole: &Binned,
        division: &TimeDivision,
    ) -> Result<Vec<IntervalCounts>, QueryError> {
        // The period of a sync is that of the whole run, and the channels are always those two.
        let fold = whole.period.map(Fold::Period).or(query.fold);
        let channels = Some(vec![query.start, query.stop]);
        let scope = Scope { channels, ..query.scope.clone() };
        let query = Query { scope, fold, ..query.clone() };
        let of_bin = |ledger: &Ledger<'_>, bin: &TimeBin| {
            let query = query.over(bin.range);
            let expected = self.g2.then(|| query.expected(ledger)).transpose()?;
            Ok((query.ask(ledger)?.counts, expected))
        };
        let frontier = |last| query.frontier(last);
        let counted = each_bin(ledger, &query.scope, division, frontier, of_bin)?;
        let of = |(bin, (counts, expected)): (TimeBin, (Vec<u64>, Expected))| IntervalCounts {
            place: Place::of(&bin),
            is_partial: bin.is_partial(),
            counts,
            expected,
        };
        Ok(counted.into_iter().map(of).collect())
    }

    /// Counts the blocks of time; with g2 also the expected counts of all others.
    fn blocks_of(
        &self,
        ledger: &Ledger<'_>,
        query: &Query,
        binned: &Binned,
        blocks: u32,
    ) -> Result<Vec<HistogramBlock>, QueryError> {
        let expected: Vec<Expected> = if self.g2 {
            let ranges = block_ranges(ledger.facts(), query.scope.range, blocks);
            let left_out: Vec<Vec<Option<TimeRange>>> =
                ranges.iter().map(|sources| sources.iter().copied().map(Some).collect()).collect();
            let expected = query.expected_without(ledger, &left_out)?;
            expected.into_iter().map(Some).collect()
        } else {
            vec![None; blocks as usize]
        };
        // The period of a sync is that of the whole run.
        let fold = binned.period.map(Fold::Period).or(query.fold);
        let counted = each_block(ledger, query.scope.range, blocks, |source, range| {
            let scope = Scope { range, ..query.scope.clone() };
            let binned = Query { fold, scope, ..query.clone() }.ask(source)?;
            Ok((binned.counts, source.facts()[0].live().ticks_in(range)))
        })?;
        let block = |(sources, expected_without): (Vec<(Vec<u64>, i64)>, Expected)| {
            let counts = vec![0; binned.counts.len()];
            let mut block = HistogramBlock { counts, live: 0, expected_without };
            for (counts, live) in sources {
                add_counts(&mut block.counts, counts);
                block.live += i128::from(live);
            }
            block
        };
        Ok(counted.into_iter().zip(expected).map(block).collect())
    }

    /// Returns how the rows are drawn, with these channel names.
    fn figure(&self, [start, stop]: [String; 2], unit: Tick) -> FigureKind {
        let title = match (self.g2, start == stop) {
            (false, _) => format!("Differences of times, {start} to {stop}"),
            (true, true) => format!("g\u{b2}(\u{3c4}) of {start} with itself"),
            (true, false) => format!("g\u{b2}(\u{3c4}) of {start} and {stop}"),
        };
        let is_logarithmic = self.log.is_some();
        let (labels, value) = if self.g2 {
            (["delay \u{3c4}", "g\u{b2}(\u{3c4})"], ["g2", "g2_err"])
        } else {
            let delay = "\u{394} = time of stop \u{2212} time of start";
            ([delay, "counts"], ["count", "count_err"])
        };
        if self.by.is_some() {
            let [value, _] = value;
            return FigureKind::MapOverTime {
                title,
                labels,
                value,
                unit,
                is_logarithmic,
                width_s: None,
            };
        }
        FigureKind::Bins {
            title,
            name: Some(format!("{start},{stop}")),
            unit,
            labels,
            value,
            is_ratio: self.g2,
            is_logarithmic,
        }
    }

    fn header(
        &self,
        run: &Run,
        used: &Used,
        peaks: &str,
        context: &QueryContext<'_>,
        live: i128,
    ) -> String {
        let tick = run.store().manifest().tick;
        let [start, stop] = [used.start, used.stop].map(|channel| context.setup.name_of(channel));
        let [low, high] = used.range_ticks;
        let chosen = if used.chosen.contains(&"bin") { " (chosen)" } else { "" };
        let bins = match (used.bin_ticks, self.log) {
            (Some(bin), _) => {
                format!("bins of {}{chosen}", bin_width(bin, self.bin.as_ref(), tick))
            }
            (None, Some(log)) => format!("{log} bins a decade"),
            (None, None) => peaks.to_owned(),
        };
        let folded = used
            .period_ticks
            .map_or(String::new(), |period| format!("; folded into {period} ticks"));
        let [starts, stops] = used.singles;
        let dropped =
            used.dropped.map_or(String::new(), |dropped| format!("; {dropped} in no bin"));
        let kind = if self.g2 { "g2" } else { "histogram" };
        let by = used.by.as_ref().map_or(String::new(), |by| format!("; by {by}"));
        format!(
            "{kind}, mode {}: {start} to {stop}, \u{394} from {} to {} in {bins}{by}{folded}{dropped}{}{}; \
             N = {starts}, {stops}; {}",
            used.mode,
            tick.format(low.into()),
            tick.format(high.into()),
            self.errors().words(),
            used.selection.words(context.setup, tick),
            header_end(run, &tick.format(live))
        )
    }
}

fn ticks_of(period: Period) -> f64 {
    period.numerator as f64 / period.denominator as f64
}
