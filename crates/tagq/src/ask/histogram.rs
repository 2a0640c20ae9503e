//! The question "histogram", and "g2" as one of its kinds.

use serde::Serialize;
use tagq_query::{
    Binned, Bins, Execution, Fold, Histogram as Query, Measured, Mode, Period, normalised,
};
use tagq_store::{Duration, Tick};

use super::{
    Asking, Channel, Explained, Selection, SelectionUsed, explain, header_end, select::Selected,
    sum,
};
use crate::{
    Answer, Columns, Error, Run, RunFacts, Values,
    cache::{Kept, Putting},
};

/// Bins on either side of zero when no range is asked for.
const DEFAULT_BINS: i64 = 64;

/// How the times of two channels differ (docs/queries.md, section "Histogram").
#[derive(Debug, Clone)]
pub struct Histogram {
    /// From the tags of this channel …
    pub start: Channel,
    /// … to those of this one.
    pub stop: Channel,
    /// The width of a bin; one tick without it.
    pub bin: Option<Duration>,
    /// Of which differences; 64 bins on either side without it.
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

/// What light without correlation would give in each bin, where that is asked for.
type Expected = Option<Vec<Option<f64>>>;

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
    singles: [u64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
    live_s: f64,
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

impl Histogram {
    /// Asks `run`.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn ask(&self, run: &Run, asking: &Asking<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, asking)])
    }

    /// Asks several runs, and adds up what they hold: counts, and what is expected of each source.
    ///
    /// # Errors
    /// As [`Histogram::ask`]; unless there is a run, and the words mean the same in all of them.
    pub fn sum(&self, runs: &[(&Run, &Asking<'_>)]) -> Result<Answer, Error> {
        let &[(run, asking), ..] = runs else { return Err(sum::nothing()) };
        if runs.len() > 1 && self.sync_divider.is_some() {
            return Err(Error::Question(
                "each run has a sync period of its own; for --sum give it with --period".into(),
            ));
        }
        let mut queries = Vec::new();
        for &(run, asking) in runs {
            queries.push(self.query(run, asking)?);
        }
        let alike = |(query, _): &(Query, Selected)| {
            let Query { start, stop, bins, scope, .. } = query;
            (*start, *stop, bins.clone(), scope.delays.clone())
        };
        let tick_of = |run: &Run| run.store().manifest().tick;
        sum::check_alike(
            runs.iter().zip(&queries).map(|((run, _), query)| (*run, (tick_of(run), alike(query)))),
        )?;
        let mut total: Option<(Binned, Expected)> = None;
        for (&(run, asking), (query, _)) in runs.iter().zip(&queries) {
            let (binned, expected) = self.count(run, asking, query)?;
            match &mut total {
                None => total = Some((binned, expected)),
                Some(total) => add(total, binned, expected.as_deref()),
            }
        }
        let Some((binned, expected)) = total else { return Err(sum::nothing()) };
        let g2 = expected.map(|expected| normalised(&binned.counts, &expected));
        let tick = tick_of(run);
        let (query, selected) = &queries[0];
        let live: i128 = binned.sources.iter().map(|source| i128::from(source.live)).sum();
        let mut used = Used {
            kind: "histogram",
            mode: mode_name(self.mode),
            start: query.start,
            stop: query.stop,
            bin_ticks: self.log.is_none().then(|| binned.bins.edge(1) - binned.bins.edge(0)),
            bin_s: self
                .log
                .is_none()
                .then(|| tick.seconds_of((binned.bins.edge(1) - binned.bins.edge(0)).into())),
            range_ticks: [binned.bins.edge(0), binned.bins.edge(binned.bins.count())],
            bins_per_decade: self.log,
            period_ticks: binned.period.map(ticks_of),
            singles: binned.singles(),
            dropped: binned.dropped,
            live_s: tick.seconds_of(live),
            selection: SelectionUsed::of(selected, self.selection.join, tick),
        };
        used.selection.sums_up(runs.len());
        let header = self.header(run, &used, asking, live);
        let query = serde_json::to_value(used)?;
        Ok(Answer {
            header,
            query,
            run: RunFacts::sum(runs.iter().map(|(run, asking)| asking.facts(run))),
            rows: columns(&binned.bins, binned.counts, g2.as_deref(), tick),
        })
    }

    /// What [`Histogram::ask`] would read, without counting.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn explain(&self, run: &Run, asking: &Asking<'_>) -> Result<Explained, Error> {
        let tick = run.store().manifest().tick;
        let (query, selected) = self.query(run, asking)?;
        let is_joined = self.selection.join;
        let plan = explain::planned(run, asking, is_joined, |tags| {
            let plan = query.plan(tags, &Execution::best())?;
            Ok(if self.g2 { plan.with_more() } else { plan })
        })?;
        let kind = if self.g2 { "g2" } else { "histogram" };
        let [start, stop] = [query.start, query.stop].map(|channel| asking.setup.name_of(channel));
        let used = UsedToExplain {
            kind: "histogram",
            mode: mode_name(query.mode),
            start: query.start,
            stop: query.stop,
            range_ticks: [query.bins.edge(0), query.bins.edge(query.bins.count())],
            selection: SelectionUsed::of(&selected, is_joined, tick),
        };
        let words = used.selection.words(asking.setup, tick);
        let [low, high] = used.range_ticks.map(|ticks| tick.format(ticks.into()));
        let header = format!(
            "{kind}, mode {}: {start} to {stop}, \u{394} from {low} to {high}{words}; tick {tick}",
            used.mode
        );
        let query = serde_json::to_value(used)?;
        Ok(Explained { header, query, run: asking.facts(run), plan })
    }

    /// The query in ticks and labels.
    fn query(&self, run: &Run, asking: &Asking<'_>) -> Result<(Query, Selected), Error> {
        let tick = run.store().manifest().tick;
        if self.selection.live_time.is_some() {
            return Err(Error::Question(
                "a histogram has the live time that was recorded; leave --live-time out".into(),
            ));
        }
        let selected = self.selection.of(run, asking.setup)?;
        selected.notes.iter().for_each(|note| asking.progress.note(note));
        let (start, stop) = (asking.setup.channel(&self.start)?, asking.setup.channel(&self.stop)?);
        asking.note_dark(run, vec![start, stop]);
        let (mode, fold) = (self.mode, self.fold(tick)?);
        let (bins, scope) = (self.bins(tick, asking)?, selected.scope.clone());
        Ok((Query { start, stop, bins, mode, fold, scope }, selected))
    }

    /// Counts in one run; with g2, what is expected, too.
    fn count(
        &self,
        run: &Run,
        asking: &Asking<'_>,
        query: &Query,
    ) -> Result<(Binned, Expected), Error> {
        let (is_joined, is_new) = (self.selection.join, self.counted_anew().is_some());
        let kept = Kept::new(run, Putting { is_joined, bin: None, is_new });
        let counted = run.count_as(self.selection.join, asking.progress.course(), |recording| {
            asking.pool.install(|| {
                let execution = Execution::best();
                let binned = kept.answer(query, recording, &execution)?;
                let expected =
                    self.g2.then(|| query.expected(recording, &execution)).transpose()?;
                Ok((binned, expected))
            })
        })?;
        kept.keep();
        Ok(counted)
    }

    /// Why all of it is counted anew each time it is asked; nothing where only what is new is.
    pub fn counted_anew(&self) -> Option<&'static str> {
        if self.sync_divider.is_some() {
            return Some("its period is the mean over the whole run, and changes with it");
        }
        self.selection.moves().then_some(super::MOVES)
    }

    fn bins(&self, tick: Tick, asking: &Asking<'_>) -> Result<Bins, Error> {
        let width = self.bin.as_ref().map_or(Ok(1), |bin| bin.bin(tick))?;
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
            return self.cells(width, tick, asking);
        }
        match &self.range {
            None => Ok(Bins::centred(DEFAULT_BINS.saturating_mul(width), width)?),
            Some(Reach::Around(reach)) => {
                let ticks = not_negative(reach, tick)?;
                let bins = Bins::centred(ticks, width)?;
                note_widened([-ticks, ticks], &bins, tick, asking, 1);
                Ok(bins)
            }
            Some(Reach::Between(low, high)) => {
                let (low, high) = (low.floor(tick)?, high.ceil(tick)?);
                let bins = Bins::linear(low, high, width)?;
                note_widened([low, high], &bins, tick, asking, 0);
                Ok(bins)
            }
        }
    }

