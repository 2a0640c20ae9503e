//! Pairs counted by gaps in place of times.

use std::ops::Range;

use tagq_store::{Channels, format::GAP_MAX};

use super::{
    pairs::{Plan, Scale, Thread},
    query::Channel,
    tally::Bucket,
};
use crate::{
    kernels::neighbours::{PairDistances, REACH, gaps},
    run::{recording::Source, time_range::TimeRange},
    scan::morsels::{rows_within_window, seek},
};

/// Mean rows of any channel within reach above which gaps are not added up.
const NEIGHBOUR_ROWS: usize = 4;

/// The gaps and labels of a source, the labels of starts and stops, and the distances that count.
pub(super) struct ByGaps<'a> {
    pub gaps: &'a [u16],
    labels: &'a [u8],
    ends: [u8; 2],
    distances: PairDistances,
}

impl Plan {
    /// Returns the gaps of a source if they decide about all pairs of a range and few rows lie within reach.
    pub(super) fn by_gaps<'r>(&self, source: &Source<'r>, range: TimeRange) -> Option<ByGaps<'r>> {
        let (gaps, Channels::U8(labels)) = (source.gaps?, source.tags.channels) else {
            return None;
        };
        let ([start, stop], Scale::Ticks) = (self.ends, self.scale) else { return None };
        let ends = [u8::try_from(start.label).ok()?, u8::try_from(stop.label).ok()?];
        // The delayed time of the later tag decides whether a pair is in the range, and it can be of either row.
        if start.delay != stop.delay && range != TimeRange::default() {
            return None;
        }
        let [low, high] = self.recorded_ends();
        // The differences from `low` on have 16 bits.
        if high - low > i128::from(u16::MAX) {
            return None;
        }
        let distances = PairDistances::of(i64::try_from(low).ok()?, i64::try_from(high).ok()?)?;
        let within = rows_within_window(source.tags.time, distances.reach());
        let is_exact = distances.reach() < GAP_MAX.into();
        (is_exact && within < NEIGHBOUR_ROWS).then_some(ByGaps { gaps, labels, ends, distances })
    }

    /// Returns the smallest and the largest counted difference of recorded times, without delays.
    fn recorded_ends(&self) -> [i128; 2] {
        let delay = |end: Channel| i128::from(end.delay);
        let apart = delay(self.ends[0]) - delay(self.ends[1]);
        let (low, high) = (self.bins.edge(0), self.bins.edge(self.bins.count()));
        [i128::from(low) + apart, i128::from(high) - 1 + apart]
    }

    /// Counts the pairs whose later row is one of these, by gaps; from a crowded row on, by lists.
    pub(super) fn count_rows(
        &self,
        source: &Source<'_>,
        rows: Range<usize>,
        thread: &mut Thread,
        counts: &mut [u64],
    ) {
        // The task was made with this range or without any.
        let Some(by_gaps) = self.by_gaps(source, TimeRange::default()) else { return };
        let ByGaps { gaps, labels, ends, distances } = by_gaps;
        if !source.has_right_gaps(rows.clone(), REACH) {
            return;
        }
        let Thread { lists, bucket, .. } = thread;
        let Bucket { gathered, tally, .. } = bucket;
        let low = self.recorded_ends()[0];
        let done = gaps::differences(
            self.simd,
            (gaps, labels),
            rows.clone(),
            ends,
            (&distances, low),
            gathered,
            |differences| tally.add_narrow(&self.binning, differences, counts),
        );
        let Err(crowded) = done else { return };
        let time = source.tags.time;
        let earliest = time[crowded].saturating_sub(distances.reach());
        let head = seek(time, crowded, |time| time < earliest);
        if !source.is_in_order(self.simd, head..rows.end) {
            return;
        }
        // All pairs of the rows that are left and of the rows near them, less those that were counted.
        let mut take = |rows: Range<usize>, counts: &mut [u64]| {
            let of = |wanted: u8, delay: i64| {
                let tags = time[rows.clone()].iter().zip(&labels[rows.clone()]);
                let tags = tags.filter(move |&(_, &label)| label == wanted);
                tags.map(move |(&time, _)| time + delay)
            };
            lists.starts.clear();
            lists.starts.extend(of(ends[0], self.ends[0].delay));
            lists.stops.clear();
            lists.stops.extend(of(ends[1], self.ends[1].delay));
            self.count_sides(source, lists, i64::MIN, bucket, counts);
            bucket.tally.drain(counts);
        };
        take(head..rows.end, counts);
        let mut before = vec![0; counts.len()];
        take(head..crowded, &mut before);
        for (count, before) in counts.iter_mut().zip(before) {
            *count = count.wrapping_sub(before);
        }
    }
}
