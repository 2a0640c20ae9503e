//! Partials: the counts of a query in an interval of delayed time, as integers that add up.
//!
//! A tuple belongs to its latest tag and a cluster to its first, so the counts of consecutive intervals add
//! up to the counts of all of them together. Queries over a growing run continue from the last result, and
//! parts that were counted elsewhere are merged.
//!
//! Tags at 0 and 4, window 5, intervals up to 3 and from 3 on: the pair counts in the second interval.

pub(crate) mod bytes;
pub(crate) mod keys;

use crate::{
    error::Error,
    run::{counts::Counts, time_range::TimeRange},
};

/// The counts of a query in an interval of delayed time.
///
/// For rules that use tags up, it also holds the state of the tags before its end, so that a continuation reads no
/// earlier tags. It does not contain the tags of each channel or the live time of the run; [`crate::Kind::finish`]
/// takes them from the run.
///
/// [`Partial::to_bytes`] is stable (docs/partials.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    pub(crate) query: String,
    pub(crate) interval: TimeRange,
    pub(crate) counts: Counts,
    pub(crate) state: State,
}

/// The state that rules that use tags up leave at the end of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The rule uses no tags up.
    Nothing,
    /// The unused tags of rule `once`.
    Unused(Vec<Unused>),
    /// The clusters of rule `cluster` that may take more tags.
    Open(Vec<Open>),
}

/// The tags of a source with which a group can still be matched: the delayed times of each channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    pub source: u32,
    pub group: Vec<u16>,
    pub times: Vec<Vec<i64>>,
}

/// A cluster that was counted with all its tags, and to which tags after the interval belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    pub source: u32,
    /// The delayed time of its first tag.
    pub first: i64,
}

impl Partial {
    /// Returns the interval of delayed time that it covers.
    pub fn interval(&self) -> TimeRange {
        self.interval
    }

    /// Returns the key of the query that it counts, as [`crate::Countable::key`] returns it.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Merges the counts of two intervals, in any order; one must begin where the other ends.
    ///
    /// # Errors
    /// Returns [`Error::PartialOf`] for different queries, [`Error::PartialGap`] for intervals that overlap
    /// or leave times out between them, [`Error::PartialSum`] for sums that do not fit.
    pub fn merge(&self, other: &Self) -> Result<Self, Error> {
        let (earlier, later) = if follows(other, self) { (other, self) } else { (self, other) };
        Self::check_before(Some(earlier), &later.query, later.interval)?;
        let mut counts = earlier.counts.clone();
        counts.add(&later.counts)?;
        let interval = TimeRange { from: earlier.interval.from, to: later.interval.to };
        Ok(Self { query: later.query.clone(), interval, counts, state: later.state.clone() })
    }

    /// Rejects `earlier` unless it is of the query `key` and ends where `interval` begins.
    pub(crate) fn check_before(
        earlier: Option<&Self>,
        key: &str,
        interval: TimeRange,
    ) -> Result<(), Error> {
        if interval.from.zip(interval.to).is_some_and(|(from, to)| from > to) {
            return Err(Error::PartialDamaged { what: "an interval that ends before it begins" });
        }
        let Some(earlier) = earlier else { return Ok(()) };
        earlier.check_query(key)?;
        let (ends, begins) = (earlier.interval.to, interval.from);
        if ends.is_none() || ends != begins {
            return Err(Error::PartialGap { ends, begins });
        }
        Ok(())
    }

    /// Returns the counts, which must be of the query `key` in `range`.
    ///
    /// # Errors
    /// [`Error::PartialOf`] and [`Error::PartialRange`].
    pub fn counts_of(&self, key: &str, range: TimeRange) -> Result<&Counts, Error> {
        self.check_query(key)?;
        if self.interval != range {
            return Err(Error::PartialRange { covered: self.interval, asked: range });
        }
        Ok(&self.counts)
    }

    fn check_query(&self, key: &str) -> Result<(), Error> {
        if self.query == key {
            return Ok(());
        }
        Err(Error::PartialOf { expected: key.to_owned(), found: self.query.clone() })
    }
}

fn follows(earlier: &Partial, later: &Partial) -> bool {
    earlier.interval.to.is_some() && earlier.interval.to == later.interval.from
}
