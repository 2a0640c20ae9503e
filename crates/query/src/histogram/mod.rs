//! The query "histogram": differences of the times of two channels, in bins.

mod bins;
mod fold;
mod nearest;
mod normalise;
mod pairs;
mod sides;
mod tally;

pub use bins::Bins;
pub use fold::{Fold, Period};
pub use normalise::normalised;

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{
    Acquisition, Additive, Error, Execution, Partial, Pass, Plan, PlannedScan, Recording, Scope,
    SourceSingles, TimeRange,
    partial::{Counts, Left},
};

/// Counts of all threads together that are kept at most: 1 GiB.
const COUNTS_MAX: usize = 1 << 27;

/// Counts differences of times (docs/queries.md, section "Histogram").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// From the tags of this channel …
    pub start: u16,
    /// … to those of this one, which may be the same.
    pub stop: u16,
    /// Of Δ, the delayed time of the stop minus that of the start.
    pub bins: Bins,
    /// Which pairs.
    pub mode: Mode,
    /// How Δ is folded, with [`Mode::Next`] and [`Mode::Last`] only.
    pub fold: Option<Fold>,
    /// Which channels, delays and times.
    pub scope: Scope,
}

/// Which starts and stops make a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Every start with every stop; never a tag with itself.
    All,
    /// The same with times in cells of a bin, t / width truncated toward zero, and the last edge of
    /// the bins included: there is a bin more.
    Grid,
    /// Each start with its first stop at Δ ≥ 0; with one channel, each tag with the next one.
    Next,
    /// Each stop with its latest start at Δ ≥ 0; with one channel, each tag with the one before.
    Last,
}

/// The answer to [`Histogram`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binned {
    /// The bins as counted.
    pub bins: Bins,
    /// How many pairs each holds.
    pub counts: Vec<u64>,
    /// With [`Mode::Next`], the starts, with [`Mode::Last`], the stops that are in no bin: without
    /// a partner in their source, or with a Δ outside the bins.
    pub dropped: Option<u64>,
    /// The period by which Δ was folded.
    pub period: Option<Period>,
    /// What each source had: live ticks in the range, starts, stops.
    pub sources: Vec<SourceSingles>,
}

impl Binned {
    /// Starts and stops over all sources.
    pub fn singles(&self) -> [u64; 2] {
        [0, 1].map(|i| self.sources.iter().map(|source| source.singles[i]).sum())
    }
}

impl Histogram {
    /// Counts over all sources of `recording`.
    ///
    /// Cost: a pass over the columns, and the pairs or a few steps a tag for each bin, whichever is
    /// less. Any number of threads gives the same answer.
    ///
    /// # Errors
    /// For a query that means nothing, and times that leave 64 bits with their delays.
    pub fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Binned, Error> {
        self.check(recording)?;
        let period = self.period(recording)?;
        let (counts, dropped) = self.count(period, recording, execution)?;
        Ok(self.binned(period, counts, dropped, recording, execution))
    }

    /// What adds up: the counts, and the tags in no bin but for starts without any stop.
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

    /// The answer, with what each source had.
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

    /// What [`Histogram::run`] would read, without counting.
    ///
    /// # Errors
    /// Those of the query.
    pub fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Plan, Error> {
        self.check(recording)?;
        let period = self.period(recording)?;
        let mut plan = Plan::new(recording, execution);
        let scans = match self.mode {
            Mode::All | Mode::Grid => pairs::plan(self, recording, execution),
            Mode::Next | Mode::Last => vec![nearest::plan(self, period, recording, execution)],
        };
        plan.push_all(scans);
        let mut singles = PlannedScan::new("singles, labels of blocks cut", 0);
        singles.plan_singles(recording, &[self.start, self.stop], &self.scope);
        // Starts behind the last stop are counted by themselves; where that is, the tags say.
        singles.is_at_least = self.mode == Mode::Next;
        plan.push(singles);
        Ok(plan)
    }

    /// The bins that are counted: by the grid there is one more, because both ends are in.
    fn counted_bins(&self) -> Bins {
        match (self.mode, self.bins.clone()) {
            (Mode::Grid, Bins::Linear { low, width, count }) => {
                Bins::Linear { low, width, count: count + 1 }
            }
            (_, bins) => bins,
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

    /// Starts and stops, each with its delay.
    fn ends(&self) -> [Channel; 2] {
        [self.start, self.stop].map(|label| Channel { label, delay: self.scope.delay_of(label) })
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
        self.in_words()
    }
}

/// A channel and its delay.
#[derive(Debug, Clone, Copy)]
struct Channel {
    label: u16,
    delay: i64,
}

/// Lets the threads of the pool take pieces of work in turn, and adds up what they counted: `bins`
/// counts, and one number beside them. At its end each thread adds to its counts what its buffers hold.
fn add_up<W: Sync, B>(
    pass: &Pass<'_>,
    work: &[W],
    bins: usize,
    buffers: impl Fn() -> B + Sync,
    count: impl Fn(&W, &mut B, &mut [u64]) -> u64 + Sync,
    finish: impl Fn(B, &mut [u64]) + Sync,
) -> (Vec<u64>, u64) {
    // A thread has all bins to itself: there may be too many of them for too many threads.
    let fitting = COUNTS_MAX / bins.max(1);
    let threads = rayon::current_num_threads().min(work.len()).min(fitting).max(1);
    let next = AtomicUsize::new(0);
    let pieces = pass.in_pieces(work.len());
    let one_thread = |_| {
        let mut counts = vec![0; bins];
        let mut buffers = buffers();
        let mut beside = 0;
        while let Some(piece) = work.get(next.fetch_add(1, Ordering::Relaxed))
            && pieces.begin().is_ok()
        {
            beside += count(piece, &mut buffers, &mut counts);
        }
        finish(buffers, &mut counts);
        (counts, beside)
    };
    let added = (0..threads).into_par_iter().with_max_len(1).map(one_thread).reduce_with(
        |(mut counts, beside), (more, more_beside)| {
            let add = |(count, more): (&mut u64, u64)| *count = count.wrapping_add(more);
            counts.iter_mut().zip(more).for_each(add);
            (counts, beside + more_beside)
        },
    );
    added.unwrap_or_else(|| (vec![0; bins], 0))
}

/// The longest difference of delayed times in a source.
fn longest(source: &Acquisition<'_>, ends: [Channel; 2]) -> i64 {
    let delays = ends.map(|end| end.delay);
    let apart = delays[0].abs_diff(delays[1]).cast_signed();
    source.span().map_or(0, |(first, last)| (last - first).saturating_add(apart))
}
