//! Partials: the counts of a query in an interval of delayed time, as integers that add up.
//!
//! A tuple belongs to its latest tag and a cluster to its first, so the counts of consecutive intervals add
//! up to the counts of all of them together. Queries over a growing run continue from the last result, and
//! parts that were counted elsewhere are merged.

mod bytes;
pub(crate) mod words;

use std::collections::BTreeMap;

use crate::{error::Error, run::time_range::TimeRange};

/// The counts of a query in an interval of delayed time.
///
/// For rules that use tags up, it also holds the state of the tags before its end, so that a continuation
/// need look no further back. It does not contain the tags of each channel or the live time of the run;
/// [`crate::Additive::finish`] takes them from the run.
///
/// [`Partial::to_bytes`] is stable (docs/partials.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    pub(crate) query: String,
    pub(crate) interval: TimeRange,
    pub(crate) counts: Counts,
    pub(crate) left: Left,
}

/// Counts that add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Counts {
    /// The count of each group, or of each set of channels that was a cluster; 0 for those not listed.
    Groups(BTreeMap<Vec<u16>, u128>),
    /// The count of each bin, and the tags in no bin.
    Bins(Vec<u64>, u64),
    /// The tags of each channel of each source.
    Tags(BTreeMap<(u32, u16), u64>),
}

/// The state that rules that use tags up leave at the end of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// The rule uses no tags up.
    Nothing,
    /// The unused tags of rule `once`.
    Unused(Vec<Unused>),
    /// The clusters of rule `cluster` that may take more tags.
    Open(Vec<Open>),
}

/// The tags of a source with which a group can still be matched: the delayed times of each channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unused {
    pub source: u32,
    pub group: Vec<u16>,
    pub times: Vec<Vec<i64>>,
}

/// A cluster that was counted with all its tags, and to which tags after the interval belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    pub source: u32,
    /// The delayed time of its first tag.
    pub first: i64,
}

impl Partial {
    /// Returns the interval of delayed time that it covers.
    pub fn interval(&self) -> TimeRange {
        self.interval
    }

    /// Returns the key of the query that it counts, as [`crate::Additive::words`] returns it.
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
        Ok(Self { query: later.query.clone(), interval, counts, left: later.left.clone() })
    }

    /// Rejects `earlier` unless it is of the query `words` and ends where `interval` begins.
    pub(crate) fn check_before(
        earlier: Option<&Self>,
        words: &str,
        interval: TimeRange,
    ) -> Result<(), Error> {
        if interval.from.zip(interval.to).is_some_and(|(from, to)| from > to) {
            return Err(Error::PartialDamaged { what: "an interval that ends before it begins" });
        }
        let Some(earlier) = earlier else { return Ok(()) };
        if earlier.query != words {
            let (expected, found) = (words.to_owned(), earlier.query.clone());
            return Err(Error::PartialOf { expected, found });
        }
        let (ends, begins) = (earlier.interval.to, interval.from);
        if ends.is_none() || ends != begins {
            return Err(Error::PartialGap { ends, begins });
        }
        Ok(())
    }

    /// Rejects the counts of another query or range.
    pub(crate) fn check_of(&self, words: &str, range: TimeRange) -> Result<(), Error> {
        if self.query != words {
            let (expected, found) = (words.to_owned(), self.query.clone());
            return Err(Error::PartialOf { expected, found });
        }
        if self.interval != range {
            return Err(Error::PartialRange { covered: self.interval, asked: range });
        }
        Ok(())
    }
}

fn follows(earlier: &Partial, later: &Partial) -> bool {
    earlier.interval.to.is_some() && earlier.interval.to == later.interval.from
}

impl Counts {
    fn add(&mut self, more: &Self) -> Result<(), Error> {
        match (self, more) {
            (Self::Groups(counts), Self::Groups(more)) => {
                for (group, &more) in more {
                    let count = counts.entry(group.clone()).or_default();
                    *count = count.checked_add(more).ok_or(Error::PartialSum)?;
                }
            }
            (Self::Tags(counts), Self::Tags(more)) => {
                for (&of, &more) in more {
                    let count = counts.entry(of).or_default();
                    *count = count.checked_add(more).ok_or(Error::PartialSum)?;
                }
            }
            (Self::Bins(counts, dropped), Self::Bins(more, more_dropped))
                if counts.len() == more.len() =>
            {
                for (count, &more) in counts.iter_mut().zip(more) {
                    *count = count.checked_add(more).ok_or(Error::PartialSum)?;
                }
                *dropped = dropped.checked_add(*more_dropped).ok_or(Error::PartialSum)?;
            }
            _ => return Err(Error::PartialDamaged { what: "counts of another kind" }),
        }
        Ok(())
    }
}
