//! Divides the time of a run: into the bins of a trace, and into the blocks from which errors follow.
//!
//! Times from −7 to 20 are 27 ticks: three blocks of them are divided at 2 and 11, and the first and the last block
//! have no outer end, because delays move tags there. The division depends on the query and on facts about the run,
//! such as the ends of its sources, and never on counts: parts of a run, each with tags of its own, are asked about the
//! same bins and blocks.

use rayon::prelude::*;
use tagq_query::{
    Error as QueryError, Facts, Ledger, Scope, TimeBin, TimeBins, TimeDivision, TimeRange,
};
use tagq_run::BinWidth;

use super::{
    blocks::Errors,
    options::{RequestOption, ValueType},
};

/// How a request divides the time of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Division<'a> {
    /// The bin width of a trace.
    pub bin: Option<&'a BinWidth>,
    /// The gate whose intervals are the bins of a trace, or the channel that each of them begins with.
    pub by: Option<&'a str>,
    /// Whether it must be a whole number of ticks.
    pub is_exact: bool,
    /// The method for errors, which may need blocks of each bin.
    pub errors: Errors,
}

impl Division<'_> {
    /// Whether there is a row for each of several bins of time.
    pub(super) fn is_trace(&self) -> bool {
        self.bin.is_some() || self.by.is_some()
    }
}

/// The option that divides a run by its tags.
pub(super) const BY: RequestOption = RequestOption::new(
    "by",
    ValueType::Marker("M"),
    "A row for each interval: from each tag of channel M to the next, or those of a gate: its name in tagq.toml, or `A .. B`",
);

/// Counts each bin of time in the scope, and returns those that an answer has, in order. `frontier`
/// returns the time before which counts are final ([`TimeBins::of`]).
///
/// Every bin that can have tags is counted, so that parts of a run, each with tags of its own, are asked the same.
pub(super) fn each_bin<T: Send>(
    ledger: &Ledger<'_>,
    scope: &Scope,
    division: &TimeDivision,
    frontier: impl Fn(i64) -> Option<i64>,
    count: impl Fn(&Ledger<'_>, &TimeBin) -> Result<T, QueryError> + Sync,
) -> Result<Vec<(TimeBin, T)>, QueryError> {
    let all = TimeBins::of(ledger.facts(), scope, division, frontier)?;
    let Some(all) = all else { return Ok(Vec::new()) };
    let needed = all.needed(ledger, scope);
    let bins = all.bins();
    let pieces = ledger.pass(scope.range).in_pieces(bins.len());
    let silent = ledger.in_silence();
    let of_bin = |(at, bin): (usize, TimeBin)| {
        pieces.begin()?;
        let counted = count(&silent, &bin)?;
        Ok(needed.contains(&at).then_some((bin, counted)))
    };
    let counted = bins.into_par_iter().enumerate().map(of_bin);
    let counted: Vec<Option<(TimeBin, T)>> = counted.collect::<Result<_, QueryError>>()?;
    Ok(counted.into_iter().flatten().collect())
}

/// Counts every block of every source separately, so that blocks belong to one source: `[i][s]` is the count of part i
/// of source s, by `count`, which gets the ledger of this source alone.
pub(super) fn each_block<T: Send>(
    ledger: &Ledger<'_>,
    range: TimeRange,
    blocks: u32,
    count: impl Fn(&Ledger<'_>, TimeRange) -> Result<T, QueryError> + Sync,
) -> Result<Vec<Vec<T>>, QueryError> {
    let ranges = block_ranges(ledger.facts(), range, blocks);
    let pieces = ledger.pass(range).in_pieces(ranges.len());
    let silent = ledger.in_silence();
    let sources: Vec<Ledger<'_>> =
        (0..ledger.facts().len()).map(|source| silent.of_source(source)).collect();
    let block = |ranges: &Vec<TimeRange>| {
        pieces.begin()?;
        sources.iter().zip(ranges).map(|(source, &range)| count(source, range)).collect()
    };
    ranges.par_iter().map(block).collect()
}

/// Returns the blocks of each source: `[i][s]` is part i of the live time of source s in `range`, in
/// delayed time. The first and the last block extend as far as delays move tags. If a source is too
/// short for all blocks, its blocks are empty.
pub(super) fn block_ranges(facts: &Facts, range: TimeRange, blocks: u32) -> Vec<Vec<TimeRange>> {
    let edges = facts.iter().map(|source| {
        let edges = source.live().divided(range, blocks).into_iter().map(Some);
        std::iter::once(None).chain(edges).chain([None]).collect()
    });
    let edges: Vec<Vec<Option<i64>>> = edges.collect();
    let of = |block: usize| {
        let own = |edges: &Vec<Option<i64>>| {
            TimeRange { from: edges[block], to: edges[block + 1] }.and(&range)
        };
        edges.iter().map(own).collect()
    };
    (0..blocks as usize).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq_query::Recording;
    use tagq_store::{Channels, Tags};

    #[test]
    fn blocks_follow_each_other_and_leave_nothing_out() {
        let time = [-7, 0, 3, 20];
        let recording = Recording::from_tags(Tags {
            time: time[..].into(),
            channels: Channels::U8((&[1, 1, 2, 1]).into()),
        });
        let side = |from: Option<i64>, to: Option<i64>| vec![TimeRange { from, to }];
        // 27 ticks from -7 in three parts of 9.
        let open = block_ranges(&recording.facts(), TimeRange::default(), 3);
        assert_eq!(open, [side(None, Some(2)), side(Some(2), Some(11)), side(Some(11), None)]);
        // 10 ticks from 0.
        let range = TimeRange { from: Some(0), to: Some(10) };
        let cut = block_ranges(&recording.facts(), range, 2);
        assert_eq!(cut, [side(Some(0), Some(5)), side(Some(5), Some(10))]);
        // 17 of 27 ticks are live, 12 of them before 5: the second half begins 8.5 ticks from -7.
        let dead = recording.sources[0].clone().with_dead(&[(5, 15)]);
        let dead = block_ranges(&Recording::new(vec![dead]).facts(), TimeRange::default(), 2);
        assert_eq!(dead, [side(None, Some(1)), side(Some(1), None)]);
    }
}
