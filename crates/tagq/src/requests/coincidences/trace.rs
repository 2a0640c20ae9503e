//! Coincidences in bins of time: each bin as if it were queried alone.

use rayon::prelude::*;
use tagq_query::{
    Coincidences as Query, Counted, Execution, Groups, Kind as _, Rates, Recording, Scope, Source,
    TimeRange,
};

use crate::cache::ResultCache;
use crate::requests::coincidences::shifted::Shift;

/// Number of bins that are counted in parallel.
const TOGETHER: usize = 4096;

/// The bins of a trace.
pub(super) struct Trace {
    pub bins: Vec<Bin>,
}

/// One bin.
pub(super) struct Bin {
    /// Its start, since the first tag of the run.
    pub start_ticks: i64,
    pub is_partial: bool,
    pub range: TimeRange,
}

impl Trace {
    /// Creates the same bins as for rates, so that all traces share them.
    pub(super) fn new(
        recording: &Recording<'_>,
        query: &Query,
        width: i64,
        shift: Option<Shift>,
    ) -> Result<Self, tagq_query::Error> {
        let scope = &query.scope;
        let rates = Rates { scope: scope.clone(), bin: Some(width) };
        let last = recording.sources.iter().filter_map(Source::span).map(|(_, last)| last).max();
        // If it is out of range, it is before every bin. Tags moved back by a shift may arrive later by
        // that shift.
        let frontier = last.and_then(|last| query.frontier(last)).map_or(i128::MIN, i128::from);
        let frontier = frontier.saturating_sub(shift.map_or(0, Shift::longest));
        let Some(trace) = rates.run(recording, &Execution::best())?.trace else {
            return Ok(Self { bins: Vec::new() });
        };
        let bin = |bin: &tagq_query::TraceBin| {
            let start_ticks = bin.number.saturating_mul(width);
            let from = i128::from(trace.origin) + i128::from(bin.number) * i128::from(width);
            let own = TimeRange {
                from: i64::try_from(from).ok(),
                to: i64::try_from(from + i128::from(width)).ok(),
            };
            let is_final = from + i128::from(width) <= frontier;
            let is_partial = bin.is_cut || !is_final;
            Bin { start_ticks, is_partial, range: own.and(&scope.range) }
        };
        Ok(Self { bins: trace.bins.iter().map(bin).collect() })
    }

    /// Iterates over the queries of the bins, in order.
    pub(super) fn query_of<'q>(
        query: &'q Query,
        recording: &Recording<'_>,
    ) -> impl Fn(&Bin) -> Query + Sync + use<'q> {
        // The list of pairs does not depend on the bin.
        let in_use = query.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let fixed = match &query.groups {
            Groups::Listed(_) => query.scope.clone(),
            _ => Scope { channels: Some(in_use), ..query.scope.clone() },
        };
        move |bin: &Bin| {
            let scope = Scope { range: bin.range, ..fixed.clone() };
            Query { scope, ..query.clone() }
        }
    }

    /// Passes the result of each bin to `take`, in order, with the query of the bin. Only a few bins
    /// are in memory at a time.
    pub(super) fn counts(
        &self,
        query: &Query,
        recording: &Recording<'_>,
        cache: &ResultCache<'_>,
        mut take: impl FnMut(&Bin, &Query, Counted) -> Result<(), tagq_query::Error>,
    ) -> Result<(), tagq_query::Error> {
        let query_of = Self::query_of(query, recording);
        let pieces = recording.pass(query.scope.range).in_pieces(self.bins.len());
        let recording = recording.in_silence();
        let count = |bin: &Bin| {
            pieces.begin()?;
            let query = query_of(bin);
            let counted = cache.answer(&query, &recording, &Execution::best())?;
            Ok((query, counted))
        };
        for bins in self.bins.chunks(TOGETHER) {
            let counted: Result<Vec<_>, tagq_query::Error> = bins.par_iter().map(count).collect();
            for (bin, (query, counted)) in bins.iter().zip(counted?) {
                take(bin, &query, counted)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq_query::{Delay, Rule, Veto};
    use tagq_store::{Channels, Tags};

    /// Returns the partial bins for tags up to 99 and bins of 10.
    fn partial(rule: Rule, guard: Option<i64>, delay: i64) -> Vec<i64> {
        let time: Vec<i64> = (0..100).collect();
        let tags = Tags { time: &time, channels: Channels::U8(&[1, 2, 1, 2, 3].repeat(20)) };
        let query = Query {
            groups: Groups::Listed(vec![vec![1, 2]]),
            rule,
            window: 12,
            veto: guard.map(|guard| Veto { channels: vec![3], guard }),
            scope: Scope {
                channels: Some(vec![1, 2]),
                delays: vec![Delay { channel: 3, ticks: delay }],
                range: TimeRange::default(),
            },
        };
        let trace = Trace::new(&Recording::from_tags(tags), &query, 10, None).unwrap();
        let partial = trace.bins.iter().filter(|bin| bin.is_partial);
        partial.map(|bin| bin.start_ticks).collect()
    }

    #[test]
    fn a_bin_is_final_when_no_veto_and_no_tag_of_a_cluster_can_come() {
        // At 99 another tag with the same time may still arrive, so that the bin that ends at 100 is
        // not final.
        assert_eq!(partial(Rule::All, None, 0), [90]);
        // A veto at 99 or later reaches down to 99 - 19 = 80; with 20 it reaches 79, in the bin before.
        assert_eq!(partial(Rule::All, Some(19), 0), [80, 90]);
        assert_eq!(partial(Rule::All, Some(20), 0), [70, 80, 90]);
        // Moved by -5, the next tag may arrive at 94.
        assert_eq!(partial(Rule::All, Some(14), -5), [80, 90]);
        assert_eq!(partial(Rule::All, Some(15), -5), [70, 80, 90]);
        // A cluster that starts at 87 may still grow at 99.
        assert_eq!(partial(Rule::Cluster, None, 0), [80, 90]);
    }
}
