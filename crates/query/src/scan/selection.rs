//! The stage before the kernels: channels in use are extracted, delays added, tags put back in order.
//!
//! Tags of equal delay stay in order of time when it is added, so each delay gives one sorted list, and the
//! lists are merged. The rows of a list are described by a mask, one bit per row, computed from the labels
//! alone; times and numbers are then compressed by it.
//!
//! Channel 1 at 0 and 10 with a delay of 5, channel 2 at 3: the lists 5, 15 and 3 are merged to 3, 5, 15.

use std::ops::Range;

use tagq_store::{Channels, Tags, Times};

use crate::{
    kernels,
    kernels::{
        neighbours::{ComparedRows, DistanceColumn},
        rows::MASK_ROWS,
        simd::Simd,
    },
    run::recording::Source,
    scan::morsels::Interval,
};

/// The number of a channel that is not in use.
pub(crate) const UNUSED: u8 = u8::MAX;
/// Up to this many channels of a list, labels are compared with each of them; above, labels are looked up.
const COMPARED: usize = 16;
/// Up to this many rows, the order is checked while rows are extracted.
const LOOKED_AT: usize = 1 << 22;
/// The number of values that compression may write past those it takes.
const SLACK: usize = MASK_ROWS;

/// The channels of a query: the number and the delay of each.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The number of each label; [`UNUSED`] for channels not in use.
    number_of: Box<[u8]>,
    lists: Vec<ListChannels>,
}

/// The channels of one sorted list.
#[derive(Debug, Clone)]
struct ListChannels {
    delay: i64,
    /// Labels and numbers of its channels.
    channels: Vec<(u16, u8)>,
    /// Whether a number belongs to one of these channels.
    has_number: Box<[bool; 256]>,
}

/// Sorted delayed times and the numbers of their channels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selected<'b> {
    pub time: &'b [i64],
    pub number: &'b [u8],
}

/// The buffers of one thread. They only grow, so they need no clearing for a new morsel.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    masks: [Vec<u64>; 2],
    decoded: Decoded,
    all_times: Vec<i64>,
    lists: Vec<List>,
    merged: Vec<List>,
}

/// Buffers for the decoded times of a piece: as times, or as ticks after one time.
#[derive(Debug, Default)]
struct Decoded {
    times: Vec<i64>,
    offsets: Vec<u32>,
}

/// A list of tags at the beginning of buffers that may be longer.
#[derive(Debug, Default)]
pub(crate) struct List {
    time: Vec<i64>,
    number: Vec<u8>,
    len: usize,
}

/// Tags in order, ready for the kernels. The first `head` rows are only partners of later rows.
#[derive(Clone, Copy)]
pub(crate) struct Ready<'a> {
    pub time: &'a [i64],
    pub id: &'a [u8],
    pub head: usize,
    /// The number of each id; ids not in use have the number after the last.
    pub number_of: &'a [u8; 256],
}

impl<'b> Selected<'b> {
    /// Returns the tags for the kernels; the first `head` are only partners of later ones.
    pub(crate) fn after(self, head: usize) -> Ready<'b> {
        Ready { time: self.time, id: self.number, head, number_of: &IDENTITY }
    }
}

impl<'a> Ready<'a> {
    /// Returns the same rows, to be compared with those before them.
    pub(crate) fn rows(&self) -> ComparedRows<'a> {
        let Self { time, id, head, number_of } = *self;
        ComparedRows {
            column: DistanceColumn::Times(time),
            labels: id,
            range: head..time.len(),
            number_of,
        }
    }
}

impl Selection {
    /// Creates a selection in which `channels[n]` has number n and the delay `delays[n]`; at most 255
    /// channels. There is one list for each different delay.
    pub(crate) fn new(channels: &[u16], delays: &[i64]) -> Self {
        let mut selection = Self::by_channel(channels, delays);
        let mut lists: Vec<ListChannels> = Vec::new();
        for one in selection.lists {
            match lists.iter_mut().find(|list| list.delay == one.delay) {
                Some(list) => list.add(one.channels[0]),
                None => lists.push(one),
            }
        }
        selection.lists = lists;
        selection
    }

    /// Works like [`Selection::new`], with a list for each channel, in this order.
    pub(crate) fn by_channel(channels: &[u16], delays: &[i64]) -> Self {
        assert!(channels.len() <= UNUSED.into(), "numbers below 255");
        let mut number_of = vec![UNUSED; 1 << 16].into_boxed_slice();
        let mut lists = Vec::new();
        for ((number, &channel), &delay) in (0..UNUSED).zip(channels).zip(delays) {
            number_of[usize::from(channel)] = number;
            let mut list =
                ListChannels { delay, channels: Vec::new(), has_number: Box::new([false; 256]) };
            list.add((channel, number));
            lists.push(list);
        }
        Self { number_of, lists }
    }

