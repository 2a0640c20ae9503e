//! The query "histogram": differences of the times of two channels, in bins.

mod bins;
mod by_gaps;
mod fold;
mod nearest;
mod normalise;
mod pairs;
mod pulses;
mod query;
mod sides;
mod tally;

pub use bins::Bins;
pub use fold::{Fold, Period};
pub use normalise::normalised;
pub use query::{Binned, Histogram, Mode};

use crate::{
    error::Error,
    estimate::singles::SourceSingles,
    kinds::kind::Kind,
    partial::{Partial, State, keys::delays},
    run::{counts::Counts, recording::Recording, scope::Scope, time_range::TimeRange},
    scan::{morsels::Execution, plan::Plan},
};

impl Histogram {
    /// Returns the number of starts in the range that have no stop in their source.
    fn without_stop(&self, recording: &Recording<'_>, execution: &Execution) -> Result<u64, Error> {
        let counts = recording.counted(
            || format!("without stop; {}", self.key()),
            self.scope.range,
            &|recording, range| {
                let starts = nearest::without_stop(&self.over(range), recording, execution);
                Ok(Counts::Bins(vec![starts], 0))
            },
        )?;
        Ok(counts.bins(1)?.0[0])
    }
}

/// Cost: one pass over the columns, plus either a step per pair or a few steps per tag for each bin, whichever
/// is less.
impl Kind for Histogram {
    type Answer = Binned;

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), bins: self.bins.clone(), ..*self }
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

    fn reach(&self) -> Option<i64> {
        match self.mode {
            Mode::All => Some(self.bins.longest()),
            // Differences of cells are up to a cell longer.
            Mode::Grid => Some(self.bins.longest().saturating_mul(2)),
            // The neighbour of a tag can be anywhere.
            Mode::Next | Mode::Last => None,
        }
    }

    fn check(&self, recording: &Recording<'_>) -> Result<(), Error> {
        self.bins.check()?;
        self.scope.check(&recording.sources)?;
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
        let has_pulses = |channel: u16| {
            recording.sources.iter().any(|source| source.pulses_of(channel).is_some())
        };
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

    /// Counts the bins, and the tags in no bin except starts without any stop.
    fn count(
        &self,
        recording: &Recording<'_>,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let [of_tags, of_pulses] = pulses::divide(self, recording);
        let (mut bins, mut dropped) = match self.mode {
            Mode::All | Mode::Grid => (pairs::count(self, &of_tags, execution), 0),
            Mode::Next | Mode::Last => {
                nearest::count(self, self.period(recording)?, &of_tags, execution)
            }
        };
        if !of_pulses.sources.is_empty() {
            let (more, more_dropped) = pulses::count(self, &of_pulses, execution);
            bins.iter_mut().zip(more).for_each(|(bin, more)| *bin += more);
            dropped += more_dropped;
        }
        Ok((Counts::Bins(bins, dropped), State::Nothing))
    }

    fn answer(
        &self,
        recording: &Recording<'_>,
        counts: Counts,
        execution: &Execution,
    ) -> Result<Binned, Error> {
        let bins = self.counted_bins();
        let (counts, dropped) = counts.bins(bins.count())?;
        let dropped = match self.mode {
            Mode::All | Mode::Grid => None,
            Mode::Last => Some(dropped),
            Mode::Next => Some(dropped + self.without_stop(recording, execution)?),
        };
        let range = self.scope.range;
        let sources = recording.sources.iter().map(|source| {
            let singles = [self.start, self.stop].map(|channel| {
                let delay = self.scope.delay_of(channel);
                source.singles_within(channel, delay, range, execution.simd)
            });
            let pulses = source.pulses_of(self.start);
            let starts = pulses.map_or(singles[0], |pulses| pulses::singles(self, &pulses));
            let singles = [starts, singles[1]];
            SourceSingles::new(source.live().ticks_in(range), singles.into())
        });
        let (sources, period) = (sources.collect(), self.period(recording)?);
        Ok(Binned { bins, counts, dropped, period, sources })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut Plan,
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

    /// The period of the sync is that of the whole run.
    fn check_additive(&self) -> Result<(), Error> {
        match self.fold {
            Some(Fold::SyncDivider(_)) => Err(Error::NoPartial),
            None | Some(Fold::Period(_)) => Ok(()),
        }
    }
}
