//! The question "histogram", and "g2" as one of its kinds.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use tagq_query::{
    Binned, Bins, Error as QueryError, Execution, Fold, Histogram as Query, Measured, Mode, Period,
    Plan, Recording, Scope, TimeRange, covariance, normalised,
};
use tagq_store::{Duration, Tick};

use super::{
    BinWidth, Channel, Errors, Selection, blocks, coarse,
    context::QueryContext,
    kind::{Finished, Kind, Resolved},
    limits,
    select::Selected,
    used::{MOVES, SelectionUsed, header_end, in_ticks},
};
use crate::{
    Answer, Cells, Column, Error, FigureKind, Run, Table, Unit,
    cache::{Kept, Putting},
};

/// Cells on either side of zero when no range is asked for.
const DEFAULT_BINS: i64 = 64;
/// Bins of an answer that the cache keeps.
const KEPT_BINS_MAX: usize = 1 << 21;
/// Bins of a range for which no bin is asked, or up to twice as many.
const BINS_OF_RANGE: i128 = 100;

/// How the times of two channels differ (docs/queries.md, section "Histogram").
#[derive(Debug, Clone)]
pub struct Histogram {
    /// From the tags of this channel …
    pub start: Channel,
    /// … to those of this one.
    pub stop: Channel,
    /// The width of a bin; chosen by what the channels hold without it.
    pub bin: Option<BinWidth>,
    /// Of which differences; chosen without it.
    pub range: Option<Reach>,
    /// So many bins a decade, in place of bins of one width.
    pub log: Option<u32>,
    /// Which pairs.
    pub mode: Mode,
    /// Folded into this period.
    pub period: Option<Duration>,
    /// Folded into the period of a sync of which each n-th pulse was recorded.
    pub sync_divider: Option<u32>,
    /// Normalised by what light without correlation would give.
    pub g2: bool,
    /// How errors are found.
    pub errors: Errors,
    /// Also the covariance of the g2 of all bins, from blocks.
    pub covariance: bool,
    /// Of which tags.
    pub selection: Selection,
}

/// The range of differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// So far on either side of zero, the middle bin centred on it.
    Around(Duration),
    /// From one difference up to, not including, another.
    Between(Duration, Duration),
}

impl std::str::FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |text: &str| text.parse::<Duration>().map_err(|e| e.to_string());
        match text.split_once("..") {
            Some((low, high)) => Ok(Self::Between(parse(low)?, parse(high)?)),
            None => parse(text).map(Self::Around),
        }
    }
}

/// Largest number of bins with a covariance.
const COVARIANCE_BINS_MAX: usize = 1 << 11;

/// What light without correlation would give in each bin, where that is asked for.
type Expected = Option<Vec<Option<f64>>>;

/// What was counted in one run, or in several.
pub(super) struct Tallied {
    binned: Binned,
    expected: Expected,
    blocks: Vec<Block>,
}

/// What one block of time has.
struct Block {
    counts: Vec<u64>,
    live: i128,
    /// What is expected of all the rest.
    expected_without: Expected,
}

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
    /// What the person left to be chosen.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    chosen: &'static [&'static str],
    singles: [u64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    live_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_blocks: Option<u32>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The query as it would be counted.
#[derive(Debug, Serialize)]
struct UsedToExplain {
    kind: &'static str,
    mode: &'static str,
    start: u16,
    stop: u16,
    range_ticks: [i64; 2],
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The word for a mode.
fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::All => "all",
        Mode::Next => "next",
        Mode::Last => "last",
        Mode::Grid => "grid",
        _ => "other",
    }
}

