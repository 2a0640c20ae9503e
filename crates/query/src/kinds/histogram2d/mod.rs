//! The query "histogram2d": differences of the times of two channels to a third one, in a grid of cells.

mod count;

use crate::{
    error::Error,
    estimate::singles::SourceSingles,
    kinds::{histogram::Bins, kind::Kind},
    partial::{Partial, State, keys::delays},
    run::{counts::Counts, recording::Recording, scope::Scope, time_range::TimeRange},
    scan::{morsels::Execution, plan::Plan},
};

/// Counts triples of a herald and one tag of each of two other channels, by both differences of time
/// (docs/queries.md, section "Histogram in two dimensions").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram2d {
    /// The channel of the heralds.
    pub herald: u16,
    /// The two other channels, A and B.
    pub others: [u16; 2],
    /// The bins of both differences: the delayed time of the other tag minus that of the herald.
    pub bins: Bins,
    /// The channels, delays and times that the query covers.
    pub scope: Scope,
}

/// The result of [`Histogram2d`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binned2d {
    /// The bins of both differences.
    pub bins: Bins,
    /// The number of triples in each cell, row by row: cell a·n + b, with n bins, has the difference of
    /// channel A in bin a and that of channel B in bin b.
    pub counts: Vec<u64>,
    /// Live ticks in the range, and heralds, tags of A and tags of B, of each source.
    pub sources: Vec<SourceSingles>,
}

impl Binned2d {
    /// Returns the expected count of cell (a, b) for uncorrelated light and differences much shorter than
    /// the live time T: the sum over sources of N_H·N_A·N_B·W_a·W_b/T², W the widths of the bins.
    pub fn expected(&self, a: usize, b: usize) -> f64 {
        let width = |k: usize| self.bins.edge(k + 1).abs_diff(self.bins.edge(k)) as f64;
        let of = |source: &SourceSingles| {
            let singles: f64 = source.singles.iter().map(|&count| count as f64).product();
            let live = source.live as f64;
            if live > 0.0 { singles / (live * live) } else { 0.0 }
        };
        self.sources.iter().map(of).sum::<f64>() * width(a) * width(b)
    }
}

impl Histogram2d {
    /// The largest number of cells.
    pub const CELLS_MAX: u64 = 1 << 24;

    /// Returns the three channels, the herald first.
    fn channels(&self) -> [u16; 3] {
        [self.herald, self.others[0], self.others[1]]
    }
}

/// Cost: one pass over the columns, plus a step per triple.
impl Kind for Histogram2d {
    type Answer = Binned2d;

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), bins: self.bins.clone(), ..*self }
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { herald, others: [a, b], bins, scope } = self;
        let delays = delays(scope, Some(&self.channels()));
        format!("histogram2d; {herald} to {a} and {b}; bins {}{delays}", bins.key())
    }

    fn reach(&self) -> Option<i64> {
        Some(self.bins.longest().saturating_mul(2))
    }

    fn check(&self, recording: &Recording<'_>) -> Result<(), Error> {
        let channels = self.channels();
        for (i, &channel) in channels.iter().enumerate() {
            if channels[..i].contains(&channel) {
                return Err(Error::ChannelTwice { channel });
            }
            if self.scope.channels.as_ref().is_some_and(|of| !of.contains(&channel)) {
                return Err(Error::NotInUse { channel });
            }
        }
        self.bins.check()?;
        let cells = (self.bins.count() as u128).pow(2);
        if cells > Self::CELLS_MAX.into() {
            return Err(Error::Bins { bins: cells, max: Self::CELLS_MAX });
        }
        self.scope.check(&recording.sources)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let counts = count::count(self, recording, execution);
        Ok((Counts::Bins(counts, 0), State::Nothing))
    }

    fn answer(
        &self,
        recording: &Recording<'_>,
        counts: Counts,
        execution: &Execution,
    ) -> Result<Binned2d, Error> {
        let (counts, _) = counts.bins(self.bins.count().pow(2))?;
        let range = self.scope.range;
        let sources = recording.sources.iter().map(|source| {
            let singles = self.channels().map(|channel| {
                let delay = self.scope.delay_of(channel);
                source.singles_within(channel, delay, range, execution.simd)
            });
            SourceSingles::new(range.live_of(source), singles.into())
        });
        Ok(Binned2d { bins: self.bins.clone(), counts, sources: sources.collect() })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut Plan,
    ) -> Result<(), Error> {
        count::plan(self, recording, execution, plan);
        plan.read_singles(recording, &self.channels(), &self.scope);
        Ok(())
    }
}
