//! Groups of several channels by rule `all`: each tuple is counted at its last tag.
//!
//! The number of tuples of a group that a tag closes is the product of the numbers of tags that the other
//! channels of the group have in the window before it. Among equal times, the order of rows decides which tag
//! is the last.

use crate::{
    kernels::{
        neighbours::{ComparedRows, REACH, near},
        rows::{MASK_ROWS, bits},
        simd::Simd,
    },
    rules::ways::sliding::Sliding,
    scan::{
        morsels::rows_within_window,
        route::{CompareIn, Work, group_steps},
        selection::Ready,
    },
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

    /// Adds the tuples whose last tag is in these rows, by visiting only rows that have enough others in the window before
    /// them. Returns `None`, and adds nothing, if these windows hold too many rows in total or if times decrease.
    pub(crate) fn count_near(
        &self,
        simd: Simd,
        window: i64,
        rows: &ComparedRows<'_>,
        inside: &mut Inside,
        counts: &mut [u128],
    ) -> Option<()> {
        let number = |row: usize| usize::from(rows.number(row));
        // The smallest group needs this many tags before its last one.
        let k = self.fewest - 1;
        if k > REACH {
            return None;
        }
        let Inside { tags, masks, found, .. } = inside;
        tags.resize(self.closed_by.len(), 0);
        masks.resize(rows.range.len().div_ceil(MASK_ROWS), 0);
        found.clear();
        found.resize(counts.len(), 0);
        near(simd, rows, k, window, masks)?;
        let mut steps_left = group_steps(&rows.range);
        for (step, &mask) in masks.iter().enumerate() {
            for bit in bits(mask) {
                let last = rows.range.start + step * MASK_ROWS + bit;
                if self.closed_by[number(last)].is_empty() {
                    continue;
                }
                let mut distance = 0_i64;
                let before = (0..last).rev().take_while(|&before| {
                    distance = distance.saturating_add(rows.column.gap(before + 1));
                    distance <= window
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

    /// Adds the tuples whose last tag is not in the head.
    pub(crate) fn count(
        &self,
        simd: Simd,
        window: i64,
        ready: Ready<'_>,
        inside: &mut Inside,
        counts: &mut [u128],
    ) {
        let crowded = Work::Groups { fewest: self.fewest }.crowded(CompareIn::List, simd, false);
        let is_sparse = rows_within_window(ready.time.into(), window) < crowded;
        if is_sparse && self.count_near(simd, window, &ready.rows(), inside, counts).is_some() {
            return;
        }
        let channels = self.closed_by.len() - 1;
        if let [count] = counts
            && let Some(more) = inside.sliding.one_group(ready, channels, window)
        {
            *count += more;
            return;
        }
        inside.sliding.each_row(ready, channels, window, |number, inside| {
            self.add(usize::from(number), inside, counts);
        });
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
