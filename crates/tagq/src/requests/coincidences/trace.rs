//! Coincidences in bins of time: each bin as if it were queried alone.

use std::ops::Range;

use rayon::prelude::*;
use tagq_query::{
    Coincidences as Query, Counted, Execution, Groups, Kind as _, Recording, Scope, TimeBin,
    TimeBins,
};

use crate::cache::ResultCache;
use crate::requests::coincidences::shifted::Shift;

/// Number of bins that are counted in parallel.
const TOGETHER: usize = 4096;

/// The bins of a trace.
pub(super) struct Trace {
    /// All bins that tags can be in: each is counted.
    pub bins: Vec<TimeBin>,
    /// Those of them that the answer has.
    needed: Range<usize>,
}

impl Trace {
    pub(super) fn new(
        recording: &Recording<'_>,
        query: &Query,
        width: i64,
        shift: Option<Shift>,
    ) -> Result<Self, tagq_query::Error> {
        // Tags moved back by a shift may arrive later by that shift.
        let longest = shift.map_or(Some(0), |shift| i64::try_from(shift.longest()).ok());
        let frontier = |last| query.frontier(last)?.checked_sub(longest?);
        let Some(all) = TimeBins::of(recording, &query.scope, width, frontier)? else {
            return Ok(Self { bins: Vec::new(), needed: 0..0 });
        };
        let needed = all.needed(recording, &query.scope, &Execution::best());
        Ok(Self { bins: all.bins(), needed })
    }

    /// Iterates over the queries of the bins, in order.
    pub(super) fn query_of<'q>(
        query: &'q Query,
        recording: &Recording<'_>,
    ) -> impl Fn(&TimeBin) -> Query + Sync + use<'q> {
        // The list of pairs does not depend on the bin.
        let in_use = query.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let fixed = match &query.groups {
            Groups::Listed(_) => query.scope.clone(),
            _ => Scope { channels: Some(in_use), ..query.scope.clone() },
        };
        move |bin: &TimeBin| {
            let scope = Scope { range: bin.range, ..fixed.clone() };
            Query { scope, ..query.clone() }
        }
    }

    /// Passes the result of each bin to `take`, in order, with the query of the bin, and returns what it makes of those
    /// that the answer has. Only a few bins are in memory at a time.
    pub(super) fn counts<T>(
        &self,
        query: &Query,
        recording: &Recording<'_>,
        cache: &ResultCache<'_>,
        take: impl Fn(&TimeBin, &Query, Counted) -> Result<Vec<T>, tagq_query::Error>,
    ) -> Result<Vec<T>, tagq_query::Error> {
        let query_of = Self::query_of(query, recording);
        let pieces = recording.pass(query.scope.range).in_pieces(self.bins.len());
        let recording = recording.in_silence();
        let count = |bin: &TimeBin| {
            pieces.begin()?;
            let query = query_of(bin);
            let counted = cache.answer(&query, &recording, &Execution::best())?;
            Ok((query, counted))
        };
        let mut all = Vec::new();
        for (piece, bins) in self.bins.chunks(TOGETHER).enumerate() {
            let counted: Result<Vec<_>, tagq_query::Error> = bins.par_iter().map(count).collect();
            let numbered = (piece * TOGETHER..).zip(bins.iter().zip(counted?));
            for (at, (bin, (query, counted))) in numbered {
                // What goes with a count is asked for in every bin.
                let taken = take(bin, &query, counted)?;
                if self.needed.contains(&at) {
                    all.extend(taken);
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq_query::{Delay, Rule, TimeRange, Veto};
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
        let partial = trace.bins[trace.needed].iter().filter(|bin| bin.is_cut || !bin.is_final);
        partial.map(|bin| 10 * bin.number).collect()
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