    /// Returns the delay of each list in ticks.
    pub(crate) fn delays(&self) -> Vec<i64> {
        self.lists.iter().map(|list| list.delay).collect()
    }

    /// Returns the numbers of the labels below 256, as a table for kernels on the mapped column.
    pub(crate) fn narrow_numbers(&self, unused: u8) -> [u8; 256] {
        std::array::from_fn(|label| match self.number_of[label] {
            UNUSED => unused,
            number => number,
        })
    }

    /// Returns the tags of the channels in use whose delayed time lies in `interval`, in order of delayed
    /// time. Delayed times of the source must fit in `i64`. Skips rows that are not in order, and records
    /// them in the source.
    pub(crate) fn select<'b>(
        &self,
        simd: Simd,
        source: &Source<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> Selected<'b> {
        self.select_list(simd, source, interval, buffers).view()
    }

    /// Works like [`Selection::select`], for callers that replace the times.
    pub(crate) fn select_list<'b>(
        &self,
        simd: Simd,
        source: &Source<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> &'b mut List {
        self.lists(simd, source, interval, buffers);
        merge_all(buffers)
    }

    /// Works like [`Selection::select`], list by list, without merging.
    pub(crate) fn lists<'b>(
        &self,
        simd: Simd,
        source: &Source<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> &'b mut [List] {
        buffers.lists.resize_with(self.lists.len().max(1), List::default);
        buffers.lists[0].len = 0;
        let (time, first) = self.times(source.tags.time, interval, &mut buffers.all_times);
        let times = |rows: &Range<usize>| time.rows(rows.start - first..rows.end - first);
        let rows = |wanted: &ListChannels| {
            let rows = interval.rows(time, wanted.delay);
            first + rows.start..first + rows.end
        };
        for (wanted, lists) in self.lists.chunks(2).zip(buffers.lists.chunks_mut(2)) {
            if let ([a, b], [into_a, into_b]) = (wanted, &mut *lists) {
                let (rows_a, rows_b) = (rows(a), rows(b));
                if let Some(both) = shared(&rows_a, &rows_b) {
                    let wanted = [(a, rows_a), (b, rows_b)];
                    let into = [into_a, into_b];
                    let buffers = (&mut buffers.masks, &mut buffers.decoded);
                    self.take(simd, source, (times(&both), both), wanted, buffers, into);
                    continue;
                }
            }
            for (one, into) in wanted.iter().zip(lists) {
                let rows = rows(one);
                let masks = std::array::from_mut(&mut buffers.masks[0]);
                let buffers = (masks, &mut buffers.decoded);
                let wanted = [(one, rows.clone())];
                self.take(simd, source, (times(&rows), rows), wanted, buffers, [into]);
            }
        }
        &mut buffers.lists
    }

    /// Returns the times in which the rows of the lists are found, and the row that is the first of them. If times
    /// have to be decoded, those of many lists are decoded together, unless their delays are far apart.
    fn times<'b>(
        &self,
        time: Times<'b>,
        interval: Interval,
        buffer: &'b mut Vec<i64>,
    ) -> (Times<'b>, usize) {
        let delays = || self.lists.iter().map(|list| list.delay);
        if self.lists.len() > 2
            && time.column().is_none()
            && let (Some(least), Some(most)) = (delays().min(), delays().max())
        {
            let (late, early) = (interval.rows(time, least), interval.rows(time, most));
            let all = early.start.min(late.start)..late.end.max(early.end);
            if all.len() <= self.lists.len() / 2 * late.len() {
                return (time.read(all.clone(), buffer).into(), all.start);
            }
        }
        (time, 0)
    }

    /// Returns the rows of a source that [`Selection::lists`] reads, as often as it reads them.
    pub(crate) fn row_ranges(&self, time: Times<'_>, interval: Interval) -> Vec<Range<usize>> {
        let rows = |wanted: &ListChannels| interval.rows(time, wanted.delay);
        let of = |wanted: &[ListChannels]| match wanted {
            [a, b] => {
                let (a, b) = (rows(a), rows(b));
                shared(&a, &b).map_or(vec![a, b], |both| vec![both])
            }
            wanted => wanted.iter().map(rows).collect(),
        };
        self.lists.chunks(2).flat_map(of).collect()
    }

    /// Extracts N lists from the same rows, each with the part of the rows that it owns.
    fn take<const N: usize>(
        &self,
        simd: Simd,
        source: &Source<'_>,
        (time, rows): (Times<'_>, Range<usize>),
        wanted: [(&ListChannels, Range<usize>); N],
        (masks, decoded): (&mut [Vec<u64>; N], &mut Decoded),
        mut into: [&mut List; N],
    ) {
        let tags = Tags { time, channels: source.tags.channels.read(rows.clone()) };
        // A very large number of rows is extracted only after their order is checked: the number may be so
        // large because of damage.
        let is_checked = rows.len() <= LOOKED_AT || source.is_in_order(simd, rows.clone());
        if !is_checked || !source.spans(tags.time) {
            return leave_out(source, simd, rows, into);
        }
        let delays = std::array::from_fn(|n| wanted[n].0.delay);
        for ((masks, (wanted, own)), into) in masks.iter_mut().zip(wanted).zip(&mut into) {
            masks.resize(tags.len().div_ceil(MASK_ROWS), 0);
            self.mask(simd, tags.channels, wanted, masks);
            keep_only(masks, own.start - rows.start..own.end - rows.start);
            into.clear_for(masks.iter().map(|mask| mask.count_ones() as usize).sum());
            self.take_numbers(simd, tags.channels, wanted, masks, into);
        }
        let mut taken = [0; N];
        let mut before = i64::MIN;
        for piece in tags.time.pieces() {
            let steps = piece.start / MASK_ROWS..piece.end.div_ceil(MASK_ROWS);
            let masks = masks.each_ref().map(|masks| &masks[steps.clone()]);
            let mut at = taken.iter();
            let lists =
                into.each_mut().map(|list| &mut list.time[at.next().copied().unwrap_or(0)..]);
            let offsets = tags.time.offsets(piece.clone(), &mut decoded.offsets);
            let (first, last, is_sorted) = if let Some((time, offsets)) = offsets {
                // Half as many bytes pass through the registers.
                let delayed = delays.map(|delay| time.wrapping_add(delay));
                kernels::compress_offsets(simd, offsets, masks, delayed, lists);
                let of = |&offset: &u32| time.wrapping_add(offset.into());
                (offsets.first().map(of), offsets.last().map(of), true)
            } else {
                let times = tags.time.read(piece, &mut decoded.times);
                let is_sorted = kernels::compress(simd, times, masks, delays, lists);
                (times.first().copied(), times.last().copied(), is_sorted)
            };
            if !is_sorted || first.is_some_and(|first| first < before) {
                return leave_out(source, simd, rows, into);
            }
            before = last.unwrap_or(before);
            for (taken, masks) in taken.iter_mut().zip(masks) {
                *taken += masks.iter().map(|mask| mask.count_ones() as usize).sum::<usize>();
            }
        }
    }

    /// Sets bit i of the masks if row i is of a channel of the list.
    fn mask(&self, simd: Simd, labels: Channels<'_>, wanted: &ListChannels, masks: &mut [u64]) {
        match labels {
            Channels::U8(labels) if wanted.channels.len() <= COMPARED => {
                let mut compared = [0; COMPARED];
                let mut len = 0;
                for &(label, _) in &wanted.channels {
                    // A narrow column has no tag of a channel above 255.
                    if let Ok(label) = u8::try_from(label) {
                        compared[len] = label;
                        len += 1;
                    }
                }
                kernels::matching(simd, labels.all(), &compared[..len], masks);
            }
            Channels::U8(labels) => self.look_up(labels.all(), wanted, masks),
            Channels::U16(labels) => self.look_up(labels.all(), wanted, masks),
        }
    }

    fn look_up<L: Copy + Into<usize>>(
        &self,
        labels: &[L],
        wanted: &ListChannels,
        masks: &mut [u64],
    ) {
        for (labels, mask) in labels.chunks(MASK_ROWS).zip(masks) {
            *mask = 0;
            for (bit, &label) in labels.iter().enumerate() {
                let number = self.number_of[label.into()];
                *mask |= u64::from(wanted.has_number[usize::from(number)]) << bit;
            }
        }
    }

    fn take_numbers(
        &self,
        simd: Simd,
        labels: Channels<'_>,
        wanted: &ListChannels,
        masks: &[u64],
        into: &mut List,
    ) {
        match (&wanted.channels[..], labels) {
            (&[(_, number)], _) => into.number[..into.len].fill(number),
            (_, Channels::U8(labels)) => {
                kernels::compress_labels(simd, labels.all(), masks, &mut into.number);
                let numbers = &mut into.number[..into.len];
                match wanted.above() {
                    Some(above) => {
                        for number in numbers {
                            *number = number.wrapping_sub(above);
                        }
                    }
                    None => {
                        for number in numbers {
                            *number = self.number_of[usize::from(*number)];
                        }
                    }
                }
            }
            (_, Channels::U16(labels)) => {
                let mut at = 0;
                for (labels, &mask) in labels.all().chunks(MASK_ROWS).zip(masks) {
                    for (bit, &label) in labels.iter().enumerate() {
                        into.number[at] = self.number_of[usize::from(label)];
                        at += usize::from(mask >> bit & 1 == 1);
                    }
                }
            }
        }
    }
}

