//! The tags of the channels in use of one source, delayed and in order, with their rows.
//!
//! Tags further than the window from their neighbours are removed: of 0, 3, 20 and 40 with a window of 5, 20 is
//! removed. The first and the last tag of a morsel stay, because their neighbours may lie in other morsels.

use std::collections::VecDeque;

use rayon::prelude::*;
use tagq_store::Channels;

use super::batch::ListedTag;
use crate::{
    kernels::simd::Simd,
    rules::once::Timed,
    run::{recording::Source, scope::Scope, time_range::TimeRange},
    scan::morsels::{Execution, Interval, intervals},
};

/// Rows of a morsel.
const ROWS: usize = 1 << 16;
/// Morsels that each thread reads ahead.
const AHEAD: usize = 2;
/// The number of a channel that is not in use.
const UNUSED: u32 = u32::MAX;

/// A source during the walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeedSource<'a> {
    pub tags: &'a Source<'a>,
    /// The first row of the source in the recording.
    pub first_row: u64,
}

impl FeedSource<'_> {
    pub(super) fn listed(&self, row: usize) -> ListedTag {
        ListedTag { row: self.first_row + row as u64, time: self.tags.tags.time.at(row) }
    }
}

/// A tag extracted from the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taken {
    /// Its delayed time.
    pub time: i64,
    /// Its row in the source.
    pub row: usize,
    /// The number of its channel.
    pub number: u32,
}

impl Timed for Taken {
    fn time(self) -> i64 {
        self.time
    }
}

/// The channels in use: the number and the delay of each.
pub(super) struct ChannelNumbers {
    /// The number of each label.
    number_of: Box<[u32]>,
    /// The different delays, and the channels that each one moves.
    delays: Vec<i64>,
    /// The index of the delay for each channel number.
    delay_at: Vec<usize>,
}

impl ChannelNumbers {
    /// Assigns the numbers from 0 on to `channels`, which must be ascending.
    pub(super) fn new(channels: &[u16], scope: &Scope) -> Self {
        let mut number_of = vec![UNUSED; 1 << 16].into_boxed_slice();
        for (number, &channel) in (0..).zip(channels) {
            number_of[usize::from(channel)] = number;
        }
        let of_channels: Vec<i64> = channels.iter().map(|&c| scope.delay_of(c)).collect();
        let mut delays = of_channels.clone();
        delays.sort_unstable();
        delays.dedup();
        let delay_at = of_channels.iter().map(|d| delays.partition_point(|other| other < d));
        let delay_at = delay_at.collect();
        Self { number_of, delays, delay_at }
    }

    pub(super) fn number(&self, channel: u16) -> usize {
        self.number_of[usize::from(channel)] as usize
    }

    pub(super) fn channels(&self) -> usize {
        self.delay_at.len()
    }

    pub(super) fn smallest_delay(&self) -> i64 {
        self.delays.first().copied().unwrap_or(0)
    }

    /// Extracts the tags of an interval in order of delayed time, then of rows. Skips rows that are not in
    /// order, and records them in the source.
    fn take(&self, source: FeedSource<'_>, interval: Interval) -> Vec<Taken> {
        let tags = source.tags.tags;
        let (mut taken, mut buffer) = (Vec::new(), Vec::new());
        for (at, &delay) in self.delays.iter().enumerate() {
            let rows = interval.rows(tags.time, delay);
            if !source.tags.is_in_order(Simd::best(), rows.clone()) {
                continue;
            }
            let times = tags.time.read(rows.clone(), &mut buffer);
            let first = rows.start;
            let mut add = |row: usize, label: u16| {
                let number = self.number_of[usize::from(label)];
                if number != UNUSED && self.delay_at[number as usize] == at {
                    taken.push(Taken { time: times[row - first] + delay, row, number });
                }
            };
            match tags.channels {
                Channels::U8(labels) => {
                    let labels = labels.read(rows.clone()).iter();
                    rows.zip(labels).for_each(|(row, &label)| add(row, label.into()));
                }
                Channels::U16(labels) => {
                    let labels = labels.read(rows.clone()).iter();
                    rows.zip(labels).for_each(|(row, &label)| add(row, label));
                }
            }
        }
        // The tags of each delay are in order already, so the stable sort merges them.
        taken.sort_by_key(|tag| (tag.time, tag.row));
        taken
    }
}

