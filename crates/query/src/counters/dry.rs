//! The questions of a request, listed without counting.
//!
//! Questions do not depend on counts, so the list is complete. Two parts with the same list and the same rows have
//! the same counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

use super::{
    counter::{CountQuestion, Counter},
    part_counts::Question,
};
use crate::{
    error::Error,
    run::{counts::Counts, facts::Facts, time_range::TimeRange},
};

/// Lists the questions of a request, and counts nothing. Fails for queries that cannot be counted in parts.
#[derive(Debug)]
pub struct Dry {
    facts: Facts,
    asked: Mutex<Asks>,
}

#[derive(Debug, Default)]
struct Asks {
    counts: BTreeSet<Question>,
    /// The channels whose tags before a time of a source are asked for.
    ends: BTreeMap<(u32, i64), BTreeSet<u16>>,
}

impl Dry {
    /// Creates an empty list for a run with these facts.
    pub fn new(facts: Facts) -> Self {
        Self { facts, asked: Mutex::default() }
    }

    /// Returns the questions about an interval of time of the first `sources` sources, as a text. A part without tags
    /// of later sources counts the same if the text and its rows are the same.
    pub fn asked_in(&self, interval: &TimeRange, sources: u32) -> String {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        // Writing to a text cannot fail.
        for question in &asked.counts {
            let (from, to) = question.range;
            // A part that is later has the counts of a later source, too.
            let is_open = interval.to.is_some_and(|end| to.is_none_or(|to| to > end));
            let is_of_later = is_open && question.source.is_some_and(|of| of >= sources);
            if !is_of_later && !interval.and(&TimeRange { from, to }).is_empty() {
                let _ = writeln!(text, "{question:?}");
            }
        }
        for (number, source) in (0..sources).zip(self.facts.iter()) {
            let _ = writeln!(text, "{number} {:?}", source.pulses);
            let ends = asked.ends.range((number, i64::MIN)..=(number, i64::MAX));
            for (&(_, time), channels) in ends.filter(|((_, time), _)| interval.contains(*time)) {
                let _ = writeln!(text, "{number} {time} {channels:?}");
            }
        }
        text
    }
}

impl Counter for Dry {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error> {
        asked.what.check_additive()?;
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        all.counts.insert(Question::of(asked));
        Ok(asked.what.nothing())
    }

    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, _: &mut [u64]) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        for end in range.from.into_iter().chain(range.to) {
            asked.ends.entry((source, end)).or_default().extend(channels);
        }
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}
