//! Sets of times as sorted intervals.
//!
//! The bounds 10, 20 and 30 stand for the times from 10 to 19 and from 30 on. Bounds ascend, each later than the one
//! before it, so that each set of times has one list of bounds.

use std::ops::Range;

use crate::search::gallop;

/// Half-open intervals of time, in order and apart from each other; the last one may have no end.
///
/// ```
/// use tagq_derived::Intervals;
///
/// let gate = Intervals::from_bounds(vec![10, 20, 30]).ok_or("not in order")?;
/// assert_eq!(gate.iter().collect::<Vec<_>>(), [(10, Some(20)), (30, None)]);
/// assert!(gate.contains(10) && !gate.contains(20));
/// let inside = gate.inside(&[5, 10, 19, 20, 30, 31]).collect::<Vec<_>>();
/// assert_eq!(inside, [1..3, 4..6]);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals {
    /// The times of opening and of closing, by turns, each later than the one before it.
    bounds: Vec<i64>,
}

impl Intervals {
    /// Creates the set without any time.
    pub fn never() -> Self {
        Self::default()
    }

    /// Creates the set of all times.
    pub fn always() -> Self {
        Self { bounds: vec![i64::MIN] }
    }

    /// Creates intervals from the times of opening and closing, by turns. Returns `None` if they do not ascend.
    pub fn from_bounds(bounds: Vec<i64>) -> Option<Self> {
        bounds.is_sorted_by(|a, b| a < b).then_some(Self { bounds })
    }

    /// Returns the times of opening and closing, by turns.
    pub fn bounds(&self) -> &[i64] {
        &self.bounds
    }

    /// Returns the bounds, to which later ones are appended.
    pub(crate) fn bounds_mut(&mut self) -> &mut Vec<i64> {
        &mut self.bounds
    }

    /// Returns the number of intervals.
    pub fn len(&self) -> usize {
        self.bounds.len().div_ceil(2)
    }

    /// Returns whether there is no interval.
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Iterates over the first time of each interval and the first time after it; `None` for an interval without end.
    pub fn iter(&self) -> impl Iterator<Item = (i64, Option<i64>)> {
        self.bounds.chunks(2).map(|interval| (interval[0], interval.get(1).copied()))
    }

    /// Iterates over the times in no interval in the same way.
    pub fn gaps(&self) -> impl Iterator<Item = (i64, Option<i64>)> {
        let (first, rest) = bounds_of_complement(&self.bounds);
        let mut bounds = first.into_iter().chain(rest.iter().copied());
        std::iter::from_fn(move || bounds.next().map(|begin| (begin, bounds.next())))
    }

    /// Returns whether a time lies in an interval.
    pub fn contains(&self, time: i64) -> bool {
        self.bounds.partition_point(|&bound| bound <= time) % 2 == 1
    }

    /// Returns the times that are in no interval.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut bounds = Vec::with_capacity(self.bounds.len() + 1);
        complement(&self.bounds, &mut bounds);
        Self { bounds }
    }

    /// Returns the times that are in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.combined(other, 2)
    }

    /// Returns the times that are in one of the sets or in both.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.combined(other, 1)
    }

    fn combined(&self, other: &Self, least: usize) -> Self {
        let mut bounds = Vec::new();
        combine(&[&self.bounds, &other.bounds], &mut [false; 2], least, &mut bounds);
        Self { bounds }
    }

    /// Returns the number of ticks of `from..to` that lie in an interval.
    pub fn measure(&self, from: i64, to: i64) -> u64 {
        let first = self.bounds.partition_point(|&bound| bound <= from);
        let mut inside = 0_u64;
        let mut since = (first % 2 == 1).then_some(from);
        for &bound in &self.bounds[first..] {
            let bound = bound.min(to);
            since = match since {
                Some(since) => {
                    inside += bound.abs_diff(since.min(bound));
                    None
                }
                None => Some(bound),
            };
            if bound == to {
                break;
            }
        }
        inside + since.map_or(0, |since| to.abs_diff(since.min(to)))
    }

    /// Iterates over the ranges of indexes of sorted times that lie in the intervals, without empty ranges. The cost
    /// of a range is the logarithm of its distance to the one before it.
    pub fn inside<'a>(&'a self, times: &'a [i64]) -> Inside<'a> {
        Inside { bounds: &self.bounds, is_open: false, times, at: 0 }
    }

    /// Returns the number of sorted times that lie in the intervals.
    pub fn count_inside(&self, times: &[i64]) -> usize {
        self.inside(times).map(|range| range.len()).sum()
    }

    /// Removes the bounds before the last one at or before `time`, so that intervals that end before it are forgotten.
    pub fn forget_before(&mut self, time: i64) {
        let passed = self.bounds.partition_point(|&bound| bound <= time) / 2 * 2;
        self.bounds.drain(..passed);
    }
}

