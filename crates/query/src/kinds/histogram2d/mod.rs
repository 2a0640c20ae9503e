//! The query "histogram2d": differences of the times of two channels to a third one, in a grid of cells.
//!
//! With three bins, the cell 1·3 + 2 = 5 holds the triples whose difference of channel A is in bin 1 and that of B in
//! bin 2.

mod count;

use std::sync::Arc;

use rayon::prelude::*;

use crate::{
    counters::{Countable, Ledger, Needs},
    error::Error,
    estimate::singles::{SourceSingles, singles_in},
    kinds::{histogram::Bins, kind::Kind},
    partial::{Partial, State, keys::delays},
    run::{
        counts::Counts,
        facts::{Facts, SourceFacts},
        recording::Recording,
        scope::Scope,
        time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::ReadPlan},
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

impl Histogram2d {
    /// The largest number of cells.
    pub const CELLS_MAX: u64 = 1 << 24;

    /// Returns the expected count of each cell for uncorrelated light: the sum over sources of
    /// N_H·N_A·N_B·W_a·W_b/T²·L/T, where W are the widths of the bins, T is the live time, and L the time in which
    /// the three tags at the middle of the cell can be recorded.
    pub fn expected(&self, facts: &Facts, binned: &Binned2d) -> Vec<f64> {
        let bins = binned.bins.count();
        let middle =
            |k: usize| i128::from(binned.bins.edge(k)) + i128::from(binned.bins.edge(k + 1)) - 1;
        let width = |k: usize| binned.bins.edge(k + 1).abs_diff(binned.bins.edge(k)) as f64;
        let delays = self.channels().map(|channel| 2 * i128::from(self.scope.delay_of(channel)));
        let of_cell = |(source, singles): (&Arc<SourceFacts>, &SourceSingles),
                       [a, b]: [usize; 2]| {
            let live = singles.live as f64;
            if live <= 0.0 || singles.singles.contains(&0) {
                return 0.0;
            }
            // The times of the latest tag; the others are earlier.
            let times = [0, middle(a), middle(b)];
            let latest = times.into_iter().max().unwrap_or(0);
            let moves = [0, 1, 2].map(|i| delays[i] + latest - times[i]);
            let joint = source.live().joint_of_halves(moves, self.scope.range);
            let overlap = joint.map(|common| common.length()).sum::<i128>() as f64 / 2.0;
            let rates: f64 = singles.singles.iter().map(|&count| count as f64 / live).product();
            rates * width(a) * width(b) * overlap
        };
        let of_row = |a: usize| {
            let sources = || facts.iter().zip(&binned.sources);
            let of = move |b: usize| sources().map(|source| of_cell(source, [a, b])).sum();
            (0..bins).map(of).collect::<Vec<f64>>()
        };
        (0..bins).into_par_iter().map(of_row).flatten_iter().collect()
    }

    /// Returns the three channels, the herald first.
    fn channels(&self) -> [u16; 3] {
        [self.herald, self.others[0], self.others[1]]
    }
}

impl Countable for Histogram2d {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { herald, others: [a, b], bins, scope } = self;
        let delays = delays(scope, Some(&self.channels()));
        format!("histogram2d; {herald} to {a} and {b}; bins {}{delays}", bins.key())
    }

    fn needs(&self) -> Needs {
        Needs { before: Some(self.bins.longest().saturating_mul(2)), ..Needs::NOTHING }
    }

    fn nothing(&self) -> Counts {
        Counts::Bins(vec![0; self.bins.count().pow(2)], 0)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let counts = count::count(&self.over(range), recording, execution);
        Ok((Counts::Bins(counts, 0), State::Nothing))
    }
}

/// Cost: one pass over the columns, plus a step per triple.
impl Kind for Histogram2d {
    type Answer = Binned2d;

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), bins: self.bins.clone(), ..*self }
    }

    fn check(&self, facts: &Facts) -> Result<(), Error> {
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
        self.scope.check(facts)
    }

    fn answer(&self, ledger: &Ledger<'_>, counts: Counts) -> Result<Binned2d, Error> {
        let (counts, _) = counts.bins(self.bins.count().pow(2))?;
        let sources = singles_in(ledger, &self.channels(), &self.scope);
        Ok(Binned2d { bins: self.bins.clone(), counts, sources })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error> {
        count::plan(self, recording, execution, plan);
        plan.read_singles(recording, &self.channels(), &self.scope);
        Ok(())
    }
}