impl Kind for Histogram {
    type Query = Query;
    type Counts = Tallied;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        vec![&self.start, &self.stop]
    }

    fn bin_of_trace(&self) -> Option<&BinWidth> {
        None
    }

    fn take_bins(&mut self, answer: &Answer) -> Result<(), Error> {
        let ticks = |value: &serde_json::Value| format!("{value}t");
        if answer.query.get("chosen").is_some() {
            let range = &answer.query["range_ticks"];
            self.bin = Some(ticks(&answer.query["bin_ticks"]).parse()?);
            self.range = Some(Reach::Between(ticks(&range[0]).parse()?, ticks(&range[1]).parse()?));
        }
        Ok(())
    }

    fn counted_anew(&self) -> Option<&'static str> {
        if self.sync_divider.is_some() {
            return Some("its period is the mean over the whole run, and changes with it");
        }
        self.selection.moves().then_some(MOVES)
    }

    fn errors(&self) -> Errors {
        self.errors
    }

    fn check(&self) -> Result<(), Error> {
        if self.selection.live_time.is_some() {
            return Err(Error::Question(
                "a histogram has the live time that was recorded; leave --live-time out".into(),
            ));
        }
        Ok(())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        first: Option<&Query>,
    ) -> Result<Query, Error> {
        if first.is_some() && self.sync_divider.is_some() {
            return Err(Error::Question(
                "each run has a sync period of its own; for --sum give it with --period".into(),
            ));
        }
        let tick = run.store().manifest().tick;
        let [start, stop] = [&self.start, &self.stop].map(|channel| context.setup.channel(channel));
        let (start, stop) = (start?, stop?);
        context.note_dark(run, vec![start, stop]);
        let (mode, fold) = (self.mode, self.fold(tick)?);
        let scope = selected.scope.clone();
        let any = Bins::Linear { low: 0, width: 1, count: 1 };
        let query = Query { start, stop, bins: any, mode, fold, scope };
        // Bins that were chosen are those of the first run.
        let bins = match first {
            Some(first) if !self.chosen().is_empty() => first.bins.clone(),
            _ => self.bins(run, &query, context).map_err(|error| self.too_many(error, tick))?,
        };
        self.check_covariance(bins.count())?;
        Ok(Query { bins, ..query })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        // Without `..`: a new field has to be compared or not, on purpose.
        let alike = |query: &Query| {
            let Query { start, stop, bins, mode: _, fold: _, scope } = query;
            (*start, *stop, bins.clone(), scope.delays.clone())
        };
        alike(one) == alike(other)
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(), Error> {
        let Resolved { run, context, query, .. } = resolved;
        let tick = resolved.tick();
        let bins = query.bins.count();
        let copies = if runs > 1 { 2 } else { 1 };
        let width = query.bins.edge(1).saturating_sub(query.bins.edge(0));
        limits::check(bins as u128, "bins", copies * self.bin_bytes(), |most| {
            instead(bins as u128, width, most, tick)
        })?;
        let (taken, pairs) = run.count_as(self.selection.join, None, |recording| {
            let plan = context.pool.install(|| query.plan(recording, &Execution::best()))?;
            let reach = query.bins.edge(bins) as f64 - query.bins.edge(0) as f64;
            let pairs = recording.sources.iter().map(|source| {
                let [a, b] = [query.start, query.stop].map(|c| source.singles_of(c) as f64);
                let live = source.span().map_or(0, |(first, last)| last.abs_diff(first)) as f64;
                let of_merges = (a + b) * bins as f64;
                if live > 0.0 { (a * b * (reach / live).min(2.0)).min(of_merges) } else { 0.0 }
            });
            Ok((plan.rows_taken() as f64, pairs.sum::<f64>()))
        })?;
        let passes = if self.errors == Errors::Formula { 1.0 } else { 2.0 };
        limits::note_long(context, passes, passes * (taken + pairs));
        Ok(())
    }

    /// With g2 also what is expected, and with block errors what each block has.
    fn count(&self, resolved: &Resolved<'_, Query>) -> Result<Tallied, Error> {
        let &Resolved { run, context, ref query, .. } = resolved;
        let is_joined = self.selection.join;
        // More bins are no answer that is kept, and need their memory.
        let is_new = self.counted_anew().is_some() || query.bins.count() > KEPT_BINS_MAX;
        let kept = Kept::new(run, Putting { is_joined, bin: None, is_new });
        let counted =
            run.count_as(self.selection.join, context.progress.course(), |recording| {
                context.pool.install(|| {
                    let execution = Execution::best();
                    let binned = kept.answer(query, recording, &execution)?;
                    let expected =
                        self.g2.then(|| query.expected(recording, &execution)).transpose()?;
                    let blocks = match self.errors.blocks() {
                        Some(blocks) => self.in_blocks(recording, query, binned.period, blocks)?,
                        None => Vec::new(),
                    };
                    Ok(Tallied { binned, expected, blocks })
                })
            })?;
        kept.keep();
        Ok(counted)
    }

    fn add(&self, _: &[Resolved<'_, Query>], counts: Vec<Tallied>) -> Result<Tallied, Error> {
        let sum = counts.into_iter().reduce(Tallied::added);
        sum.ok_or_else(|| Error::Question("a sum is of at least one run".into()))
    }

    fn finish(&self, all: &[Resolved<'_, Query>], tallied: Tallied) -> Result<Finished, Error> {
        let first = &all[0];
        let (query, tick, context) = (&first.query, first.tick(), first.context);
        let live = tallied.live();
        let binned = &tallied.binned;
        let bin = self.log.is_none().then(|| binned.bins.edge(1) - binned.bins.edge(0));
        let mut used = Used {
            kind: "histogram",
            mode: mode_name(self.mode),
            start: query.start,
            stop: query.stop,
            bin_ticks: bin,
            bin_s: bin.map(|bin| tick.seconds_of(bin.into())),
            range_ticks: [binned.bins.edge(0), binned.bins.edge(binned.bins.count())],
            bins_per_decade: self.log,
            period_ticks: binned.period.map(ticks_of),
            chosen: self.chosen(),
            singles: binned.singles(),
            dropped: binned.dropped,
            live_s: tick.seconds_of(live),
            error_blocks: self.errors.blocks(),
            selection: SelectionUsed::of(&first.selected, self.selection.join, tick),
        };
        used.selection.sums_up(all.len());
        let names = [used.start, used.stop].map(|channel| context.setup.name_of(channel));
        Ok(Finished {
            header: self.header(first.run, &used, context, live),
            query: serde_json::to_value(used)?,
            singles: None,
            rows: tallied.rows(query, tick, self.covariance),
            figure: self.figure(names),
        })
    }

    fn plan(
        &self,
        query: &Query,
        _: Option<i64>,
        _: Tick,
        recording: &Recording<'_>,
    ) -> Result<Plan, QueryError> {
        let plan = query.plan(recording, &Execution::best())?;
        Ok(if self.g2 { plan.with_more() } else { plan })
    }

    fn described(
        &self,
        resolved: &Resolved<'_, Query>,
    ) -> Result<(String, serde_json::Value), Error> {
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
            selection: SelectionUsed::of(selected, self.selection.join, tick),
        };
        let words = used.selection.words(context.setup, tick);
        let [low, high] = used.range_ticks.map(|ticks| tick.format(ticks.into()));
        let header = format!(
            "{kind}, mode {}: {start} to {stop}, \u{394} from {low} to {high}{words}; tick {tick}",
            used.mode
        );
        Ok((header, serde_json::to_value(used)?))
    }
}

impl Histogram {
    /// What is chosen by what the channels hold, or by the other one of the two.
    fn chosen(&self) -> &'static [&'static str] {
        match (&self.bin, &self.range) {
            _ if self.log.is_some() || self.mode == Mode::Grid => &[],
            (None, None) => &["bin", "range"],
            (None, Some(_)) => &["bin"],
            (Some(_), None) => &["range"],
            (Some(_), Some(_)) => &[],
        }
    }

    /// With what would work in place of too many bins.
    fn too_many(&self, error: Error, tick: Tick) -> Error {
        let Error::Query(tagq_query::Error::Bins { bins, .. }) = error else { return error };
        let Ok(width) = self.bin.as_ref().map_or(Ok(1), |bin| bin.ticks(tick)) else {
            return error;
        };
        limits::check(bins, "bins", self.bin_bytes(), |most| instead(bins, width, most, tick))
            .err()
            .unwrap_or(error)
    }

    /// Bytes of a bin while it is counted.
    fn bin_bytes(&self) -> u64 {
        // With g2 what is expected and what came out; with block errors the same of each block.
        let once = if self.g2 { 48 } else { 8 };
        let blocks = u64::from(self.errors.blocks().unwrap_or(0));
        once + blocks * if self.g2 { 40 } else { 16 }
    }

    /// Refuses a covariance of nothing, or of too much.
    fn check_covariance(&self, bins: usize) -> Result<(), Error> {
        let has_blocks = self.g2 && self.errors != Errors::Formula;
        match self.covariance {
            true if !has_blocks => Err(Error::Question(
                "--covariance is that of g2 from blocks; it goes with g2 and --errors blocks"
                    .into(),
            )),
            true if bins > COVARIANCE_BINS_MAX => Err(Error::Question(format!(
                "the covariance of {bins} bins is too large; take at most {COVARIANCE_BINS_MAX} bins"
            ))),
            true | false => Ok(()),
        }
    }

    /// Counts every block of every source by itself, so that blocks are those of each source.
    fn in_blocks(
        &self,
        recording: &Recording<'_>,
        query: &Query,
        period: Option<Period>,
        blocks: u32,
    ) -> Result<Vec<Block>, QueryError> {
        let ranges = blocks::ranges(recording, query.scope.range, blocks);
        let expected: Vec<Expected> = if self.g2 {
            let left_out: Vec<Vec<Option<TimeRange>>> =
                ranges.iter().map(|sources| sources.iter().copied().map(Some).collect()).collect();
            let expected = query.expected_without(recording, &left_out, &Execution::best())?;
            expected.into_iter().map(Some).collect()
        } else {
            vec![None; ranges.len()]
        };
        let pieces = recording.pass(query.scope.range).in_pieces(ranges.len());
        let silent = recording.in_silence();
        // The period of a sync is that of the whole run.
        let fold = period.map(Fold::Period).or(query.fold);
        let block = |(ranges, expected_without): (&Vec<TimeRange>, Expected)| {
            pieces.begin()?;
            let mut block = Block { counts: Vec::new(), live: 0, expected_without };
            for (s, &range) in ranges.iter().enumerate() {
                let scope = Scope { range, ..query.scope.clone() };
                let query = Query { fold, scope, ..query.clone() };
                let binned = query.run(&silent.of_source(s), &Execution::best())?;
                add_counts(&mut block.counts, binned.counts);
                block.live += i128::from(range.live_of(&silent.sources[s]));
            }
            Ok(block)
        };
        ranges.par_iter().zip(expected).map(block).collect()
    }

    /// How the rows are drawn, for channels of these names.
    fn figure(&self, [start, stop]: [String; 2]) -> FigureKind {
        let title = match (self.g2, start == stop) {
            (false, _) => format!("Differences of times, {start} to {stop}"),
            (true, true) => format!("g\u{b2}(\u{3c4}) of {start} with itself"),
            (true, false) => format!("g\u{b2}(\u{3c4}) of {start} and {stop}"),
        };
        let (labels, value) = if self.g2 {
            (["delay \u{3c4}", "g\u{b2}(\u{3c4})"], ["g2", "g2_err"])
        } else {
            let delay = "\u{394} = time of stop \u{2212} time of start";
            ([delay, "counts"], ["count", "count_err"])
        };
        FigureKind::Bins {
            title,
            name: format!("{start},{stop}"),
            labels,
            value,
            is_ratio: self.g2,
            is_logarithmic: self.log.is_some(),
        }
    }

    fn bins(&self, run: &Run, query: &Query, context: &QueryContext<'_>) -> Result<Bins, Error> {
        let tick = run.store().manifest().tick;
        let width = self.bin.as_ref().map_or(Ok(1), |bin| bin.ticks(tick))?;
        if let Some(per_decade) = self.log {
            let Some(Reach::Between(low, high)) = &self.range else {
                return Err(Error::Question(
                    "--log wants a range with both ends above zero: --range 1ns..1ms".into(),
                ));
            };
            if self.bin.is_some() {
                return Err(Error::Question("--log makes its own bins; leave --bin out".into()));
            }
            return Ok(Bins::logarithmic(low.floor(tick)?, high.ceil(tick)?, per_decade)?);
        }
        if self.mode == Mode::Grid
            && let None | Some(Reach::Around(_)) = self.range
        {
            return self.cells(width, tick, context);
        }
        let has_partner = matches!(self.mode, Mode::Next | Mode::Last);
        // About a hundred bins over the range that is given.
        let wide = |ticks: i128| match self.bin {
            Some(_) => width,
            None => i64::try_from(ticks / BINS_OF_RANGE).unwrap_or(i64::MAX).max(1),
        };
        match &self.range {
            None if self.bin.is_none() => self.choose(run, query, context),
            None if has_partner => {
                Ok(Bins::linear(0, (2 * DEFAULT_BINS).saturating_mul(width), width)?)
            }
            None => Ok(coarse::around(width)?),
            Some(Reach::Around(reach)) => {
                let ticks = not_negative(reach, tick)?;
                let width = wide(2 * i128::from(ticks));
                let bins = Bins::centred(ticks, width)?;
                note_widened([-ticks, ticks], &bins, tick, context, 1);
                Ok(bins)
            }
            Some(Reach::Between(low, high)) => {
                let (low, high) = (low.floor(tick)?, high.ceil(tick)?);
                let width = wide(i128::from(high) - i128::from(low));
                let bins = Bins::linear(low, high, width)?;
                note_widened([low, high], &bins, tick, context, 0);
                Ok(bins)
            }
        }
    }

    /// Bins that show what the channels hold.
    fn choose(&self, run: &Run, query: &Query, context: &QueryContext<'_>) -> Result<Bins, Error> {
        let tick = run.store().manifest().tick;
        let scope = &query.scope;
        let bins = run.count_as(self.selection.join, None, |recording| {
            context.pool.install(|| match self.mode {
                Mode::Next | Mode::Last => coarse::of_neighbours(recording, query, scope.range),
                _ => {
                    let ends = [query.start, query.stop];
                    let look = coarse::Coarse::look(recording, ends, &scope.delays, scope.range)?;
                    coarse::around(look.width())
                }
            })
        })?;
        let width = bins.edge(1) - bins.edge(0);
        let [low, high] = [0, bins.count()].map(|k| tick.format(bins.edge(k).into()));
        context.progress.note(&format!(
            "bins of {} from {low} to {high} are chosen by what the channels hold; --bin and --range set \
             others",
            in_ticks(width.into(), tick)
        ));
        Ok(bins)
    }

    /// Cells as far on either side of the one at zero. The query counts one more than bins are asked for.
    fn cells(&self, width: i64, tick: Tick, context: &QueryContext<'_>) -> Result<Bins, Error> {
        let reach = match &self.range {
            Some(Reach::Around(reach)) => not_negative(reach, tick)?,
            _ => DEFAULT_BINS.saturating_mul(width),
        };
        let cells = (i128::from(reach) + i128::from(width) - 1) / i128::from(width).max(1);
        let aside = cells.max(1) * i128::from(width);
        let Ok(aside) = i64::try_from(aside) else {
            return Err(tagq_query::Error::EmptyRange { low: -reach, high: reach }.into());
        };
        if aside != reach {
            context.progress.note(&format!(
                "the range is widened to whole cells: {} to {}",
                tick.format((-aside).into()),
                tick.format(aside.into())
            ));
        }
        Ok(Bins::linear(-aside, aside, width)?)
    }

    fn fold(&self, tick: Tick) -> Result<Option<Fold>, Error> {
        match (&self.period, self.sync_divider) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Error::Question(
                "--period and --sync-divider say the same in two ways; give one".into(),
            )),
            (None, Some(divider)) => Ok(Some(Fold::SyncDivider(divider))),
            (Some(period), None) => {
                let (numerator, denominator) = period.fraction(tick)?;
                let fits = u64::try_from(numerator).ok().zip(u64::try_from(denominator).ok());
                let Some((numerator, denominator)) = fits.filter(|&(ticks, _)| ticks > 0) else {
                    let text = period.asked();
                    return Err(Error::Question(format!("`{text}` cannot be a period")));
                };
                Ok(Some(Fold::Period(Period { numerator, denominator })))
            }
        }
    }

    fn header(&self, run: &Run, used: &Used, context: &QueryContext<'_>, live: i128) -> String {
        let tick = run.store().manifest().tick;
        let [start, stop] = [used.start, used.stop].map(|channel| context.setup.name_of(channel));
        let [low, high] = used.range_ticks;
        let chosen = if used.chosen.contains(&"bin") { " (chosen)" } else { "" };
        let bins = match (used.bin_ticks, self.log) {
            (Some(bin), _) => format!("bins of {}{chosen}", in_ticks(bin.into(), tick)),
            (None, Some(log)) => format!("{log} bins a decade"),
            (None, None) => String::new(),
        };
        let folded = used
            .period_ticks
            .map_or(String::new(), |period| format!("; folded into {period} ticks"));
        let [starts, stops] = used.singles;
        let dropped =
            used.dropped.map_or(String::new(), |dropped| format!("; {dropped} in no bin"));
        let kind = if self.g2 { "g2" } else { "histogram" };
        format!(
            "{kind}, mode {}: {start} to {stop}, \u{394} from {} to {} in {bins}{folded}{dropped}{}{}; \
             N = {starts}, {stops}; {}",
            used.mode,
            tick.format(low.into()),
            tick.format(high.into()),
            self.errors.words(),
            used.selection.words(context.setup, tick),
            header_end(run, &tick.format(live))
        )
    }
}

