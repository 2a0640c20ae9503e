//! All pairs: a source is cut into morsels, the two channels are extracted, and both sides are counted.
//!
//! A stop at 0 and a start at 3: Δ = −3, and the start owns the pair, because it is later. A morsel counts the pairs
//! whose owner lies in it, and extracts partners from before it, as far as the bins reach.

use std::ops::Range;

use super::{
    bins::{Binning, Bins},
    compared::{Compared, Crowded, Near, StoredRows},
    query::{Channel, Histogram, Mode, longest},
    sides::{Owner, Side},
    tally::Bucket,
};
use crate::{
    kernels::{
        neighbours::{DistanceColumn, PairDistances},
        simd::Simd,
    },
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        column::Decoded,
        morsels::{Execution, Interval, intervals, row_ranges},
        plan,
        route::{BUFFER_ROWS, Route, Work, column_rows},
        selection::{Buffers, Selected, Selection},
        threads::add_up,
    },
};

/// Counts the pairs of every bin.
pub(super) fn count(
    query: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
) -> Vec<u64> {
    let scan = PairScan::new(query, execution.simd);
    let (range, before) = scan.ranges(query.scope.range);
    let mut counts = scan.count(recording, execution, range);
    if let Some(before) = before {
        let before = scan.count(recording, execution, before);
        // If damaged rows were left out of one count but not of the other, the result is refused.
        let less = |(count, before): (&mut u64, u64)| *count = count.wrapping_sub(before);
        counts.iter_mut().zip(before).for_each(less);
    }
    counts
}

/// Adds the rows that [`count`] reads to the plan.
pub(super) fn plan(
    query: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
    into: &mut plan::ReadPlan,
) {
    let scan = PairScan::new(query, execution.simd);
    let (range, before) = scan.ranges(query.scope.range);
    for range in [Some(range), before].into_iter().flatten() {
        into.read(recording, |source| {
            let of = |task: &Task<'_>| scan.row_ranges(task);
            scan.tasks(source, execution, range).iter().flat_map(of).collect::<Vec<_>>()
        });
    }
    // If too many tags turn out to lie within reach, lists are made for the rest.
    let is_near = |source: &Source<'_>| scan.near(source, range).is_some();
    into.is_at_least |= recording.sources.iter().any(is_near);
}

/// The unit in which times are counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scale {
    Ticks,
    /// Cells of this many ticks, truncated toward zero: cell 0 is twice as wide.
    Cells(i64),
}

impl Scale {
    fn value(self, time: i64) -> i64 {
        match self {
            Self::Ticks => time,
            Self::Cells(width) => time / width,
        }
    }

    /// Returns the first time with this value; `None` if it is the smallest possible time.
    fn first_time(self, value: i64) -> Option<i64> {
        match self {
            Self::Ticks => Some(value),
            Self::Cells(width) if value > 0 => Some(value.saturating_mul(width)),
            Self::Cells(width) => value.checked_sub(1)?.checked_mul(width)?.checked_add(1),
        }
    }
}

/// A query prepared for counting.
pub(super) struct PairScan {
    starts: Selection,
    stops: Selection,
    /// Both channels in one list: starts have number 0; stops have number 1 if they are of another channel.
    both: Selection,
    pub(super) ends: [Channel; 2],
    pub(super) bins: Bins,
    pub(super) binning: Binning,
    pub(super) scale: Scale,
    pub(super) simd: Simd,
}

/// One task.
enum Task<'a> {
    /// Pairs whose later row is one of these, in the columns as stored.
    Columns(&'a Source<'a>, StoredRows<'a>),
    /// Pairs whose later tag has its delayed time in a range, in one list of both channels.
    OneList(PairMorsel<'a>, PairDistances),
    /// Pairs whose later tag has its delayed time in a range, in a list of each channel.
    Lists(PairMorsel<'a>),
}

/// The owners of a source from `from` up to, not including, `to`.
struct PairMorsel<'a> {
    source: &'a Source<'a>,
    owned: TimeRange,
}

impl PairMorsel<'_> {
    /// Returns the interval of its owners and of their partners, which are up to `reach` before them.
    fn reaching(&self, reach: i64) -> Interval {
        let TimeRange { from, to } = self.owned;
        Interval { start: from.unwrap_or(i64::MIN), end: to }.looking_back(reach)
    }
}

