//! The tags and the live time that belong to the counts of each group.

use crate::{
    estimate::singles::SourceSingles,
    rules::groups,
    run::{
        recording::{Recording, Source},
        scope::Scope,
    },
    scan::morsels::Execution,
};

/// The live time of each source and its tags of the requested channels, cut to the scope.
pub(super) struct SinglesInScope<'a> {
    recording: &'a Recording<'a>,
    scope: &'a Scope,
    execution: &'a Execution,
    live: Vec<i64>,
    /// The requested channels, ascending, and the number of tags of each in every source.
    channels: Vec<u16>,
    singles: Vec<Vec<u64>>,
}

impl<'a> SinglesInScope<'a> {
    pub(super) fn new(
        recording: &'a Recording<'a>,
        scope: &'a Scope,
        groups: &[Vec<u16>],
        execution: &'a Execution,
    ) -> Self {
        let channels = groups::channels_of(groups);
        let sources = &recording.sources;
        let singles_of = |source: &Source<'_>| {
            let of = |&channel: &u16| {
                let delay = scope.delay_of(channel);
                source.singles_within(channel, delay, scope.range, execution.simd)
            };
            channels.iter().map(of).collect()
        };
        Self {
            live: sources.iter().map(|source| source.live().ticks_in(scope.range)).collect(),
            singles: sources.iter().map(singles_of).collect(),
            recording,
            scope,
            execution,
            channels,
        }
    }

    /// Returns the singles of a group. `is_expected` says whether the rule has an expectation, which needs the tags in
    /// the time that the channels share.
    pub(super) fn of_group(&self, group: &[u16], is_expected: bool) -> Vec<SourceSingles> {
        let delays: Vec<i64> = group.iter().map(|&channel| self.scope.delay_of(channel)).collect();
        let are_equal = delays.iter().all(|&delay| delay == delays[0]);
        let sources = self.recording.sources.iter().zip(self.live.iter().zip(&self.singles));
        let of_source = |(source, (&live, singles)): (&Source<'_>, (&i64, &Vec<u64>))| {
            let of_channel = |channel| match self.channels.binary_search(channel) {
                Ok(at) => singles[at],
                Err(_) => 0,
            };
            let whole = SourceSingles::new(live, group.iter().map(of_channel).collect());
            if are_equal {
                return whole;
            }
            let overlap = source.live().overlap(&delays, self.scope.range);
            let overlapping = if is_expected {
                self.overlapping(source, group, &delays)
            } else {
                whole.overlapping
            };
            SourceSingles { overlap, overlapping, ..whole }
        };
        sources.map(of_source).collect()
    }

    /// Counts the tags of each channel of a group in the time that is live for all of them.
    fn overlapping(&self, source: &Source<'_>, group: &[u16], delays: &[i64]) -> Vec<u64> {
        let mut counts = vec![0; group.len()];
        for common in source.live().joint(delays, self.scope.range) {
            for ((count, &channel), &delay) in counts.iter_mut().zip(group).zip(delays) {
                let simd = self.execution.simd;
                *count += source.singles_within(channel, delay, common.tags(), simd);
            }
        }
        counts
    }
}
