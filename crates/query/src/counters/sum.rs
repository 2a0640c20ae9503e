//! The numbers of a run from those of its parts.
//!
//! Parts up to 50 and from 50 on: the tags before 70 are all those of the first part plus those that the second one
//! counted up to 70. A number that no part counted is an error, never 0.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::{
    counter::{CountQuestion, Counter},
    part_counts::{PartCounts, Question},
};
use crate::{
    error::Error,
    run::{counts::Counts, facts::Facts, time_range::TimeRange},
};

/// Answers from the parts of a run, whose intervals follow each other from the beginning of time to its end.
#[derive(Debug)]
pub struct Sum {
    facts: Facts,
    counts: PartCounts,
    /// The times at which the parts begin; `None` for the first one.
    begins: Vec<Option<i64>>,
    /// For each source and channel the parts that have tags of it, in order, and the tags up to the end of each.
    up_to: BTreeMap<(u32, u16), Vec<(usize, u64)>>,
    /// The first number that was asked for and that no part counted.
    missing: Mutex<Option<String>>,
}

impl Sum {
    /// Creates the counter of a run with these facts from all of its parts.
    pub fn new(facts: Facts, counts: PartCounts) -> Self {
        let mut up_to: BTreeMap<(u32, u16), Vec<(usize, u64)>> = BTreeMap::new();
        for (part, totals) in counts.totals.values().enumerate() {
            for (&of, &tags) in totals {
                let ends = up_to.entry(of).or_default();
                let before = ends.last().map_or(0, |&(_, before)| before);
                ends.push((part, tags.saturating_add(before)));
            }
        }
        let begins = counts.totals.keys().copied().collect();
        Self { facts, counts, begins, up_to, missing: Mutex::default() }
    }

    /// Returns the tags of a channel of a source before a time.
    fn before(&self, source: u32, channel: u16, time: i64) -> u64 {
        let Some(part) = self.begins.partition_point(|&begin| begin <= Some(time)).checked_sub(1)
        else {
            return self.miss(source, channel, time);
        };
        let ends = self.up_to.get(&(source, channel)).map_or(&[][..], Vec::as_slice);
        let earlier = ends.partition_point(|&(of, _)| of < part).checked_sub(1);
        let before = earlier.map_or(0, |earlier| ends[earlier].1);
        if self.begins[part] == Some(time) {
            return before;
        }
        let inside = self.counts.tags.get(&(source, time, channel)).copied();
        before.saturating_add(inside.unwrap_or_else(|| self.miss(source, channel, time)))
    }

    /// Notes that a number is missing.
    fn miss(&self, source: u32, channel: u16, time: i64) -> u64 {
        let what =
            || format!("the tags of channel {channel} before {time} ticks of source {source}");
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.get_or_insert_with(what);
        0
    }
}

impl Counter for Sum {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error> {
        let counts = self.counts.counts.get(&Question::of(asked)).cloned();
        counts.ok_or_else(|| {
            let (key, range) = (asked.what.key(), asked.range);
            Error::PartMissing { what: format!("the counts of `{key}` in {range:?}") }
        })
    }

    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, counts: &mut [u64]) {
        for (count, &channel) in counts.iter_mut().zip(channels) {
            let all = self.facts[source as usize].singles_of(channel);
            let before = |time| self.before(source, channel, time);
            let (start, end) = (range.from.map_or(0, before), range.to.map_or(all, before));
            *count = count.saturating_add(end.saturating_sub(start));
        }
    }

    fn check(&self) -> Result<(), Error> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.as_ref().map_or(Ok(()), |what| Err(Error::PartMissing { what: what.clone() }))
    }
}
