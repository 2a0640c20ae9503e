//! The object that a query asks for the counts of a run, or of one of its sources.
//!
//! Tags at 10 to 90: the facts answer a question about 0 to 100 without reading a row; one about 0 to 50 goes to the
//! counter. Both ends of a range are handled here, so that counters get only ends between the first and the last tag.

use super::{
    countable::Countable,
    counter::{CountQuestion, Counter, Rank},
};
use crate::{
    error::Error,
    run::{
        Pass,
        counts::Counts,
        facts::{Facts, SourceFacts},
        recording::Recording,
        time_range::TimeRange,
    },
};

/// Answers the questions of a query about a run, or about one source of it.
#[derive(Debug, Clone)]
pub struct Ledger<'a> {
    counter: &'a dyn Counter,
    facts: Facts,
    /// The number of the one source that it answers for; `None` for all sources.
    of: Option<u32>,
    is_silent: bool,
}

impl<'a> Ledger<'a> {
    /// Creates the ledger of a run.
    pub fn of(counter: &'a dyn Counter) -> Self {
        Self { counter, facts: counter.facts(), of: None, is_silent: false }
    }

    /// Returns the ledger of one of its sources.
    #[must_use]
    pub fn of_source(&self, source: usize) -> Self {
        Self { facts: self.facts.of_source(source), of: Some(self.number(source)), ..*self }
    }

    /// Returns the same ledger for pieces of a larger pass, which report no progress.
    #[must_use]
    pub fn in_silence(&self) -> Self {
        Self { is_silent: true, ..self.clone() }
    }

    /// Returns the facts about the run or its one source, which are known without counting.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the rows, if all of them can be read.
    pub(crate) fn recording(&self) -> Option<&Recording<'_>> {
        self.counter.recording()
    }

    /// Begins a pass over the tags in `range`.
    pub fn pass(&self, range: TimeRange) -> Pass<'_> {
        self.counter.pass(range, self.is_silent)
    }

    /// Returns the counts in a range of delayed time.
    ///
    /// # Errors
    /// See [`Counter::counts`].
    pub fn counts(&self, range: TimeRange, what: &dyn Countable) -> Result<Counts, Error> {
        if range.is_empty() {
            return Ok(what.nothing());
        }
        self.counter.counts(&CountQuestion {
            source: self.of,
            range,
            what,
            is_silent: self.is_silent,
        })
    }

    /// Returns the number of tags of `channel` in a source whose time plus `delay` lies in `range`.
    pub fn tags_of(&self, source: usize, channel: u16, delay: i64, range: TimeRange) -> u64 {
        let mut count = [0];
        self.add_tags(source, &[channel], delay, range, &mut count);
        count[0]
    }

    /// Adds the tags of each of `channels` in a source whose time plus `delay` lies in `range`. The facts answer if
    /// an end of the range cuts nothing.
    pub fn add_tags(
        &self,
        source: usize,
        channels: &[u16],
        delay: i64,
        range: TimeRange,
        counts: &mut [u64],
    ) {
        let facts = &self.facts[source];
        let undelayed = |end: Option<i64>, open: End| {
            end.map_or(open, |end| End::of(i128::from(end) - i128::from(delay), facts))
        };
        let ends = [undelayed(range.from, End::First), undelayed(range.to, End::Last)];
        let time = |end| if let End::Between(time) = end { Some(time) } else { None };
        match ends {
            [End::Last, _] | [_, End::First] => {}
            [End::First, End::Last] => {
                for (count, &channel) in counts.iter_mut().zip(channels) {
                    *count += facts.singles_of(channel);
                }
            }
            [from, to] => {
                let range = TimeRange { from: time(from), to: time(to) };
                if !range.is_empty() {
                    self.counter.tags(self.number(source), channels, range, counts);
                }
            }
        }
    }

    /// Returns the tags of a channel of a source before an undelayed time; `near` is the rank at another time.
    pub(crate) fn rank(&self, source: usize, channel: u16, time: i128, near: Rank) -> Rank {
        let facts = &self.facts[source];
        match End::of(time, facts) {
            End::First => Rank { row: 0, count: 0 },
            End::Between(time) => self.counter.rank(self.number(source), channel, time, near),
            End::Last => {
                let rows: u64 = facts.singles.iter().map(|single| single.rows).sum();
                let row = usize::try_from(rows).unwrap_or(usize::MAX);
                Rank { row, count: facts.singles_of(channel) }
            }
        }
    }

    /// Announces the delayed times, in order, between which tags of a source are asked for next.
    pub(crate) fn expect_ends(&self, source: usize, delay: i64, ends: impl Iterator<Item = i64>) {
        let mut times = ends.map(|end| i128::from(end) - i128::from(delay));
        self.counter.expect_ends(self.number(source), &mut times);
    }

    /// Returns an error if numbers that were returned can be wrong.
    ///
    /// # Errors
    /// See [`Counter::check`].
    pub fn check(&self) -> Result<(), Error> {
        self.counter.check()
    }

    /// Returns the number in the run of one of its sources.
    fn number(&self, source: usize) -> u32 {
        self.of.unwrap_or_else(|| u32::try_from(source).unwrap_or(u32::MAX))
    }
}

/// Where a time lies among the tags of a source.
#[derive(Debug, Clone, Copy)]
enum End {
    /// No tag is before it.
    First,
    Between(i64),
    /// All tags are before it.
    Last,
}

impl End {
    fn of(time: i128, facts: &SourceFacts) -> Self {
        match (facts.span(), i64::try_from(time)) {
            (Some((first, last)), Ok(time)) if first < time && time <= last => Self::Between(time),
            (Some((first, _)), _) if time <= first.into() => Self::First,
            _ => Self::Last,
        }
    }
}
