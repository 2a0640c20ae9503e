//! How a source is cut into morsels for the threads.
//!
//! A morsel is a half-open interval of delayed time, never a stretch of rows: a coincidence belongs
//! to its latest tag's time, and equal times are never parted. Whoever counts a morsel looks back one
//! window before it.

use std::ops::Range;

use crate::{kernels::simd::Simd, run::time_range::TimeRange};

/// Rows below which a cut is not worth its search, however many delays there are.
const FEWEST_ROWS: usize = 1 << 12;

/// How to run a query, beside the threads of the rayon pool it is called in.
#[derive(Debug, Clone, Copy)]
pub struct Execution {
    /// The level of vector instructions.
    pub simd: Simd,
    /// Rows of a morsel; chosen to fit caches and window when absent.
    pub morsel_rows: Option<usize>,
}

impl Execution {
    /// The best level of this machine.
    pub fn best() -> Self {
        Self { simd: Simd::best(), morsel_rows: None }
    }

    /// Rows of a morsel over a source with these times.
    pub(crate) fn rows_per_morsel(&self, time: &[i64], window: i64, cached: usize) -> usize {
        if let Some(rows) = self.morsel_rows {
            return rows.max(1);
        }
        // Looking back costs the rows of a window for each morsel: a quarter of it at the most.
        let within = rows_within_window(time, window).saturating_mul(4);
        within.clamp(cached.min(time.len()), time.len().max(1)).max(1)
    }
}

/// How many rows of a source lie in a window, on the average.
pub(crate) fn rows_within_window(time: &[i64], window: i64) -> usize {
    let (Some(&first), Some(&last)) = (time.first(), time.last()) else { return 0 };
    let span = (i128::from(last) - i128::from(first)).max(1);
    let rows = time.len() as i128 * i128::from(window) / span;
    usize::try_from(rows).unwrap_or(usize::MAX)
}

/// An interval of delayed time in ticks: from `start` up to, not including, `end`; to the end of
/// time when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub start: i64,
    pub end: Option<i64>,
}

impl Interval {
    /// The rows of the tags that `delay` moves to within the interval.
    ///
    /// Also of rows out of order, those of intervals that follow each other leave none out, and a row that
    /// begins them is not before the row in front of it: whatever falls, falls within some of them.
    pub(crate) fn rows(&self, time: &[i64], delay: i64) -> Range<usize> {
        let before = |limit: i64| {
            time.partition_point(|&time| i128::from(time) + i128::from(delay) < i128::from(limit))
        };
        let end = self.end.map_or(time.len(), before);
        // Nothing is before the beginning of time.
        let start = if self.start == i64::MIN { 0 } else { before(self.start) };
        start.min(end)..end
    }

    /// The interval with `ticks` before it.
    pub(crate) fn looking_back(&self, ticks: i64) -> Self {
        Self { start: self.start.saturating_sub(ticks), ..*self }
    }
}

/// The first row of which `is_before` is false, when it is true of the rows before that and of no other.
/// Looks near row `hint` first.
pub(crate) fn seek(time: &[i64], hint: usize, is_before: impl Fn(i64) -> bool) -> usize {
    let hint = hint.min(time.len());
    let (mut low, mut high) = (0, time.len());
    let mut reach = 1;
    if hint < high && is_before(time[hint]) {
        low = hint + 1;
        while low + reach < high {
            if !is_before(time[low + reach]) {
                high = low + reach;
                break;
            }
            low += reach + 1;
            reach *= 2;
        }
    } else {
        high = hint;
        while high > reach {
            if is_before(time[high - reach]) {
                low = high - reach + 1;
                break;
            }
            high -= reach;
            reach *= 2;
        }
    }
    low + time[low..high].partition_point(|&time| is_before(time))
}

/// Cuts `range` into intervals that follow each other without a gap, so that none holds much more
/// than `rows` rows, those of each of the different `delays` taken together.
///
/// Each delay cuts at every so many of its own rows; of all these cuts, in order of delayed time, one
/// is taken for each delay. Delays of any size leave no interval crowded, also where they move tags
/// beyond the span of the source. Looks only at rows that lie in the range, and at those where a search
/// for its ends looks.
pub(crate) fn intervals(
    time: &[i64],
    rows: usize,
    delays: &[i64],
    range: TimeRange,
) -> Vec<Interval> {
    let step = (rows / delays.len().max(1)).max(rows.min(FEWEST_ROWS));
    let first = range.from.unwrap_or(i64::MIN);
    let cuts_of = |&delay: &i64| {
        let inside = Interval { start: first, end: range.to }.rows(time, delay);
        let rows = (inside.start.next_multiple_of(step).max(step)..inside.end).step_by(step);
        rows.map(move |row| time[row].saturating_add(delay))
    };
    let mut cuts: Vec<i64> = delays.iter().flat_map(cuts_of).collect();
    // Those of one delay are in order, unless rows are damaged: what is left out by no interval is found.
    cuts.sort_unstable();
    let inside = |&cut: &i64| cut > first && range.to.is_none_or(|to| cut < to);
    let mut starts: Vec<i64> = cuts.into_iter().step_by(delays.len().max(1)).collect();
    starts.retain(inside);
    starts.dedup();
    starts.insert(0, first);
    let ends = starts[1..].iter().map(|&start| Some(start)).chain([range.to]);
    starts.iter().zip(ends).map(|(&start, end)| Interval { start, end }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_follow_each_other_and_hold_few_rows(
            mut time in prop::collection::vec(-20_i64..20, 0..60),
            rows in 1_usize..9,
            delays in prop::collection::btree_set(-90_i64..90, 1..4),
            from in prop::option::of(-30_i64..30),
            to in prop::option::of(-30_i64..30),
        ) {
            time.sort_unstable();
            let delays: Vec<i64> = delays.into_iter().collect();
            let range = TimeRange { from, to };
            let intervals = intervals(&time, rows, &delays, range);
            prop_assert_eq!(intervals[0].start, from.unwrap_or(i64::MIN));
            prop_assert_eq!(intervals[intervals.len() - 1].end, to);
            for pair in intervals.windows(2) {
                prop_assert_eq!(pair[0].end, Some(pair[1].start));
                prop_assert!(pair[0].start < pair[1].start);
            }
            let most_equal = time.chunk_by(|a, b| a == b).map(<[i64]>::len).max().unwrap_or(0);
            for interval in &intervals {
                let mut held = 0;
                for &delay in &delays {
                    let inside = interval.rows(&time, delay);
                    held += inside.len();
                    for (row, &time) in time.iter().enumerate() {
                        let t = time + delay;
                        let is_inside = t >= interval.start && interval.end.is_none_or(|end| t < end);
                        prop_assert_eq!(inside.contains(&row), is_inside);
                    }
                }
                // One cut for each delay and what each has behind its last; equal times stay together.
                let bound = delays.len() * (2 * (rows + most_equal) + most_equal);
                prop_assert!(held <= bound, "{held} rows");
            }
        }
    }
}