    /// Cells as far on either side of the one at zero. The query counts one more than bins are asked for.
    fn cells(&self, width: i64, tick: Tick, asking: &Asking<'_>) -> Result<Bins, Error> {
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
            asking.progress.note(&format!(
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

    fn header(&self, run: &Run, used: &Used, asking: &Asking<'_>, live: i128) -> String {
        let tick = run.store().manifest().tick;
        let [start, stop] = [used.start, used.stop].map(|channel| asking.setup.name_of(channel));
        let [low, high] = used.range_ticks;
        let bins = match (used.bin_ticks, self.log) {
            (Some(bin), _) => format!("bins of {}", super::in_ticks(bin.into(), tick)),
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
            "{kind}, mode {}: {start} to {stop}, \u{394} from {} to {} in {bins}{folded}{dropped}{}; \
             N = {starts}, {stops}; {}",
            used.mode,
            tick.format(low.into()),
            tick.format(high.into()),
            used.selection.words(asking.setup, tick),
            header_end(run, &tick.format(live))
        )
    }
}

/// Adds what another run holds.
fn add(
    (binned, expected): &mut (Binned, Expected),
    more: Binned,
    expected_more: Option<&[Option<f64>]>,
) {
    for (count, more) in binned.counts.iter_mut().zip(more.counts) {
        *count += more;
    }
    binned.dropped = binned.dropped.zip(more.dropped).map(|(dropped, more)| dropped + more);
    binned.sources.extend(more.sources);
    let both = expected.iter_mut().flatten().zip(expected_more.into_iter().flatten());
    for (expected, more) in both {
        *expected = match (*expected, *more) {
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
fn note_widened(asked: [i64; 2], bins: &Bins, tick: Tick, asking: &Asking<'_>, slack: i64) {
    let used = [bins.edge(0), bins.edge(bins.count())];
    let width = bins.edge(1) - bins.edge(0);
    // The middle bin of a range on both sides reaches half a bin beyond it by itself.
    let allowed = slack * width;
    if (asked[0] - used[0]).abs() > allowed || (used[1] - asked[1]).abs() > allowed {
        asking.progress.note(&format!(
            "the range is widened to whole bins: {} to {}",
            tick.format(used[0].into()),
            tick.format(used[1].into())
        ));
    }
}

fn ticks_of(period: Period) -> f64 {
    period.numerator as f64 / period.denominator as f64
}

fn columns(bins: &Bins, counts: Vec<u64>, g2: Option<&[Option<Measured>]>, tick: Tick) -> Columns {
    let edges = (0..counts.len()).map(|k| (bins.edge(k), bins.edge(k + 1)));
    // The middle of the ticks that a bin holds.
    let middle = |(low, high): (i64, i64)| {
        Some(tick.seconds_of(i128::from(low) + i128::from(high) - 1) / 2.0)
    };
    let errors = counts.iter().map(|&count| Some((count.max(1) as f64).sqrt())).collect();
    let columns = Columns::default()
        .with("delay_ticks", Values::Integers(edges.clone().map(|(low, _)| low).collect()))
        .with(
            "width_ticks",
            Values::Integers(edges.clone().map(|(low, high)| high - low).collect()),
        )
        .with("delay_s", Values::Floats(edges.map(middle).collect()))
        .with("count", Values::Counts(counts))
        .with("count_err", Values::Floats(errors));
    let Some(g2) = g2 else { return columns };
    let of =
        |value: fn(Measured) -> f64| Values::Floats(g2.iter().map(|g2| g2.map(value)).collect());
    columns.with("g2", of(|m| m.value)).with("g2_err", of(|m| m.err))
}
