//! The time in which a source recorded: every rate, lag, shift and delay is normalised with it.
//!
//! A source from 0 to 100 with a dead span from 10 to 70 has 40 live ticks. Two channels 5 ticks apart have 30: each
//! of the two intervals loses 5. Times in half ticks occur because the middle of a bin may lie between two ticks.

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use crate::run::time_range::TimeRange;

/// An interval is much longer than a window if it is this many times as long as its full width.
const LONG: i128 = 100;

/// The intervals in which a source recorded, in ticks, in order and apart from each other.
///
/// An interval is half-open for its length, which is its end minus its beginning. Tags at both ends belong to it: a
/// source begins and ends with a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveTime {
    intervals: Arc<[(i64, i64)]>,
    /// The ticks before each of them.
    before: Arc<[i64]>,
    near: Arc<NearTicks>,
}

/// The results of [`LiveTime::ticks_near`]: all pairs of channels with the same delays have the same.
#[derive(Default)]
struct NearTicks(Mutex<HashMap<Near, i128>>);

/// Two delays, a window and a range.
type Near = ([i64; 2], i64, TimeRange);

/// The most results that are kept.
const NEAR_TICKS: usize = 1_024;

impl NearTicks {
    fn get_or(&self, key: Near, compute: impl FnOnce() -> i128) -> i128 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= NEAR_TICKS {
            known.clear();
        }
        *known.entry(key).or_insert_with(compute)
    }
}

/// They follow from the intervals.
impl PartialEq for NearTicks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NearTicks {}

impl fmt::Debug for NearTicks {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("NearTicks")
    }
}

impl LiveTime {
    /// Returns the time between the first and the last tag of a source without its `dead` spans, which are in order
    /// and apart from each other; no interval without tags.
    pub fn new(span: Option<(i64, i64)>, dead: &[(i64, i64)]) -> Self {
        let Some((first, last)) = span else { return Self::of(Vec::new()) };
        let dead = dead.iter().filter(|&&(begins, ends)| begins < last && ends > first);
        let (mut intervals, mut begin) = (Vec::new(), first);
        for &(begins, ends) in dead {
            // Empty intervals are kept at both ends: a tag can lie there.
            intervals.push((begin, begins.max(begin)));
            begin = ends.min(last);
        }
        intervals.push((begin, last));
        Self::of(intervals)
    }

    fn of(intervals: Vec<(i64, i64)>) -> Self {
        let before = intervals.iter().scan(0_i64, |ticks, (begin, end)| {
            let before = *ticks;
            *ticks = before.saturating_add(end.saturating_sub(*begin));
            Some(before)
        });
        Self { before: before.collect(), intervals: intervals.into(), near: Arc::default() }
    }

    /// Returns the number of intervals.
    pub(crate) fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Returns the live ticks in a range.
    pub fn ticks_in(&self, range: TimeRange) -> i64 {
        let of =
            |end: Option<i64>, open| self.halves_before(end.map_or(open, |t| 2 * i128::from(t)));
        let halves = of(range.to, i128::MAX) - of(range.from, i128::MIN);
        i64::try_from(halves.max(0) / 2).unwrap_or(i64::MAX)
    }

    /// Returns the live time before a time, both in half ticks.
    pub(crate) fn halves_before(&self, half: i128) -> i128 {
        let after = self.intervals.partition_point(|&(begin, _)| 2 * i128::from(begin) < half);
        let Some(last) = after.checked_sub(1) else { return 0 };
        let [begin, end, before] =
            [self.intervals[last].0, self.intervals[last].1, self.before[last]]
                .map(|ticks| 2 * i128::from(ticks));
        before + half.min(end) - begin
    }

    /// Returns the ticks t in a range for which t − m is live for each m of `moves`: those in which channels that are
    /// moved by so much can have coincidences. With the moves 0 and τ this is L(τ).
    pub fn overlap(&self, moves: &[i64], range: TimeRange) -> i64 {
        let halves = self.joint(moves, range).map(|of| of.length()).sum::<i128>();
        i64::try_from(halves / 2).unwrap_or(i64::MAX)
    }

