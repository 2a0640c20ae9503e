//! The stage before the kernels: channels in use taken out, delays added, put back in order.
//!
//! Tags of equal delay stay in order of time when it is added, so that each delay gives one sorted
//! list, and the lists are merged. Which rows a list takes is a mask, a bit a row, made from the labels
//! alone; times and numbers are then compressed by it.

use std::ops::Range;

use tagq_store::Channels;

use crate::{
    kernels,
    kernels::{rows::MASK_ROWS, simd::Simd},
    run::recording::Acquisition,
    scan::morsels::Interval,
};

/// Number of a channel that is not in use.
pub(crate) const UNUSED: u8 = u8::MAX;
/// Channels of a list up to which its labels are compared with each; more are looked up.
const COMPARED: usize = 16;
/// Rows up to which their order is looked at while they are taken.
const LOOKED_AT: usize = 1 << 22;
/// Values that compression may write behind those it takes.
const SLACK: usize = MASK_ROWS;

/// The channels of a query: which number each has, and its delay.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The number of each label; [`UNUSED`] for the others.
    number_of: Box<[u8]>,
    lists: Vec<Wanted>,
}

/// What one sorted list takes.
#[derive(Debug, Clone)]
struct Wanted {
    delay: i64,
    /// Labels and numbers of its channels.
    channels: Vec<(u16, u8)>,
    /// Whether a number is one of these channels.
    has_number: Box<[bool; 256]>,
}

/// Sorted delayed times and the numbers of their channels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selected<'b> {
    pub time: &'b [i64],
    pub number: &'b [u8],
}

/// The buffers of one thread. They only grow, so that nothing is cleared for a new morsel.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    masks: [Vec<u64>; 2],
    lists: Vec<List>,
    merged: Vec<List>,
}

/// A list of tags at the beginning of buffers that may be longer.
#[derive(Debug, Default)]
pub(crate) struct List {
    time: Vec<i64>,
    number: Vec<u8>,
    len: usize,
}

/// Tags in order, ready for the kernels. The first `head` rows are looked back at and own nothing.
#[derive(Clone, Copy)]
pub(crate) struct Ready<'a> {
    pub time: &'a [i64],
    pub id: &'a [u8],
    pub head: usize,
    /// The number of each id; those not in use have the number behind the last.
    pub number_of: &'a [u8; 256],
}

impl Selection {
    /// `channels[n]` gets number n and the delay `delays[n]`; at most 255 of them. One list for each
    /// different delay.
    pub(crate) fn new(channels: &[u16], delays: &[i64]) -> Self {
        let mut selection = Self::by_channel(channels, delays);
        let mut lists: Vec<Wanted> = Vec::new();
        for one in selection.lists {
            match lists.iter_mut().find(|list| list.delay == one.delay) {
                Some(list) => list.add(one.channels[0]),
                None => lists.push(one),
            }
        }
        selection.lists = lists;
        selection
    }

    /// As [`Selection::new`], with a list for each channel, in this order.
    pub(crate) fn by_channel(channels: &[u16], delays: &[i64]) -> Self {
        assert!(channels.len() <= UNUSED.into(), "numbers below 255");
        let mut number_of = vec![UNUSED; 1 << 16].into_boxed_slice();
        let mut lists = Vec::new();
        for ((number, &channel), &delay) in (0..UNUSED).zip(channels).zip(delays) {
            number_of[usize::from(channel)] = number;
            let mut list =
                Wanted { delay, channels: Vec::new(), has_number: Box::new([false; 256]) };
            list.add((channel, number));
            lists.push(list);
        }
        Self { number_of, lists }
    }

    /// The delay of each list in ticks.
    pub(crate) fn delays(&self) -> Vec<i64> {
        self.lists.iter().map(|list| list.delay).collect()
    }

    /// The numbers of the labels below 256, as a table for kernels on the mapped column.
    pub(crate) fn narrow_numbers(&self, unused: u8) -> [u8; 256] {
        std::array::from_fn(|label| match self.number_of[label] {
            UNUSED => unused,
            number => number,
        })
    }

