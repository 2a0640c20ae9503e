//! The interface of all kinds of requests, and their common driver.

use tagq_query::{Bins, Error as QueryError, Plan, Recording};
use tagq_store::Tick;

use super::{
    blocks::Errors,
    context::QueryContext,
    explain::{Explained, PlanFacts},
    ledger::Ledger,
    selection::{Selected, Selection},
    unlikely,
    used::MOVES,
};
use crate::setup::arguments::{BinWidth, Channel};
use crate::{
    answer::{Answer, RunFacts},
    cache::{CacheSettings, ResultCache},
    error::Error,
    figure::FigureKind,
    run::Run,
    table::Table,
};

/// A kind of request: converts the request to a query in ticks and channel numbers, and its counts to
/// an answer.
pub(super) trait Kind: Sync {
    /// The query, in ticks and channel numbers.
    type Query: Sync;
    /// The counts, as numbers that add up over runs.
    type Counts: Send;

    /// Returns the selection of tags.
    fn selection(&self) -> &Selection;

    /// Returns the channels that it names in addition to those of the selection.
    fn channels(&self) -> Vec<&Channel>;

    /// Returns the bin width of a trace; `None` without a trace.
    fn bin_of_trace(&self) -> Option<&BinWidth> {
        None
    }

    /// Adopts the bins of an answer to the same request, if they were chosen automatically.
    fn take_bins(&mut self, _: &Answer) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the bins of a query that were chosen automatically.
    fn chosen_bins(&self, _: &Self::Query) -> Option<Bins> {
        None
    }

    /// Takes these bins in place of those that would be chosen.
    fn take_chosen_bins(&mut self, _: Bins) {}

    /// Returns the gap at which a run may be divided into parts, if not everywhere.
    fn gap(&self, _: &Resolved<'_, Self::Query>) -> Result<Option<Gap>, Error> {
        Ok(None)
    }

    /// Returns how many ticks before and after a part tags can lie that matter to it, apart from delays; `None` if they
    /// can lie anywhere.
    fn reach(&self, _: &Resolved<'_, Self::Query>) -> Result<Option<i64>, Error> {
        Ok(Some(0))
    }

    /// Returns why everything is counted from scratch each time; `None` if only new data is counted.
    fn recount_reason(&self) -> Option<&'static str> {
        self.selection().moves().then_some(MOVES)
    }

    /// Returns the method for errors.
    fn errors(&self) -> Errors {
        Errors::Formula
    }

    /// Rejects requests that are invalid for every run.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the query for a run. `first` is the query of the first of several runs.
    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        first: Option<&Self::Query>,
    ) -> Result<Self::Query, Error>;

    /// Whether two queries count the same quantity, so that their counts can be added.
    fn is_alike(&self, one: &Self::Query, other: &Self::Query) -> bool;

    /// Makes the queries of several runs count the same groups.
    fn unify(&self, _: &mut [Resolved<'_, Self::Query>]) {}

    /// Rejects requests that do not fit in memory, and notes those that take long, for this number of
    /// runs.
    fn check_work(&self, resolved: &Resolved<'_, Self::Query>, runs: usize) -> Result<(), Error>;

    /// Whether its counts are cached for the same query over a run that has grown.
    fn is_kept(&self, _: &Self::Query) -> bool {
        true
    }

    /// Counts one run, with bins of this many ticks.
    fn count(
        &self,
        query: &Self::Query,
        bin: Option<i64>,
        tick: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<Self::Counts, QueryError>;

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

    /// Plans the data that counting would read, excluding blocks of errors, with bins of this many
    /// ticks.
    fn plan(
        &self,
        query: &Self::Query,
        bin: Option<i64>,
        tick: Tick,
        recording: &Recording<'_>,
    ) -> Result<Plan, QueryError>;

    /// Returns the header and the query for an explanation without counting.
    fn described(
        &self,
        resolved: &Resolved<'_, Self::Query>,
    ) -> Result<(String, serde_json::Value), Error>;
}

/// A gap before which and after which tags do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// It is longer than so many ticks of recorded time.
    pub ticks: i64,
    /// The smallest delay of a channel: tags after the gap are at the first of their times plus this delay, or later.
    pub earliest: i64,
}

/// What parts of a run need of their neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seams {
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
    /// Bin width of a trace in ticks.
    pub bin: Option<i64>,
    pub query: Q,
}

/// An answer without the facts about its runs.
pub(super) struct Finished {
    pub header: String,
    pub query: serde_json::Value,
    pub singles: Option<Table>,
    pub rows: Table,
    pub figure: FigureKind,
}

impl<Q> Resolved<'_, Q> {
    pub(super) fn tick(&self) -> Tick {
        self.run.store().manifest().tick
    }

    /// Returns the bin width of a trace in seconds.
    pub(super) fn bin_s(&self) -> Option<f64> {
        self.bin.map(|bin| self.tick().seconds_of(bin.into()))
    }
}