    /// Returns the number of pairs of live ticks at most `window` apart, one of each of two channels with these
    /// delays, the later one in a range. `None` for one interval that is much longer than the window, where it is (2w
    /// + 1)·L(0): its ends make it less by a share of w / 2L(0) only, which is neglected.
    pub fn ticks_near(&self, delays: [i64; 2], window: i64, range: TimeRange) -> Option<i128> {
        let key = (delays, window, range);
        let window = i128::from(window);
        let is_short = i128::from(self.ticks_in(range)) < LONG * (2 * window + 1);
        let compute = || self.pairs_of_ticks(delays, -window..window + 1, range);
        (self.len() > 1 || is_short).then(|| self.near.get_or(key, compute))
    }

    /// Returns the number of pairs of live ticks, one of each of two channels with these delays, for which the second
    /// one is later than the first by one of `lags`, the later one of both in a range: Σ L(τ) over the lags.
    pub(crate) fn pairs_of_ticks(
        &self,
        [a, b]: [i64; 2],
        lags: Range<i128>,
        range: TimeRange,
    ) -> i128 {
        let ends = self.intervals.first().zip(self.intervals.last());
        let Some((&(first, _), &(_, last))) = ends else { return 0 };
        let [a, b, first, last] = [a, b, first, last].map(i128::from);
        // No two ticks are further apart.
        let low = lags.start.max(b - a - (last - first));
        let high = lags.end.min(b - a + (last - first));
        let later = self.pairs_with_later(b, b - a, low.max(0)..high, range);
        later + self.pairs_with_later(a, a - b, (1 - high).max(1)..1 - low, range)
    }

    /// Returns the pairs of live ticks t and u, with t + `own` in a range, for which t + `moved` − u is one of `lags`.
    fn pairs_with_later(
        &self,
        own: i128,
        moved: i128,
        lags: Range<i128>,
        range: TimeRange,
    ) -> i128 {
        if lags.is_empty() {
            return 0;
        }
        let limit = |limit: Option<i64>| limit.map(|limit| i128::from(limit) - own);
        let (from, to) = (limit(range.from), limit(range.to));
        let is_before = |&(_, end): &(i64, i64)| from.is_some_and(|from| i128::from(end) <= from);
        let mut owns = &self.intervals[self.intervals.partition_point(is_before)..];
        if let Some(to) = to {
            owns = &owns[..owns.partition_point(|&(begin, _)| i128::from(begin) < to)];
        }
        let Some(&(first, _)) = owns.first() else { return 0 };
        // Those before all of them cancel out.
        let first = i128::from(first) + moved + 1 - lags.end;
        let others = self.intervals.partition_point(|&(_, end)| i128::from(end) <= first);
        let mut sums = [1 - lags.start, 1 - lags.end].map(|lag| {
            let others = &self.intervals[others..];
            (moved + lag, BeforeSums { intervals: others, end: i128::MIN, live: 0, sum: 0 })
        });
        let of = |&(begin, end): &(i64, i64)| {
            let begin = from.map_or(begin.into(), |from| from.max(begin.into()));
            let end = to.map_or(end.into(), |to| to.min(end.into()));
            if begin >= end {
                return 0;
            }
            let [after_low, after_high] = sums.each_mut().map(|(shift, sums)| {
                let first = sums.at(begin + *shift);
                sums.at(end + *shift) - first
            });
            after_low - after_high
        };
        owns.iter().map(of).sum()
    }

