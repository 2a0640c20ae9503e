//! The stage before the kernels: channels in use taken out, delays added, put back in order.
//!
//! Tags of equal delay stay in order of time when it is added, so that each delay gives one sorted
//! list and the lists are merged.

use std::ops::Range;

use tagq_store::{Channels, Tags};

/// Dense number of a channel that is not in use.
pub(crate) const UNUSED: u8 = u8::MAX;

/// The channels of a query: which number each has, and its delay.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The number of each label; [`UNUSED`] for the others.
    number_of: Box<[u8]>,
    /// The numbers that share each delay, and that delay in ticks.
    delays: Vec<(i64, Box<[bool; 256]>)>,
}

/// Sorted delayed times and the dense numbers of their channels.
#[derive(Debug, Default, Clone)]
pub(crate) struct Selected {
    pub time: Vec<i64>,
    pub number: Vec<u8>,
}

/// The buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    lists: Vec<Selected>,
    merged: Vec<Selected>,
}

impl Selection {
    /// `channels[n]` gets number n and the delay `delays[n]`; at most 255 of them.
    pub(crate) fn new(channels: &[u16], delays: &[i64]) -> Self {
        assert!(channels.len() <= UNUSED.into(), "numbers below 255");
        let mut number_of = vec![UNUSED; 1 << 16].into_boxed_slice();
        let mut by_delay: Vec<(i64, Box<[bool; 256]>)> = Vec::new();
        for ((number, &channel), &delay) in (0..UNUSED).zip(channels).zip(delays) {
            number_of[usize::from(channel)] = number;
            let at = by_delay.iter().position(|(d, _)| *d == delay).unwrap_or_else(|| {
                by_delay.push((delay, Box::new([false; 256])));
                by_delay.len() - 1
            });
            by_delay[at].1[usize::from(number)] = true;
        }
        Self { number_of, delays: by_delay }
    }

    /// The numbers of the labels below 256, as a table for kernels on the mapped column.
    pub(crate) fn narrow_numbers(&self, unused: u8) -> [u8; 256] {
        std::array::from_fn(|label| match self.number_of[label] {
            UNUSED => unused,
            number => number,
        })
    }

    /// Whether the tags can be used as they lie in the store.
    pub(crate) fn has_delays(&self) -> bool {
        self.delays.iter().any(|(delay, _)| *delay != 0)
    }

    /// The tags of the channels in use whose delayed time is at least `start` and below `end`, in
    /// order of delayed time. Delayed times of the source fit in `i64`.
    pub(crate) fn select<'b>(
        &self,
        tags: Tags<'_>,
        start: i64,
        end: Option<i64>,
        buffers: &'b mut Buffers,
    ) -> &'b Selected {
        buffers.lists.resize_with(self.delays.len().max(1), Selected::default);
        for ((delay, takes), list) in self.delays.iter().zip(&mut buffers.lists) {
            list.time.clear();
            list.number.clear();
            let rows = rows_within(tags.time, start, end, *delay);
            let tags = tags.rows(rows);
            match tags.channels {
                Channels::U8(labels) => self.take(tags.time, labels, *delay, takes, list),
                Channels::U16(labels) => self.take(tags.time, labels, *delay, takes, list),
            }
        }
        merge_all(buffers)
    }

    fn take<L: Copy + Into<usize>>(
        &self,
        time: &[i64],
        labels: &[L],
        delay: i64,
        takes: &[bool; 256],
        list: &mut Selected,
    ) {
        // Every row is written, and the end moves on only behind those that are taken.
        list.time.resize(time.len(), 0);
        list.number.resize(time.len(), 0);
        let mut end = 0;
        for (&time, &label) in time.iter().zip(labels) {
            let number = self.number_of[label.into()];
            list.time[end] = time.wrapping_add(delay);
            list.number[end] = number;
            end += usize::from(takes[usize::from(number)]);
        }
        list.time.truncate(end);
        list.number.truncate(end);
    }
}

/// The rows whose time plus `delay` is at least `start` and below `end`.
fn rows_within(time: &[i64], start: i64, end: Option<i64>, delay: i64) -> Range<usize> {
    let before = |limit: i64| {
        time.partition_point(|&time| i128::from(time) + i128::from(delay) < i128::from(limit))
    };
    let end = end.map_or(time.len(), before);
    before(start).min(end)..end
}

/// Merges the lists two by two until one is left.
fn merge_all(buffers: &mut Buffers) -> &Selected {
    while buffers.lists.len() > 1 {
        let pairs = buffers.lists.len() / 2;
        buffers.merged.resize_with(pairs, Selected::default);
        for (pair, into) in buffers.lists.chunks_exact(2).zip(&mut buffers.merged) {
            merge(&pair[0], &pair[1], into);
        }
        for (at, into) in buffers.merged.iter_mut().enumerate() {
            std::mem::swap(&mut buffers.lists[at], into);
        }
        let odd = buffers.lists.len() % 2;
        if odd == 1 {
            let last = buffers.lists.len() - 1;
            buffers.lists.swap(pairs, last);
        }
        buffers.lists.truncate(pairs + odd);
    }
    &buffers.lists[0]
}

/// Merges two sorted lists without a branch that depends on the times.
fn merge(a: &Selected, b: &Selected, into: &mut Selected) {
    let len = a.time.len() + b.time.len();
    into.time.resize(len, 0);
    into.number.resize(len, 0);
    let (mut i, mut j) = (0, 0);
    while i < a.time.len() && j < b.time.len() {
        let (time_a, time_b) = (a.time[i], b.time[j]);
        let takes_b = time_b < time_a;
        into.time[i + j] = if takes_b { time_b } else { time_a };
        into.number[i + j] = if takes_b { b.number[j] } else { a.number[i] };
        i += usize::from(!takes_b);
        j += usize::from(takes_b);
    }
    let at = i + j;
    let rest = if i < a.time.len() { (a, i) } else { (b, j) };
    into.time[at..].copy_from_slice(&rest.0.time[rest.1..]);
    into.number[at..].copy_from_slice(&rest.0.number[rest.1..]);
}