/// The tags of one source, one after the other.
pub(super) struct Feed<'a> {
    source: FeedSource<'a>,
    wanted: &'a ChannelNumbers,
    /// Tags further than this from their neighbours on both sides are skipped.
    near: Option<i64>,
    intervals: std::vec::IntoIter<Interval>,
    ahead: usize,
    ready: VecDeque<Vec<Taken>>,
    current: std::vec::IntoIter<Taken>,
    has_read: bool,
}

impl<'a> Feed<'a> {
    /// Creates a feed of the tags with a delayed time in `range`.
    pub(super) fn new(
        source: FeedSource<'a>,
        wanted: &'a ChannelNumbers,
        near: Option<i64>,
        range: TimeRange,
        execution: &Execution,
    ) -> Self {
        let time = source.tags.tags.time;
        let rows = execution.rows_per_morsel(time, 0, ROWS);
        let is_empty = range.from.zip(range.to).is_some_and(|(from, to)| from >= to);
        let intervals =
            if is_empty { Vec::new() } else { intervals(time, rows, &wanted.delays, range) };
        Self {
            source,
            wanted,
            near,
            intervals: intervals.into_iter(),
            ahead: AHEAD * rayon::current_num_threads(),
            ready: VecDeque::new(),
            current: Vec::new().into_iter(),
            has_read: false,
        }
    }

    /// Returns the next tag without consuming it.
    pub(super) fn peek(&mut self) -> Option<Taken> {
        loop {
            if let Some(&next) = self.current.as_slice().first() {
                return Some(next);
            }
            self.current = match self.ready.pop_front() {
                Some(ready) => ready.into_iter(),
                None => self.read()?.into_iter(),
            };
        }
    }

    pub(super) fn advance(&mut self) {
        self.current.next();
    }

    /// Returns whether columns were read since the last call.
    pub(super) fn has_read(&mut self) -> bool {
        std::mem::take(&mut self.has_read)
    }

    /// Extracts the tags of several morsels at once; returns those of the first one.
    fn read(&mut self) -> Option<Vec<Taken>> {
        let some: Vec<Interval> = self.intervals.by_ref().take(self.ahead).collect();
        let taken = some.into_par_iter().map(|interval| {
            let taken = self.wanted.take(self.source, interval);
            match self.near {
                Some(near) => without_lonely(taken, near),
                None => taken,
            }
        });
        self.ready = taken.collect::<Vec<_>>().into();
        self.has_read = true;
        self.ready.pop_front()
    }
}

/// Removes the tags that have no other tag within `near`. The first and the last tag stay, because their
/// neighbours are in other morsels.
fn without_lonely(mut taken: Vec<Taken>, near: i64) -> Vec<Taken> {
    let (mut len, mut is_near_before) = (0, true);
    for at in 0..taken.len() {
        let time = taken[at].time;
        let is_near_next = taken.get(at + 1).is_none_or(|next| next.time - time <= near);
        if is_near_before || is_near_next {
            taken[len] = taken[at];
            len += 1;
        }
        is_near_before = is_near_next;
    }
    taken.truncate(len);
    taken
}

/// Returns the time of the latest tag up to `from` that has no tag within `window` before it: rules that use
/// tags up start from scratch there. Returns `None` if there is no such tag.
pub(super) fn fresh_start(
    source: FeedSource<'_>,
    wanted: &ChannelNumbers,
    window: i64,
    from: i64,
    execution: &Execution,
) -> Option<i64> {
    let time = source.tags.tags.time;
    let rows = execution.rows_per_morsel(time, 0, ROWS);
    let range = TimeRange { from: None, to: Some(from.saturating_add(1)) };
    let morsels = intervals(time, rows, &wanted.delays, range);
    morsels.iter().rev().find_map(|interval| {
        let tags = wanted.take(source, interval.looking_back(window));
        let is_fresh = |at: &usize| {
            let time = tags[*at].time;
            let before = at.checked_sub(1).map(|before| tags[before].time);
            time >= interval.start && before.is_none_or(|before| time - before > window)
        };
        (0..tags.len()).rev().find(is_fresh).map(|at| tags[at].time)
    })
}