    /// Returns the intervals in which the live time, moved by each of `moves`, is live everywhere.
    pub(crate) fn joint(&self, moves: &[i64], range: TimeRange) -> Joint<'_> {
        let mut moves = moves.to_vec();
        moves.sort_unstable();
        moves.dedup();
        self.joint_of_halves(moves.into_iter().map(|ticks| 2 * i128::from(ticks)), range)
    }

    /// Works like [`LiveTime::joint`] for moves in half ticks: the middle of an even number of ticks lies between
    /// two.
    pub(crate) fn joint_of_halves(
        &self,
        moves: impl IntoIterator<Item = i128>,
        range: TimeRange,
    ) -> Joint<'_> {
        let intervals = &*self.intervals;
        let halves = |limit: Option<i64>| limit.map(|limit| 2 * i128::from(limit));
        let from = halves(range.from).unwrap_or(i128::MIN);
        let set = |moved: i128| {
            let is_before = |&(_, end): &(i64, i64)| 2 * i128::from(end) + moved < from;
            (moved, intervals.partition_point(is_before))
        };
        let sets = moves.into_iter().map(set).collect();
        Joint { intervals, sets, from, to: halves(range.to).unwrap_or(i128::MAX) }
    }

    /// Returns the times that divide the live time in a range into `parts` of the same number of ticks.
    pub fn divided(&self, range: TimeRange, parts: u32) -> Vec<i64> {
        let live = i128::from(self.ticks_in(range));
        let mut pieces = self.joint(&[0], range).map(|of| (of.begin.half / 2, of.length() / 2));
        let nowhere = range.from.or(range.to).map_or(0, i128::from);
        let (mut begin, mut length) = pieces.next().unwrap_or((nowhere, 0));
        let mut before = 0;
        let edge = |part: u32| {
            let wanted = live * i128::from(part) / i128::from(parts.max(1));
            while wanted > before + length {
                let Some(next) = pieces.next() else { break };
                before += length;
                (begin, length) = next;
            }
            i64::try_from(begin + (wanted - before).min(length)).unwrap_or(i64::MAX)
        };
        (1..parts).map(edge).collect()
    }
}

/// The sums of the live ticks before each tick, up to times that ascend.
struct BeforeSums<'a> {
    /// The intervals after `end`, which are not passed yet.
    intervals: &'a [(i64, i64)],
    /// The end of the last interval that is passed.
    end: i128,
    /// The live ticks before that end, and their sums over all ticks before it.
    live: i128,
    sum: i128,
}

impl BeforeSums<'_> {
    /// Returns the sum, over all ticks before a time, of the live ticks before each of them.
    fn at(&mut self, time: i128) -> i128 {
        while let Some((&(begin, end), rest)) = self.intervals.split_first()
            && i128::from(end) <= time
        {
            self.sum = self.sum_to(begin.into()) + self.sum_in(begin.into(), end.into());
            self.live += i128::from(end) - i128::from(begin);
            (self.end, self.intervals) = (end.into(), rest);
        }
        match self.intervals.first().map(|&(begin, _)| i128::from(begin)) {
            Some(begin) if begin < time => self.sum_to(begin) + self.sum_in(begin, time),
            _ => self.sum_to(time),
        }
    }

    /// Returns the sum up to a time before the next interval.
    fn sum_to(&self, time: i128) -> i128 {
        if self.live == 0 { 0 } else { self.sum + self.live * (time - self.end) }
    }

    /// Returns the sum over the ticks of an interval up to a time.
    fn sum_in(&self, begin: i128, time: i128) -> i128 {
        let length = time - begin;
        self.live * length + length * (length - 1) / 2
    }
}

/// The intersection of a live time with itself, moved by several amounts: one merge of the intervals.
#[derive(Debug, Clone)]
pub(crate) struct Joint<'a> {
    intervals: &'a [(i64, i64)],
    /// Each move in half ticks, and the next of its intervals.
    sets: Vec<(i128, usize)>,
    from: i128,
    to: i128,
}

/// An interval of a [`Joint`], in half ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Common {
    pub begin: Edge,
    /// The end of the interval.
    pub end: i128,
    /// The end of its tags: those at the end of a live interval belong to it, those at the end of the range do not.
    pub after: Edge,
}

