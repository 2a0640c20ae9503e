//! The interface of all kinds of requests, and their common driver.
//!
//! Each request takes the same steps: `resolve` turns names and durations into channel numbers and ticks, `check_work`
//! refuses what is too large, `count` counts each run from the cache and its new rows, `add` adds the counts of all
//! runs, and `finish` computes rates, ratios and errors. Counts are added before anything is divided: a CAR of two runs
//! is that of their summed counts, never a mean of two CARs. Bins that are chosen for the first run are those of all
//! runs.

use std::sync::Arc;

use serde::Serialize;
use tagq_ingest::HeldCounts;
use tagq_query::{
    Bins, Countable, Counter, Dry, Error as QueryError, Execution, Kind, Ledger, ReadPlan,
    Recording, Scan, Sum, TimeDivision, WindowPlan, Windows,
};
use tagq_run::{CacheSettings, Cached, Channel, Error as RunError, RequestError, Run, Work, work};
use tagq_store::Tick;

use super::{
    blocks::Errors,
    context::QueryContext,
    division::Division,
    explain::{Explained, PlanFacts},
    header::bin_width,
    limits,
    options::{self, OptionValues, RequestType},
    selection::{NO_PAIRS, Selected, Selection},
    unlikely,
    used::MOVES,
};
use crate::{
    answer::{Answer, RunFacts},
    error::Error,
    figure::FigureKind,
    provenance::{CountedRun, Provenance, Together},
    table::Table,
};

