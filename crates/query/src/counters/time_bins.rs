//! Bins of time: a division of a run that depends on the query and on the facts about the run alone.
//!
//! Bins of 10 ticks, first tag at 103, a delay of −4: bin 0 is 99 up to 113, bin 1 113 up to 123. Neither a count nor
//! a later tag moves an edge, so that parts of a run and a growing run have the same bins.

use std::{
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use crate::{
    counters::ledger::Ledger,
    error::Error,
    run::{facts::Facts, scope::Scope, time_range::TimeRange},
};

/// The largest number of counts of a trace held in memory: 1 GiB.
const COUNTS_MAX: u64 = 1 << 27;

/// How a query divides the time of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeDivision {
    /// Bins of this many ticks. Bin k begins k widths after the first tag of the run. If delays can put tags less
    /// than a width before the first bin, it holds them, too.
    Width(i64),
    /// These intervals, numbered from 0.
    Intervals(Arc<[TimeInterval]>),
}

/// An interval of delayed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeInterval {
    /// The first time.
    pub begin: i64,
    /// The first time after it.
    pub end: i64,
    /// Whether the recording begins or ends inside of it.
    pub is_cut: bool,
}

/// The bins of time that tags of a scope can be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeBins {
    /// The undelayed time of the first tag of the run.
    origin: i64,
    division: TimeDivision,
    /// The selection that cuts bins.
    range: TimeRange,
    /// No future tag can change counts before this time; `None` if no bin is final.
    frontier: Option<i64>,
    numbers: RangeInclusive<i64>,
    /// The first bin that can have tags, and the time at which they can begin; `None` for intervals.
    first: Option<(i64, i64)>,
    /// The bin of the last recorded time.
    last: i64,
}

/// A bin of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBin {
    /// Its number.
    pub number: i64,
    /// The time at which it begins, in ticks after the first tag of the run; neither the selection nor a delay moves
    /// it.
    pub start: i64,
    /// Its length in ticks; neither the selection nor a delay changes it.
    pub length: i64,
    /// Its times, cut to the selection; those of the first bin begin where delays can put tags. A start or end beyond
    /// 64 bits is open.
    pub range: TimeRange,
    /// Whether the selection leaves out a part of the bin, or the recording begins or ends inside of it.
    pub is_cut: bool,
    /// Whether the bin stays unchanged when the run grows.
    pub is_final: bool,
}

impl TimeBin {
    /// Returns whether a part of it is missing, or it may still change.
    pub fn is_partial(&self) -> bool {
        self.is_cut || !self.is_final
    }
}

impl TimeBins {
    /// Returns the bins; `None` if the run has no tags. `frontier` returns the delayed time before which all counts
    /// are final, from the last recorded time ([`crate::Kind::frontier`]).
    ///
    /// # Errors
    /// [`Error::BinWidth`] for a width below 1, [`Error::Bins`] for too many bins, and errors of the scope.
    pub fn of(
        facts: &Facts,
        scope: &Scope,
        division: &TimeDivision,
        frontier: impl Fn(i64) -> Option<i64>,
    ) -> Result<Option<Self>, Error> {
        if let TimeDivision::Width(width @ ..1) = *division {
            return Err(Error::BinWidth { width });
        }
        scope.check(facts)?;
        let spans = || facts.iter().filter_map(|source| source.span());
        let firsts = spans().map(|(first, _)| first).min();
        let Some((origin, last)) = firsts.zip(spans().map(|(_, last)| last).max()) else {
            return Ok(None);
        };
        let channels = scope.in_use(facts);
        let first = match division {
            TimeDivision::Width(width) => Some(first_of(*width, origin, scope)),
            TimeDivision::Intervals(_) => None,
        };
        let numbers = match division {
            TimeDivision::Width(width) => {
                let numbers = numbers_of(*width, (origin, last), &channels, scope)?;
                let first = first.map_or(i64::MIN, |(number, _)| number);
                first.max(*numbers.start())..=first.max(*numbers.end())
            }
            TimeDivision::Intervals(_) if scope.range.is_empty() => NO_BINS,
            TimeDivision::Intervals(intervals) => {
                // Those that are not in the selection are at the ends.
                let from = scope.range.from.unwrap_or(i64::MIN);
                let to = scope.range.to.unwrap_or(i64::MAX);
                let is_in = |of: &TimeInterval| of.end > from && of.begin < to;
                let first = intervals.iter().position(is_in);
                let last = intervals.iter().rposition(is_in);
                let number = |at: Option<usize>| at.and_then(|at| i64::try_from(at).ok());
                number(first).zip(number(last)).map_or(NO_BINS, |(first, last)| first..=last)
            }
        };
        let asked = if numbers.is_empty() {
            0
        } else {
            u128::from(numbers.end().abs_diff(*numbers.start())) + 1
        };
        let max = COUNTS_MAX / (channels.len() as u64).max(1);
        if asked > u128::from(max) {
            return Err(Error::Bins { bins: asked, max });
        }
        let last = match division {
            TimeDivision::Width(width) => (last - origin).div_euclid(*width),
            TimeDivision::Intervals(_) => *numbers.end(),
        };
        let frontier = spans().map(|(_, last)| last).max().and_then(frontier);
        let (division, range) = (division.clone(), scope.range);
        Ok(Some(Self { origin, division, range, frontier, numbers, first, last }))
    }