/// An end of a [`Common`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub half: i128,
    /// The set and the interval that it comes from; `None` for an end of the range.
    pub of: Option<(usize, usize)>,
}

impl Common {
    /// Returns its length in half ticks.
    pub(crate) fn length(&self) -> i128 {
        self.end - self.begin.half
    }

    /// Returns the times of its tags in whole ticks.
    pub(crate) fn tags(&self) -> TimeRange {
        let tick = |half: i128| i64::try_from(half.div_euclid(2) + half.rem_euclid(2)).ok();
        TimeRange { from: tick(self.begin.half), to: tick(self.after.half) }
    }
}

impl Iterator for Joint<'_> {
    type Item = Common;

    fn next(&mut self) -> Option<Common> {
        loop {
            let mut begin = Edge { half: self.from, of: None };
            let mut end = Edge { half: i128::MAX, of: None };
            for (set, &(moved, at)) in self.sets.iter().enumerate() {
                let &(first, last) = self.intervals.get(at)?;
                let [first, last] = [first, last].map(|time| 2 * i128::from(time) + moved);
                let of = Some((set, at));
                if first >= begin.half {
                    begin = Edge { half: first, of };
                }
                if last < end.half {
                    end = Edge { half: last, of };
                }
            }
            if self.sets.is_empty() || begin.half >= self.to {
                return None;
            }
            for (moved, at) in &mut self.sets {
                let (_, last) = self.intervals[*at];
                *at += usize::from(2 * i128::from(last) + *moved <= end.half);
            }
            let after = Edge { half: end.half + 1, of: end.of };
            let common = if after.half <= self.to {
                Common { begin, end: end.half, after }
            } else {
                Common { begin, end: self.to, after: Edge { half: self.to, of: None } }
            };
            if common.begin.half < common.after.half {
                return Some(common);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: TimeRange = TimeRange { from: None, to: None };

    #[test]
    fn ticks_near_that_are_kept_are_those_of_the_question() {
        let new = || LiveTime::new(Some((0, 100)), &[(20, 30), (60, 65)]);
        let live = new();
        let range = TimeRange { from: Some(10), to: Some(70) };
        for _ in 0..2 {
            for (delays, window, range) in
                [([0, 0], 5, ALL), ([0, 7], 5, ALL), ([0, 0], 9, ALL), ([0, 0], 5, range)]
            {
                let found = live.ticks_near(delays, window, range);
                assert_eq!(found, new().ticks_near(delays, window, range), "{delays:?} {window}");
            }
        }
    }

    #[test]
    fn dead_spans_are_left_out_of_the_recorded_span() {
        let live = LiveTime::new(Some((10, 110)), &[(0, 10), (10, 20), (50, 60), (100, 200)]);
        assert_eq!(*live.intervals, [(10, 10), (20, 50), (60, 100), (110, 110)]);
        assert_eq!(live.ticks_in(ALL), 70);
        // 45 to 50 and 60 to 70.
        assert_eq!(live.ticks_in(TimeRange { from: Some(45), to: Some(70) }), 15);
        assert_eq!(LiveTime::new(None, &[]).ticks_in(ALL), 0);
        let longest = LiveTime::new(Some((i64::MIN, i64::MAX)), &[]);
        assert_eq!(longest.ticks_in(ALL), i64::MAX);
    }

    #[test]
    fn a_lag_loses_its_length_at_each_end() {
        // Nine of ten ticks, ten times: 0 to 9, 10 to 19, …, 90 to 99.
        let dead: Vec<(i64, i64)> = (1..10).map(|i| (10 * i - 1, 10 * i)).collect();
        let live = LiveTime::new(Some((0, 99)), &dead);
        let of = |lag| live.overlap(&[0, lag], ALL);
        assert_eq!([of(0), of(1), of(-1)], [90, 80, 80]);
        // At a lag of a period, only one period less; between two, both dead ticks of each period.
        assert_eq!([of(10), of(5), of(99), of(200)], [81, 8 * 10 - 4, 0, 0]);
        // Three at once: at 0, 1 and 2 ticks later, 7 of each 9.
        assert_eq!(live.overlap(&[0, -1, -2], ALL), 70);
    }

    #[test]
    fn parts_have_the_same_number_of_live_ticks() {
        let live = LiveTime::new(Some((0, 100)), &[(10, 70)]);
        // 40 live ticks: the tenth ends with the first interval.
        assert_eq!(live.divided(ALL, 4), [10, 80, 90]);
        assert_eq!(live.divided(TimeRange { from: Some(80), to: None }, 2), [90]);
        assert_eq!(LiveTime::new(Some((7, 7)), &[]).divided(ALL, 3), [7, 7]);
    }

    /// Returns dead spans after a time, each so long after the one before it, and the last time of the recording.
    fn dead_after(first: i64, spans: &[(i64, i64)]) -> (Vec<(i64, i64)>, i64) {
        let mut at = first;
        let dead = spans.iter().map(|&(apart, long)| {
            let begins = at + apart + 1;
            at = begins + long;
            (begins, at)
        });
        (dead.collect(), at + 5)
    }

    proptest! {
        /// Tick by tick.
        #[test]
        fn pairs_of_live_ticks_are_counted_one_by_one(
            spans in prop::collection::vec((0_i64..12, 1_i64..9), 1..8),
            delays in prop::array::uniform2(-30_i64..30),
            window in 0_i64..25,
            from in prop::option::of(-20_i64..90),
            to in prop::option::of(-20_i64..90),
        ) {
            let (dead, last) = dead_after(3, &spans);
            let live = LiveTime::new(Some((3, last)), &dead);
            let range = TimeRange { from, to };
            let is_live = |t: &i64| (3..last).contains(t) && !dead.iter().any(|(b, e)| (b..e).contains(&t));
            let [a, b] = delays.map(|delay| (3..last).filter(is_live).map(move |t| t + delay).collect::<Vec<i64>>());
            let is_near = |a: i64, b: i64| (a - b).abs() <= window && range.contains(a.max(b));
            let pairs: usize = a.iter().map(|&a| b.iter().filter(|&&b| is_near(a, b)).count()).sum();
            prop_assert_eq!(live.ticks_near(delays, window, range), i128::try_from(pairs).ok());
        }

        /// Tick by tick.
        #[test]
        fn every_intersection_equals_a_plain_one(
            spans in prop::collection::vec((0_i64..12, 1_i64..9), 0..8),
            moves in prop::collection::vec(-30_i64..30, 1..4),
            from in prop::option::of(-20_i64..90),
            to in prop::option::of(-20_i64..90),
        ) {
            let (dead, last) = dead_after(0, &spans);
            let live = LiveTime::new(Some((0, last)), &dead);
            let range = TimeRange { from, to };
            // The unit [t, t + 1) is live, and a tag at t.
            let is_live = |t: i64| (0..last).contains(&t) && !dead.iter().any(|&(b, e)| (b..e).contains(&t));
            let has_tag = |t: i64| (0..=last).contains(&t) && !dead.iter().any(|&(b, e)| b < t && t < e);
            let everywhere = |is_it: &dyn Fn(i64) -> bool| -> Vec<i64> {
                let times = (-200..300).filter(|&t| range.contains(t));
                times.filter(|&t| moves.iter().all(|&m| is_it(t - m))).collect()
            };
            let ticks = everywhere(&is_live).len();
            prop_assert_eq!(live.overlap(&moves, range), i64::try_from(ticks).unwrap());
            let tags: Vec<i64> = live
                .joint(&moves, range)
                .flat_map(|common| common.tags().from.unwrap()..common.tags().to.unwrap())
                .collect();
            prop_assert_eq!(tags, everywhere(&has_tag));
        }
    }
}