/// Resolves a request for a run, and adds notes for the user.
pub(super) fn resolve<'a, K: Kind>(
    kind: &K,
    run: &'a Run,
    context: &'a QueryContext<'a>,
    first: Option<&K::Query>,
) -> Result<Resolved<'a, K::Query>, Error> {
    kind.check()?;
    let tick = run.store().manifest().tick;
    let bin = kind.bin_of_trace().map(|bin| bin.ticks(tick)).transpose()?;
    let selected = kind.selection().of_bins(run, context.setup, bin)?;
    selected.notes.iter().for_each(|note| context.progress.note(note));
    let query = kind.query(run, &selected, context, first)?;
    Ok(Resolved { run, context, selected, bin, query })
}

/// Resolves a request for several runs whose counts are to be added up.
fn resolve_all<'a, K: Kind>(
    kind: &K,
    runs: &[(&'a Run, &'a QueryContext<'a>)],
) -> Result<Vec<Resolved<'a, K::Query>>, Error> {
    let mut all: Vec<Resolved<'_, K::Query>> = Vec::with_capacity(runs.len());
    for &(run, context) in runs {
        let resolved = resolve(kind, run, context, all.first().map(|first| &first.query))?;
        all.push(resolved);
    }
    let Some((first, others)) = all.split_first() else {
        return Err(Error::Request("a sum is of at least one run".into()));
    };
    for other in others {
        if first.tick() != other.tick() || !kind.is_alike(&first.query, &other.query) {
            return Err(unlike(first.run, other.run));
        }
    }
    let of: Vec<&Run> = all.iter().map(|of| of.run).collect();
    if let Some(note) = unlikely::same_sources(&of) {
        first.context.progress.note(&note);
    }
    kind.unify(&mut all);
    Ok(all)
}

/// Counts a request in each run and adds up the counts.
pub(super) fn sum<K: Kind>(kind: &K, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
    let all = resolve_all(kind, runs)?;
    // Parts were checked when they were planned.
    for resolved in all.iter().filter(|resolved| resolved.run.store().has_rows()) {
        kind.check_work(resolved, all.len())?;
    }
    answer_all(kind, &all)
}