    /// Returns the numbers of the bins.
    pub fn numbers(&self) -> RangeInclusive<i64> {
        self.numbers.clone()
    }

    /// Returns the bins in order.
    pub fn bins(&self) -> Vec<TimeBin> {
        self.numbers.clone().map(|number| self.bin(number)).collect()
    }

    /// Returns the bin with a number.
    pub fn bin(&self, number: i64) -> TimeBin {
        let [start, end] = [self.start(number), self.end(number)];
        let cuts = |limit: Option<i64>| {
            limit.is_some_and(|limit| {
                start.is_none_or(|start| start < limit) && end.is_none_or(|end| limit < end)
            })
        };
        let (from_first, length) = match &self.division {
            TimeDivision::Width(width) => (number.saturating_mul(*width), *width),
            TimeDivision::Intervals(_) => {
                let [start, end] = [start, end].map(|time| time.unwrap_or(self.origin));
                (start.saturating_sub(self.origin), end.saturating_sub(start))
            }
        };
        let is_cut = self.interval(number).is_some_and(|interval| interval.is_cut);
        TimeBin {
            number,
            start: from_first,
            length,
            range: TimeRange { from: start, to: end }.and(&self.range),
            is_cut: is_cut || cuts(self.range.from) || cuts(self.range.to),
            is_final: end.zip(self.frontier).is_some_and(|(end, frontier)| end <= frontier),
        }
    }