/// A kind of request: converts the request to a query in ticks and channel numbers, and its counts to
/// an answer.
pub(super) trait RequestKind: Serialize + Sync {
    /// The types of requests of this kind, the more special one first.
    const TYPES: &'static [&'static RequestType];

    /// The options with which it is answered from the counts that a file holds in place of tags; none if it is not.
    const OF_COUNTS: &'static [&'static str] = &[];

    /// The query, in ticks and channel numbers.
    type Query: Kind;
    /// The counts, as numbers that add up over runs.
    type Counts: Send;
    /// The query as it is executed, as the answer states it.
    type Used: Serialize;

    /// Returns the selection of tags.
    fn selection(&self) -> &Selection;

    /// Returns the channels that it names in addition to those of the selection.
    fn channels(&self) -> Vec<&Channel>;

    /// Whether it counts these channels and no others, if the selection names none.
    fn is_of_named(&self) -> bool {
        !self.channels().is_empty()
    }

    /// Returns how it divides the time of a run.
    fn division(&self) -> Division<'_> {
        Division::default()
    }

    /// Returns the bins of a query that were chosen automatically.
    fn chosen_bins(&self, _: &Self::Query) -> Option<Bins> {
        None
    }

    /// Returns by how many ticks channels are moved, at most, for counts that accompany the query.
    fn moved_by(&self, _: &Resolved<'_, Self::Query>) -> Result<i64, Error> {
        Ok(0)
    }

    /// Returns why everything is counted from scratch each time, apart from its division; `None` if only new data is counted.
    fn recount_reason(&self) -> Option<&'static str> {
        self.selection().moves().then_some(MOVES)
    }

    /// Returns the groups of channels whose differences it counts.
    fn groups(&self, _: &Resolved<'_, Self::Query>) -> Result<Vec<Vec<u16>>, Error> {
        Err(RequestError::options(&["delays"], NO_PAIRS.into()).into())
    }

    /// Rejects requests that are invalid for every run.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Rejects requests that a plan cannot have: its answer is made without the tags of the runs.
    fn check_parts(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the query for a run, with `bins` in place of those that would be chosen automatically.
    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        bins: Option<&Bins>,
    ) -> Result<Self::Query, Error>;

    /// Whether two queries count the same quantity, so that their counts can be added.
    fn is_alike(&self, one: &Self::Query, other: &Self::Query) -> bool;

    /// Makes the queries of several runs count the same groups; rejects those of which there is no sum.
    fn unify(&self, _: &mut [Resolved<'_, Self::Query>]) -> Result<(), Error> {
        Ok(())
    }

    /// Rejects requests that do not fit in memory, for this number of runs. Returns the work that is estimated.
    fn check_work(&self, resolved: &Resolved<'_, Self::Query>, runs: usize) -> Result<Work, Error>;

    /// Whether its counts are cached for the same query over a run that has grown.
    fn is_kept(&self, _: &Self::Query) -> bool {
        true
    }

    /// Counts one run, in these bins of time.
    fn count(
        &self,
        query: &Self::Query,
        trace: Option<&TimeDivision>,
        tick: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<Self::Counts, QueryError>;

    /// Takes the counts that the file of a run holds in place of tags.
    fn take(
        &self,
        resolved: &Resolved<'_, Self::Query>,
        _: &HeldCounts,
    ) -> Result<Self::Counts, Error> {
        Err(RunError::NoTags { path: resolved.run.path().into() }.into())
    }

    /// Adds the counts of several runs, in order.
    fn add(
        &self,
        resolved: &[Resolved<'_, Self::Query>],
        counts: Vec<Self::Counts>,
    ) -> Result<Self::Counts, Error>;

    /// Computes the answer from the counts.
    fn finish(
        &self,
        resolved: &[Resolved<'_, Self::Query>],
        counts: Self::Counts,
    ) -> Result<Finished, Error>;

    /// Plans the data that counting would read, excluding blocks of errors, in these bins of
    /// time.
    fn plan(
        &self,
        query: &Self::Query,
        _: Option<&TimeDivision>,
        _: Tick,
        recording: &Recording<'_>,
    ) -> Result<ReadPlan, QueryError> {
        query.plan(recording, &Execution::best())
    }

    /// Returns the words with which the header begins, and the query as the answer states it, both before anything is
    /// counted in these runs.
    fn head(
        &self,
        resolved: &Resolved<'_, Self::Query>,
        runs: usize,
    ) -> Result<(String, Self::Used), Error>;

    /// Returns the header and the query for an explanation without counting.
    fn described(
        &self,
        resolved: &Resolved<'_, Self::Query>,
    ) -> Result<(String, serde_json::Value), Error> {
        let (words, used) = self.head(resolved, 1)?;
        Ok((format!("{words}; tick {}", resolved.tick()), serde_json::to_value(used)?))
    }
}

/// A gap before which and after which tags do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// It is longer than so many ticks of recorded time.
    pub ticks: i64,
    /// The smallest delay of a channel: tags after the gap are at the first of their times plus this delay, or later.
    pub earliest: i64,
}

/// The tags of their neighbours that parts of a run need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seams {
    /// The gap at which the run may be divided, if not everywhere.
    pub gap: Option<Gap>,
    /// How many ticks before and after a part tags can lie that matter to it; `None` if they can lie anywhere.
    pub reach: Option<i64>,
}

/// A request resolved for one run.
pub(super) struct Resolved<'a, Q> {
    pub run: &'a Run,
    pub context: &'a QueryContext<'a>,
    pub selected: Selected,
    /// The bins of time of a trace.
    pub trace: Option<TimeDivision>,
    pub query: Q,
}

/// An answer without the facts about its runs.
pub(super) struct Finished {
    pub header: String,
    pub query: serde_json::Value,
    pub singles: Option<Table>,
    pub rows: Table,
    pub total: Option<Table>,
    pub figure: FigureKind,
}

impl<Q> Resolved<'_, Q> {
    pub(super) fn tick(&self) -> Tick {
        self.run.store().manifest().tick
    }

    /// Returns the bin width of a trace in ticks.
    pub(super) fn bin(&self) -> Option<i64> {
        match self.trace {
            Some(TimeDivision::Width(width)) => Some(width),
            Some(TimeDivision::Intervals(_)) | None => None,
        }
    }

    /// Returns the bin width of a trace in seconds.
    pub(super) fn bin_s(&self) -> Option<f64> {
        self.bin().map(|bin| self.tick().seconds_of(bin.into()))
    }

    /// Returns the bins of time of a trace as text for the header.
    pub(super) fn trace_words(&self, of: Division<'_>) -> String {
        match (of.by, self.bin()) {
            (Some(by), _) => format!("; by {by}"),
            (None, Some(width)) => format!("; bins of {}", bin_width(width, of.bin, self.tick())),
            (None, None) => String::new(),
        }
    }

    /// Rejects more bins of time over `span` ticks than fit, with `rows` of `bytes` each per bin. Returns their number.
    pub(super) fn check_trace(
        &self,
        span: i128,
        rows: u64,
        bytes: u64,
        option: &str,
    ) -> Result<f64, Error> {
        match &self.trace {
            Some(TimeDivision::Width(width)) => {
                limits::check_bins(span, *width, rows, bytes, option, self.tick())?;
                Ok(span as f64 / *width as f64 + 1.0)
            }
            Some(TimeDivision::Intervals(intervals)) => {
                limits::check(intervals.len() as u128, "intervals", rows.max(1) * bytes, |most| {
                    format!("{most} intervals would fit, or fewer `channels`")
                })?;
                Ok(intervals.len() as f64)
            }
            None => Ok(1.0),
        }
    }
}

