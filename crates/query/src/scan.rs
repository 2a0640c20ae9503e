//! How a source is cut into morsels for the threads.
//!
//! A morsel is a half-open interval of delayed time, never a stretch of rows: a coincidence belongs
//! to its latest tag's time, and equal times are never parted. Whoever counts a morsel looks back one
//! window before it.

use std::ops::Range;

use crate::Simd;

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
        let span = match (time.first(), time.last()) {
            (Some(&first), Some(&last)) => i128::from(last) - i128::from(first),
            _ => return cached,
        };
        let within_window = time.len() as i128 * i128::from(window) / span.max(1);
        usize::try_from(within_window.saturating_mul(4)).map_or(time.len(), |rows| rows.max(cached))
    }
}

/// An interval of time in ticks: from `start` up to, not including, `end`; to the end of time when
/// there is none. `row` is the first row that is not before `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub start: i64,
    pub end: Option<i64>,
    pub row: usize,
    pub row_end: usize,
}

/// Cuts `time` into intervals of about `rows` rows that follow each other without a gap. The first
/// begins at the beginning of time, so that delays change nothing about what they cover.
pub(crate) fn intervals(time: &[i64], rows: usize) -> Vec<Interval> {
    let mut starts: Vec<(i64, usize)> = vec![(i64::MIN, 0)];
    for row in (rows..time.len()).step_by(rows) {
        let start = time[row];
        let row = back_to(time, row, start);
        if row > starts[starts.len() - 1].1 {
            starts.push((start, row));
        }
    }
    let ends = starts[1..].iter().map(|&(time, row)| (Some(time), row));
    let ends: Vec<(Option<i64>, usize)> = ends.chain([(None, time.len())]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((start, row), (end, row_end))| Interval { start, end, row, row_end })
        .collect()
}

/// The first row whose time is at least `limit`, when row `row` is such a row (or the end). Looks
/// near `row` first, so that far pages are not touched.
pub(crate) fn back_to(time: &[i64], row: usize, limit: i64) -> usize {
    let mut reach = 1;
    let mut known = row;
    while known > 0 {
        let probe = known.saturating_sub(reach);
        if time[probe] < limit {
            return probe + time[probe..known].partition_point(|&time| time < limit);
        }
        known = probe;
        reach *= 2;
    }
    0
}

/// The rows of an interval with the rows one window before it, and how many those are.
pub(crate) fn rows_with_head(
    time: &[i64],
    interval: &Interval,
    window: i64,
) -> (Range<usize>, usize) {
    let start = match time.get(interval.row) {
        Some(&first) => back_to(time, interval.row, first.saturating_sub(window)),
        None => interval.row,
    };
    (start..interval.row_end, interval.row - start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_follow_each_other_and_never_part_equal_times(
            mut time in prop::collection::vec(-20_i64..20, 0..60),
            rows in 1_usize..9,
            window in 0_i64..50,
        ) {
            time.sort_unstable();
            let intervals = intervals(&time, rows);
            let (mut start, mut row) = (i64::MIN, 0);
            for (i, interval) in intervals.iter().enumerate() {
                prop_assert_eq!((interval.start, interval.row), (start, row));
                prop_assert_eq!(interval.end.is_none(), i + 1 == intervals.len());
                let (with_head, head) = rows_with_head(&time, interval, window);
                for (row, &time) in time.iter().enumerate() {
                    let inside = time >= interval.start && interval.end.is_none_or(|end| time < end);
                    prop_assert_eq!((interval.row..interval.row_end).contains(&row), inside);
                }
                prop_assert_eq!(with_head.start + head, interval.row);
                if interval.row < time.len() {
                    let first = time[interval.row] - window;
                    prop_assert_eq!(with_head.start, time.partition_point(|&t| t < first));
                }
                start = interval.end.unwrap_or(start);
                row = interval.row_end;
            }
            prop_assert_eq!(row, time.len());
        }
    }
}
