//! Groups of several channels by rule `all`: each tuple is counted at its last tag.
//!
//! The number of tuples of a group that a tag closes is the product of the numbers of tags that the other
//! channels of the group have in the window before it. Among equal times, the order of rows decides which tag
//! is the last.

use crate::{
    kernels,
    kernels::{
        first_fall,
        gaps::{REACH, near},
        rows::{MASK_ROWS, bits},
        simd::Simd,
    },
    rules::ways::sliding::Sliding,
    scan::{
        morsels::rows_within_window,
        selection::{Ready, StoredRows},
    },
};

/// The largest number of channels of a group besides the channel of the last tag.
const MOST_OTHERS: usize = 15;

/// The number of steps per row from which on sliding is faster.
const STEPS: usize = 2;

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
    /// The counts of a morsel that may be given up.
    found: Vec<u128>,
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

    /// Returns the number of channels of the smallest group.
    pub(crate) fn fewest(&self) -> usize {
        self.fewest
    }

    /// Adds the tuples whose last tag is in these rows, by gaps. Returns `None`, and adds nothing, if windows are
    /// crowded.
    pub(crate) fn count_by_gaps(
        &self,
        simd: Simd,
        window: u16,
        rows: &StoredRows<'_>,
        inside: &mut Inside,
        counts: &mut [u128],
    ) -> Option<()> {
        let (gaps, own) = (rows.gaps, &rows.rows);
        let number = |row: usize| usize::from(rows.number(row));
        let k = self.fewest - 1;
        if k > REACH {
            return None;
        }
        let Inside { tags, masks, found, .. } = inside;
        tags.resize(self.closed_by.len(), 0);
        masks.resize(own.len().div_ceil(MASK_ROWS), 0);
        found.clear();
        found.resize(counts.len(), 0);
        near(simd, (gaps, rows.labels), own.clone(), k, window, masks);
        let mut steps_left = STEPS * own.len();
        for (step, &mask) in masks.iter().enumerate() {
            for bit in bits(mask) {
                let last = own.start + step * MASK_ROWS + bit;
                if self.closed_by[number(last)].is_empty() {
                    continue;
                }
                let mut distance = 0;
                let before = (0..last).rev().take_while(|&before| {
                    distance += u64::from(gaps[before + 1]);
                    distance <= u64::from(window)
                });
                let walked = before.map(|before| tags[number(before)] += 1).count();
                self.add(number(last), tags, found);
                for before in last - walked..last {
                    tags[number(before)] = 0;
                }
                steps_left = steps_left.checked_sub(walked)?;
            }
        }
        counts.iter_mut().zip(found).for_each(|(count, more)| *count += *more);
        Some(())
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
        let mut steps_left = STEPS * rows;
        for (step, &mask) in masks.iter().enumerate() {
            for bit in bits(mask) {
                let row = first + step * MASK_ROWS + bit + k;
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