/// A run, and the context in which it is asked.
pub(super) type OfRun<'a> = (&'a Run, &'a QueryContext<'a>);

/// Resolves a request for a run, with `bins` in place of those that would be chosen, and adds notes for the user.
pub(super) fn resolve<'a, K: RequestKind>(
    kind: &K,
    (run, context): OfRun<'a>,
    bins: Option<&Bins>,
) -> Result<Resolved<'a, K::Query>, Error> {
    kind.check()?;
    if run.holds_counts() {
        check_held(kind, run)?;
    }
    let tick = run.store().manifest().tick;
    let Division { bin, by, is_exact, .. } = kind.division();
    if bin.is_some() && by.is_some() {
        return Err(RequestError::options(
            &["by"],
            "bins of time are of one width or `by` intervals; give one of them".into(),
        )
        .into());
    }
    let bin = bin.map(|bin| bin.ticks(tick, is_exact)).transpose()?;
    let trace = by.and(context.intervals).map(|of| TimeDivision::Intervals(Arc::clone(of)));
    let trace = trace.or(bin.map(TimeDivision::Width));
    let selected = kind.selection().of_bins(run, context.setup, bin)?;
    selected.notes.iter().for_each(|note| context.progress.note(note));
    let query = kind.query(run, &selected, context, bins)?;
    Ok(Resolved { run, context, selected, trace, query })
}

/// Rejects a request that the counts do not answer that a file holds in place of tags.
fn check_held<K: RequestKind>(kind: &K, run: &Run) -> Result<(), Error> {
    if K::OF_COUNTS.is_empty() {
        return Ok(run.check_tags()?);
    }
    let (_, options) = stated(kind)?;
    match options.keys().find(|name| !K::OF_COUNTS.contains(&name.as_str())) {
        Some(option) => Err(RequestError::Held(format!(
            "`{option}` is for tags, and {} holds counts; options for these are {}",
            run.path().display(),
            K::OF_COUNTS.join(", ")
        ))
        .into()),
        None => Ok(()),
    }
}

/// Resolves a request for several runs whose counts are to be added up. Bins that are chosen are those of the first one.
fn resolve_all<'a, K: RequestKind>(
    kind: &K,
    runs: &[OfRun<'a>],
    bins: Option<&Bins>,
) -> Result<Vec<Resolved<'a, K::Query>>, Error> {
    let Some((&first, others)) = runs.split_first() else {
        return Err(RequestError::Runs("a sum is of at least one run".into()).into());
    };
    let mut all = vec![resolve(kind, first, bins)?];
    let bins = bins.cloned().or_else(|| kind.chosen_bins(&all[0].query));
    for &other in others {
        all.push(resolve(kind, other, bins.as_ref())?);
    }
    let first = &all[0];
    for other in &all[1..] {
        if first.tick() != other.tick() || !kind.is_alike(&first.query, &other.query) {
            return Err(unlike(first.run, other.run).into());
        }
    }
    let of: Vec<&Run> = all.iter().map(|of| of.run).collect();
    if all.len() > 1 && kind.division().by.is_some() {
        return Err(RequestError::Runs(
            "each run has intervals of its own; leave the sum out".into(),
        )
        .into());
    }
    if let Some(note) = unlikely::same_sources(&of) {
        first.context.progress.note(&note);
    }
    kind.unify(&mut all)?;
    Ok(all)
}