/// The buffers of one thread.
pub(super) struct Thread<'a> {
    both: Buffers,
    pub(super) decoded: Decoded,
    pub(super) lists: Lists,
    pub(super) bucket: Bucket<'a>,
}

#[derive(Default)]
pub(super) struct Lists {
    buffers: Buffers,
    pub(super) starts: Vec<i64>,
    pub(super) stops: Vec<i64>,
}

impl PairScan {
    fn new(query: &Histogram, simd: Simd) -> Self {
        let (scale, bins) = match (query.mode, query.counted_bins()) {
            (Mode::Grid, Bins::Linear { low, width, count }) => {
                (Scale::Cells(width), Bins::Linear { low: low / width, width: 1, count })
            }
            (_, bins) => (Scale::Ticks, bins),
        };
        let ends = query.ends();
        let [starts, stops] = ends.map(|end| Selection::new(&[end.label], &[end.delay]));
        let [start, stop] = ends;
        let both = if start.label == stop.label {
            starts.clone()
        } else {
            Selection::new(&[start.label, stop.label], &[start.delay, stop.delay])
        };
        let binning = Binning::of(&bins);
        Self { starts, stops, both, ends, bins, binning, scale, simd }
    }

    pub(super) fn sides(&self, source: &Source<'_>) -> Vec<Side<'_>> {
        let longest = longest(source, self.ends);
        let of = |owner| Side::new(owner, &self.bins, &self.binning, longest, self.simd);
        [Owner::Stop, Owner::Start].into_iter().filter_map(of).collect()
    }

    /// Returns the range whose pairs are counted, and the range whose pairs are subtracted again.
    fn ranges(&self, range: TimeRange) -> (TimeRange, Option<TimeRange>) {
        let (Scale::Cells(_), Some(from)) = (self.scale, range.from) else { return (range, None) };
        // A pair belongs to its later tag, and two tags in one cell have an order, too. Therefore all pairs of
        // the cell that `from` cuts and of later cells are counted, and those of tags before `from` are
        // subtracted.
        let from_cell =
            TimeRange { from: self.scale.first_time(self.scale.value(from)), to: range.to };
        let to = if range.to.is_some_and(|to| to < from) { range.to } else { Some(from) };
        (from_cell, Some(TimeRange { to, ..from_cell }))
    }

    /// Counts pairs whose owner is in `range`.
    fn count(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        range: TimeRange,
    ) -> Vec<u64> {
        let sources = recording.sources.iter();
        let tasks: Vec<Task<'_>> =
            sources.flat_map(|source| self.tasks(source, execution, range)).collect();
        let count = |task: &Task<'_>, thread: &mut Thread<'_>, counts: &mut [u64]| {
            match task {
                Task::Columns(source, rows) => self.count_columns(source, rows, thread, counts),
                Task::OneList(morsel, distances) => {
                    self.count_one_list(morsel, distances, thread, counts);
                }
                Task::Lists(morsel) => self.count_lists(morsel, thread, counts),
            }
            0
        };
        let bins = self.bins.count();
        let pass = recording.pass(range);
        let thread = || Thread {
            both: Buffers::default(),
            decoded: Decoded::default(),
            lists: Lists::default(),
            bucket: Bucket::new(bins, pass.stop()),
        };
        let finish = |mut thread: Thread<'_>, counts: &mut [u64]| thread.bucket.tally.drain(counts);
        add_up(&pass, &tasks, bins, thread, count, finish).0
    }

    fn tasks<'r>(
        &self,
        source: &'r Source<'r>,
        execution: &Execution,
        range: TimeRange,
    ) -> Vec<Task<'r>> {
        let near = self.near(source, range);
        if let Some(Near::Columns(all)) = &near {
            let rows = column_rows(execution, all.column.is_decoded());
            let ranges = row_ranges(all.column, all.rows.clone(), rows).into_iter();
            return ranges
                .map(|rows| Task::Columns(source, StoredRows { rows, ..(**all).clone() }))
                .collect();
        }
        let look_back = |side: &Side<'_>| self.ticks(side.last - side.first);
        let window = self.sides(source).iter().map(look_back).max().unwrap_or(0);
        let time = source.tags.time;
        let rows = execution.rows_per_morsel(time, window, BUFFER_ROWS);
        // Rows are cut at the delayed times of the stops.
        let delay = self.ends[1].delay;
        let cut = |limit: i64| {
            let is_end = Some(limit) == range.from || Some(limit) == range.to;
            let whole = || self.scale.first_time(self.scale.value(limit)).unwrap_or(i64::MIN);
            if is_end { limit } else { whole() }
        };
        let intervals = intervals(time, rows, &[delay], range).into_iter();
        intervals
            .map(|interval| {
                let from = (interval.start > i64::MIN).then(|| cut(interval.start));
                TimeRange { from, to: interval.end.map(cut) }.and(&range)
            })
            .filter(|owned| owned.from.zip(owned.to).is_none_or(|(from, to)| from < to))
            .map(|owned| PairMorsel { source, owned })
            .map(|morsel| match near {
                Some(Near::OneList(distances)) => Task::OneList(morsel, distances),
                Some(Near::Columns(_)) | None => Task::Lists(morsel),
            })
            .collect()
    }

    /// Returns the rows that a task reads, each by its route.
    fn row_ranges(&self, task: &Task<'_>) -> Vec<(Route, Range<usize>)> {
        let (route, ranges) = match task {
            Task::Columns(source, compared) => {
                let (route, rows) = compared.row_ranges(source.tags.time);
                (route, vec![rows])
            }
            Task::OneList(morsel, distances) => {
                let interval = morsel.reaching(distances.reach());
                (Route::OneList, self.both.row_ranges(morsel.source.tags.time, interval))
            }
            Task::Lists(morsel) => (Route::Lists(Work::Differences), self.list_ranges(morsel)),
        };
        ranges.into_iter().map(|rows| (route, rows)).collect()
    }

    /// Returns the rows that the morsel reads by lists.
    fn list_ranges(&self, morsel: &PairMorsel<'_>) -> Vec<Range<usize>> {
        let sides = self.sides(morsel.source);
        let of = |(of, selection): (Owner, &Selection)| {
            let needed = self.needed(morsel, &sides, of);
            let ranges = |interval| selection.row_ranges(morsel.source.tags.time, interval);
            needed.map_or(Vec::new(), ranges)
        };
        let both = [(Owner::Start, &self.starts), (Owner::Stop, &self.stops)].map(of);
        both.concat()
    }

    /// Counts the pairs of the morsel's owners in a list of starts and stops.
    fn count_one_list(
        &self,
        morsel: &PairMorsel<'_>,
        distances: &PairDistances,
        thread: &mut Thread<'_>,
        counts: &mut [u64],
    ) {
        let interval = morsel.reaching(distances.reach());
        let mut both = std::mem::take(&mut thread.both);
        let list = self.both.select(self.simd, morsel.source, interval, &mut both);
        let Selected { time, number } = list;
        let from = morsel.owned.from;
        let head = from.map_or(0, |from| time.partition_point(|&time| time < from));
        let ends = [0, u8::from(self.ends[0].label != self.ends[1].label)];
        let compared = Compared {
            column: DistanceColumn::Times(time),
            labels: number,
            rows: head..time.len(),
            ends,
            distances: *distances,
        };
        // A selection always yields tags in order.
        if let Err(crowded) = self.count_near(&compared, thread, counts) {
            let earliest = time[crowded].saturating_sub(distances.reach());
            let head = time[..crowded].partition_point(|&time| time < earliest);
            // The delays are in the times.
            let rest = Crowded {
                time: &time[head..],
                labels: &number[head..],
                row: crowded - head,
                ends,
                delays: [0; 2],
            };
            self.count_rest(morsel.source, &rest, thread, counts);
        }
        thread.both = both;
    }

    /// Converts a distance to ticks.
    fn ticks(&self, distance: i64) -> i64 {
        match self.scale {
            Scale::Ticks => distance,
            Scale::Cells(width) => distance.saturating_add(1).saturating_mul(width),
        }
    }

    /// Counts the pairs of the morsel's owners from a list of starts and one of stops.
    fn count_lists(&self, morsel: &PairMorsel<'_>, thread: &mut Thread<'_>, counts: &mut [u64]) {
        let Thread { lists, bucket, .. } = thread;
        self.take(morsel, lists);
        let from = morsel.owned.from.map_or(i64::MIN, |from| self.scale.value(from));
        self.count_sides(morsel.source, lists, from, bucket, counts);
    }

    /// Counts the pairs whose later tag is not before `from`.
    pub(super) fn count_sides(
        &self,
        source: &Source<'_>,
        lists: &Lists,
        from: i64,
        bucket: &mut Bucket<'_>,
        counts: &mut [u64],
    ) {
        let owned = |times: &[i64]| times.partition_point(|&time| time < from);
        let (starts, stops) = (&lists.starts[..], &lists.stops[..]);
        for side in self.sides(source) {
            let (owners, others) = match side.owner {
                Owner::Stop => (&stops[owned(stops)..], starts),
                Owner::Start => (&starts[owned(starts)..], stops),
            };
            side.count(owners, others, bucket, counts);
            if side.holds_zero() && self.ends[0].label == self.ends[1].label {
                // With one channel, each tag was paired with itself.
                bucket.tally.drain(counts);
                let of_itself = &mut counts[side.bin(0)];
                // Starts in damaged rows were left out and not paired; the result is then refused.
                *of_itself = of_itself.wrapping_sub(owners.len() as u64);
            }
        }
    }

    /// Extracts the starts and stops that the morsel needs: its owners, and the tags near them.
    fn take(&self, morsel: &PairMorsel<'_>, lists: &mut Lists) {
        let sides = self.sides(morsel.source);
        let all = [(Owner::Start, &self.starts), (Owner::Stop, &self.stops)];
        for (of, selection) in all {
            let into = match of {
                Owner::Start => &mut lists.starts,
                Owner::Stop => &mut lists.stops,
            };
            into.clear();
            let Some(interval) = self.needed(morsel, &sides, of) else { continue };
            let selected = selection.select(self.simd, morsel.source, interval, &mut lists.buffers);
            into.extend(selected.time.iter().map(|&time| self.scale.value(time)));
        }
    }

    /// Returns the interval of the starts or stops that the morsel needs.
    fn needed(&self, morsel: &PairMorsel<'_>, sides: &[Side<'_>], of: Owner) -> Option<Interval> {
        let TimeRange { from, to } = morsel.owned;
        let mut needed: Option<Interval> = None;
        for side in sides {
            let mut own = Interval { start: from.unwrap_or(i64::MIN), end: to };
            if side.owner != of {
                own.start = own.start.saturating_sub(self.ticks(side.last));
                if let Scale::Ticks = self.scale {
                    own.end = own.end.map(|end| end.saturating_sub(side.first));
                }
            }
            needed = Some(needed.map_or(own, |known| Interval {
                start: known.start.min(own.start),
                end: known.end.zip(own.end).map(|(a, b)| a.max(b)),
            }));
        }
        needed
    }
}
