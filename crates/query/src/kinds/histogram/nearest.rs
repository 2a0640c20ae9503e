//! Pairs of neighbours: each start with its next stop, or each stop with its last start.
//!
//! A morsel sees the tags of an interval of time. The neighbour of a tag at its edge may lie far away, so the
//! first stop, or the last start, of every morsel is looked up beforehand. Starts without any stop are found
//! separately from the pairs: of all counts, only theirs can change when tags are added.
//!
//! Starts at 0 and 4 in a morsel, the next stop at 7 after it: the stop that was looked up gives Δ = 7 and 3.

use std::ops::Range;

use super::{
    bins::Bins,
    fold::Period,
    query::{Channel, Histogram, Mode},
};
use crate::{
    kernels::simd::Simd,
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        morsels::{Execution, Interval, intervals},
        plan,
        route::{BUFFER_ROWS, Route},
        selection::{Buffers, Selection},
        singles::{last_row_of, row_among, row_at},
        threads::add_up,
    },
};

/// One task: the pairs of the starts, or of the stops, of an interval of delayed time.
struct NearestMorsel<'a> {
    source: &'a Source<'a>,
    from: i64,
    to: Option<i64>,
    /// The first stop after the interval, or the last start before it.
    beyond: Option<i64>,
}

/// Counts the pairs of every bin, and the starts or stops that are in none. In mode `next` only starts with a
/// stop are counted.
pub(super) fn count(
    query: &Histogram,
    period: Option<Period>,
    recording: &Recording<'_>,
    execution: &Execution,
) -> (Vec<u64>, u64) {
    let scan = NearestScan::new(query, period, execution.simd);
    let morsels: Vec<NearestMorsel<'_>> =
        recording.sources.iter().flat_map(|source| scan.morsels(source, execution)).collect();
    let count = |morsel: &NearestMorsel<'_>, buffers: &mut Buffers, counts: &mut [u64]| {
        scan.count(morsel, buffers, counts)
    };
    let pass = recording.pass(query.scope.range);
    add_up(&pass, &morsels, query.bins.count(), Default::default, count, |_, _| ())
}

/// Adds the rows that [`count`] reads to the scan.
pub(super) fn plan(
    query: &Histogram,
    period: Option<Period>,
    recording: &Recording<'_>,
    execution: &Execution,
    into: &mut plan::ReadPlan,
) {
    let scan = NearestScan::new(query, period, execution.simd);
    into.read(recording, |source| {
        let ranges = scan
            .morsels(source, execution)
            .into_iter()
            .flat_map(|morsel| scan.both.row_ranges(source.tags.time, morsel.interval()));
        ranges.map(|rows| (Route::Nearest, rows)).collect::<Vec<_>>()
    });
    // Neighbours outside a morsel, and starts after the last stop, are found by their labels.
    into.is_at_least = true;
}

impl NearestMorsel<'_> {
    fn interval(&self) -> Interval {
        Interval { start: self.from, end: self.to }
    }
}

/// Counts the starts of mode `next` in the range that have no stop in their source.
pub(super) fn without_stop(
    query: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
) -> u64 {
    let [start, stop] = query.ends();
    let range = query.scope.range;
    let of = |source: &Source<'_>| {
        let last = last_row_of(source, stop.label, source.tags.len());
        let last = last.map(|row| source.tags.time.at(row).wrapping_add(stop.delay));
        if query.start == query.stop {
            return u64::from(last.is_some_and(|last| range.contains(last)));
        }
        // If the last stop is at the largest possible time, no start lies after it.
        let Some(from) = last.map_or(Some(None), |last| last.checked_add(1).map(Some)) else {
            return 0;
        };
        let after = TimeRange { from, to: None }.and(&range);
        source.singles_within(start.label, start.delay, after, execution.simd)
    };
    recording.sources.iter().map(of).sum()
}

struct NearestScan<'a> {
    query: &'a Histogram,
    period: Option<Period>,
    /// A list of the starts, and one of the stops if they are of another channel.
    both: Selection,
    /// The channel that is searched outside a morsel.
    partner: Channel,
    simd: Simd,
}

impl<'a> NearestScan<'a> {
    fn new(query: &'a Histogram, period: Option<Period>, simd: Simd) -> Self {
        let ends = query.ends();
        let lists = if query.start == query.stop { &ends[..1] } else { &ends[..] };
        let (labels, delays): (Vec<u16>, Vec<i64>) =
            lists.iter().map(|end| (end.label, end.delay)).unzip();
        let both = Selection::by_channel(&labels, &delays);
        let partner = ends[usize::from(query.mode == Mode::Next)];
        Self { query, period, both, partner, simd }
    }

