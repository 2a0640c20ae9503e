//! All pairs: a source is cut into morsels, the two channels are extracted, and both sides are counted.

use std::ops::Range;

use super::{
    bins::{Binning, Bins},
    query::{Channel, Histogram, Mode, longest},
    sides::{Owner, Side},
    tally::Bucket,
};
use crate::{
    kernels::{
        differences::{
            buffer::{REACH, Wanted},
            differences,
        },
        first_fall,
        neighbours::Column,
        simd::Simd,
    },
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{
        morsels::{Execution, Interval, intervals, row_ranges, seek},
        plan,
        selection::{Buffers, Selected, Selection},
        threads::add_up,
    },
};
use tagq_store::Channels;

/// Rows of a morsel that goes through buffers, chosen so that they stay in a core's cache.
const SELECTED_ROWS: usize = 1 << 16;

/// Rows of a morsel that is read from the columns: 2.25 MiB.
const DIRECT_ROWS: usize = 1 << 18;
/// Mean starts and stops within reach above which neighbours are not compared. Estimated, not tuned.
const NEIGHBOURS: i128 = 8;

/// Counts the pairs of every bin.
pub(super) fn count(
    query: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
) -> Vec<u64> {
    let plan = Plan::new(query, execution.simd);
    let (range, before) = plan.ranges(query.scope.range);
    let mut counts = plan.count(recording, execution, range);
    if let Some(before) = before {
        let before = plan.count(recording, execution, before);
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
    into: &mut plan::Plan,
) {
    let plan = Plan::new(query, execution.simd);
    let (range, before) = plan.ranges(query.scope.range);
    for range in [Some(range), before].into_iter().flatten() {
        into.read(recording, |source| {
            let of = |task| match task {
                Task::Rows(_, rows) => vec![(plan::GAPS, rows)],
                Task::Times(morsel) => plan.row_ranges(&morsel),
            };
            plan.tasks(source, execution, range).into_iter().flat_map(of).collect::<Vec<_>>()
        });
    }
    // If too many tags turn out to lie within reach, lists are extracted for the rest.
    let is_near =
        |source: &Source<'_>| plan.by_gaps(source, range).is_some() || plan.near(source).is_some();
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
    fn of(self, time: i64) -> i64 {
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
pub(super) struct Plan {
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
    /// Pairs whose later row is one of these, by gaps.
    Rows(&'a Source<'a>, Range<usize>),
    /// Pairs whose later tag has its delayed time in a range.
    Times(Morsel<'a>),
}

/// The owners of a source from `from` up to, not including, `to`.
struct Morsel<'a> {
    source: &'a Source<'a>,
    owned: TimeRange,
}

impl Morsel<'_> {
    /// Returns the interval of its owners and of their possible partners.
    fn reaching(&self, wanted: &Wanted) -> Interval {
        let TimeRange { from, to } = self.owned;
        Interval { start: from.unwrap_or(i64::MIN), end: to }.looking_back(wanted.reach)
    }
}

/// Rows of a morsel as they lie in the columns.
struct Rows {
    own: Range<usize>,
    /// The first row that is looked back at.
    head: usize,
}

/// The buffers of one thread.
pub(super) struct Thread {
    both: Buffers,
    pub(super) lists: Lists,
    pub(super) bucket: Bucket,
}

/// Tags in order; those before `head` are only looked back at and own nothing.
#[derive(Clone, Copy)]
struct Ready<'a> {
    source: &'a Source<'a>,
    time: &'a [i64],
    id: &'a [u8],
    head: usize,
}

/// How neighbours are compared.
enum Near {
    /// In the columns as stored.
    Columns(Wanted),
    /// In the list of both channels.
    List(Wanted),
}

#[derive(Default)]
pub(super) struct Lists {
    buffers: Buffers,
    pub(super) starts: Vec<i64>,
    pub(super) stops: Vec<i64>,
}

impl Plan {
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

    fn sides(&self, source: &Source<'_>) -> Vec<Side<'_>> {
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
            TimeRange { from: self.scale.first_time(self.scale.of(from)), to: range.to };
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
        let count = |task: &Task<'_>, thread: &mut Thread, counts: &mut [u64]| {
            match task {
                Task::Rows(source, rows) => self.count_rows(source, rows.clone(), thread, counts),
                Task::Times(morsel) => match self.near(morsel.source) {
                    Some(Near::Columns(wanted)) => {
                        self.count_columns(morsel, &wanted, thread, counts);
                    }
                    Some(Near::List(wanted)) => self.count_list(morsel, &wanted, thread, counts),
                    None => self.count_lists(morsel, thread, counts),
                },
            }
            0
        };
        let bins = self.bins.count();
        let thread = || Thread {
            both: Buffers::default(),
            lists: Lists::default(),
            bucket: Bucket::new(bins),
        };
        let finish = |mut thread: Thread, counts: &mut [u64]| thread.bucket.tally.drain(counts);
        let pass = recording.pass(range);
        add_up(&pass, &tasks, bins, thread, count, finish).0
    }

    fn tasks<'r>(
        &self,
        source: &'r Source<'r>,
        execution: &Execution,
        range: TimeRange,
    ) -> Vec<Task<'r>> {
        if let Some(found) = self.by_gaps(source, range) {
            let inside = Interval { start: range.from.unwrap_or(i64::MIN), end: range.to };
            let inside = inside.rows(source.tags.time, self.ends[0].delay);
            let rows = execution.morsel_rows.unwrap_or(DIRECT_ROWS).max(1);
            let ranges = row_ranges(Column::Gaps(found.gaps), inside, rows).into_iter();
            return ranges.map(|rows| Task::Rows(source, rows)).collect();
        }
        let look_back = |side: &Side<'_>| self.ticks(side.last - side.first);
        let window = self.sides(source).iter().map(look_back).max().unwrap_or(0);
        let time = source.tags.time;
        let is_direct = matches!(self.near(source), Some(Near::Columns(_)));
        let cached = if is_direct { DIRECT_ROWS } else { SELECTED_ROWS };
        let rows = execution.rows_per_morsel(time, window, cached);
        // Rows are cut at the delayed times of the stops.
        let delay = self.ends[1].delay;
        let cut = |limit: i64| {
            let is_end = Some(limit) == range.from || Some(limit) == range.to;
            let whole = || self.scale.first_time(self.scale.of(limit)).unwrap_or(i64::MIN);
            if is_end { limit } else { whole() }
        };
        let intervals = intervals(time, rows, &[delay], range).into_iter();
        intervals
            .map(|interval| {
                let from = (interval.start > i64::MIN).then(|| cut(interval.start));
                TimeRange { from, to: interval.end.map(cut) }.and(&range)
            })
            .filter(|owned| owned.from.zip(owned.to).is_none_or(|(from, to)| from < to))
            .map(|owned| Task::Times(Morsel { source, owned }))
            .collect()
    }

    /// Returns which neighbours to look for, and where: in the columns themselves if most of their rows are
    /// starts or stops that are not moved against each other. Returns `None` if too many lie within reach.
    fn near(&self, source: &Source<'_>) -> Option<Near> {
        let [start, stop] = self.ends;
        let Scale::Ticks = self.scale else { return None };
        let reach = self.sides(source).iter().map(|side| side.last).max()?;
        let (first, last) = source.span()?;
        let one = source.singles_of(start.label);
        let both =
            if start.label == stop.label { one } else { one + source.singles_of(stop.label) };
        let within = i128::from(both) * i128::from(reach) / i128::from(last - first).max(1);
        if within > NEIGHBOURS {
            return None;
        }
        let (low, high) = (self.bins.edge(0), self.bins.edge(self.bins.count()));
        let wanted = |ends, is_column| {
            let width = high.abs_diff(low);
            Wanted { ends, low, width, reach, is_column }
        };
        let is_most = 2 * both >= source.tags.len() as u64;
        let labels = [start, stop].map(|end| u8::try_from(end.label));
        if let (Channels::U8(_), [Ok(a), Ok(b)]) = (source.tags.channels, labels)
            && is_most
            && start.delay == stop.delay
        {
            return Some(Near::Columns(wanted([a, b], true)));
        }
        Some(Near::List(wanted([0, u8::from(start.label != stop.label)], false)))
    }

    /// Returns the rows that the morsel reads, each with its kernel.
    fn row_ranges(&self, morsel: &Morsel<'_>) -> Vec<(&'static str, Range<usize>)> {
        let time = morsel.source.tags.time;
        let (kernel, ranges) = match self.near(morsel.source) {
            Some(Near::Columns(wanted)) => match self.rows(morsel, &wanted) {
                Some(Rows { own, head }) if own.start - head > REACH => self.list_ranges(morsel),
                rows => {
                    let rows = rows.map(|Rows { own, head }| head..own.end);
                    ("pairs, neighbours in the columns", rows.into_iter().collect())
                }
            },
            Some(Near::List(wanted)) => {
                let ranges = self.both.row_ranges(time, morsel.reaching(&wanted));
                ("pairs, neighbours among starts and stops taken out", ranges)
            }
            None => self.list_ranges(morsel),
        };
        ranges.into_iter().map(|rows| (kernel, rows)).collect()
    }

    /// Returns the rows that the morsel reads by lists.
    fn list_ranges(&self, morsel: &Morsel<'_>) -> (&'static str, Vec<Range<usize>>) {
        let sides = self.sides(morsel.source);
        let of = |(of, selection): (Owner, &Selection)| {
            let needed = self.needed(morsel, &sides, of);
            let ranges = |interval| selection.row_ranges(morsel.source.tags.time, interval);
            needed.map_or(Vec::new(), ranges)
        };
        let both = [(Owner::Start, &self.starts), (Owner::Stop, &self.stops)].map(of);
        ("pairs, lists of starts and stops", both.concat())
    }

    /// Returns the rows of a morsel in the columns, and the first row that is looked back at; `None` if there
    /// are no rows.
    fn rows(&self, morsel: &Morsel<'_>, wanted: &Wanted) -> Option<Rows> {
        let time = morsel.source.tags.time;
        let TimeRange { from, to } = morsel.owned;
        let delay = self.ends[0].delay;
        let row = |limit: i64| time.partition_point(|&time| time.saturating_add(delay) < limit);
        let start = from.map_or(0, row);
        let own = start..to.map_or(time.len(), row).max(start);
        let &first = time[own.clone()].first()?;
        let earliest = first.saturating_sub(wanted.reach);
        let head = seek(time, start, |time| time < earliest);
        Some(Rows { own, head })
    }

    /// Counts the pairs of the morsel's owners in the columns as stored.
    fn count_columns(
        &self,
        morsel: &Morsel<'_>,
        wanted: &Wanted,
        thread: &mut Thread,
        counts: &mut [u64],
    ) {
        let tags = morsel.source.tags;
        let Channels::U8(ids) = tags.channels else { return };
        let Some(Rows { own, head }) = self.rows(morsel, wanted) else { return };
        if own.start - head > REACH {
            return self.count_lists(morsel, thread, counts);
        }
        let (time, id) = (&tags.time[head..own.end], &ids[head..own.end]);
        let Thread { lists, bucket, .. } = thread;
        let ready = Ready { source: morsel.source, time, id, head: own.start - head };
        // Otherwise differences could overflow 64 bits.
        let is_inside = morsel.source.spans(time);
        if !is_inside || self.count_near(ready, wanted, lists, bucket, counts).is_none() {
            // The rows are out of order: record where.
            morsel.source.is_in_order(self.simd, head..own.end);
        }
    }

    /// Counts the pairs of the morsel's owners in a list of starts and stops.
    fn count_list(
        &self,
        morsel: &Morsel<'_>,
        wanted: &Wanted,
        thread: &mut Thread,
        counts: &mut [u64],
    ) {
        let interval = morsel.reaching(wanted);
        let from = morsel.owned.from;
        let Selected { time, number } =
            self.both.select(self.simd, morsel.source, interval, &mut thread.both);
        let head = from.map_or(0, |from| time.partition_point(|&time| time < from));
        if head > REACH {
            return self.count_lists(morsel, thread, counts);
        }
        let Thread { lists, bucket, .. } = thread;
        let ready = Ready { source: morsel.source, time, id: number, head };
        // A selection always yields tags in order.
        let _: Option<()> = self.count_near(ready, wanted, lists, bucket, counts);
    }

    /// Counts the pairs of the rows from the head on by comparing neighbours; from a crowded row on, by their
    /// lists. Returns `None` if times decrease.
    fn count_near(
        &self,
        Ready { source, time, id, head }: Ready<'_>,
        wanted: &Wanted,
        lists: &mut Lists,
        bucket: &mut Bucket,
        counts: &mut [u64],
    ) -> Option<()> {
        let Bucket { buffer, tally, .. } = bucket;
        let take = |distances: &[u64]| tally.add(&self.binning, distances, counts);
        let done = differences(self.simd, time, id, head, wanted, buffer, take);
        if done == time.len() {
            return Some(());
        }
        // Rows in order can still begin outside of the source, if the rows before them are damaged.
        let is_outside = wanted.is_column && !source.spans(&time[done..]);
        if is_outside || first_fall(self.simd, &time[done..]).is_some() {
            return None;
        }
        // Pairs of a later row with an earlier one were already counted.
        let rest = || time[done..].iter().zip(&id[done..]);
        let of = |wanted: u8| rest().filter(move |&(_, &id)| id == wanted).map(|(&time, _)| time);
        lists.starts.clear();
        lists.starts.extend(of(wanted.ends[0]));
        lists.stops.clear();
        lists.stops.extend(of(wanted.ends[1]));
        self.count_sides(source, lists, i64::MIN, bucket, counts);
        Some(())
    }

    /// Converts a distance to ticks.
    fn ticks(&self, distance: i64) -> i64 {
        match self.scale {
            Scale::Ticks => distance,
            Scale::Cells(width) => distance.saturating_add(1).saturating_mul(width),
        }
    }

    /// Counts the pairs of the morsel's owners from a list of starts and one of stops.
    fn count_lists(&self, morsel: &Morsel<'_>, thread: &mut Thread, counts: &mut [u64]) {
        let Thread { lists, bucket, .. } = thread;
        self.take(morsel, lists);
        let from = morsel.owned.from.map_or(i64::MIN, |from| self.scale.of(from));
        self.count_sides(morsel.source, lists, from, bucket, counts);
    }

    /// Counts the pairs whose later tag is not before `from`.
    pub(super) fn count_sides(
        &self,
        source: &Source<'_>,
        lists: &Lists,
        from: i64,
        bucket: &mut Bucket,
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
    fn take(&self, morsel: &Morsel<'_>, lists: &mut Lists) {
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
            into.extend(selected.time.iter().map(|&time| self.scale.of(time)));
        }
    }

    /// Returns the interval of the starts or stops that the morsel needs.
    fn needed(&self, morsel: &Morsel<'_>, sides: &[Side<'_>], of: Owner) -> Option<Interval> {
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