/// Counts a request in each run and adds up the counts. Returns also the bins that were chosen.
pub(super) fn sum<K: RequestKind>(
    kind: &K,
    runs: &[OfRun<'_>],
    bins: Option<&Bins>,
) -> Result<(Answer, Option<Bins>), Error> {
    let all = resolve_all(kind, runs, bins)?;
    let counts = count_all(kind, &all)?;
    Ok((finish(kind, &all, counts)?, kind.chosen_bins(&all[0].query)))
}

/// Counts a request in each run, with the groups that their sum has.
pub(super) fn each<K: RequestKind>(kind: &K, runs: &[OfRun<'_>]) -> Result<Vec<Answer>, Error> {
    let all = resolve_all(kind, runs, None)?;
    let counts = count_all(kind, &all)?;
    finish_each(kind, &all, counts)
}

fn count_all<K: RequestKind>(
    kind: &K,
    all: &[Resolved<'_, K::Query>],
) -> Result<Vec<K::Counts>, Error> {
    let mut work = Work::default();
    for resolved in all {
        work = work + kind.check_work(resolved, all.len())?;
    }
    if let Some(Resolved { run, context, .. }) = all.first() {
        let seconds = work.seconds(context.pool.current_num_threads());
        work::check(seconds, &work, run.bounds().is_long, context.progress)?;
    }
    all.iter().map(|resolved| count(kind, resolved)).collect()
}

/// Answers from the parts of each run: for all runs together, or for each of them with the groups that their sum has.
pub(super) fn of_parts<K: RequestKind>(
    kind: &K,
    runs: &[OfRun<'_>],
    sums: &[Sum],
    bins: Option<&Bins>,
    is_each: bool,
) -> Result<Vec<Answer>, Error> {
    let all = resolve_all(kind, runs, bins)?;
    let counted = all.iter().zip(sums).map(|(resolved, sum)| count_from(kind, resolved, sum));
    let counted: Vec<K::Counts> = counted.collect::<Result<_, _>>()?;
    if !is_each {
        return Ok(vec![finish(kind, &all, counted)?]);
    }
    finish_each(kind, &all, counted)
}

/// Computes the answer of each run.
fn finish_each<K: RequestKind>(
    kind: &K,
    all: &[Resolved<'_, K::Query>],
    counts: Vec<K::Counts>,
) -> Result<Vec<Answer>, Error> {
    let finished = |(one, counts): (&[Resolved<'_, K::Query>], K::Counts)| {
        let mut answer = finish(kind, one, vec![counts])?;
        answer.provenance.together = (all.len() > 1).then_some(Together::SameGroups);
        Ok(answer)
    };
    all.chunks(1).zip(counts).map(finished).collect()
}

/// Returns why a request is counted from scratch each time; `None` if only new data is counted.
pub(super) fn recount_reason<K: RequestKind>(kind: &K) -> Option<&'static str> {
    let by = kind.division().by.map(|_| "its intervals are those of the whole run");
    kind.recount_reason().or(by)
}

/// Counts a request in the rows of one run; continues from cached results.
fn count<K: RequestKind>(kind: &K, resolved: &Resolved<'_, K::Query>) -> Result<K::Counts, Error> {
    let &Resolved { run, context, ref query, ref trace, .. } = resolved;
    if let Some(counts) = run.held_counts()? {
        return kind.take(resolved, &counts);
    }
    let is_joined = kind.selection().join;
    let is_new = recount_reason(kind).is_some() || !kind.is_kept(query);
    let settings = CacheSettings { is_joined, bin: resolved.bin(), is_new };
    let tick = resolved.tick();
    count_cached(run, context, settings, |cached| {
        let over = context.windows.map(|windows| windows.over(cached));
        let counter = over.as_ref().map_or(cached as &dyn Counter, |over| over);
        let counts = || kind.count(query, trace.as_ref(), tick, &Ledger::of(counter));
        context.pool.install(counts)
    })
}

/// Counts in the rows of one run, and continues from cached results. New ones are cached after the pass was accepted.
fn count_cached<T>(
    run: &Run,
    context: &QueryContext<'_>,
    settings: CacheSettings,
    count: impl FnOnce(&Cached<'_>) -> Result<T, QueryError>,
) -> Result<T, Error> {
    let (counts, new) = run.count_as(settings.is_joined, context.progress.scan(), |recording| {
        let scan = Scan::new(recording, &Execution::best());
        let cached = Cached::new(scan, run.store(), run.caching(), settings);
        Ok((count(&cached)?, cached.into_new()))
    })?;
    new.write(run.store().folder());
    Ok(counts)
}

/// Counts the pairs of a plan in the rows of one run; continues from cached results.
pub fn windows(
    plan: &WindowPlan,
    is_joined: bool,
    (run, context): OfRun<'_>,
) -> Result<Windows, Error> {
    let settings = CacheSettings { is_joined, bin: None, is_new: false };
    count_cached(run, context, settings, |cached| {
        context.pool.install(|| plan.count(&Ledger::of(cached)))
    })
}

/// Counts a request of one run from `counter`.
fn count_from<K: RequestKind>(
    kind: &K,
    resolved: &Resolved<'_, K::Query>,
    counter: &dyn Counter,
) -> Result<K::Counts, Error> {
    let &Resolved { run, context, ref query, ref trace, .. } = resolved;
    if run.holds_counts() {
        return Err(RequestError::Held(format!(
            "{}: it holds counts, which have no parts; ask it as a whole",
            run.path().display()
        ))
        .into());
    }
    let tick = resolved.tick();
    let count = || {
        let counts = kind.count(query, trace.as_ref(), tick, &Ledger::of(counter))?;
        counter.check()?;
        Ok(counts)
    };
    context.pool.install(count).map_err(|error: QueryError| error.into())
}

/// Computes the answer from the counts of each run.
fn finish<K: RequestKind>(
    kind: &K,
    all: &[Resolved<'_, K::Query>],
    counts: Vec<K::Counts>,
) -> Result<Answer, Error> {
    let counts = kind.add(all, counts)?;
    let Finished { header, query, singles, rows, total, figure } = kind.finish(all, counts)?;
    let run = RunFacts::sum(all.iter().map(|of| of.context.facts(of.run)));
    let rows = rows.with_names(&run.names);
    let provenance = provenance(kind, all.iter().map(|of| (of.run, of.context)))?;
    Ok(Answer { header, query, run, singles, rows, total, provenance, figure: Some(figure) })
}

/// Returns a request as a user would state it.
pub(super) fn stated<K: RequestKind>(kind: &K) -> Result<(&'static str, OptionValues), Error> {
    options::stated(kind, K::TYPES)
}

/// Returns the provenance of an answer to a request of these runs.
pub(super) fn provenance<'a, K: RequestKind>(
    kind: &K,
    runs: impl Iterator<Item = OfRun<'a>>,
) -> Result<Provenance, Error> {
    let (query, options) = stated(kind)?;
    let runs = runs.map(|(run, context)| CountedRun::of(run, context.setup)).collect();
    Ok(Provenance::of(query, options, runs))
}

/// Rejects a request that cannot be counted in parts, and prepares what its parts have in common: returns the bins that
/// were chosen. `silent` are the same runs, for what is not to be noted twice.
pub(super) fn check_parts<'a, K: RequestKind>(
    kind: &K,
    runs: &[OfRun<'a>],
    silent: &[OfRun<'a>],
) -> Result<Option<Bins>, Error> {
    kind.check_parts()?;
    let mut all = resolve_all(kind, runs, None)?;
    if all.iter().any(|of| !of.query.needs().is_additive) {
        return Err(QueryError::NoPartial.into());
    }
    let bins = kind.chosen_bins(&all[0].query);
    for (resolved, &(_, context)) in all.iter_mut().zip(silent) {
        resolved.context = context;
    }
    let count = |resolved: &Resolved<'_, K::Query>| {
        count_from(kind, resolved, &Dry::new(resolved.run.facts(kind.selection().join)))
    };
    let counts = all.iter().map(count).collect::<Result<_, _>>()?;
    finish(kind, &all, counts)?;
    Ok(bins)
}

/// Rejects requests that do not fit in memory. Returns what parts of each run need of their neighbours.
pub(super) fn check_work<K: RequestKind>(
    kind: &K,
    runs: &[OfRun<'_>],
    bins: Option<&Bins>,
) -> Result<Vec<Seams>, Error> {
    let all = resolve_all(kind, runs, bins)?;
    all.iter()
        .map(|resolved| {
            kind.check_work(resolved, all.len())?;
            Ok(seams(resolved, kind.moved_by(resolved)?))
        })
        .collect()
}

/// Returns what parts of a run need of their neighbours, if channels are also moved by up to so many ticks.
fn seams<Q: Countable>(resolved: &Resolved<'_, Q>, moved: i64) -> Seams {
    let needs = resolved.query.needs();
    let delays = || resolved.query.scope().delays.iter().map(|delay| delay.ticks);
    let longest = delays().map(i64::saturating_abs).max().unwrap_or(0);
    let reach = needs.reach().and_then(|reach| reach.checked_add(moved)?.checked_add(longest));
    let earliest = delays().min().unwrap_or(0).min(0).saturating_sub(moved);
    let latest = delays().max().unwrap_or(0).max(0).saturating_add(moved);
    let apart = latest.saturating_sub(earliest);
    let gap = needs.gap.map(|gap| Gap { ticks: gap.saturating_add(apart), earliest });
    Seams { gap, reach }
}

/// Asks `counter` what a request asks of run number `number`.
pub(super) fn count_part<K: RequestKind>(
    kind: &K,
    runs: &[OfRun<'_>],
    bins: Option<&Bins>,
    (number, counter): (usize, &dyn Counter),
) -> Result<(), Error> {
    let all = resolve_all(kind, runs, bins)?;
    count_from(kind, &all[number], counter).map(drop)
}

/// Returns the groups of channels whose differences a request counts in a run.
pub(super) fn groups<K: RequestKind>(kind: &K, of: OfRun<'_>) -> Result<Vec<Vec<u16>>, Error> {
    kind.groups(&resolve(kind, of, None)?)
}

/// Explains what a request would read in a run, without counting.
pub(super) fn explain<K: RequestKind>(kind: &K, of: OfRun<'_>) -> Result<Explained, Error> {
    let resolved = resolve(kind, of, None)?;
    let (run, context) = of;
    let (query, trace, tick) = (&resolved.query, resolved.trace.as_ref(), resolved.tick());
    let plan = |recording: &Recording<'_>| {
        let mut plan = kind.plan(query, trace, tick, recording)?;
        if kind.division().errors != Errors::Formula {
            // Blocks read the same rows once more, plus the rows before each block that the query looks
            // back to.
            plan.add(plan.clone());
            plan.is_at_least = true;
        }
        Ok(plan)
    };
    let plan = run.count_as(kind.selection().join, None, |recording| {
        context.pool.install(|| plan(recording))
    })?;
    let (header, query) = kind.described(&resolved)?;
    // A request that does not fit in memory has no estimate.
    let work = kind.check_work(&resolved, 1).ok();
    let threads = context.pool.current_num_threads();
    let plan = PlanFacts::of(&plan, run, work, threads);
    Ok(Explained { header, query, run: context.facts(run), plan })
}

/// Returns the error for two runs in which the request has different meanings.
fn unlike(one: &Run, other: &Run) -> RequestError {
    RequestError::Runs(format!(
        "the counts of {} and {} cannot be added, because the runs differ in tick, delays, groups or \
         vetoes; give one setup or one tick for all runs, or answer each run",
        one.path().display(),
        other.path().display()
    ))
}
