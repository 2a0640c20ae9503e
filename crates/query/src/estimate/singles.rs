//! The input of the estimates from one source: its live time, and its tags of each channel of a group.

use crate::{counters::Ledger, run::scope::Scope};

/// The contribution of one source to an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSingles {
    /// The live time in ticks: from the first to the last of all its tags, without dead spans, cut to the range.
    pub live: i64,
    /// The tags of each channel of the group.
    pub singles: Vec<u64>,
    /// The ticks in which all channels can have tags: the intersection of its recorded time moved by each
    /// delay.
    pub overlap: i64,
    /// The tags of each channel in the overlap.
    pub overlapping: Vec<u64>,
    /// For pairs in a source of several intervals: the number of pairs of live ticks that the window accepts. A tick
    /// near the end of an interval has fewer partners than the window is wide. `None` elsewhere.
    pub near: Option<i128>,
}

impl SourceSingles {
    /// Creates a source whose channels have the same delay: they overlap for all of its live time.
    pub fn new(live: i64, singles: Vec<u64>) -> Self {
        Self { live, overlap: live, overlapping: singles.clone(), near: None, singles }
    }

    /// Returns how much of a window of `width` ticks around a tick is live, on average.
    pub(super) fn share(&self, width: f64) -> f64 {
        let of = |near: i128| near as f64 / (self.overlap as f64 * width);
        self.near.filter(|_| self.overlap > 0).map_or(1.0, of)
    }

    /// Returns the source without the contribution of a part of it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        let less = |all: &[u64], part: &[u64]| {
            all.iter().zip(part).map(|(all, part)| all.saturating_sub(*part)).collect()
        };
        Self {
            live: self.live - part.live,
            singles: less(&self.singles, &part.singles),
            overlap: self.overlap - part.overlap,
            overlapping: less(&self.overlapping, &part.overlapping),
            near: self.near.map(|near| near - part.near.unwrap_or(0)),
        }
    }
}

/// Returns the live time of each source and its tags of these channels, in a scope.
pub(crate) fn singles_in(
    ledger: &Ledger<'_>,
    channels: &[u16],
    scope: &Scope,
) -> Vec<SourceSingles> {
    let of_source = |source: usize| {
        let of =
            |&channel: &u16| ledger.tags_of(source, channel, scope.delay_of(channel), scope.range);
        let live = ledger.facts()[source].live().ticks_in(scope.range);
        SourceSingles::new(live, channels.iter().map(of).collect())
    };
    (0..ledger.facts().len()).map(of_source).collect()
}
