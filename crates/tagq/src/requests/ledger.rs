//! Where the counts of a request come from: the tags of a run, and what was counted of them before; and how they are
//! divided, into bins or blocks of time.

use rayon::prelude::*;
use tagq_query::{
    Error as QueryError, Execution, Kind, Recording, Scope, TimeBin, TimeBins, TimeRange,
};

use super::blocks;
use crate::cache::ResultCache;

/// Answers queries over a run, or over one source of it.
pub(super) struct Ledger<'a> {
    recording: &'a Recording<'a>,
    /// Results of the whole run; `None` for a part of it.
    cache: Option<&'a ResultCache<'a>>,
}

impl<'a> Ledger<'a> {
    /// Creates the ledger of a run.
    pub(super) fn new(recording: &'a Recording<'a>, cache: &'a ResultCache<'a>) -> Self {
        Self { recording, cache: Some(cache) }
    }

    /// Returns the tags.
    pub(super) fn recording(&self) -> &'a Recording<'a> {
        self.recording
    }

    /// Answers a query over all tags in its scope.
    pub(super) fn answer<Q: Kind>(&self, query: &Q) -> Result<Q::Answer, QueryError> {
        let execution = Execution::best();
        match self.cache {
            Some(cache) => cache.answer(query, self.recording, &execution),
            None => query.run(self.recording, &execution),
        }
    }

    /// Counts each bin of time of `width` ticks in the scope, and returns those that an answer has, in order. `frontier`
    /// returns the time before which counts are final ([`TimeBins::of`]).
    ///
    /// Every bin that can have tags is counted, so that parts of a run, each with tags of its own, are asked the same.
    pub(super) fn in_bins<T: Send>(
        &self,
        scope: &Scope,
        width: i64,
        frontier: impl Fn(i64) -> Option<i64>,
        count: impl Fn(&Ledger<'_>, &TimeBin) -> Result<T, QueryError> + Sync,
    ) -> Result<Vec<(TimeBin, T)>, QueryError> {
        let all = TimeBins::of(self.recording, scope, width, frontier)?;
        let Some(all) = all else { return Ok(Vec::new()) };
        let needed = all.needed(self.recording, scope, &Execution::best());
        let bins = all.bins();
        let pieces = self.recording.pass(scope.range).in_pieces(bins.len());
        let silent = self.recording.in_silence();
        let ledger = Ledger { recording: &silent, cache: self.cache };
        let of_bin = |(at, bin): (usize, TimeBin)| {
            pieces.begin()?;
            let counted = count(&ledger, &bin)?;
            Ok(needed.contains(&at).then_some((bin, counted)))
        };
        let counted = bins.into_par_iter().enumerate().map(of_bin);
        let counted: Vec<Option<(TimeBin, T)>> = counted.collect::<Result<_, QueryError>>()?;
        Ok(counted.into_iter().flatten().collect())
    }

    /// Counts every block of every source separately, so that blocks belong to one source: `[i][s]` is the count of part i
    /// of source s, by `count`, which gets the ledger of this source alone.
    pub(super) fn in_blocks<T: Send>(
        &self,
        range: TimeRange,
        blocks: u32,
        count: impl Fn(&Ledger<'_>, TimeRange) -> Result<T, QueryError> + Sync,
    ) -> Result<Vec<Vec<T>>, QueryError> {
        let ranges = blocks::ranges(self.recording, range, blocks);
        let pieces = self.recording.pass(range).in_pieces(ranges.len());
        let silent = self.recording.in_silence();
        let sources: Vec<Recording<'_>> =
            (0..silent.sources.len()).map(|source| silent.of_source(source)).collect();
        let block = |ranges: &Vec<TimeRange>| {
            pieces.begin()?;
            let of_source = |(recording, &range): (&Recording<'_>, &TimeRange)| {
                count(&Ledger { recording, cache: None }, range)
            };
            sources.iter().zip(ranges).map(of_source).collect()
        };
        ranges.par_iter().map(block).collect()
    }
}