/// Iterator of [`Intervals::inside`].
#[derive(Debug)]
pub struct Inside<'a> {
    /// The bounds that were not passed yet.
    bounds: &'a [i64],
    is_open: bool,
    times: &'a [i64],
    at: usize,
}

impl Iterator for Inside<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let time = *self.times.get(self.at)?;
            let passed = gallop(self.bounds, |bound| bound <= time);
            self.is_open ^= passed % 2 == 1;
            self.bounds = &self.bounds[passed..];
            let times = &self.times[self.at..];
            let ahead =
                self.bounds.first().map_or(times.len(), |&bound| gallop(times, |t| t < bound));
            let start = self.at;
            self.at += ahead;
            if self.is_open {
                return Some(start..self.at);
            }
        }
    }
}

/// Appends the bounds of the complement.
pub(crate) fn complement(bounds: &[i64], out: &mut Vec<i64>) {
    let (first, rest) = bounds_of_complement(bounds);
    out.extend(first);
    out.extend(rest);
}

/// Returns the bounds of the times that are in no interval: one that comes before the others, and the others.
fn bounds_of_complement(bounds: &[i64]) -> (Option<i64>, &[i64]) {
    match bounds {
        [i64::MIN, rest @ ..] => (None, rest),
        bounds => (Some(i64::MIN), bounds),
    }
}

/// Appends the bounds of the times that are in at least `least` sets. `is_open` holds the sets that are open before
/// their bounds here, and then the sets that are open after them.
pub(crate) fn combine(sets: &[&[i64]], is_open: &mut [bool], least: usize, out: &mut Vec<i64>) {
    let mut sets = sets.to_vec();
    let mut open = is_open.iter().filter(|&&is_open| is_open).count();
    while let Some(bound) = sets.iter().filter_map(|set| set.first().copied()).min() {
        let before = open >= least;
        for (set, is_open) in sets.iter_mut().zip(is_open.iter_mut()) {
            if let Some(rest) = set.strip_prefix(&[bound]) {
                *set = rest;
                *is_open ^= true;
                open = if *is_open { open + 1 } else { open - 1 };
            }
        }
        if before != (open >= least) {
            out.push(bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};

    use super::*;

    fn some() -> impl Strategy<Value = Intervals> {
        let bounds =
            collection::btree_set(prop_oneof![-20_i64..20, Just(i64::MIN), Just(i64::MAX)], 0..12);
        bounds.prop_map(|bounds| Intervals { bounds: bounds.into_iter().collect() })
    }

    fn times() -> impl Iterator<Item = i64> {
        (-25..25).chain([i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX])
    }

    proptest! {
        #[test]
        fn sets_combine_time_by_time(a in some(), b in some()) {
            for time in times() {
                let by_iter = a.iter().any(|(start, end)| start <= time && end.is_none_or(|end| time < end));
                prop_assert_eq!(a.contains(time), by_iter);
                prop_assert_eq!(a.complement().contains(time), !a.contains(time));
            prop_assert!(a.gaps().eq(a.complement().iter()));
                prop_assert_eq!(a.and(&b).contains(time), a.contains(time) && b.contains(time));
                prop_assert_eq!(a.or(&b).contains(time), a.contains(time) || b.contains(time));
            }
            for set in [a.complement(), a.and(&b), a.or(&b)] {
                prop_assert!(Intervals::from_bounds(set.bounds).is_some());
            }
            prop_assert_eq!(a.complement().complement(), a.clone());
            prop_assert_eq!(a.and(&Intervals::always()), a.clone());
            prop_assert_eq!(a.or(&Intervals::never()), a);
        }

        #[test]
        fn measures_count_ticks(a in some(), from in -25_i64..25, len in 0_i64..40) {
            let to = from + len;
            let ticks = (from..to).filter(|&time| a.contains(time)).count() as u64;
            prop_assert_eq!(a.measure(from, to), ticks);
            prop_assert_eq!(a.measure(to, from), 0);
            let whole = a.measure(i64::MIN, i64::MAX);
            prop_assert_eq!(whole.wrapping_add(a.complement().measure(i64::MIN, i64::MAX)), u64::MAX);
        }

        #[test]
        fn times_inside_are_those_of_the_intervals(a in some(), mut times in collection::vec(-25_i64..25, 0..60)) {
            times.sort_unstable();
            times.push(i64::MAX);
            let ranges: Vec<Range<usize>> = a.inside(&times).collect();
            prop_assert!(ranges.iter().all(|range| !range.is_empty()));
            let found: Vec<usize> = ranges.into_iter().flatten().collect();
            let expected: Vec<usize> =
                (0..times.len()).filter(|&at| a.contains(times[at])).collect();
            prop_assert_eq!(a.count_inside(&times), expected.len());
            prop_assert_eq!(found, expected);
            let mut short = a.clone();
            short.forget_before(0);
            prop_assert!((0..25).all(|time| short.contains(time) == a.contains(time)));
        }
    }
}