/// What would work in place of so many bins of a width.
fn instead(bins: u128, width: i64, most: u64, tick: Tick) -> String {
    let times = bins / u128::from(most.max(1)) + 1;
    let width = i64::try_from(times).unwrap_or(i64::MAX).saturating_mul(width.max(1));
    format!("--bin {} would work, or a range shorter by as much", limits::wider(width, tick))
}

impl Tallied {
    /// Adds what another run holds.
    fn added(mut self, more: Self) -> Self {
        add_counts(&mut self.binned.counts, more.binned.counts);
        let dropped = self.binned.dropped.zip(more.binned.dropped);
        self.binned.dropped = dropped.map(|(dropped, more)| dropped + more);
        self.binned.sources.extend(more.binned.sources);
        add_expected(&mut self.expected, more.expected);
        for (block, more) in self.blocks.iter_mut().zip(more.blocks) {
            add_counts(&mut block.counts, more.counts);
            block.live += more.live;
            add_expected(&mut block.expected_without, more.expected_without);
        }
        self
    }

    fn live(&self) -> i128 {
        self.binned.sources.iter().map(|source| i128::from(source.live)).sum()
    }

    /// The rows, with errors by formula or from blocks.
    fn rows(self, query: &Query, tick: Tick, has_covariance: bool) -> Table {
        let rows = self.binned.counts.len();
        let (mut count_errors, mut g2_errors, mut covariances) = (None, None, None);
        if !self.blocks.is_empty() {
            let errors = |left_out: &[Option<Vec<f64>>]| -> Cells<Option<f64>> {
                left_out.iter().map(|of| error_of(of.as_deref())).collect()
            };
            count_errors = Some(errors(&self.left_out(|block, k| self.count_without(block, k))));
            if self.expected.is_some() {
                let left_out = self.left_out(|block, k| self.g2_without(block, k));
                g2_errors = Some(errors(&left_out));
                covariances = has_covariance.then(|| covariance_of(&left_out));
            }
        }
        let Self { binned, expected, .. } = self;
        let (bins, counts) = (Arc::new(binned.bins), Arc::new(binned.counts));
        let formula = {
            let (query, bins, counts) = (query.clone(), Arc::clone(&bins), Arc::clone(&counts));
            move |k: usize| query.count_error(&bins, k, counts[k])
        };
        let g2 = expected.map(|expected| {
            let expected = Arc::new(expected);
            let of = |value: fn(Measured) -> f64| {
                let (formula, counts) = (formula.clone(), Arc::clone(&counts));
                let expected = Arc::clone(&expected);
                Cells::made(rows, move |k| {
                    normalised(counts[k], formula(k), expected[k]).map(value)
                })
            };
            (of(|g2| g2.value), g2_errors.unwrap_or_else(|| of(|g2| g2.err)))
        });
        let count_errors =
            count_errors.unwrap_or_else(|| Cells::made(rows, move |k| Some(formula(k))));
        columns(bins, counts, count_errors, g2, covariances, tick)
    }

