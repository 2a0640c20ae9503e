//! The tags and the live time that belong to the counts of each group.
//!
//! A source from 0 to 100,000, channel 2 delayed by 30,000, a short window: both channels can have tags from 30,000
//! to 100,000, so the expectation uses 70,000 ticks and the tags in them. The singles that are reported are all tags
//! in the range.

use crate::{
    counters::Ledger,
    estimate::singles::{SourceSingles, singles_in},
    run::{facts::Facts, scope::Scope, time_range::TimeRange},
};

/// The live time of each source and its tags of channels, cut to a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinglesInScope {
    facts: Facts,
    scope: Scope,
    /// Ascending.
    channels: Vec<u16>,
    /// The singles of each source, in the order of `channels`.
    all: Vec<SourceSingles>,
}

impl SinglesInScope {
    /// Counts the tags of these channels, which are ascending.
    pub(super) fn new(ledger: &Ledger<'_>, scope: &Scope, channels: Vec<u16>) -> Self {
        let all = singles_in(ledger, &channels, scope);
        Self { facts: ledger.facts().clone(), scope: scope.clone(), channels, all }
    }

    /// Returns the facts about the run, which are known without counting.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the singles of a group, source by source.
    pub fn of_group(&self, group: &[u16]) -> Vec<SourceSingles> {
        let delays = self.delays_of(group);
        let (are_equal, is_whole) = (are_equal(&delays), self.scope.range == TimeRange::default());
        let of_source = |(number, known): (usize, &SourceSingles)| {
            let of_channel = |channel| {
                self.channels.binary_search(channel).map_or(0, |place| known.singles[place])
            };
            let whole = SourceSingles::new(known.live, group.iter().map(of_channel).collect());
            // Equal delays move the live time, and the range is applied after that.
            if are_equal && (delays.iter().all(|&delay| delay == 0) || is_whole) {
                return whole;
            }
            let overlap = self.facts[number].live().overlap(&delays, self.scope.range);
            SourceSingles { overlap, ..whole }
        };
        self.all.iter().enumerate().map(of_source).collect()
    }

    /// Works like [`SinglesInScope::of_group`], and adds the input of the expectation of a rule: the tags in the time
    /// that is live for all channels of the group, or, for pairs in a source of several intervals, how much of a
    /// window is live.
    pub(super) fn of_group_expected(
        &self,
        ledger: &Ledger<'_>,
        group: &[u16],
        pair_window: Option<i64>,
    ) -> Vec<SourceSingles> {
        let mut sources = self.of_group(group);
        let delays = self.delays_of(group);
        for (number, source) in sources.iter_mut().enumerate() {
            let live = self.facts[number].live();
            if let (&[a, b], Some(window)) = (&delays[..], pair_window)
                && let Some(near) = live.ticks_near([a, b], window, self.scope.range)
            {
                source.near = Some(near);
                // Equal delays move the live time with the tags.
                if !are_equal(&delays) {
                    (source.overlap, source.overlapping) = (source.live, source.singles.clone());
                }
                continue;
            }
            if are_equal(&delays) {
                continue;
            }
            source.overlapping = vec![0; group.len()];
            for common in self.facts[number].live().joint(&delays, self.scope.range) {
                let channels = group.iter().zip(&delays);
                for (count, (&channel, &delay)) in source.overlapping.iter_mut().zip(channels) {
                    *count += ledger.tags_of(number, channel, delay, common.tags());
                }
            }
        }
        sources
    }

    fn delays_of(&self, group: &[u16]) -> Vec<i64> {
        group.iter().map(|&channel| self.scope.delay_of(channel)).collect()
    }
}

fn are_equal(delays: &[i64]) -> bool {
    delays.iter().all(|&delay| delay == delays[0])
}
