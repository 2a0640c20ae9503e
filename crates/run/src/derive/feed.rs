//! The tags of a source in pieces: those that definitions need, by delayed time, and those that are kept, by recorded
//! time.
//!
//! If channel 2 has a delay of −10 ticks, and all tags recorded before 100 were read, a piece has the tags with delayed
//! times before 90, because the next tag of channel 2 can be recorded at 100 and gets the time 90.

use std::ops::Range;

use tagq_derived::{LabelledTags, TagBatch};
use tagq_store::{Channels, Store};

use super::queue::Queue;
use crate::new_store::micro_of;

/// The channels that definitions need, each with its delay in ticks.
#[derive(Debug, Default)]
pub(super) struct Needed {
    pub channels: Vec<(u16, i64)>,
    /// Whether micro times are needed, too.
    pub has_micro: bool,
}

/// The times from which tags of a source are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// The first delayed time for definitions.
    pub delayed: i64,
    /// The first recorded time of tags that are kept.
    pub recorded: i64,
}

impl Start {
    /// All tags.
    pub(super) const FIRST: Self = Self { delayed: i64::MIN, recorded: i64::MIN };
}

/// Tags that were read together.
#[derive(Debug)]
pub(super) struct Piece {
    /// Tags of needed channels by delayed time: those before `until` that no earlier piece has.
    tags: LabelledTags,
    /// Their micro times, if they are needed.
    micro: Option<Vec<u32>>,
    /// Tags of kept channels.
    pub kept: LabelledTags,
    /// The delayed time before which all tags were read.
    pub until: i64,
    /// The number of tags that were read and are in no piece yet.
    pub waiting: usize,
    /// Whether it has the tags that were recorded at the last time of the source, and no others.
    pub is_end: bool,
}

impl Piece {
    /// Returns the tags of needed channels.
    pub(super) fn batch(&self) -> TagBatch<'_> {
        let LabelledTags { times, rows, labels } = &self.tags;
        TagBatch { times, rows, labels, micro: self.micro.as_deref() }
    }
}

/// Which of the tags that wait are given at the end of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Only those that stay the same if the source grows: those of times before which no tag can be added.
    Final,
    /// All.
    All,
}

/// Reads a source.
pub(super) struct Feed<'a> {
    store: &'a Store,
    /// The rows that are not read yet.
    rows: Range<usize>,
    /// Rows that are read at once.
    piece_rows: usize,
    start: Start,
    /// The recorded time before which all tags have been read.
    recorded: i64,
    is_needed: Box<[bool]>,
    /// The queue of the delay of each channel; empty if there are no delays.
    queue_of: Vec<u16>,
    /// The smallest delay, at most 0.
    smallest_delay: i64,
    has_micro: bool,
    /// The channels that are kept; empty if there are none.
    is_kept: &'a [bool],
    /// Tags of needed channels that are not in a piece yet: by delay, those with that delay by delayed time.
    waiting: Vec<(i64, Queue)>,
    /// The tags that are given at the end.
    last: Last,
    is_begun: bool,
    is_ended: bool,
    times: Vec<i64>,
    selected: Vec<u32>,
}

impl<'a> Feed<'a> {
    /// Prepares to read these rows of the store.
    pub(super) fn new(
        store: &'a Store,
        mut rows: Range<usize>,
        needed: &Needed,
        is_kept: &'a [bool],
        (start, piece_rows): (Start, usize),
    ) -> Self {
        let delays = || needed.channels.iter().map(|(_, delay)| *delay).chain([0]);
        let has_delays = delays().any(|delay| delay != 0);
        let mut is_needed = vec![false; 1 << 16];
        let mut queue_of = vec![0; if has_delays { 1 << 16 } else { 0 }];
        let mut waiting = vec![(0, Queue::default())];
        for &(label, delay) in &needed.channels {
            is_needed[usize::from(label)] = true;
            if has_delays {
                let known = waiting.iter().position(|of| of.0 == delay);
                let at = known.unwrap_or(waiting.len());
                if known.is_none() {
                    waiting.push((delay, Queue::default()));
                }
                queue_of[usize::from(label)] = u16::try_from(at).unwrap_or(u16::MAX);
            }
        }
        let largest = delays().max().unwrap_or(0);
        if start != Start::FIRST {
            let first = start.recorded.min(start.delayed.saturating_sub(largest));
            let row = store.tags().time.partition_point(|time| time < first);
            rows.start = row.clamp(rows.start, rows.end);
        }
        Self {
            store,
            rows,
            piece_rows,
            start,
            recorded: i64::MIN,
            is_needed: is_needed.into(),
            queue_of,
            smallest_delay: delays().min().unwrap_or(0),
            has_micro: needed.has_micro,
            is_kept: if is_kept.contains(&true) { is_kept } else { &[] },
            waiting,
            last: Last::Final,
            is_begun: false,
            is_ended: false,
            times: Vec::new(),
            selected: Vec::new(),
        }
    }

    /// Gives all tags at the end of the source, also those that others with a smaller delay could precede if it grows.
    pub(super) fn drained(self) -> Self {
        Self { last: Last::All, ..self }
    }

