//! Cuts a source into morsels for the threads.
//!
//! A morsel of times is a half-open interval of delayed time, and not of rows: a coincidence belongs to the time
//! of its latest tag, and equal times are never split. Counting a morsel looks back one window before it.
//!
//! Tags at 0, 5, 9 and 14, two rows each: the intervals are up to 9 and from 9 on. With a window of 5, the pair (5,
//! 9) counts in the second.

use std::ops::Range;

use tagq_store::Times;

use crate::{kernels::simd::Simd, run::time_range::TimeRange, scan::column::StoredColumn};

/// The number of rows below which a cut is not worth its search, however many delays there are.
const FEWEST_ROWS: usize = 1 << 12;

/// Selects how to run a query, besides the threads of the rayon pool it is called in.
#[derive(Debug, Clone, Copy)]
pub struct Execution {
    /// The level of vector instructions.
    pub simd: Simd,
    /// Rows of a morsel; `None` chooses them to fit caches and window.
    pub morsel_rows: Option<usize>,
}

impl Execution {
    /// Uses the best level of this machine.
    pub fn best() -> Self {
        Self { simd: Simd::best(), morsel_rows: None }
    }

    /// Returns the rows of a morsel over a source with these times.
    pub(crate) fn rows_per_morsel(&self, time: Times<'_>, window: i64, cached: usize) -> usize {
        if let Some(rows) = self.morsel_rows {
            return rows.max(1);
        }
        // Looking back costs the rows of a window for each morsel: limit this to a quarter of the morsel.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let within = (4.0 * rows_within_window(time, window)) as usize;
        within.clamp(cached.min(time.len()), time.len().max(1)).max(1)
    }
}

/// Returns how many rows of a source lie in a window, on average.
pub(crate) fn rows_within_window(time: Times<'_>, window: i64) -> f64 {
    let time = time.unchecked();
    let (Some(first), Some(last)) = (time.first(), time.last()) else { return 0.0 };
    let span = (i128::from(last) - i128::from(first)).max(1);
    time.len() as f64 * window as f64 / span as f64
}

/// An interval of delayed time in ticks: from `start` up to, not including, `end`; without `end` it extends
/// to the end of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub start: i64,
    pub end: Option<i64>,
}

impl Interval {
    /// Returns the interval into which `delay` moves these rows; no row before or after them has the same time.
    pub(crate) fn of_rows(time: Times<'_>, rows: &Range<usize>, delay: i64) -> Self {
        let start =
            if rows.start == 0 { i64::MIN } else { time.at(rows.start).saturating_add(delay) };
        Self { start, end: time.get(rows.end).map(|time| time.saturating_add(delay)) }
    }

    /// Returns the rows of the tags that `delay` moves into the interval.
    ///
    /// Consecutive intervals together cover all rows, even rows that are out of order. The time of the first
    /// row of an interval is never less than that of the preceding row, so every decrease of times lies
    /// inside one of the intervals.
    pub(crate) fn rows(&self, time: Times<'_>, delay: i64) -> Range<usize> {
        let before = |limit: i64| {
            time.partition_point(|time| i128::from(time) + i128::from(delay) < i128::from(limit))
        };
        let end = self.end.map_or(time.len(), before);
        // No tag lies before the smallest possible time.
        let start = if self.start == i64::MIN { 0 } else { before(self.start) };
        start.min(end)..end
    }

    /// Returns the interval extended by `ticks` at its start.
    pub(crate) fn looking_back(&self, ticks: i64) -> Self {
        Self { start: self.start.saturating_sub(ticks), ..*self }
    }
}

/// Cuts `range` into contiguous intervals so that none holds many more than `rows` rows, counting the rows of
/// each of the different `delays` together.
///
/// Each delay proposes a cut after every so many of its own rows; of all these cuts, in order of delayed
/// time, one is used for each delay. Delays of any size leave no interval crowded, even if they move tags out
/// of the span of the source. Reads only rows that lie in the range, and rows that the search for its ends
/// reads.
pub(crate) fn intervals(
    time: Times<'_>,
    rows: usize,
    delays: &[i64],
    range: TimeRange,
) -> Vec<Interval> {
    let step = (rows / delays.len().max(1)).max(rows.min(FEWEST_ROWS));
    let first = range.from.unwrap_or(i64::MIN);
    let cuts_of = |&delay: &i64| {
        let inside = Interval { start: first, end: range.to }.rows(time, delay);
        let rows = (inside.start.next_multiple_of(step).max(step)..inside.end).step_by(step);
        let time = time.unchecked();
        rows.map(move |row| time.at(row).saturating_add(delay))
    };
    let mut cuts: Vec<i64> = delays.iter().flat_map(cuts_of).collect();
    // The cuts of one delay are in order, unless rows are damaged; rows that no interval covers are detected.
    cuts.sort_unstable();
    let inside = |&cut: &i64| cut > first && range.to.is_none_or(|to| cut < to);
    let mut starts: Vec<i64> = cuts.into_iter().step_by(delays.len().max(1)).collect();
    starts.retain(inside);
    starts.dedup();
    starts.insert(0, first);
    let ends = starts[1..].iter().map(|&start| Some(start)).chain([range.to]);
    starts.iter().zip(ends).map(|(&start, end)| Interval { start, end }).collect()
}

/// Cuts a range of rows into ranges of about this many. Equal times are never separated.
pub(crate) fn row_ranges(
    column: StoredColumn<'_>,
    all: Range<usize>,
    rows: usize,
) -> Vec<Range<usize>> {
    let column = column.unchecked();
    let mut ranges = Vec::new();
    let mut start = all.start;
    while start < all.end {
        let cut = start.saturating_add(rows).min(all.end);
        let equal = (cut..all.end).take_while(|&row| column.gap(row) == 0).count();
        ranges.push(start..cut + equal);
        start = cut + equal;
    }
    ranges
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
            let times = Times::from(&time[..]);
            let intervals = intervals(times, rows, &delays, range);
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
                    let inside = interval.rows(times, delay);
                    held += inside.len();
                    for (row, &time) in time.iter().enumerate() {
                        let t = time + delay;
                        let is_inside = t >= interval.start && interval.end.is_none_or(|end| t < end);
                        prop_assert_eq!(inside.contains(&row), is_inside);
                    }
                }
                // One cut for each delay, plus the rows each has after its last cut; equal times stay
                // together.
                let bound = delays.len() * (2 * (rows + most_equal) + most_equal);
                prop_assert!(held <= bound, "{held} rows");
            }
        }
    }
}