impl ListChannels {
    fn add(&mut self, channel: (u16, u8)) {
        self.has_number[usize::from(channel.1)] = true;
        self.channels.push(channel);
    }

    /// Returns the difference between the labels of a narrow column and their numbers, modulo 256, if it is
    /// the same for all: consecutive channels need no look-up.
    fn above(&self) -> Option<u8> {
        let of =
            |&(label, number): &(u16, u8)| Some(u8::try_from(label).ok()?.wrapping_sub(number));
        let mut above = self.channels.iter().filter_map(of);
        let first = above.next()?;
        above.all(|other| other == first).then_some(first)
    }
}

impl List {
    pub(crate) fn view(&self) -> Selected<'_> {
        Selected { time: &self.time[..self.len], number: &self.number[..self.len] }
    }

    /// Returns its times, to be replaced by others in the same order.
    pub(crate) fn time_mut(&mut self) -> &mut [i64] {
        &mut self.time[..self.len]
    }

    /// Returns its times and numbers, to be replaced by others.
    pub(crate) fn rows_mut(&mut self) -> (&mut [i64], &mut [u8]) {
        (&mut self.time[..self.len], &mut self.number[..self.len])
    }

    /// Keeps the first `len` tags.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Turns it into a list of `len` tags yet to be written.
    fn clear_for(&mut self, len: usize) {
        self.len = len;
        if self.time.len() < len + SLACK {
            self.time.resize(len + SLACK, 0);
            self.number.resize(len + SLACK, 0);
        }
    }
}

