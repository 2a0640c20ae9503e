//! Coincidences in bins of time: each bin as if it were queried alone.

use tagq_query::{
    Coincidences as Query, Error as QueryError, Groups, Kind as _, Recording, Scope, TimeBin,
};

use crate::requests::{
    coincidences::{
        counts::{GroupCounts, How},
        shifted::Shift,
    },
    ledger::Ledger,
};

/// Counts each bin of time of so many ticks.
pub(super) fn counted(
    ledger: &Ledger<'_>,
    query: &Query,
    width: i64,
    how: How,
) -> Result<Vec<GroupCounts>, QueryError> {
    let query_of = query_of(query, ledger.recording());
    let of_bin = |ledger: &Ledger<'_>, bin: &TimeBin| {
        let start = (bin.number.saturating_mul(width), bin.is_partial());
        GroupCounts::of(ledger, &query_of(bin), Some(start), how)
    };
    let frontier = |last| frontier(query, how.shift, last);
    let bins = ledger.in_bins(&query.scope, width, frontier, of_bin)?;
    Ok(bins.into_iter().flat_map(|(_, counts)| counts).collect())
}

/// Returns the time before which counts are final. Tags moved back by a shift may arrive later by that shift.
fn frontier(query: &Query, shift: Option<Shift>, last: i64) -> Option<i64> {
    let longest = shift.map_or(Some(0), |shift| i64::try_from(shift.longest()).ok());
    query.frontier(last)?.checked_sub(longest?)
}

/// Returns the query of each bin.
pub(super) fn query_of<'q>(
    query: &'q Query,
    recording: &Recording<'_>,
) -> impl Fn(&TimeBin) -> Query + Sync + use<'q> {
    // The list of pairs does not depend on the bin.
    let in_use = query.scope.in_use(recording);
    let fixed = match &query.groups {
        Groups::Listed(_) => query.scope.clone(),
        _ => Scope { channels: Some(in_use), ..query.scope.clone() },
    };
    move |bin: &TimeBin| {
        let scope = Scope { range: bin.range, ..fixed.clone() };
        Query { scope, ..query.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq_query::{Delay, Execution, Rule, TimeBins, TimeRange, Veto};
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
        let recording = Recording::from_tags(tags);
        let all = TimeBins::of(&recording, &query.scope, 10, |last| frontier(&query, None, last));
        let all = all.unwrap().unwrap();
        let needed = all.needed(&recording, &query.scope, &Execution::best());
        let partial = all.bins()[needed].to_vec().into_iter().filter(TimeBin::is_partial);
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