    /// A value of each bin with one block left out after the other; absent where one of these is.
    fn left_out(&self, value: impl Fn(&Block, usize) -> Option<f64>) -> Vec<Option<Vec<f64>>> {
        let of = |k| self.blocks.iter().map(|block| value(block, k)).collect();
        (0..self.binned.counts.len()).map(of).collect()
    }

    /// The count of a bin without a block, scaled to all of the time.
    fn count_without(&self, block: &Block, k: usize) -> Option<f64> {
        let (live, left) = (self.live(), self.live() - block.live);
        let count = self.binned.counts[k].saturating_sub(block.counts[k]);
        (left > 0).then(|| count as f64 * live as f64 / left as f64)
    }

    fn g2_without(&self, block: &Block, k: usize) -> Option<f64> {
        let expected = block.expected_without.as_ref()?[k].filter(|&expected| expected > 0.0)?;
        Some(self.binned.counts[k].saturating_sub(block.counts[k]) as f64 / expected)
    }
}

/// The error of a value from those with one block left out.
fn error_of(left_out: Option<&[f64]>) -> Option<f64> {
    left_out.filter(|values| values.len() > 1).map(|values| covariance(values, values).sqrt())
}

/// The covariance of each bin with every bin.
fn covariance_of(left_out: &[Option<Vec<f64>>]) -> Vec<Vec<Option<f64>>> {
    let of = |a: &Option<Vec<f64>>| {
        let with = |b: &Option<Vec<f64>>| Some(covariance(a.as_deref()?, b.as_deref()?));
        left_out.iter().map(with).collect()
    };
    left_out.par_iter().map(of).collect()
}