    /// Returns the interval with a number, if the division is one into intervals.
    fn interval(&self, number: i64) -> Option<TimeInterval> {
        let TimeDivision::Intervals(intervals) = &self.division else { return None };
        intervals.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns the time at which a bin begins, if it fits in 64 bits.
    pub(crate) fn start(&self, number: i64) -> Option<i64> {
        match (&self.division, self.first) {
            (_, Some((first, begin))) if first == number => Some(begin),
            (TimeDivision::Width(width), _) => number.checked_mul(*width)?.checked_add(self.origin),
            (TimeDivision::Intervals(_), _) => Some(self.interval(number)?.begin),
        }
    }

    /// Returns the time at which a bin ends, if it fits in 64 bits.
    pub(crate) fn end(&self, number: i64) -> Option<i64> {
        match &self.division {
            TimeDivision::Width(_) => self.start(number.checked_add(1)?),
            TimeDivision::Intervals(_) => Some(self.interval(number)?.end),
        }
    }

    /// Returns which of [`TimeBins::bins`] an answer has: those of recorded time and those that the selection asks
    /// for, and outside of them those up to the outermost tag of the scope. Counts the tags there.
    pub fn needed(&self, ledger: &Ledger<'_>, scope: &Scope) -> Range<usize> {
        if let TimeDivision::Intervals(_) = self.division {
            return 0..self.numbers.clone().count();
        }
        let channels = scope.in_use(ledger.facts());
        let has_tags = |number: i64| {
            let range = self.bin(number).range;
            let of = |source: usize| {
                let of_channel = |&channel: &u16| {
                    ledger.tags_of(source, channel, scope.delay_of(channel), range)
                };
                channels.iter().map(of_channel).fold(0, u64::saturating_add)
            };
            (0..ledger.facts().len()).map(of).fold(0, u64::saturating_add) > 0
        };
        // All of them are counted, whatever the counts are: parts of a run are then asked the same.
        let needed: Vec<bool> =
            self.numbers.clone().map(|number| self.is_needed(number) || has_tags(number)).collect();
        span_of(&needed)
    }

    /// Works like [`TimeBins::needed`], if it is known which of the bins have tags.
    pub(crate) fn needed_of(&self, has_tags: impl Iterator<Item = bool>) -> Range<usize> {
        let of = |(number, has_tags)| has_tags || self.is_needed(number);
        span_of(&self.numbers.clone().zip(has_tags).map(of).collect::<Vec<bool>>())
    }

    /// Returns whether an answer has a bin even if it has no tags.
    fn is_needed(&self, number: i64) -> bool {
        matches!(self.division, TimeDivision::Intervals(_))
            || (self.range.from.is_some() && number < 0)
            || (self.range.to.is_some() && number > self.last)
            || (0..=self.last).contains(&number)
    }
}

/// The numbers of no bins.
#[expect(clippy::reversed_empty_ranges, reason = "no bins")]
const NO_BINS: RangeInclusive<i64> = 1..=0;

/// Returns the first bin of `width` ticks that can have tags of a run that begins at `origin`, and the time from
/// which it has them: that of the earliest delay. The delays of all channels count, whether they have tags or not, so
/// that a bin does not change when the run grows.
fn first_of(width: i64, origin: i64, scope: &Scope) -> (i64, i64) {
    let is_in = |channel: u16| scope.channels.as_ref().is_none_or(|all| all.contains(&channel));
    let delays = scope.delays.iter().filter(|delay| is_in(delay.channel));
    let earliest = delays.map(|delay| delay.ticks).min().unwrap_or(0).min(0);
    let first = earliest / width;
    let start = origin.saturating_add(first * width);
    // A selection from the beginning of a bin on leaves nothing before it.
    let is_selected = scope.range.from == Some(start);
    (first, if is_selected { start } else { origin.saturating_add(earliest) })
}

/// Returns the numbers of the bins of `width` ticks of a run between two times that tags of these channels can be in.
fn numbers_of(
    width: i64,
    (origin, last): (i64, i64),
    channels: &[u16],
    scope: &Scope,
) -> Result<RangeInclusive<i64>, Error> {
    let delays = || channels.iter().map(|&channel| scope.delay_of(channel));
    let smallest = delays().min().unwrap_or(0);
    let largest = delays().max().unwrap_or(0).max(0);
    // The ends of each source were checked with its delays, but not the run as a whole.
    let (begin, end) = (origin + smallest.min(0), last + largest);
    if end.checked_sub(begin).is_none() {
        return Err(Error::DelayRange { delay: largest, first: origin, last });
    }
    let begin = scope.range.from.map_or(begin, |from| from.max(begin));
    let end = scope.range.to.map_or(end, |to| end.min(to.saturating_sub(1)));
    let number = |time: i64| (time - origin).div_euclid(width);
    Ok(if begin <= end { number(begin)..=number(end) } else { NO_BINS })
}

/// Returns the places from the first true value to the last one.
fn span_of(values: &[bool]) -> Range<usize> {
    let first = values.iter().position(|&value| value);
    match first.zip(values.iter().rposition(|&value| value)) {
        Some((first, last)) => first..last + 1,
        None => 0..0,
    }
}
