//! The query "histogram": differences of the times of two channels, in bins.
//!
//! Starts at 0 and 4, a stop at 5: modes `all` and `next` count Δ = 5 and 1, mode `last` counts Δ = 1.

mod bins;
mod compared;
mod fold;
mod near;
mod nearest;
mod normalise;
mod pairs;
mod pulses;
mod query;
mod sides;
mod tally;

pub use bins::Bins;
pub use fold::{Fold, Period, mean_spacing};
pub use normalise::normalised;
pub use query::{Binned, Histogram, Mode};

use crate::{
    counters::{Countable, Ledger, Needs},
    error::Error,
    estimate::singles::{SourceSingles, singles_in},
    kinds::kind::Kind,
    partial::{Partial, State, keys::delays},
    run::{
        counts::Counts, facts::Facts, recording::Recording, scope::Scope, time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::ReadPlan},
};

/// The starts in the range that have no stop in their source.
struct WithoutStop<'a>(&'a Histogram);

impl Countable for WithoutStop<'_> {
    fn scope(&self) -> &Scope {
        &self.0.scope
    }

    fn key(&self) -> String {
        format!("without stop; {}", self.0.key())
    }

    /// A start has no stop only as long as none comes, however late.
    fn needs(&self) -> Needs {
        Needs { after: i64::MAX, ..self.0.needs() }
    }

    fn nothing(&self) -> Counts {
        Counts::Bins(vec![0], 0)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let starts = nearest::without_stop(&self.0.over(range), recording, execution);
        Ok((Counts::Bins(vec![starts], 0), State::Nothing))
    }
}

impl Countable for Histogram {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { start, stop, bins, mode, fold, scope } = self;
        let mode = match mode {
            Mode::All => "all",
            Mode::Grid => "grid",
            Mode::Next => "next",
            Mode::Last => "last",
        };
        let bins = bins.key();
        let fold = match fold {
            None => String::new(),
            Some(Fold::Period(Period { numerator, denominator })) => {
                format!("; period {numerator}/{denominator}")
            }
            Some(Fold::SyncDivider(divider)) => format!("; sync divided by {divider}"),
        };
        let delays = delays(scope, Some(&[*start, *stop]));
        format!("histogram; mode {mode}; {start} to {stop}; bins {bins}{fold}{delays}")
    }

    fn needs(&self) -> Needs {
        let before = match self.mode {
            Mode::All => Some(self.bins.longest()),
            // Differences of cells are up to a cell longer.
            Mode::Grid => Some(self.bins.longest().saturating_mul(2)),
            // The neighbour of a tag can be anywhere.
            Mode::Next | Mode::Last => None,
        };
        // The period of the sync is that of the whole run.
        let is_additive = !matches!(self.fold, Some(Fold::SyncDivider(_)));
        Needs { before, is_additive, ..Needs::NOTHING }
    }

    fn nothing(&self) -> Counts {
        Counts::Bins(vec![0; self.counted_bins().count()], 0)
    }

    /// Counts the bins, and the tags in no bin except starts without any stop.
    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let query = &self.over(range);
        let [of_tags, of_pulses] = pulses::divide(query, recording);
        let (mut bins, mut dropped) = match query.mode {
            Mode::All | Mode::Grid => (pairs::count(query, &of_tags, execution), 0),
            Mode::Next | Mode::Last => {
                nearest::count(query, query.period(recording)?, &of_tags, execution)
            }
        };
        if !of_pulses.sources.is_empty() {
            let (more, more_dropped) = pulses::count(query, &of_pulses, execution);
            bins.iter_mut().zip(more).for_each(|(bin, more)| *bin += more);
            dropped += more_dropped;
        }
        Ok((Counts::Bins(bins, dropped), State::Nothing))
    }
}

/// Cost: one pass over the columns, plus either a step per pair or a few steps per tag for each bin, whichever
/// is less.
impl Kind for Histogram {
    type Answer = Binned;

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), bins: self.bins.clone(), ..*self }
    }

    fn check(&self, facts: &Facts) -> Result<(), Error> {
        self.bins.check()?;
        self.scope.check(facts)?;
        if let Some(channels) = &self.scope.channels {
            for channel in [self.start, self.stop] {
                if !channels.contains(&channel) {
                    return Err(Error::NotInUse { channel });
                }
            }
        }
        if self.fold.is_some() && !matches!(self.mode, Mode::Next | Mode::Last) {
            return Err(Error::FoldedPairs);
        }
        let has_pulses =
            |channel: u16| facts.iter().any(|source| source.pulses_of(channel).is_some());
        let are_tags = self.mode != Mode::Next && self.mode != Mode::Grid && self.fold.is_none();
        if has_pulses(self.stop) || (has_pulses(self.start) && !are_tags) {
            return Err(Error::Pulses);
        }
        if self.mode != Mode::Grid {
            return Ok(());
        }
        let Bins::Linear { low, width, .. } = self.bins else { return Err(Error::GridOfEdges) };
        self.counted_bins().check()?;
        let delays = [self.start, self.stop].map(|channel| self.scope.delay_of(channel));
        match [low, delays[0], delays[1]].into_iter().find(|ticks| ticks % width != 0) {
            Some(ticks) => Err(Error::OffGrid { ticks, width }),
            None => Ok(()),
        }
    }

    fn answer(&self, ledger: &Ledger<'_>, counts: Counts) -> Result<Binned, Error> {
        let bins = self.counted_bins();
        let (counts, dropped) = counts.bins(bins.count())?;
        let dropped = match self.mode {
            Mode::All | Mode::Grid => None,
            Mode::Last => Some(dropped),
            Mode::Next => {
                let without_stop = ledger.counts(self.scope.range, &WithoutStop(self))?;
                Some(dropped + without_stop.bins(1)?.0[0])
            }
        };
        let mut sources = singles_in(ledger, &[self.start, self.stop], &self.scope);
        for (singles, facts) in sources.iter_mut().zip(ledger.facts().iter()) {
            if let Some(pulses) = facts.pulses_of(self.start) {
                let starts = pulses::singles(self, &pulses);
                let all = vec![starts, singles.singles[1]];
                *singles = SourceSingles::new(singles.live, all);
            }
        }
        // Only the rows tell the period of a sync.
        let period = self.given_period()?.map_or_else(
            || ledger.recording().map_or(Ok(None), |rows| self.period(rows)),
            |period| Ok(Some(period)),
        )?;
        Ok(Binned { bins, counts, dropped, period, sources })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error> {
        let [of_tags, of_pulses] = pulses::divide(self, recording);
        match self.mode {
            Mode::All | Mode::Grid => pairs::plan(self, &of_tags, execution, plan),
            Mode::Next | Mode::Last => {
                nearest::plan(self, self.period(recording)?, &of_tags, execution, plan);
            }
        }
        pulses::plan(self, &of_pulses, plan);
        plan.read_singles(recording, &[self.start, self.stop], &self.scope);
        Ok(())
    }
}
