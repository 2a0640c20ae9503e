//! What every kind of request does, and the one driver of all of them.

use tagq_query::{Error as QueryError, Plan, Recording};
use tagq_store::Tick;

use super::{
    blocks::Errors,
    context::QueryContext,
    explain::{Explained, PlanFacts},
    selection::{Selected, Selection},
    used::MOVES,
};
use crate::setup::arguments::{BinWidth, Channel};
use crate::{
    answer::{Answer, RunFacts},
    error::Error,
    figure::FigureKind,
    run::Run,
    table::Table,
};

/// A kind of request: how it becomes a query in ticks and channel numbers, and its counts an answer.
pub(super) trait Kind {
    /// What is counted, in ticks and channel numbers.
    type Query;
    /// What was counted, as numbers that add up over runs.
    type Counts;

    /// Which tags it is about.
    fn selection(&self) -> &Selection;

    /// The channels it names beside those of the selection.
    fn channels(&self) -> Vec<&Channel>;

    /// The width of the bins of a trace; `None` without one.
    fn bin_of_trace(&self) -> Option<&BinWidth>;

    /// Takes the bins of an answer to it, where they were chosen.
    fn take_bins(&mut self, _: &Answer) -> Result<(), Error> {
        Ok(())
    }

    /// Why everything is counted from scratch each time; `None` if only new data is counted.
    fn counted_anew(&self) -> Option<&'static str> {
        self.selection().moves().then_some(MOVES)
    }

    /// How errors are found.
    fn errors(&self) -> Errors;

    /// Refuses what means nothing in any run.
    fn check(&self) -> Result<(), Error>;

    /// The query in a run. `first` is that of the first of several runs.
    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        first: Option<&Self::Query>,
    ) -> Result<Self::Query, Error>;

    /// Whether two queries count the same, so that what they count can be added up.
    fn is_alike(&self, one: &Self::Query, other: &Self::Query) -> bool;

    /// Makes the queries of several runs count the same groups.
    fn unify(&self, _: &mut [Resolved<'_, Self::Query>]) {}

    /// Refuses what does not fit in memory, and announces what takes long, of so many runs.
    fn check_work(&self, resolved: &Resolved<'_, Self::Query>, runs: usize) -> Result<(), Error>;

    /// Counts in one run.
    fn count(&self, resolved: &Resolved<'_, Self::Query>) -> Result<Self::Counts, Error>;

    /// Adds up what was counted in several runs, in their order.
    fn add(
        &self,
        resolved: &[Resolved<'_, Self::Query>],
        counts: Vec<Self::Counts>,
    ) -> Result<Self::Counts, Error>;

    /// The answer that follows from the counts.
    fn finish(
        &self,
        resolved: &[Resolved<'_, Self::Query>],
        counts: Self::Counts,
    ) -> Result<Finished, Error>;

    /// What counting would read, without blocks of errors, with bins of so many ticks.
    fn plan(
        &self,
        query: &Self::Query,
        bin: Option<i64>,
        tick: Tick,
        recording: &Recording<'_>,
    ) -> Result<Plan, QueryError>;

    /// The header and the query, as they are explained without counting.
    fn described(
        &self,
        resolved: &Resolved<'_, Self::Query>,
    ) -> Result<(String, serde_json::Value), Error>;
}

/// A request resolved in one run.
pub(super) struct Resolved<'a, Q> {
    pub run: &'a Run,
    pub context: &'a QueryContext<'a>,
    pub selected: Selected,
    /// Ticks of a bin of a trace.
    pub bin: Option<i64>,
    pub query: Q,
}

/// An answer without what is known of its runs.
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

    /// Seconds of a bin of a trace.
    pub(super) fn bin_s(&self) -> Option<f64> {
        self.bin.map(|bin| self.tick().seconds_of(bin.into()))
    }
}

/// Resolves a request in a run, and notes what a user should know.
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

/// Counts a request in each run and adds up what they hold.
pub(super) fn sum<K: Kind>(kind: &K, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
    let mut all: Vec<Resolved<'_, K::Query>> = Vec::with_capacity(runs.len());
    for &(run, context) in runs {
        let resolved = resolve(kind, run, context, all.first().map(|first| &first.query))?;
        all.push(resolved);
    }
    let Some((first, others)) = all.split_first() else {
        return Err(Error::Question("a sum is of at least one run".into()));
    };
    for other in others {
        if first.tick() != other.tick() || !kind.is_alike(&first.query, &other.query) {
            return Err(unlike(first.run, other.run));
        }
    }
    kind.unify(&mut all);
    for resolved in &all {
        kind.check_work(resolved, all.len())?;
    }
    let counts = all.iter().map(|resolved| kind.count(resolved)).collect::<Result<_, _>>()?;
    let counts = kind.add(&all, counts)?;
    let Finished { header, query, singles, rows, figure } = kind.finish(&all, counts)?;
    let run = RunFacts::sum(runs.iter().map(|(run, context)| context.facts(run)));
    Ok(Answer { header, query, run, singles, rows, figure: Some(figure) })
}

/// What a request would read in a run, without counting.
pub(super) fn explain<K: Kind + Sync>(
    kind: &K,
    run: &Run,
    context: &QueryContext<'_>,
) -> Result<Explained, Error>
where
    K::Query: Sync,
{
    let resolved = resolve(kind, run, context, None)?;
    let (query, bin, tick) = (&resolved.query, resolved.bin, resolved.tick());
    let plan = |recording: &Recording<'_>| {
        let plan = kind.plan(query, bin, tick, recording)?;
        if kind.errors() == Errors::Formula {
            return Ok(plan);
        }
        // Blocks read the same rows once more, and look back from each of them.
        let mut with_blocks = kind.plan(query, bin, tick, recording)?.with_more();
        with_blocks.add(plan);
        Ok(with_blocks)
    };
    let plan = run.count_as(kind.selection().join, None, |recording| {
        context.pool.install(|| plan(recording))
    })?;
    let (header, query) = kind.described(&resolved)?;
    Ok(Explained { header, query, run: context.facts(run), plan: PlanFacts::of(&plan, run) })
}

/// Two runs in which the request does not mean the same.
fn unlike(one: &Run, other: &Run) -> Error {
    Error::Question(format!(
        "--sum adds what was counted alike, and {} and {} differ in tick, delays, groups or \
         vetoes; give one --setup or --tick for all, or leave --sum out",
        one.path().display(),
        other.path().display()
    ))
}
