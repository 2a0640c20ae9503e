//! Partial answers: what a query counts in an interval of delayed time, as integers that add up.
//!
//! A tuple belongs to its latest tag and a cluster to its first, so that what is counted in intervals
//! that follow each other is what is counted in all of them together. Answers over a run that grows go
//! on where the last one ended, and parts that were counted elsewhere are put together.

mod bytes;
pub(crate) mod words;

use std::collections::BTreeMap;

use crate::{error::Error, run::time_range::TimeRange};

/// What a query counts in an interval of delayed time.
///
/// Besides the counts it holds, for the rules that use tags up, what is left of the tags before its end:
/// whoever goes on there needs to look no further back. How many tags each channel has and how long a
/// run is live are not in it; [`crate::Additive::finish`] takes them from the run.
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
    /// Of each group, or of each set of channels that was a cluster; of none that stands not here.
    Groups(BTreeMap<Vec<u16>, u128>),
    /// Of each bin, and the tags in none.
    Bins(Vec<u64>, u64),
    /// Of the channels of each source.
    Tags(BTreeMap<(u32, u16), u64>),
}

/// What rules that use tags up have left at the end of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// The rule uses none up.
    Nothing,
    /// Unused tags, by rule `once`.
    Unused(Vec<Unused>),
    /// The clusters that may take more, by rule `cluster`.
    Open(Vec<Open>),
}

/// The tags of a source that a group can still be matched with, the delayed times of each channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unused {
    pub source: u32,
    pub group: Vec<u16>,
    pub times: Vec<Vec<i64>>,
}

/// A cluster that was counted, with all that it takes, and that tags behind the interval belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    pub source: u32,
    /// The delayed time of its first tag.
    pub first: i64,
}

impl Partial {
    /// The interval of delayed time that it covers.
    pub fn interval(&self) -> TimeRange {
        self.interval
    }

    /// The query that it counts, as [`crate::Additive::words`] gives it.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// The counts of two intervals of which one begins where the other ends, in any order.
    ///
    /// # Errors
    /// [`Error::PartialOf`] for different queries, [`Error::PartialGap`] for intervals that overlap or
    /// leave times out between them, [`Error::PartialSum`] for sums that do not fit.
    pub fn merge(&self, other: &Self) -> Result<Self, Error> {
        let (earlier, later) = if follows(other, self) { (other, self) } else { (self, other) };
        Self::check_before(Some(earlier), &later.query, later.interval)?;
        let mut counts = earlier.counts.clone();
        counts.add(&later.counts)?;
        let interval = TimeRange { from: earlier.interval.from, to: later.interval.to };
        Ok(Self { query: later.query.clone(), interval, counts, left: later.left.clone() })
    }

    /// Refuses `earlier` unless it is of the query `words` and ends where `interval` begins.
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

    /// Refuses it as the counts of another query or range.
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
