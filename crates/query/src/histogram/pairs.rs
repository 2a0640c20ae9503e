//! All pairs: a source is cut into morsels, the two channels are taken out, and both sides counted.

use super::{
    Channel, Histogram, add_up,
    bins::{Binning, Bins},
    direct::Direct,
    longest,
    sides::{Owner, Side},
};
use crate::{
    Acquisition, Execution, Recording, Simd, TimeRange,
    level::differences::{REACH, Wanted, differences},
    scan::{Interval, intervals, seek},
    select::{Buffers, Selection},
};
use tagq_store::{Channels, Tags};

/// Rows of a morsel that goes through buffers, which then stay in a core's cache.
const SELECTED_ROWS: usize = 1 << 16;

/// Rows of a morsel that is read from the columns: 2.25 MiB.
const DIRECT_ROWS: usize = 1 << 18;
/// Mean tags within reach above which it is faster to take out the two channels first, measured.
const NEIGHBOURS: i128 = 12;

/// Counts the pairs of every bin.
pub(super) fn count(
    query: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
) -> Vec<u64> {
    let plan = Plan::new(query, &query.bins, Scale::Ticks, execution.simd);
    plan.count(recording, execution, query.scope.range, query.scope.range.to)
}

/// The same in cells of a bin's width.
pub(super) fn count_cells(
    query: &Histogram,
    recording: &Recording<'_>,
    execution: &Execution,
) -> Vec<u64> {
    let bins = query.counted_bins();
    let Bins::Linear { low, width, count } = bins else { return vec![0; bins.count()] };
    let scale = Scale::Cells(width);
    let bins = Bins::Linear { low: low / width, width: 1, count };
    let plan = Plan::new(query, &bins, scale, execution.simd);
    let range = query.scope.range;
    let Some(from) = range.from else {
        return plan.count(recording, execution, range, range.to);
    };
    // A pair belongs to its latest tag, and two tags in one cell have an order, too. Count all pairs
    // of the cell that `from` cuts and of those behind it, and take off those of tags before `from`.
    let cell = scale.of(from);
    let from_cell = TimeRange { from: scale.first_time(cell), to: range.to };
    let mut counts = plan.count(recording, execution, from_cell, range.to);
    let to = if range.to.is_some_and(|to| to < from) { range.to } else { Some(from) };
    let before = plan.count(recording, execution, TimeRange { to, ..from_cell }, to);
    counts.iter_mut().zip(before).for_each(|(count, before)| *count -= before);
    counts
}

/// What times are counted in.
#[derive(Debug, Clone, Copy)]
enum Scale {
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

    /// The first time with this value; nothing when it is the first of all times.
    fn first_time(self, value: i64) -> Option<i64> {
        match self {
            Self::Ticks => Some(value),
            Self::Cells(width) if value > 0 => Some(value.saturating_mul(width)),
            Self::Cells(width) => value.checked_sub(1)?.checked_mul(width)?.checked_add(1),
        }
    }
}

/// A query made ready.
struct Plan<'a> {
    starts: Selection,
    stops: Selection,
    ends: [Channel; 2],
    bins: &'a Bins,
    binning: Binning,
    scale: Scale,
    simd: Simd,
}

/// One piece of work: the owners of a source from `from` up to, not including, `to`.
struct Morsel<'a> {
    source: &'a Acquisition<'a>,
    owned: TimeRange,
    /// No tag from here on is used at all.
    limit: Option<i64>,
}

/// The buffers of one thread.
struct Thread {
    lists: Lists,
    direct: Direct,
}

#[derive(Default)]
struct Lists {
    buffers: Buffers,
    starts: Vec<i64>,
    stops: Vec<i64>,
}

impl<'a> Plan<'a> {
    fn new(query: &Histogram, bins: &'a Bins, scale: Scale, simd: Simd) -> Self {
        let ends = query.ends();
        let [starts, stops] = ends.map(|end| Selection::new(&[end.label], &[end.delay]));
        Self { starts, stops, ends, bins, binning: Binning::of(bins), scale, simd }
    }