fn add_counts(counts: &mut Vec<u64>, more: Vec<u64>) {
    if counts.is_empty() {
        *counts = more;
    } else {
        counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
    }
}

fn add_expected(expected: &mut Expected, more: Expected) {
    let both = expected.iter_mut().flatten().zip(more.into_iter().flatten());
    for (expected, more) in both {
        *expected = match (*expected, more) {
            (Some(expected), Some(more)) => Some(expected + more),
            (expected, more) => expected.or(more),
        };
    }
}

/// How far a range reaches on both sides of zero.
fn not_negative(reach: &Duration, tick: Tick) -> Result<i64, Error> {
    let ticks = reach.ceil(tick)?;
    if ticks < 0 {
        let text = reach.asked();
        return Err(Error::Question(format!(
            "`{text}` is negative; --range D reaches as far on both sides of zero"
        )));
    }
    Ok(ticks)
}

/// Says that a range was widened to whole bins.
fn note_widened(asked: [i64; 2], bins: &Bins, tick: Tick, context: &QueryContext<'_>, slack: i64) {
    let used = [bins.edge(0), bins.edge(bins.count())];
    let width = bins.edge(1) - bins.edge(0);
    // The middle bin of a range on both sides reaches half a bin beyond it by itself.
    let allowed = slack * width;
    if (asked[0] - used[0]).abs() > allowed || (used[1] - asked[1]).abs() > allowed {
        context.progress.note(&format!(
            "the range is widened to whole bins: {} to {}",
            tick.format(used[0].into()),
            tick.format(used[1].into())
        ));
    }
}

