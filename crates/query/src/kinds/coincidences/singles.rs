//! The tags and the live time that belong to the counts of each group.

use std::collections::BTreeSet;

use crate::{
    estimate::singles::SourceSingles,
    rules::groups,
    run::{
        recording::{Recording, Source},
        scope::Scope,
        time_range::TimeRange,
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
            live: sources.iter().map(|source| scope.range.live_of(source)).collect(),
            singles: sources.iter().map(singles_of).collect(),
            recording,
            scope,
            execution,
            channels,
        }
    }

    pub(super) fn of_group(&self, group: &[u16]) -> Vec<SourceSingles> {
        let delays = group.iter().map(|&channel| self.scope.delay_of(channel));
        self.between(group, delays.clone().min().unwrap_or(0), delays.max().unwrap_or(0))
    }

    /// Asks for the singles that any set of the channels may need.
    pub(super) fn of_every_set(&self) {
        let delays: BTreeSet<i64> =
            self.channels.iter().map(|&channel| self.scope.delay_of(channel)).collect();
        for &earliest in &delays {
            for &latest in delays.range(earliest..) {
                self.between(&self.channels, earliest, latest);
            }
        }
    }

    /// Returns the singles of a group with these smallest and largest delays.
    fn between(&self, group: &[u16], earliest: i64, latest: i64) -> Vec<SourceSingles> {
        let sources = self.recording.sources.iter().zip(self.live.iter().zip(&self.singles));
        let of_source = |(source, (&live, singles)): (&Source<'_>, (&i64, &Vec<u64>))| {
            let of_channel = |channel| match self.channels.binary_search(channel) {
                Ok(at) => singles[at],
                Err(_) => 0,
            };
            let whole = SourceSingles::new(live, group.iter().map(of_channel).collect());
            match source.span() {
                Some((first, last)) if earliest < latest => {
                    // Delayed times fit in 64 bits; the scope was checked for this.
                    let shared = TimeRange {
                        from: Some(first.saturating_add(latest)),
                        to: Some(last.saturating_add(earliest).saturating_add(1)),
                    };
                    self.overlapping(source, group, whole, shared)
                }
                _ => whole,
            }
        };
        sources.map(of_source).collect()
    }

    /// Returns the same with the part of its time in which tags of all channels of the group can occur.
    fn overlapping(
        &self,
        source: &Source<'_>,
        group: &[u16],
        whole: SourceSingles,
        shared: TimeRange,
    ) -> SourceSingles {
        let within = shared.and(&self.scope.range);
        let (Some(from), Some(to)) = (within.from, within.to) else { return whole };
        // The last tag of a source lies at the end of its live time, one tick before the range ends.
        let end = if within.to == shared.to { to - 1 } else { to };
        let overlap = end.saturating_sub(from).max(0);
        let of = |&channel: &u16| {
            let delay = self.scope.delay_of(channel);
            source.singles_within(channel, delay, within, self.execution.simd)
        };
        let overlapping = match overlap {
            0 => vec![0; group.len()],
            _ => group.iter().map(of).collect(),
        };
        SourceSingles { overlap, overlapping, ..whole }
    }
}