    fn sides(&self, source: &Acquisition<'_>) -> Vec<Side<'_>> {
        let longest = longest(source, self.ends);
        let of = |owner| Side::new(owner, self.bins, &self.binning, longest, self.simd);
        [Owner::Stop, Owner::Start].into_iter().filter_map(of).collect()
    }

    /// Counts pairs whose owner is in `range`, of tags before `limit`.
    fn count(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        range: TimeRange,
        limit: Option<i64>,
    ) -> Vec<u64> {
        let morsels: Vec<Morsel<'_>> = recording
            .sources
            .iter()
            .flat_map(|source| self.morsels(source, execution, range, limit))
            .collect();
        let count = |morsel: &Morsel<'_>, thread: &mut Thread, counts: &mut [u64]| {
            let tags = morsel.source.tags;
            match self.wanted(morsel.source) {
                Some(wanted) => self.count_direct(morsel, &wanted, thread, counts),
                None => self.count_selected(morsel, tags, &mut thread.lists, counts),
            }
            0
        };
        let bins = self.bins.count();
        let thread = || Thread { lists: Lists::default(), direct: Direct::new(bins) };
        add_up(&morsels, bins, thread, count).0
    }

    fn morsels<'r>(
        &self,
        source: &'r Acquisition<'r>,
        execution: &Execution,
        range: TimeRange,
        limit: Option<i64>,
    ) -> Vec<Morsel<'r>> {
        let look_back = |side: &Side<'_>| self.ticks(side.last - side.first);
        let window = self.sides(source).iter().map(look_back).max().unwrap_or(0);
        let time = source.tags.time;
        let cached = if self.wanted(source).is_some() { DIRECT_ROWS } else { SELECTED_ROWS };
        let rows = execution.rows_per_morsel(time, window, cached);
        // Rows are cut where stops lie after their delay.
        let delay = self.ends[1].delay;
        let cut = |limit: i64| self.scale.first_time(self.scale.of(limit)).unwrap_or(i64::MIN);
        let intervals = intervals(time, rows, &[delay], TimeRange::default()).into_iter();
        intervals
            .map(|interval| {
                let from = (interval.start > i64::MIN).then(|| cut(interval.start));
                TimeRange { from, to: interval.end.map(cut) }.and(&range)
            })
            .filter(|owned| owned.from.zip(owned.to).is_none_or(|(from, to)| from < to))
            .map(|owned| Morsel { source, owned, limit })
            .collect()
    }

    /// What to look for in the columns themselves; nothing where channels are moved against each
    /// other, or so many tags lie within reach that the two channels are better taken out first.
    fn wanted(&self, source: &Acquisition<'_>) -> Option<Wanted> {
        let [start, stop] = self.ends;
        let is_as_stored = matches!(self.scale, Scale::Ticks) && start.delay == stop.delay;
        if !is_as_stored || !matches!(source.tags.channels, Channels::U8(_)) {
            return None;
        }
        // A label above 255 has no tags in a narrow column, and nothing to be taken out.
        let ends = [u8::try_from(start.label).ok()?, u8::try_from(stop.label).ok()?];
        let reach = self.sides(source).iter().map(|side| side.last).max()?;
        let (first, last) = source.span()?;
        let within =
            source.tags.len() as i128 * i128::from(reach) / i128::from(last - first).max(1);
        let (low, high) = (self.bins.edge(0), self.bins.edge(self.bins.count()));
        let wanted = Wanted { ends, low, width: high.abs_diff(low), reach };
        (within <= NEIGHBOURS).then_some(wanted)
    }

    /// Counts the pairs of the morsel's owners in the columns as they lie.
    fn count_direct(
        &self,
        morsel: &Morsel<'_>,
        wanted: &Wanted,
        thread: &mut Thread,
        counts: &mut [u64],
    ) {
        let tags = morsel.source.tags;
        let Channels::U8(ids) = tags.channels else { return };
        let TimeRange { from, to } = morsel.owned;
        let delay = self.ends[0].delay;
        let row = |limit: i64| tags.time.partition_point(|&time| time + delay < limit);
        let start = from.map_or(0, row);
        let rows = start..to.map_or(tags.len(), row).max(start);
        let Some(&first) = tags.time[rows.clone()].first() else { return };
        let earliest = first.saturating_sub(wanted.reach);
        let head = seek(tags.time, start, |time| time < earliest);
        if start - head > REACH {
            return self.count_selected(morsel, tags, &mut thread.lists, counts);
        }
        let Direct { buffer, tally } = &mut thread.direct;
        let mut take = |distances: &[u64]| tally.add(&self.binning, distances);
        let (time, id) = (&tags.time[head..rows.end], &ids[head..rows.end]);
        let done = differences(self.simd, time, id, start - head, wanted, buffer, &mut take);
        tally.drain(counts);
        if done < time.len() {
            // Pairs of a tag from here on with one before are counted.
            let tags = tags.rows(head + done..rows.end);
            self.count_selected(morsel, tags, &mut thread.lists, counts);
        }
    }

    /// A distance in ticks.
    fn ticks(&self, distance: i64) -> i64 {
        match self.scale {
            Scale::Ticks => distance,
            Scale::Cells(width) => distance.saturating_add(1).saturating_mul(width),
        }
    }

    /// Counts the pairs of the morsel's owners with others among `tags`.
    fn count_selected(
        &self,
        morsel: &Morsel<'_>,
        tags: Tags<'_>,
        lists: &mut Lists,
        counts: &mut [u64],
    ) {
        let sides = self.sides(morsel.source);
        self.take(morsel, tags, &sides, lists);
        let from = morsel.owned.from.map_or(i64::MIN, |from| self.scale.of(from));
        let owned = |times: &[i64]| times.partition_point(|&time| time < from);
        let (starts, stops) = (&lists.starts[..], &lists.stops[..]);
        for side in &sides {
            let (owners, others) = match side.owner {
                Owner::Stop => (&stops[owned(stops)..], starts),
                Owner::Start => (&starts[owned(starts)..], stops),
            };
            side.count(owners, others, counts);
            if side.holds_zero() && self.ends[0].label == self.ends[1].label {
                // Each tag was paired with itself.
                counts[side.bin(0)] -= owners.len() as u64;
            }
        }
    }

    /// Takes out the starts and stops that the morsel needs: its owners, and what is near them.
    fn take(&self, morsel: &Morsel<'_>, tags: Tags<'_>, sides: &[Side<'_>], lists: &mut Lists) {
        let TimeRange { from, to } = morsel.owned;
        let to = to.into_iter().chain(morsel.limit).min();
        let all = [(Owner::Start, &self.starts), (Owner::Stop, &self.stops)];
        for (of, selection) in all {
            let mut needed: Option<(i64, Option<i64>)> = None;
            for side in sides {
                let (mut begin, mut end) = (from.unwrap_or(i64::MIN), to);
                if side.owner != of {
                    begin = begin.saturating_sub(self.ticks(side.last));
                    if let Scale::Ticks = self.scale {
                        end = end.map(|end| end.saturating_sub(side.first));
                    }
                }
                needed = Some(match needed {
                    None => (begin, end),
                    Some((a, b)) => (a.min(begin), b.zip(end).map(|(b, end)| b.max(end))),
                });
            }
            let into = match of {
                Owner::Start => &mut lists.starts,
                Owner::Stop => &mut lists.stops,
            };
            into.clear();
            let Some((begin, end)) = needed else { continue };
            let interval = Interval { start: begin, end };
            let selected = selection.select(self.simd, tags, interval, &mut lists.buffers);
            into.extend(selected.time.iter().map(|&time| self.scale.of(time)));
        }
    }
}
