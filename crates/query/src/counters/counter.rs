//! The trait of everything that can answer for a run: its rows, the parts of a plan, or results of earlier counts.

use std::fmt::Debug;

use super::countable::Countable;
use crate::{
    error::Error,
    run::{Pass, counts::Counts, facts::Facts, recording::Recording, time_range::TimeRange},
};

/// Answers questions about one run: from its rows, or from counts that were made before.
pub trait Counter: Debug + Sync {
    /// Returns the facts about the run, which are known without counting.
    fn facts(&self) -> Facts;

    /// Returns the counts of a query in a range that is not empty.
    ///
    /// # Errors
    /// Errors of the query; [`Error::NoPartial`] for one whose counts do not add up, [`Error::PartMissing`] for counts
    /// that no part has.
    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error>;

    /// Adds the tags of each of `channels` in a range of undelayed time of a source; each end of the range is after its
    /// first tag and not after its last one, or open. [`Counter::check`] then says whether the numbers are right.
    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, counts: &mut [u64]);

    /// Returns the tags of a channel before an undelayed time of a source. `near` is the rank at another time: if
    /// that is close, only the rows between are read.
    fn rank(&self, source: u32, channel: u16, time: i64, near: Rank) -> Rank {
        let mut count = [0];
        self.tags(source, &[channel], TimeRange { from: None, to: Some(time) }, &mut count);
        Rank { row: near.row, count: count[0] }
    }

    /// Receives the undelayed times, in order, between which tags of a source are asked for next, so that their
    /// blocks can be prefetched.
    fn expect_ends(&self, _source: u32, _times: &mut dyn Iterator<Item = i128>) {}

    /// Begins a pass over the tags in `range`, which reports its progress unless it is silent.
    fn pass(&self, _range: TimeRange, _is_silent: bool) -> Pass<'_> {
        Pass::begin(None, false, 0)
    }

    /// Returns the rows, if all of them can be read.
    fn recording(&self) -> Option<&Recording<'_>> {
        None
    }

    /// Returns an error if numbers that were returned can be wrong.
    ///
    /// # Errors
    /// Damaged rows, cancellation, and [`Error::PartMissing`].
    fn check(&self) -> Result<(), Error>;
}

/// A question for counts.
#[derive(Clone, Copy)]
pub struct CountQuestion<'a> {
    /// The source alone; `None` for all of them.
    pub source: Option<u32>,
    /// The range of delayed time.
    pub range: TimeRange,
    /// The query, or the count that accompanies one.
    pub what: &'a dyn Countable,
    /// Whether it is a piece of a larger pass, and reports no progress.
    pub is_silent: bool,
}

/// The tags of a channel before a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// The first row at or after the time, where rows are read.
    pub row: usize,
    /// The number of tags.
    pub count: u64,
}