fn ticks_of(period: Period) -> f64 {
    period.numerator as f64 / period.denominator as f64
}

/// Cells and their errors.
type WithErrors = (Cells<Option<f64>>, Cells<Option<f64>>);

fn columns(
    bins: Arc<Bins>,
    counts: Arc<Vec<u64>>,
    count_errors: Cells<Option<f64>>,
    g2: Option<WithErrors>,
    covariances: Option<Vec<Vec<Option<f64>>>>,
    tick: Tick,
) -> Table {
    let rows = counts.len();
    let is_uniform = match &*bins {
        Bins::Linear { .. } => true,
        Bins::Edges(edges) => {
            edges.windows(3).all(|three| three[1] - three[0] == three[2] - three[1])
        }
    };
    let edges = move |k: usize| (bins.edge(k), bins.edge(k + 1));
    let [of_low, of_width, of_middle] = [(); 3].map(|()| edges.clone());
    // The middle of the ticks that a bin holds.
    let middle = move |k| {
        let (low, high) = of_middle(k);
        Some(tick.seconds_of(i128::from(low) + i128::from(high) - 1) / 2.0)
    };
    let width = move |k| {
        let (low, high) = of_width(k);
        high - low
    };
    // The widths say something only where they differ.
    let widths = Column::integers("width_ticks", Cells::made(rows, width)).heading("ticks");
    let widths = if is_uniform { widths.hidden() } else { widths };
    let lows = Column::integers("delay_ticks", Cells::made(rows, move |k| of_low(k).0));
    let middles = Column::floats("delay_s", Cells::made(rows, middle));
    let counts = Column::counts("count", Cells::made(rows, move |k| counts[k]));
    let table = Table::default()
        .with(lows.heading("from (ticks)").key())
        .with(widths)
        .with(middles.heading("delay").unit(Unit::Seconds))
        .with(counts.err("count_err").compared())
        .with(Column::floats("count_err", count_errors).hidden());
    let Some((values, errors)) = g2 else { return table };
    let table = table
        .with(Column::floats("g2", values).err("g2_err"))
        .with(Column::floats("g2_err", errors).hidden());
    match covariances {
        Some(covariances) => {
            table.with(Column::float_lists("g2_covariance", covariances.into()).hidden())
        }
        None => table,
    }
}
