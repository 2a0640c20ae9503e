//! Groups of several channels by rule `all`: each tuple is counted at its last tag.
//!
//! The number of tuples of a group that a tag closes is the product of the numbers of tags that the other
//! channels of the group have in the window before it. Among equal times, the order of rows decides which tag
//! is the last.

use crate::{
    kernels,
    kernels::{first_fall, rows::MASK_ROWS, simd::Simd},
    rules::ways::sliding::Sliding,
    scan::{morsels::rows_within_window, selection::Ready},
};

/// The largest number of channels of a group besides the channel of the last tag.
const MOST_OTHERS: usize = 15;

/// The groups that a tag of each number can close.
#[derive(Debug)]
pub(crate) struct Folds {
    closed_by: Vec<Vec<Closed>>,
    /// The number of channels of the smallest group.
    fewest: usize,
}

/// A group, seen from the tag that closes it.
#[derive(Debug)]
struct Closed {
    group: usize,
    /// The numbers of its other channels, at the beginning of the array.
    others: [u8; MOST_OTHERS],
    len: usize,
}

/// The buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    /// Tags of each number in the window; all 0 between calls.
    tags: Vec<u32>,
    masks: Vec<u64>,
    sliding: Sliding,
}

impl Folds {
    /// Prepares groups of numbers below `side`.
    pub(crate) fn new(groups: &[Vec<u8>], side: usize) -> Self {
        // The number after the last stands for channels not in use and closes no group.
        let mut closed_by: Vec<Vec<Closed>> = (0..=side).map(|_| Vec::new()).collect();
        for (at, group) in groups.iter().enumerate() {
            for &last in group {
                let mut closed = Closed { group: at, others: [0; MOST_OTHERS], len: 0 };
                for &other in group.iter().filter(|&&other| other != last) {
                    closed.others[closed.len] = other;
                    closed.len += 1;
                }
                closed_by[usize::from(last)].push(closed);
            }
        }
        let fewest = groups.iter().map(Vec::len).min().unwrap_or(0);
        Self { closed_by, fewest }
    }

    /// Adds the tuples whose last tag is not in the head. Returns `None` if times decrease.
    pub(crate) fn count(
        &self,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        inside: &mut Inside,
        counts: &mut [u128],
    ) -> Option<()> {
        let is_sparse = rows_within_window(ready.time, window) < self.fewest;
        let done = if is_sparse {
            self.look_at_near(simd, window, ready, inside, counts)?
        } else if first_fall(simd, ready.time).is_none() {
            ready.head
        } else {
            return None;
        };
        if done < ready.time.len() {
            let rest = Ready { head: done, ..ready };
            let channels = self.closed_by.len() - 1;
            if let [count] = counts
                && let Some(more) = inside.sliding.one_group(rest, channels, window)
            {
                *count += more;
                return Some(());
            }
            inside.sliding.each_row(rest, channels, window, |number, inside| {
                self.add(usize::from(number), inside, counts);
            });
        }
        Some(())
    }

    /// Visits only rows that have enough others in the window before them. Stops when these windows hold too
    /// many rows in total, and returns the first row not visited. Returns `None` if times decrease.
    fn look_at_near(
        &self,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        inside: &mut Inside,
        counts: &mut [u128],
    ) -> Option<usize> {
        let Ready { time, head, .. } = ready;
        // The smallest group needs this many tags before its last one.
        let k = self.fewest - 1;
        let first = head.saturating_sub(k);
        let rows = time.len() - first;
        let Inside { tags, masks, .. } = inside;
        tags.resize(self.closed_by.len(), 0);
        masks.resize(rows.div_ceil(MASK_ROWS), 0);
        kernels::near(simd, &time[first..], k, window, masks, true)?;
        // Sliding costs a few steps per row.
        let mut steps_left = 2 * rows;
        for (step, &mask) in masks.iter().enumerate() {
            let mut mask = mask;
            while mask != 0 {
                let row = first + step * MASK_ROWS + mask.trailing_zeros() as usize + k;
                mask &= mask - 1;
                if row >= head {
                    let walked = self.close(row, window, ready, tags, counts);
                    let Some(left) = steps_left.checked_sub(walked) else { return Some(row + 1) };
                    steps_left = left;
                }
            }
        }
        Some(time.len())
    }

    /// Adds the tuples that one row closes; returns how many rows were in its window.
    fn close(
        &self,
        row: usize,
        window: i64,
        ready: Ready<'_>,
        tags: &mut [u32],
        counts: &mut [u128],
    ) -> usize {
        let Ready { time, id, number_of, .. } = ready;
        let number = |row: usize| usize::from(number_of[usize::from(id[row])]);
        if self.closed_by[number(row)].is_empty() {
            return 0;
        }
        let is_inside = |&before: &usize| time[row].wrapping_sub(time[before]) <= window;
        let before = (0..row).rev().take_while(is_inside);
        let walked = before.map(|before| tags[number(before)] += 1).count();
        self.add(number(row), tags, counts);
        for before in row - walked..row {
            tags[number(before)] = 0;
        }
        walked
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the call takes as long as a group of three")]
    fn add(&self, last: usize, inside: &[u32], counts: &mut [u128]) {
        for Closed { group, others, len } in &self.closed_by[last] {
            let tags = |at: usize| inside[usize::from(others[at])];
            counts[*group] += match len {
                2 => u128::from(u64::from(tags(0)) * u64::from(tags(1))),
                3 => u128::from(u64::from(tags(0)) * u64::from(tags(1))) * u128::from(tags(2)),
                _ => product(others[..*len].iter().map(|&other| inside[usize::from(other)])),
            };
        }
    }
}

/// Returns the product, or 2^64 if it is larger, which is already more than a count may be. There cannot be
/// 2^64 such products to add up.
fn product(factors: impl Iterator<Item = u32> + Clone) -> u128 {
    if factors.clone().any(|factor| factor == 0) {
        return 0;
    }
    factors.fold(1, |product: u128, factor| (product * u128::from(factor)).min(1 << 64))
}
