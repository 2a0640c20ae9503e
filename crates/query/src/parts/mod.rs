//! Counting a run in parts that know nothing of each other.
//!
//! A question about a run asks its recording for two kinds of numbers: the counts of queries in ranges of
//! delayed time, which add up over intervals, and places, which are the rows at given times and the tags of
//! each channel before them. A [`Recording`] that is counted in parts answers both in one of three ways:
//!
//! - A [part](InParts::part) counts its interval only, and keeps what it counted.
//! - The [sum](InParts::sum) of all parts reads no tag: it takes the numbers that the parts kept. Everything else
//!   that a question computes follows from them and from the facts about the run, as without parts.
//! - The [check](InParts::check) counts nothing, and fails for queries that cannot be counted in parts.
//! - The [list](InParts::list) of what is asked for reads no tag, and says which parts count the same.

mod bytes;
mod counts;
mod sum;

pub use counts::PartCounts;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::Error,
    kernels::simd::Simd,
    run::counts::Counts,
    run::{
        recording::{AnswersInParts, CountIn, Recording, Source},
        time_range::TimeRange,
    },
    scan::singles::{add_rows, row_at},
};
use counts::{Asked, PartRows};
use sum::Sum;

/// How a recording that is counted in parts answers.
#[derive(Debug)]
pub struct InParts(Role);

#[derive(Debug)]
enum Role {
    Check,
    Part(Box<Part>),
    Sum(Box<Sum>),
    List(Mutex<Kept>),
}

/// A part while it is counted.
#[derive(Debug)]
struct Part {
    /// Delayed time for counts, undelayed time for places.
    interval: TimeRange,
    kept: Mutex<Kept>,
    /// The rows of each source in the interval.
    rows: Mutex<BTreeMap<u32, (usize, usize)>>,
}

/// What a part keeps while it is counted.
#[derive(Debug, Default)]
struct Kept {
    counts: BTreeMap<Asked, Counts>,
    /// The row at a time of a source.
    places: BTreeMap<(u32, i64), usize>,
    /// The channels whose tags before a row of a source are asked for.
    channels: BTreeMap<(u32, usize), BTreeSet<u16>>,
    /// Counts of nothing, by the key of the query: what a range outside the interval gets.
    nothing: BTreeMap<String, Counts>,
}

impl InParts {
    /// Counts nothing, and fails with [`Error::NoPartial`] for queries that cannot be counted in parts.
    pub fn check() -> Self {
        Self(Role::Check)
    }

    /// Counts an interval of time.
    pub fn part(interval: TimeRange) -> Self {
        let (kept, rows) = (Mutex::default(), Mutex::default());
        Self(Role::Part(Box::new(Part { interval, kept, rows })))
    }

    /// Lists what is asked for. Counts nothing.
    pub fn list() -> Self {
        Self(Role::List(Mutex::default()))
    }

    /// Takes the sums of parts whose intervals follow each other from the beginning of time to its end.
    pub fn sum(counts: PartCounts) -> Self {
        Self(Role::Sum(Box::new(Sum::new(counts))))
    }

    /// Returns the same recording, counted in parts.
    #[must_use]
    pub fn recording<'a>(&'a self, recording: Recording<'a>) -> Recording<'a> {
        let recording = recording.answered_by(self);
        match self.0 {
            // Rows stand for times.
            Role::List(_) => recording.with_rows(usize::MAX),
            Role::Check | Role::Part(_) | Role::Sum(_) => recording,
        }
    }

    /// Returns what a part counted of `recording`; `number` is the number of the part.
    ///
    /// # Errors
    /// [`Error::Unordered`] if rows are out of order.
    pub fn counts(&self, number: u32, recording: &Recording<'_>) -> Result<PartCounts, Error> {
        let Role::Part(part) = &self.0 else { return Ok(PartCounts::default()) };
        let recording = recording.without_parts();
        let mut all = PartCounts::default();
        let kept = lock(&part.kept);
        for (of, source) in (0..).zip(&recording.sources) {
            let rows = part.rows_of(of, source);
            Part::count_singles(number, (of, source), rows, &kept, &mut all);
        }
        all.counts = kept.counts.clone();
        let skipped: Vec<usize> = recording.sources.iter().map(Source::skipped).collect();
        let place = |(&(of, time), &row): (&(u32, i64), &usize)| {
            ((of, time), (row + skipped[of as usize]) as u64)
        };
        all.places = kept.places.iter().map(place).collect();
        recording.check_pass()?;
        Ok(all)
    }

    /// Returns what was asked for in an interval of time of the first `sources` sources, as a text: a part counts the
    /// same if the text and the rows of its recording are the same, and has no tags of later sources.
    pub fn listed(&self, interval: &TimeRange, sources: u32, recording: &Recording<'_>) -> String {
        let Role::List(kept) = &self.0 else { return String::new() };
        let kept = lock(kept);
        let mut text = String::new();
        // Writing to a text cannot fail.
        for asked in kept.counts.keys() {
            let (from, to) = asked.range;
            // A part that is later has the counts of a later source, too.
            let is_open = interval.to.is_some_and(|end| to.is_none_or(|to| to > end));
            let is_of_later = is_open && asked.source.is_some_and(|of| of >= sources);
            if !is_of_later && !interval.and(&TimeRange { from, to }).is_empty() {
                let _ = writeln!(text, "{asked:?}");
            }
        }
        for (of, source) in (0..sources).zip(&recording.sources) {
            let _ = writeln!(text, "{of} {:?}", source.pulses);
            let Some((first, _)) = source.span() else { continue };
            let times =
                kept.places.range((of, i64::MIN)..=(of, i64::MAX)).map(|(place, _)| place.1);
            for time in times.filter(|&time| interval.contains(time)) {
                let channels = kept.channels.get(&(of, ticks_between(first, time)));
                let _ = writeln!(text, "{of} {time} {channels:?}");
            }
        }
        text
    }