    /// Reads the next rows, up to the times at which more can follow.
    fn read(&mut self) -> Piece {
        let rows = self.rows.start..self.rows.end.min(self.rows.start + self.piece_rows);
        self.rows.start = rows.end;
        let tags = self.store.tags();
        let mut buffer = std::mem::take(&mut self.times);
        let times = tags.time.read(rows.clone(), &mut buffer);
        let last = times.last().copied();
        let here = StoreRows { times, channels: tags.channels, rows };
        here.select(&self.is_needed, &mut self.selected);
        let mut needed = LabelledTags::default();
        if self.queue_of.is_empty() {
            here.append(&self.selected, self.start.delayed, &mut needed);
            self.waiting[0].1.take_in(&mut needed);
        } else {
            here.append(&self.selected, i64::MIN, &mut needed);
            self.add_delayed(&needed);
        }
        let mut kept = LabelledTags::default();
        if !self.is_kept.is_empty() {
            here.select(self.is_kept, &mut self.selected);
            here.append(&self.selected, self.start.recorded, &mut kept);
        }
        self.times = buffer;
        // A tag that is still to come can have the time of the last one.
        let next = if self.rows.is_empty() { last } else { Some(tags.time.at(self.rows.start)) };
        self.recorded = next.unwrap_or(i64::MIN).max(self.recorded);
        self.piece(kept, false)
    }

    /// Returns the tags that wait and are complete, and those that are kept.
    fn piece(&mut self, kept: LabelledTags, is_end: bool) -> Piece {
        let recorded = self.recorded.saturating_add(is_end.into());
        let until = recorded.saturating_add(self.smallest_delay).max(self.start.delayed);
        let last = self.waiting.iter().filter_map(|(_, queue)| queue.last_time()).max();
        let until = match last {
            Some(last) if is_end && self.last == Last::All => until.max(last.saturating_add(1)),
            _ => until,
        };
        let tags = self.waiting.iter_mut().map(|(_, queue)| queue.take(until));
        let tags = in_order(tags.filter(|tags| !tags.is_empty()).collect());
        let waiting = self.waiting.iter().map(|(_, queue)| queue.len()).sum();
        let column = self.store.micro();
        let micro = || tags.rows.iter().map(|&row| micro_of(column, row)).collect();
        let micro = self.has_micro.then(micro);
        Piece { tags, micro, kept, until, waiting, is_end }
    }

    /// Adds tags to those that wait, by delayed time.
    fn add_delayed(&mut self, tags: &LabelledTags) {
        let LabelledTags { times, rows, labels } = tags;
        let mut delayed: Vec<LabelledTags> = Vec::new();
        delayed.resize_with(self.waiting.len(), LabelledTags::default);
        for ((&time, &row), &label) in times.iter().zip(rows).zip(labels) {
            let at = usize::from(self.queue_of[usize::from(label)]);
            let time = time.saturating_add(self.waiting[at].0);
            if time >= self.start.delayed {
                let to = &mut delayed[at];
                to.times.push(time);
                to.rows.push(row);
                to.labels.push(label);
            }
        }
        for ((_, queue), tags) in self.waiting.iter_mut().zip(&mut delayed) {
            queue.take_in(tags);
        }
    }
}

/// Returns the tags of several lists in order of time, then of rows.
fn in_order(mut lists: Vec<LabelledTags>) -> LabelledTags {
    if lists.len() < 2 {
        return lists.pop().unwrap_or_default();
    }
    let tags = lists.iter().flat_map(|LabelledTags { times, rows, labels }| {
        let columns = times.iter().zip(rows).zip(labels);
        columns.map(|((&time, &row), &label)| (time, row, label))
    });
    let mut all: Vec<(i64, u64, u16)> = tags.collect();
    // The sort finds the sorted lists in it, and only merges them.
    all.sort_by_key(|&(time, row, _)| (time, row));
    LabelledTags {
        times: all.iter().map(|tag| tag.0).collect(),
        rows: all.iter().map(|tag| tag.1).collect(),
        labels: all.iter().map(|tag| tag.2).collect(),
    }
}

/// Pieces up to the end of the source, which is a piece of its own: if the source grows, more tags can have its last
/// time.
impl Iterator for Feed<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if self.is_ended {
            return None;
        }
        // A source without rows has one piece before its end, too.
        if !self.rows.is_empty() || !self.is_begun {
            self.is_begun = true;
            return Some(self.read());
        }
        self.is_ended = true;
        Some(self.piece(LabelledTags::default(), true))
    }
}

/// Rows of a store.
struct StoreRows<'a> {
    times: &'a [i64],
    channels: Channels<'a>,
    rows: Range<usize>,
}

impl StoreRows<'_> {
    /// Makes a list of the places of the rows whose channels are wanted.
    fn select(&self, is_wanted: &[bool], selected: &mut Vec<u32>) {
        match self.channels {
            Channels::U8(labels) => select(labels.read(self.rows.clone()), is_wanted, selected),
            Channels::U16(labels) => select(labels.read(self.rows.clone()), is_wanted, selected),
        }
    }

    /// Appends the tags at these places from a time on.
    fn append(&self, selected: &[u32], from: i64, to: &mut LabelledTags) {
        let start = selected.partition_point(|&at| self.times[at as usize] < from);
        let selected = &selected[start..];
        to.times.extend(selected.iter().map(|&at| self.times[at as usize]));
        to.rows.extend(selected.iter().map(|&at| self.rows.start as u64 + u64::from(at)));
        match self.channels {
            Channels::U8(labels) => {
                let labels = labels.read(self.rows.clone());
                to.labels.extend(selected.iter().map(|&at| u16::from(labels[at as usize])));
            }
            Channels::U16(labels) => {
                let labels = labels.read(self.rows.clone());
                to.labels.extend(selected.iter().map(|&at| labels[at as usize]));
            }
        }
    }
}

/// Makes a list of the places of wanted labels, without a branch for each.
fn select<L: Copy + Into<u16>>(labels: &[L], is_wanted: &[bool], selected: &mut Vec<u32>) {
    selected.clear();
    selected.resize(labels.len(), 0);
    let mut count = 0;
    for (&label, at) in labels.iter().zip(0..) {
        selected[count] = at;
        count += usize::from(is_wanted[usize::from(label.into())]);
    }
    selected.truncate(count);
}
