//! Counting without enumeration: how many tags of each channel lie in the window before a tag.
//!
//! The cost is a few steps per row, whatever the window. Rows before `head` are only looked back at and own
//! nothing: a coincidence belongs to its last row. Times must be in order, and differences must fit in `i64`.

use crate::{
    kernels::{self, matrix::Matrix},
    scan::selection::Ready,
};

/// The largest number of channel numbers whose counts are stored side by side; a row is then a few vector
/// instructions.
const FEW: usize = 8;
const MORE: usize = 16;

/// The buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Sliding {
    /// For each row after the head: the first row in its window.
    starts: Vec<u32>,
    /// For each row: the number of earlier rows of each number.
    before: Vec<u32>,
    /// The same counts packed into one word.
    packed: Vec<u64>,
    /// Tags of each number in the window; all 0 between calls.
    inside: Vec<u32>,
}

/// The number of counts in one word, and the bits of each.
const LANES: usize = 4;
const LANE_BITS: usize = 16;
/// Table size in which every number has an entry: a power of two above `LANES`.
const NUMBERS: usize = 8;
/// The number of rows whose products, each of three counts, fit in one word when added.
const BLOCK: usize = 1 << 15;

/// The operation on packed counts for a row of each number; the number after the last stands for all others.
struct Lanes {
    /// Counts the row.
    one_more: [u64; NUMBERS],
    /// Keeps the lanes that are factors; sets the other lanes, its own and unused ones, to one. Other rows
    /// close no tuple: all their factors are 0.
    factors: [u64; NUMBERS],
    ones: [u64; NUMBERS],
}

impl Lanes {
    fn new(channels: usize) -> Self {
        let one = |lane: usize| 1_u64 << (lane * LANE_BITS);
        let unused: u64 = (channels..LANES).map(one).sum();
        let mut lanes = Self { one_more: [0; NUMBERS], factors: [0; NUMBERS], ones: [0; NUMBERS] };
        for number in 0..channels {
            lanes.one_more[number] = one(number);
            lanes.factors[number] = !(one(number) * u64::from(u16::MAX));
            lanes.ones[number] = one(number) | unused;
        }
        lanes
    }

    /// Returns the product of the counts, without the count of the row's own number.
    #[inline]
    fn product(&self, inside: u64, number: usize) -> u64 {
        let factors = inside & self.factors[number] | self.ones[number];
        let lane = |at: usize| factors >> (at * LANE_BITS) & u64::from(u16::MAX);
        lane(0) * lane(1) * lane(2) * lane(3)
    }
}

impl Sliding {
    /// Passes to `take` the number of each row after the head, in order, and how many rows of each number
    /// below `channels` are in the window before it. The number `channels` stands for all others, which are
    /// not counted.
    #[inline]
    pub(crate) fn each_row(
        &mut self,
        ready: Ready<'_>,
        channels: usize,
        window: i64,
        take: impl FnMut(u8, &[u32]),
    ) {
        if channels > MORE || u32::try_from(ready.time.len()).is_err() {
            self.row_by_row(ready, channels, window, take);
        } else if channels > FEW {
            self.side_by_side::<MORE>(ready, window, take);
        } else {
            self.side_by_side::<FEW>(ready, window, take);
        }
    }

