//! The query "histogram": differences of the times of two channels, in bins.

mod bins;
mod fold;
mod key;
mod nearest;
mod normalise;
mod pairs;
mod query;
mod sides;
mod tally;
mod threads;

pub use bins::Bins;
pub use fold::{Fold, Period};
pub use normalise::normalised;
pub use query::{Binned, Histogram, Mode};

use crate::{
    error::Error,
    estimate::singles::SourceSingles,
    kinds::kind::Additive,
    partial::{Counts, Left, Partial},
    run::{recording::Recording, scope::Scope, time_range::TimeRange},
    scan::{morsels::Execution, plan::Plan},
};

impl Histogram {
    /// Counts the pairs over all sources of `recording`.
    ///
    /// Cost: one pass over the columns, plus either a step per pair or a few steps per tag for each bin,
    /// whichever is less. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// Fails for an invalid query, and if delayed times do not fit in 64 bits.
    pub fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Binned, Error> {
        self.check(recording)?;
        let period = self.period(recording)?;
        let (counts, dropped) = self.count(period, recording, execution)?;
        Ok(self.binned(period, counts, dropped, recording, execution))
    }

    /// Counts the additive part: the bins, and the tags in no bin except starts without any stop.
    fn count(
        &self,
        period: Option<Period>,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<(Vec<u64>, u64), Error> {
        let counted = match self.mode {
            Mode::All => (pairs::count(self, recording, execution), 0),
            Mode::Grid => (pairs::count_cells(self, recording, execution), 0),
            Mode::Next | Mode::Last => nearest::count(self, period, recording, execution),
        };
        recording.check_pass()?;
        Ok(counted)
    }

    /// Builds the result, with the live time and singles of each source.
    fn binned(
        &self,
        period: Option<Period>,
        counts: Vec<u64>,
        dropped: u64,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Binned {
        let dropped = match self.mode {
            Mode::All | Mode::Grid => None,
            Mode::Last => Some(dropped),
            Mode::Next => Some(dropped + nearest::without_stop(self, recording, execution)),
        };
        let range = self.scope.range;
        let sources = recording.sources.iter().map(|source| {
            let singles = [self.start, self.stop].map(|channel| {
                let delay = self.scope.delay_of(channel);
                source.singles_within(channel, delay, range, execution.simd)
            });
            SourceSingles::new(range.live_of(source), singles.into())
        });
        let sources = sources.collect();
        Binned { bins: self.counted_bins(), counts, dropped, period, sources }
    }

    /// Returns the plan of [`Histogram::run`]: the rows that it would read, without counting.
    ///
    /// # Errors
    /// See [`Histogram::run`].
    pub fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Plan, Error> {
        self.check(recording)?;
        let period = self.period(recording)?;
        let mut plan = Plan::new(recording, execution);
        match self.mode {
            Mode::All | Mode::Grid => pairs::plan(self, recording, execution, &mut plan),
            Mode::Next | Mode::Last => nearest::plan(self, period, recording, execution, &mut plan),
        }
        plan.read_singles(recording, &[self.start, self.stop], &self.scope);
        Ok(plan)
    }
}

impl Additive for Histogram {
    type Answer = Binned;

    fn answer(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Binned, Error> {
        self.run(recording, execution)
    }

    fn partial(
        &self,
        recording: &Recording<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Partial, Error> {
        if let Some(Fold::SyncDivider(_)) = self.fold {
            return Err(Error::NoPartial);
        }
        let query = self.words();
        Partial::check_before(before, &query, interval)?;
        let part = Self { scope: Scope { range: interval, ..self.scope.clone() }, ..self.clone() };
        part.check(recording)?;
        let (counts, dropped) = part.count(part.period(recording)?, recording, execution)?;
        Ok(Partial { query, interval, counts: Counts::Bins(counts, dropped), left: Left::Nothing })
    }

    fn finish(
        &self,
        recording: &Recording<'_>,
        partial: &Partial,
        execution: &Execution,
    ) -> Result<Binned, Error> {
        self.check(recording)?;
        partial.check_of(&self.words(), self.scope.range)?;
        match &partial.counts {
            Counts::Bins(counts, dropped) if counts.len() == self.counted_bins().count() => {
                let period = self.period(recording)?;
                Ok(self.binned(period, counts.clone(), *dropped, recording, execution))
            }
            _ => Err(Error::PartialDamaged { what: "counts of another kind" }),
        }
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn words(&self) -> String {
        self.key()
    }
}
