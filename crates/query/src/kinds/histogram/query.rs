//! The histogram query and its result.

use super::{
    bins::Bins,
    fold::{Fold, Period, mean_spacing},
};
use crate::{
    error::Error,
    estimate::singles::SourceSingles,
    run::{
        recording::{Recording, Source},
        scope::Scope,
    },
};

/// Counts differences of times (docs/queries.md, section "Histogram").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// The channel of the starts.
    pub start: u16,
    /// The channel of the stops; it may be the channel of the starts.
    pub stop: u16,
    /// The bins of Δ, the delayed time of the stop minus that of the start.
    pub bins: Bins,
    /// Selects which pairs are counted.
    pub mode: Mode,
    /// How Δ is folded; only with [`Mode::Next`] and [`Mode::Last`].
    pub fold: Option<Fold>,
    /// The channels, delays and times that the query covers.
    pub scope: Scope,
}

/// Defines which starts and stops form a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every start with every stop; a tag is never paired with itself.
    All,
    /// Like [`Mode::All`], but with times in cells of a bin's width, t / width truncated toward zero. The
    /// last edge of the bins is included, so there is one more bin.
    Grid,
    /// Each start with its first stop at Δ ≥ 0; with one channel, each tag with the next one.
    Next,
    /// Each stop with its latest start at Δ ≥ 0; with one channel, each tag with the one before.
    Last,
}

/// The result of [`Histogram`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binned {
    /// The bins that were counted.
    pub bins: Bins,
    /// The number of pairs in each bin.
    pub counts: Vec<u64>,
    /// With [`Mode::Next`] the starts, with [`Mode::Last`] the stops that are in no bin: they have no partner
    /// in their source, or their Δ is outside the bins.
    pub dropped: Option<u64>,
    /// The period by which Δ was folded.
    pub period: Option<Period>,
    /// Live ticks in the range, starts and stops of each source.
    pub sources: Vec<SourceSingles>,
}

impl Binned {
    /// Returns the number of starts and of stops over all sources.
    pub fn singles(&self) -> [u64; 2] {
        [0, 1].map(|i| self.sources.iter().map(|source| source.singles[i]).sum())
    }
}

impl Histogram {
    /// Returns the bins that are counted: mode `grid` has one more, because it includes both ends.
    pub(super) fn counted_bins(&self) -> Bins {
        match (self.mode, self.bins.clone()) {
            (Mode::Grid, Bins::Linear { low, width, count }) => {
                Bins::Linear { low, width, count: count + 1 }
            }
            (_, bins) => bins,
        }
    }

    /// Returns starts and stops, each with its delay.
    pub(super) fn ends(&self) -> [Channel; 2] {
        [self.start, self.stop].map(|label| Channel { label, delay: self.scope.delay_of(label) })
    }

    /// Returns the period that is given; `None` if there is none, or if the rows tell it.
    pub(super) fn given_period(&self) -> Result<Option<Period>, Error> {
        match self.fold {
            Some(Fold::Period(Period { numerator: 0, .. } | Period { denominator: 0, .. })) => {
                Err(Error::Period)
            }
            Some(Fold::Period(period)) => Ok(Some(period)),
            Some(Fold::SyncDivider(_)) | None => Ok(None),
        }
    }

    /// Returns the period used for folding.
    pub(super) fn period(&self, recording: &Recording<'_>) -> Result<Option<Period>, Error> {
        let Some(Fold::SyncDivider(divider)) = self.fold else { return self.given_period() };
        let sync = if self.mode == Mode::Last { self.start } else { self.stop };
        let period = mean_spacing(recording, sync, divider);
        period.ok_or(Error::NoSync { channel: sync }).map(Some)
    }
}

/// A channel and its delay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel {
    pub label: u16,
    pub delay: i64,
}

/// Returns the longest difference of delayed times in a source.
pub(super) fn longest(source: &Source<'_>, ends: [Channel; 2]) -> i64 {
    let delays = ends.map(|end| end.delay);
    let apart = delays[0].abs_diff(delays[1]).cast_signed();
    source.span().map_or(0, |(first, last)| (last - first).saturating_add(apart))
}