    /// The tags of the channels in use whose delayed time lies in `interval`, in order of delayed
    /// time. Delayed times of the source fit in `i64`. Nothing of rows that are not in order, which the
    /// source is told.
    pub(crate) fn select<'b>(
        &self,
        simd: Simd,
        source: &Acquisition<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> Selected<'b> {
        self.select_list(simd, source, interval, buffers).view()
    }

    /// As [`Selection::select`], for whoever replaces the times.
    pub(crate) fn select_list<'b>(
        &self,
        simd: Simd,
        source: &Acquisition<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> &'b mut List {
        self.lists(simd, source, interval, buffers);
        merge_all(buffers)
    }

    /// As [`Selection::select`], list by list, not merged.
    pub(crate) fn lists<'b>(
        &self,
        simd: Simd,
        source: &Acquisition<'_>,
        interval: Interval,
        buffers: &'b mut Buffers,
    ) -> &'b mut [List] {
        buffers.lists.resize_with(self.lists.len().max(1), List::default);
        buffers.lists[0].len = 0;
        for (wanted, lists) in self.lists.chunks(2).zip(buffers.lists.chunks_mut(2)) {
            let rows = |wanted: &Wanted| interval.rows(source.tags.time, wanted.delay);
            if let ([a, b], [into_a, into_b]) = (wanted, &mut *lists) {
                let (rows_a, rows_b) = (rows(a), rows(b));
                if let Some(both) = shared(&rows_a, &rows_b) {
                    let wanted = [(a, rows_a), (b, rows_b)];
                    let into = [into_a, into_b];
                    self.take(simd, source, both, wanted, &mut buffers.masks, into);
                    continue;
                }
            }
            for (one, into) in wanted.iter().zip(lists) {
                let rows = rows(one);
                let masks = std::array::from_mut(&mut buffers.masks[0]);
                self.take(simd, source, rows.clone(), [(one, rows)], masks, [into]);
            }
        }
        &mut buffers.lists
    }

    /// The rows of a source that [`Selection::lists`] goes through, as often as it does.
    pub(crate) fn stretches(&self, time: &[i64], interval: Interval) -> Vec<Range<usize>> {
        let rows = |wanted: &Wanted| interval.rows(time, wanted.delay);
        let of = |wanted: &[Wanted]| match wanted {
            [a, b] => {
                let (a, b) = (rows(a), rows(b));
                shared(&a, &b).map_or(vec![a, b], |both| vec![both])
            }
            wanted => wanted.iter().map(rows).collect(),
        };
        self.lists.chunks(2).flat_map(of).collect()
    }

    /// Takes N lists out of the same rows, each with the part of them that it owns.
    fn take<const N: usize>(
        &self,
        simd: Simd,
        source: &Acquisition<'_>,
        rows: Range<usize>,
        wanted: [(&Wanted, Range<usize>); N],
        masks: &mut [Vec<u64>; N],
        mut into: [&mut List; N],
    ) {
        let tags = source.tags.rows(rows.clone());
        #[cfg(test)]
        crate::scan::watch::took(tags.time);
        // Of very many rows none are taken before they are known to be in order: it may be damage that
        // made them so many.
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
        let masks = masks.each_ref().map(|masks| &masks[..]);
        let times = into.each_mut().map(|list| &mut list.time[..]);
        if !kernels::compress(simd, tags.time, masks, delays, times) {
            leave_out(source, simd, rows, into);
        }
    }

    /// Bit i of the masks: row i is of a channel of the list.
    fn mask(&self, simd: Simd, labels: Channels<'_>, wanted: &Wanted, masks: &mut [u64]) {
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
                kernels::matching(simd, labels, &compared[..len], masks);
            }
            Channels::U8(labels) => self.look_up(labels, wanted, masks),
            Channels::U16(labels) => self.look_up(labels, wanted, masks),
        }
    }

    fn look_up<L: Copy + Into<usize>>(&self, labels: &[L], wanted: &Wanted, masks: &mut [u64]) {
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
        wanted: &Wanted,
        masks: &[u64],
        into: &mut List,
    ) {
        match (&wanted.channels[..], labels) {
            (&[(_, number)], _) => into.number[..into.len].fill(number),
            (_, Channels::U8(labels)) => {
                kernels::compress_labels(simd, labels, masks, &mut into.number);
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
                for (labels, &mask) in labels.chunks(MASK_ROWS).zip(masks) {
                    for (bit, &label) in labels.iter().enumerate() {
                        into.number[at] = self.number_of[usize::from(label)];
                        at += usize::from(mask >> bit & 1 == 1);
                    }
                }
            }
        }
    }
}

impl Wanted {
    fn add(&mut self, channel: (u16, u8)) {
        self.has_number[usize::from(channel.1)] = true;
        self.channels.push(channel);
    }

    /// How far the labels of a narrow column are above their numbers, modulo 256, where that is the same
    /// for all: channels that follow each other need no look-up.
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

    /// Its times, to be replaced by others in the same order.
    pub(crate) fn time_mut(&mut self) -> &mut [i64] {
        &mut self.time[..self.len]
    }

    /// Its times and numbers, to be replaced by others.
    pub(crate) fn rows_mut(&mut self) -> (&mut [i64], &mut [u8]) {
        (&mut self.time[..self.len], &mut self.number[..self.len])
    }

    /// Keeps the first `len` tags.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes it a list of `len` tags yet to be written.
    fn clear_for(&mut self, len: usize) {
        self.len = len;
        if self.time.len() < len + SLACK {
            self.time.resize(len + SLACK, 0);
            self.number.resize(len + SLACK, 0);
        }
    }
}

/// Takes nothing of rows that are out of order, and has the source note which they are.
fn leave_out<const N: usize>(
    source: &Acquisition<'_>,
    simd: Simd,
    rows: Range<usize>,
    into: [&mut List; N],
) {
    source.is_in_order(simd, rows);
    for list in into {
        list.truncate(0);
    }
}

/// The rows from which two lists of these rows are taken at once: nearly the same share their loads.
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