/// Counts a request in each of several runs, with the groups that their sum has.
pub(super) fn each<K: Kind>(
    kind: &K,
    runs: &[(&Run, &QueryContext<'_>)],
) -> Result<Vec<Answer>, Error> {
    let all = resolve_all(kind, runs)?;
    all.chunks(1).map(|one| answer_all(kind, one)).collect()
}

/// Counts a request in one run; continues from cached results.
fn count<K: Kind>(kind: &K, resolved: &Resolved<'_, K::Query>) -> Result<K::Counts, Error> {
    let &Resolved { run, context, bin, ref query, .. } = resolved;
    let is_joined = kind.selection().join;
    let is_new = kind.recount_reason().is_some() || !kind.is_kept(query);
    let settings = CacheSettings { is_joined, bin, is_new };
    let cache = ResultCache::new(run.store(), run.caching(), settings);
    let tick = resolved.tick();
    let count = |recording: &Recording<'_>| {
        let count = || kind.count(query, bin, tick, &Ledger::new(recording, &cache));
        context.pool.install(count)
    };
    let counts = run.count_as(is_joined, context.progress.scan(), count)?;
    cache.write();
    Ok(counts)
}

fn answer_all<K: Kind>(kind: &K, all: &[Resolved<'_, K::Query>]) -> Result<Answer, Error> {
    let counts = all.iter().map(|resolved| count(kind, resolved)).collect::<Result<_, _>>()?;
    let counts = kind.add(all, counts)?;
    let Finished { header, query, singles, rows, figure } = kind.finish(all, counts)?;
    let run = RunFacts::sum(all.iter().map(|of| of.context.facts(of.run)));
    Ok(Answer { header, query, run, singles, rows, figure: Some(figure) })
}

/// Rejects a request that cannot be counted in parts. `checked` are the same runs, which count nothing. Returns the
/// bins that were chosen.
pub(super) fn check_parts<'a, K: Kind>(
    kind: &K,
    runs: &[(&'a Run, &'a QueryContext<'a>)],
    checked: &[(&'a Run, &'a QueryContext<'a>)],
) -> Result<Option<Bins>, Error> {
    let mut all = resolve_all(kind, runs)?;
    let bins = kind.chosen_bins(&all[0].query);
    for (resolved, &(run, context)) in all.iter_mut().zip(checked) {
        (resolved.run, resolved.context) = (run, context);
    }
    answer_all(kind, &all)?;
    Ok(bins)
}

/// Rejects requests that do not fit in memory. Returns what parts of each run need of their neighbours.
pub(super) fn check_work<K: Kind>(
    kind: &K,
    runs: &[(&Run, &QueryContext<'_>)],
) -> Result<Vec<Seams>, Error> {
    let all = resolve_all(kind, runs)?;
    all.iter()
        .map(|resolved| {
            kind.check_work(resolved, all.len())?;
            let longest =
                resolved.selected.scope.delays.iter().map(|delay| delay.ticks.saturating_abs());
            let longest = longest.max().unwrap_or(0);
            let reach = kind.reach(resolved)?.and_then(|reach| reach.checked_add(longest));
            Ok(Seams { gap: kind.gap(resolved)?, reach })
        })
        .collect()
}

/// Counts a request in `counted`, which is a part of run number `number`.
pub(super) fn count_part<'a, K: Kind>(
    kind: &K,
    runs: &[(&'a Run, &'a QueryContext<'a>)],
    number: usize,
    counted: &'a Run,
) -> Result<(), Error> {
    let mut all = resolve_all(kind, runs)?;
    let mut resolved = all.swap_remove(number);
    resolved.run = counted;
    count(kind, &resolved).map(drop)
}

/// Explains what a request would read in a run, without counting.
pub(super) fn explain<K: Kind>(
    kind: &K,
    run: &Run,
    context: &QueryContext<'_>,
) -> Result<Explained, Error> {
    let resolved = resolve(kind, run, context, None)?;
    let (query, bin, tick) = (&resolved.query, resolved.bin, resolved.tick());
    let plan = |recording: &Recording<'_>| {
        let mut plan = kind.plan(query, bin, tick, recording)?;
        if kind.errors() != Errors::Formula {
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
    Ok(Explained { header, query, run: context.facts(run), plan: PlanFacts::of(&plan, run) })
}

/// Returns the error for two runs in which the request has different meanings.
fn unlike(one: &Run, other: &Run) -> Error {
    Error::Request(format!(
        "the counts of {} and {} cannot be added, because the runs differ in tick, delays, groups or \
         vetoes; give one setup or one tick for all runs, or answer each run",
        one.path().display(),
        other.path().display()
    ))
}