    /// Subtracts the count before the window from the count before the row: no branch depends on the times.
    #[inline]
    fn side_by_side<const SIDE: usize>(
        &mut self,
        ready: Ready<'_>,
        window: i64,
        mut take: impl FnMut(u8, &[u32]),
    ) {
        let Ready { time, id, head, number_of } = ready;
        let Self { starts, before, .. } = self;
        starts.resize(starts.len().max(time.len() - head), 0);
        before.resize(before.len().max(time.len() * SIDE), 0);
        kernels::window_starts(time, head, window, &mut starts[..time.len() - head]);
        let (before, _) = before.as_chunks_mut::<SIDE>();
        // Differences are correct even if the counts wrap.
        let mut rows = [0_u32; SIDE];
        for (&id, before) in id.iter().zip(before.iter_mut()) {
            *before = rows;
            let number = number_of[usize::from(id)];
            for (lane, rows) in (0..).zip(&mut rows) {
                *rows += u32::from(lane == number);
            }
        }
        let (own, starts) = (&before[head..time.len()], &starts[..time.len() - head]);
        for ((&id, &start), now) in id[head..].iter().zip(starts).zip(own) {
            let inside: [u32; SIDE] =
                std::array::from_fn(|lane| now[lane] - before[start as usize][lane]);
            take(number_of[usize::from(id)], &inside);
        }
    }

    /// Counts the tuples of one group of all the numbers 0 to `channels` - 1, at most four, by rule `all`.
    /// Works like [`Sliding::each_row`], with the four counts in one word. Returns `None` if a window holds
    /// more rows than a quarter of a word can count.
    pub(crate) fn one_group(
        &mut self,
        ready: Ready<'_>,
        channels: usize,
        window: i64,
    ) -> Option<u128> {
        let Ready { time, id, head, number_of } = ready;
        let own = time.len() - head;
        if channels > LANES || u32::try_from(time.len()).is_err() {
            return None;
        }
        let Self { starts, packed, .. } = self;
        starts.resize(starts.len().max(own), 0);
        packed.resize(packed.len().max(time.len()), 0);
        kernels::window_starts(time, head, window, &mut starts[..own]);
        let lanes = Lanes::new(channels);
        let number = |id: u8| usize::from(number_of[usize::from(id)]) % NUMBERS;
        let mut rows = 0_u64;
        for (&id, before) in id.iter().zip(packed.iter_mut()) {
            *before = rows;
            rows = rows.wrapping_add(lanes.one_more[number(id)]);
        }
        let lengths = (head..time.len()).zip(&*starts).map(|(row, &start)| row - start as usize);
        if lengths.max().unwrap_or(0) >= 1 << LANE_BITS {
            return None;
        }
        let mut count = 0_u128;
        let (own, starts, id) = (&packed[head..time.len()], &starts[..own], &id[head..]);
        let blocks = own.chunks(BLOCK).zip(starts.chunks(BLOCK)).zip(id.chunks(BLOCK));
        for ((own, starts), id) in blocks {
            let rows = own.iter().zip(starts).zip(id);
            let products = rows.map(|((&now, &start), &id)| {
                lanes.product(now.wrapping_sub(packed[start as usize]), number(id))
            });
            count += u128::from(products.sum::<u64>());
        }
        Some(count)
    }

    /// Updates the counts row by row, for many numbers.
    fn row_by_row(
        &mut self,
        ready: Ready<'_>,
        channels: usize,
        window: i64,
        mut take: impl FnMut(u8, &[u32]),
    ) {
        let Ready { time, id, head, number_of } = ready;
        let inside = &mut self.inside;
        inside.resize(channels + 1, 0);
        let number = |row: usize| number_of[usize::from(id[row])];
        let mut start = 0;
        for row in 0..time.len() {
            while time[row].wrapping_sub(time[start]) > window {
                inside[usize::from(number(start))] -= 1;
                start += 1;
            }
            if row >= head {
                take(number(row), inside);
            }
            inside[usize::from(number(row))] += 1;
        }
        inside.fill(0);
    }
}

/// Adds to `matrix` the pairs of numbers (later row first), at most `window` ticks apart.
pub(crate) fn matrix(sliding: &mut Sliding, ready: Ready<'_>, window: i64, matrix: &mut Matrix) {
    let channels = matrix.side() - 1;
    sliding.each_row(ready, channels, window, |number, inside| {
        for (count, &more) in matrix.row_mut(number, inside.len()).iter_mut().zip(inside) {
            *count += u64::from(more);
        }
    });
}