/// Skips rows that are out of order, and makes the source record which they are.
fn leave_out<const N: usize>(
    source: &Source<'_>,
    simd: Simd,
    rows: Range<usize>,
    into: [&mut List; N],
) {
    source.is_in_order(simd, rows);
    for list in into {
        list.truncate(0);
    }
}

/// Returns the rows from which two lists are extracted at once: nearly equal ranges share their loads.
fn shared(a: &Range<usize>, b: &Range<usize>) -> Option<Range<usize>> {
    let both = a.start.min(b.start)..a.end.max(b.end);
    (both.len() <= (a.len() + b.len()) * 5 / 8).then_some(both)
}

/// Clears the bits of the rows outside `rows`.
pub(crate) fn keep_only(masks: &mut [u64], rows: Range<usize>) {
    for (step, mask) in masks.iter_mut().enumerate() {
        let first = step * MASK_ROWS;
        if first >= rows.start && first + MASK_ROWS <= rows.end {
            continue;
        }
        let bits_below = |row: usize| match row.saturating_sub(first) {
            bits if bits < MASK_ROWS => (1_u64 << bits) - 1,
            _ => u64::MAX,
        };
        *mask &= bits_below(rows.end) & !bits_below(rows.start);
    }
}

/// Merges the lists two by two until one is left.
fn merge_all(buffers: &mut Buffers) -> &mut List {
    let Buffers { lists, merged, .. } = buffers;
    let mut left = lists.len();
    while left > 1 {
        merged.resize_with(merged.len().max(left / 2), List::default);
        for (pair, into) in lists[..left].chunks_exact(2).zip(merged.iter_mut()) {
            into.clear_for(pair[0].len + pair[1].len);
            let [a, b] = [pair[0].view(), pair[1].view()];
            let (time, number) = (&mut into.time, &mut into.number);
            kernels::merge([a.time, b.time], [a.number, b.number], time, number);
        }
        for (at, into) in merged[..left / 2].iter_mut().enumerate() {
            std::mem::swap(&mut lists[at], into);
        }
        if left % 2 == 1 {
            lists.swap(left / 2, left - 1);
        }
        left = left.div_ceil(2);
    }
    &mut lists[0]
}

/// The ids of selected tags are already numbers.
const IDENTITY: [u8; 256] = {
    let mut identity = [0; 256];
    let mut number = 0;
    while number < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        {
            identity[number] = number as u8;
        }
        number += 1;
    }
    identity
};