    fn morsels<'r>(&self, source: &'r Source<'r>, execution: &Execution) -> Vec<NearestMorsel<'r>> {
        let time = source.tags.time;
        let rows = execution.rows_per_morsel(time, 0, BUFFER_ROWS);
        let range = self.query.scope.range;
        let delay = self.partner.delay;
        let is_next = self.query.mode == Mode::Next;
        let mut own = range;
        let mut beyond = None;
        if let Some(from) = range.from {
            // A start may still wait for a stop since the last stop; a stop may refer back to the last start.
            let before = self.last_partner_before(source, Some(from));
            if is_next {
                if self.last_partner_before(source, range.to).is_none_or(|stop| stop < from) {
                    return Vec::new();
                }
                own.from = before;
            } else {
                beyond = before;
            }
        }
        // The intervals follow the rows of the partner, so that its neighbours outside are found by row.
        let mut intervals = intervals(time, rows, &[delay], own);
        if is_next {
            intervals.reverse();
        }
        let mut morsels = Vec::new();
        for interval in intervals {
            morsels.push(NearestMorsel { source, from: interval.start, to: interval.end, beyond });
            beyond = self.partner_in(source, interval.rows(time, delay)).or(beyond);
        }
        morsels
    }

    /// Returns the delayed time of the last stop, or start, before `limit`.
    fn last_partner_before(&self, source: &Source<'_>, limit: Option<i64>) -> Option<i64> {
        let Channel { label, delay } = self.partner;
        let end = limit.map_or(source.tags.len(), |limit| row_at(source, limit, delay));
        last_row_of(source, label, end).map(|row| source.tags.time.at(row).wrapping_add(delay))
    }

    /// Returns the delayed time of the first stop or of the last start among the rows.
    fn partner_in(&self, source: &Source<'_>, rows: Range<usize>) -> Option<i64> {
        let Channel { label, delay } = self.partner;
        let row = row_among(source, label, rows, self.query.mode == Mode::Last);
        row.map(|row| source.tags.time.at(row).wrapping_add(delay))
    }

    /// Adds the pairs of a morsel to their bins, and returns how many tags are in none.
    fn count(&self, morsel: &NearestMorsel<'_>, buffers: &mut Buffers, counts: &mut [u64]) -> u64 {
        let source = morsel.source;
        let interval = morsel.interval();
        let lists = self.both.lists(self.simd, source, interval, buffers);
        let (starts, stops) = match lists {
            [both] => (both.view().time, both.view().time),
            lists => (lists[0].view().time, lists[1].view().time),
        };
        let range = self.query.scope.range;
        let mut tally =
            NearestTally { bins: &self.query.bins, period: self.period, range, counts, dropped: 0 };
        let is_same = self.query.start == self.query.stop;
        match (self.query.mode, is_same) {
            (Mode::Next, true) => {
                let next = starts.iter().skip(1).copied().chain(morsel.beyond);
                for (&start, stop) in starts.iter().zip(next) {
                    tally.add(Some(start), stop);
                }
            }
            (Mode::Next, false) => {
                let mut next = 0;
                for &start in starts {
                    while stops.get(next).is_some_and(|&stop| stop < start) {
                        next += 1;
                    }
                    let Some(stop) = stops.get(next).copied().or(morsel.beyond) else { break };
                    tally.add(Some(start), stop);
                }
            }
            (_, true) => {
                let mut last = morsel.beyond;
                for &stop in stops {
                    tally.add(last, stop);
                    last = Some(stop);
                }
            }
            (_, false) => {
                let mut next = 0;
                let mut last = morsel.beyond;
                for &stop in stops {
                    while let Some(&start) = starts.get(next).filter(|&&start| start <= stop) {
                        last = Some(start);
                        next += 1;
                    }
                    tally.add(last, stop);
                }
            }
        }
        tally.dropped
    }
}

/// Counts of one morsel.
struct NearestTally<'a> {
    bins: &'a Bins,
    period: Option<Period>,
    range: TimeRange,
    counts: &'a mut [u64],
    dropped: u64,
}

impl NearestTally<'_> {
    /// Counts a stop with its start, or without one.
    #[inline]
    fn add(&mut self, start: Option<i64>, stop: i64) {
        if !self.range.contains(stop) {
            return;
        }
        let bin = start.and_then(|start| {
            // The neighbour outside the morsel was looked up in rows whose order was not checked.
            let difference = stop.wrapping_sub(start);
            let folded = self.period.map_or(difference, |period| period.fold(difference));
            self.bins.holding(folded)
        });
        match bin {
            Some(bin) => self.counts[bin] += 1,
            None => self.dropped += 1,
        }
    }
}
