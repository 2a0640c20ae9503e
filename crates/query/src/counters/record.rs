//! Counts of one interval of time, which are kept: a part of a run.
//!
//! The part from 0 to 50 answers a question about 10 to 80 with the counts from 10 to 50, and keeps them under the
//! whole range, so that the counts of all parts can be added. A pair across 50 belongs to the part of its later tag.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use super::{
    counter::{CountQuestion, Counter},
    part_counts::{PartCounts, Question},
    scan::Scan,
};
use crate::{
    error::Error,
    kernels::simd::Simd,
    run::{
        Pass,
        counts::Counts,
        facts::Facts,
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        singles::{add_rows, row_at},
    },
};

/// Counts the tuples and tags that belong to an interval of time, and keeps the counts. Other parts have the rest, so
/// values that follow from these counts alone are not the answer.
#[derive(Debug)]
pub struct Record<'a> {
    scan: Scan<'a>,
    recording: &'a Recording<'a>,
    /// Delayed time for counts, undelayed time for tags.
    interval: TimeRange,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    counts: BTreeMap<Question, Counts>,
    /// The channels whose tags before a time of a source are asked for.
    ends: BTreeMap<(u32, i64), BTreeSet<u16>>,
}

impl<'a> Record<'a> {
    /// Creates the counter of an interval.
    pub fn new(recording: &'a Recording<'a>, interval: TimeRange, execution: &Execution) -> Self {
        let scan = Scan::new(recording, execution);
        Self { scan, recording, interval, kept: Mutex::default() }
    }

    /// Returns the counts of the interval, with its tags before each time that was asked for.
    ///
    /// # Errors
    /// [`Error::Unordered`] if rows are out of order.
    pub fn finish(self) -> Result<PartCounts, Error> {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut all = PartCounts { counts: kept.counts, ..PartCounts::default() };
        let totals = all.totals.entry(self.interval.from).or_default();
        for (number, source) in (0..).zip(&self.recording.sources) {
            let ends = kept.ends.range((number, i64::MIN)..=(number, i64::MAX));
            let ends = ends.map(|(&(_, time), channels)| (time, channels));
            count_tags(source, &self.interval, ends, &mut |end, channel, tags| match end {
                Some(time) => drop(all.tags.insert((number, time, channel), tags)),
                None if tags > 0 => drop(totals.insert((number, channel), tags)),
                None => {}
            });
        }
        self.recording.check_pass()?;
        Ok(all)
    }
}

/// Counts the tags in an interval before each end, and all of them. Takes the counts by end and channel.
fn count_tags<'e>(
    source: &Source<'_>,
    interval: &TimeRange,
    ends: impl Iterator<Item = (i64, &'e BTreeSet<u16>)>,
    take: &mut dyn FnMut(Option<i64>, u16, u64),
) {
    if source.span().is_none() {
        return;
    }
    let channels: Vec<u16> = source.singles.iter().map(|single| single.channel).collect();
    let mut counts = vec![0_u64; channels.len()];
    let mut row = interval.from.map_or(0, |from| row_at(source, from, 0));
    let mut count_to = |time: Option<i64>, counts: &mut [u64]| {
        let end = time.map_or(source.tags.len(), |time| row_at(source, time, 0));
        add_rows(source, &channels, row..end.max(row), Simd::best(), counts);
        row = end.max(row);
    };
    for (time, asked) in ends {
        count_to(Some(time), &mut counts);
        for &channel in asked {
            let tags = channels.binary_search(&channel).map_or(0, |place| counts[place]);
            take(Some(time), channel, tags);
        }
    }
    count_to(interval.to, &mut counts);
    for (&channel, tags) in channels.iter().zip(counts) {
        take(None, channel, tags);
    }
}

impl Counter for Record<'_> {
    fn facts(&self) -> Facts {
        self.scan.facts()
    }

    fn counts(&self, asked: &CountQuestion<'_>) -> Result<Counts, Error> {
        asked.what.check_additive()?;
        let own = asked.range.and(&self.interval);
        if own.is_empty() {
            return Ok(asked.what.nothing());
        }
        let counts = self.scan.counts(&CountQuestion { range: own, ..*asked })?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.counts.insert(Question::of(asked), counts.clone());
        Ok(counts)
    }

    /// Only notes the question; [`Record::finish`] counts the tags.
    fn tags(&self, source: u32, channels: &[u16], range: TimeRange, _: &mut [u64]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for end in range.from.into_iter().chain(range.to) {
            // The tags before the beginning are those of earlier parts.
            if self.interval.contains(end) && self.interval.from != Some(end) {
                kept.ends.entry((source, end)).or_default().extend(channels);
            }
        }
    }

    fn pass(&self, range: TimeRange, is_silent: bool) -> Pass<'_> {
        self.scan.pass(range, is_silent)
    }

    fn check(&self) -> Result<(), Error> {
        self.scan.check()
    }
}
