//! Counts the triples of each cell: the channels are extracted as three lists, and for each herald the tags of both
//! other channels within its range are found by two moving ends.
//!
//! Herald at 10, A at 8 and 12, B at 11, range −5 to 5: two triples, with differences (−2, 1) and (2, 1). A triple
//! belongs to its latest tag, so a morsel skips those whose three tags are all before it.

use super::Histogram2d;
use crate::{
    kinds::histogram::Bins,
    run::recording::{Recording, Source},
    scan::{
        morsels::{Execution, Interval, intervals},
        plan::ReadPlan,
        route::{BUFFER_ROWS, Route},
        selection::{Buffers, Selection},
        threads::add_up,
    },
};

/// Counts the triples of every cell, row by row.
pub(super) fn count(
    query: &Histogram2d,
    recording: &Recording<'_>,
    execution: &Execution,
) -> Vec<u64> {
    let scan = Scan::new(query);
    let of_source = |source| {
        scan.morsels(source, execution).into_iter().map(move |owned| TripleMorsel { source, owned })
    };
    let morsels: Vec<TripleMorsel<'_>> = recording.sources.iter().flat_map(of_source).collect();
    let cells = query.bins.count().pow(2);
    let pass = recording.pass(query.scope.range);
    let stop = pass.stop();
    let count = |morsel: &TripleMorsel<'_>, thread: &mut Thread, counts: &mut [u64]| {
        let interval = morsel.owned.looking_back(scan.reach);
        let lists =
            scan.selection.lists(execution.simd, morsel.source, interval, &mut thread.buffers);
        let times = [0, 1, 2].map(|list| lists[list].view().time);
        let is_asked = || stop.is_asked();
        count_morsel(times, (morsel.owned.start, &query.bins), &mut thread.near, counts, is_asked);
        0
    };
    add_up(&pass, &morsels, cells, Thread::default, count, |_, _| {}).0
}

/// Adds the rows that [`count`] reads to the plan.
pub(super) fn plan(
    query: &Histogram2d,
    recording: &Recording<'_>,
    execution: &Execution,
    plan: &mut ReadPlan,
) {
    let scan = Scan::new(query);
    plan.read(recording, |source| {
        let of = |owned: Interval| {
            scan.selection.row_ranges(source.tags.time, owned.looking_back(scan.reach))
        };
        let rows = scan.morsels(source, execution).into_iter().flat_map(of);
        rows.map(|rows| (Route::Triples, rows)).collect::<Vec<_>>()
    });
}

/// Cancellation is polled once for this many tags of channel A.
const ASK: usize = 256;

/// A query prepared for counting.
struct Scan<'q> {
    query: &'q Histogram2d,
    /// A list for each channel, the heralds first.
    selection: Selection,
    delays: [i64; 3],
    /// How long before its latest tag the earliest tag of a triple can be.
    reach: i64,
}

/// One task: the triples whose latest tag lies in `owned`.
struct TripleMorsel<'a> {
    source: &'a Source<'a>,
    owned: Interval,
}

#[derive(Default)]
struct Thread {
    buffers: Buffers,
    near: [Near; 2],
}

/// The tags of one channel within the range of a herald.
#[derive(Default)]
struct Near {
    /// The first of them in the list, and the one after the last.
    from: usize,
    to: usize,
    /// Their bins.
    bins: Vec<usize>,
}

impl<'q> Scan<'q> {
    fn new(query: &'q Histogram2d) -> Self {
        let channels = query.channels();
        let delays = channels.map(|channel| query.scope.delay_of(channel));
        let (low, high) = (query.bins.edge(0), query.bins.edge(query.bins.count()));
        // The latest tag can be up to high - 1 after the herald, the earliest up to -low before it.
        let reach = high.saturating_sub(1).max(0).saturating_add(low.saturating_neg().max(0));
        Self { query, selection: Selection::by_channel(&channels, &delays), delays, reach }
    }

    fn morsels(&self, source: &Source<'_>, execution: &Execution) -> Vec<Interval> {
        let time = source.tags.time;
        let rows = execution.rows_per_morsel(time, self.reach, BUFFER_ROWS);
        intervals(time, rows, &self.delays, self.query.scope.range)
    }
}

/// Adds the triples whose latest tag is at `start` or later; no tag is after the end of the morsel. Stops when
/// cancelled.
fn count_morsel(
    [heralds, a, b]: [&[i64]; 3],
    (start, bins): (i64, &Bins),
    near: &mut [Near; 2],
    counts: &mut [u64],
    is_stopped: impl Fn() -> bool,
) {
    for near in near.iter_mut() {
        (near.from, near.to) = (0, 0);
    }
    let count = bins.count();
    let [near_a, near_b] = near;
    for &herald in heralds {
        near_a.find(a, herald, bins);
        near_b.find(b, herald, bins);
        // Of a herald before the start, triples without any tag from the start on belong elsewhere.
        let early = |near: &Near, time: &[i64]| {
            if herald >= start {
                0
            } else {
                time[near.from..near.to].partition_point(|&t| t < start)
            }
        };
        let (early_a, early_b) = (early(near_a, a), early(near_b, b));
        let is_early = herald < start;
        if is_stopped() {
            return;
        }
        for (i, &bin_a) in near_a.bins.iter().enumerate() {
            // A herald can have as many pairs as the run has.
            if i % ASK == ASK - 1 && is_stopped() {
                return;
            }
            let row = &mut counts[bin_a * count..][..count];
            let first = if is_early && i < early_a { early_b } else { 0 };
            for &bin_b in &near_b.bins[first..] {
                row[bin_b] = row[bin_b].wrapping_add(1);
            }
        }
    }
}

impl Near {
    /// Moves on to the tags within the range of a later herald.
    fn find(&mut self, time: &[i64], herald: i64, bins: &Bins) {
        let (low, high) = (bins.edge(0), bins.edge(bins.count()));
        let difference = |time: i64| time.saturating_sub(herald);
        while self.from < time.len() && difference(time[self.from]) < low {
            self.from += 1;
        }
        self.to = self.to.max(self.from);
        while self.to < time.len() && difference(time[self.to]) < high {
            self.to += 1;
        }
        self.bins.clear();
        let of = |&time: &i64| bins.holding(difference(time));
        self.bins.extend(time[self.from..self.to].iter().filter_map(of));
    }
}