    /// Returns an error if a sum lacked a number that was asked for since.
    ///
    /// # Errors
    /// [`Error::PartMissing`].
    pub fn check_complete(&self) -> Result<(), Error> {
        match &self.0 {
            Role::Sum(sum) => sum.check_complete(),
            Role::Check | Role::Part(_) | Role::List(_) => Ok(()),
        }
    }
}

impl AnswersInParts for InParts {
    fn count(
        &self,
        recording: &Recording<'_>,
        (key, range): (String, TimeRange),
        count: &CountIn<'_>,
    ) -> Result<Counts, Error> {
        let asked = Asked { source: recording.of, key, range: (range.from, range.to) };
        let nothing = || {
            let at = range.from.or(range.to).unwrap_or(0);
            count(&recording.without_tags(), TimeRange { from: Some(at), to: Some(at) })
        };
        match &self.0 {
            _ if range.is_empty() => nothing(),
            Role::Check => nothing(),
            Role::Sum(sum) => sum.counts(&asked).map_or_else(nothing, Ok),
            Role::List(kept) => {
                let nothing = nothing()?;
                lock(kept).counts.insert(asked, nothing.clone());
                Ok(nothing)
            }
            Role::Part(part) => {
                let own = range.and(&part.interval);
                if own.is_empty() {
                    if let Some(nothing) = lock(&part.kept).nothing.get(&asked.key) {
                        return Ok(nothing.clone());
                    }
                    let nothing = nothing()?;
                    lock(&part.kept).nothing.insert(asked.key, nothing.clone());
                    return Ok(nothing);
                }
                let counts = count(&recording.without_parts(), own)?;
                lock(&part.kept).counts.insert(asked, counts.clone());
                Ok(counts)
            }
        }
    }

    fn row_at(&self, of: u32, source: &Source<'_>, time: i64, find: &dyn Fn() -> usize) -> usize {
        match &self.0 {
            Role::Check => find(),
            Role::Sum(sum) => sum.row_at(of, time),
            Role::List(kept) => {
                let row = source.span().map_or(0, |(first, _)| ticks_between(first, time));
                lock(kept).places.insert((of, time), row);
                row
            }
            Role::Part(part) => {
                let (begin, end) = part.rows_of(of, source);
                if part.interval.from.is_some_and(|from| time < from) {
                    return begin;
                }
                if part.interval.to.is_some_and(|to| time >= to) {
                    return end;
                }
                let row = find();
                lock(&part.kept).places.insert((of, time), row);
                row
            }
        }
    }

    fn add_rows(
        &self,
        of: u32,
        source: &Source<'_>,
        channels: &[u16],
        [start, end]: [usize; 2],
        counts: &mut [u64],
    ) -> bool {
        match &self.0 {
            Role::Check => return false,
            Role::Sum(sum) => sum.add_rows((of, source), channels, [start, end], counts),
            Role::List(kept) => {
                let mut kept = lock(kept);
                for row in [start, end] {
                    kept.channels.entry((of, row)).or_default().extend(channels);
                }
            }
            Role::Part(part) => {
                let (begin, behind) = part.rows_of(of, source);
                let mut kept = lock(&part.kept);
                for row in [start, end].into_iter().filter(|&row| begin < row && row < behind) {
                    kept.channels.entry((of, row)).or_default().extend(channels);
                }
            }
        }
        true
    }
}

impl Part {
    /// Returns the rows of a source in the interval.
    fn rows_of(&self, of: u32, source: &Source<'_>) -> (usize, usize) {
        if let Some(&rows) = lock(&self.rows).get(&of) {
            return rows;
        }
        let source = source.without_parts();
        let begin = self.interval.from.map_or(0, |from| row_at(&source, from, 0));
        let end = self.interval.to.map_or(source.rows(), |to| row_at(&source, to, 0));
        let rows = (begin, end.max(begin));
        lock(&self.rows).insert(of, rows);
        rows
    }

    /// Counts the tags of the part before the rows that were asked for, and all tags of the part.
    fn count_singles(
        number: u32,
        (of, source): (u32, &Source<'_>),
        (begin, end): (usize, usize),
        kept: &Kept,
        all: &mut PartCounts,
    ) {
        if source.span().is_none() {
            return;
        }
        let channels: Vec<u16> = source.singles.iter().map(|single| single.channel).collect();
        let mut counts = vec![0_u64; channels.len()];
        let mut before = begin;
        for (&(_, row), asked) in kept.channels.range((of, 0)..=(of, usize::MAX)) {
            add_rows(source, &channels, before..row, Simd::best(), &mut counts);
            before = row;
            for &channel in asked {
                if let Ok(at) = channels.binary_search(&channel) {
                    let row = row + source.skipped();
                    all.singles.insert((of, row as u64, channel), counts[at]);
                }
            }
        }
        add_rows(source, &channels, before..end, Simd::best(), &mut counts);
        if begin < end {
            let tags = channels.into_iter().zip(counts).filter(|&(_, count)| count > 0);
            let [begin, end] = [begin, end].map(|row| (row + source.skipped()) as u64);
            let rows = PartRows { begin, end, tags: tags.collect() };
            all.rows.insert((of, number), rows);
        }
    }
}

/// Returns the ticks from one time to a later one.
fn ticks_between(first: i64, time: i64) -> usize {
    usize::try_from(time.abs_diff(first)).unwrap_or(usize::MAX)
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
