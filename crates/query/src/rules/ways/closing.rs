//! The groups of a query by the tag that closes them, which is where their coincidences are counted.
//!
//! By rule `all`, the last tag closes a coincidence: it closes as many as the product of the numbers of tags that the
//! other channels of the group have in the window before it. Among equal times, the order of rows decides which tag
//! is the last. With a herald, its tags close, and the window is on both sides.
//!
//! Group 1, 2, 3: a tag of 3 with two tags of 1 and one of 2 in the window before it closes 2·1 coincidences. Each
//! coincidence has one closing tag, so no coincidence is counted twice.

use std::collections::BTreeMap;

use crate::{
    kernels::{
        neighbours::{ComparedRows, REACH, near},
        rows::{MASK_ROWS, bits},
        simd::Simd,
        window_counts::{MOST_FACTORS, OneProduct, Products, WORD_LANES},
    },
    rules::{definition::Heralds, groups::channels_of},
    scan::route::{Amount, group_steps},
};

/// The largest number of channels of a group besides the channel that closes it.
const MOST_OTHERS: usize = 15;
/// The largest number of channels whose tags in a window are counted side by side.
pub(crate) const SIDE_BY_SIDE: usize = 16;

/// Up to this many groups are [`Amount::Few`].
const FEW_GROUPS: usize = 4;
/// Larger than any count that can be reported. The ways of a row are capped at it, so that sums over all rows fit in
/// 128 bits.
pub(crate) const TOO_MANY: u128 = 1 << 64;

/// Returns the cost of these groups where windows are crowded.
pub(crate) fn amount(groups: &[Vec<u16>]) -> Amount {
    let (most, channels) = (groups.iter().map(Vec::len).max(), channels_of(groups).len());
    match most.unwrap_or(0) {
        most if most > MOST_FACTORS + 1 || channels > SIDE_BY_SIDE => Amount::Large,
        most if groups.len() == 1 && most <= WORD_LANES => Amount::One,
        _ if groups.len() <= FEW_GROUPS => Amount::Few,
        _ => Amount::Many,
    }
}

/// The groups that a tag of each number closes.
#[derive(Debug)]
pub(crate) struct Closing {
    pub heralds: Heralds,
    pub closed_by: Vec<Vec<Closed>>,
    /// Whether a number closes any group.
    pub closes: [bool; 256],
    /// The number of channels of the smallest group.
    pub fewest: usize,
    /// The groups of each size; empty if there are more channels than are counted side by side.
    pub sizes: Vec<OfSize>,
    /// The product, if there is one group only, and it has all channels.
    pub one: Option<OneProduct>,
}

/// A group, seen from a tag that closes it.
#[derive(Debug)]
pub(crate) struct Closed {
    pub group: usize,
    /// The numbers of its other channels, at the beginning of the array.
    others: [u8; MOST_OTHERS],
    len: usize,
}

/// The groups of one size.
#[derive(Debug)]
pub(crate) struct OfSize {
    /// The products of the counts of other channels.
    pub products: Products,
    /// A group, a number that closes it, and the place of its product.
    pub closed: Vec<(usize, u8, usize)>,
}

/// The buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Near {
    /// Tags of each number in the window; all 0 between calls.
    tags: Vec<u32>,
    masks: Vec<u64>,
    /// The counts of rows that may be given up.
    found: Vec<u128>,
}

impl Closing {
    /// Prepares groups of numbers below `channels`.
    pub(crate) fn new(groups: &[Vec<u8>], channels: usize, heralds: Heralds) -> Self {
        // The number after the last stands for channels not in use and closes no group.
        let mut closed_by: Vec<Vec<Closed>> = (0..=channels).map(|_| Vec::new()).collect();
        let mut sizes = BTreeMap::<usize, Vec<Vec<&Closed>>>::new();
        for (at, group) in groups.iter().enumerate() {
            let closing = if heralds == Heralds::None { group.len() } else { 1 };
            for &number in &group[..closing] {
                let others = group.iter().copied().filter(|&other| other != number);
                closed_by[usize::from(number)].push(Closed::new(at, others));
            }
        }
        for (number, closed) in closed_by[..channels].iter().enumerate() {
            for closed in closed {
                let of_size = sizes.entry(closed.len).or_insert_with(|| vec![Vec::new(); channels]);
                of_size[number].push(closed);
            }
        }
        // A herald alone, as one of the counts under a veto is, needs no counts of others.
        let has_counts = channels <= SIDE_BY_SIDE && !sizes.contains_key(&0);
        let sizes = sizes.into_iter().filter(|_| has_counts);
        let sizes = sizes.map(|(others, closed)| OfSize::new(others, &closed)).collect();
        let is_one = groups.len() == 1 && channels == groups[0].len() && channels <= WORD_LANES;
        let is_closing = |number: usize| closed_by.get(number).is_some_and(|by| !by.is_empty());
        let closes: [bool; 256] = std::array::from_fn(is_closing);
        let one = is_one.then(|| {
            let is_closing = |number: u8| closes[usize::from(number)];
            OneProduct::new(channels, is_closing, heralds == Heralds::Once)
        });
        let fewest = groups.iter().map(Vec::len).min().unwrap_or(0);
        Self { heralds, closed_by, closes, fewest, sizes, one }
    }

    /// Returns the number of channels.
    pub(crate) fn channels(&self) -> usize {
        self.closed_by.len() - 1
    }

    /// Adds the tuples whose last tag is in these rows, by visiting only rows that have enough others in the window
    /// before them. Returns `None`, and adds nothing, if these windows hold too many rows in total or if times
    /// decrease.
    pub(crate) fn count_near(
        &self,
        simd: Simd,
        window: i64,
        rows: &ComparedRows<'_>,
        Near { tags, masks, found }: &mut Near,
        counts: &mut [u128],
    ) -> Option<()> {
        let number = |row: usize| usize::from(rows.number(row));
        // The smallest group needs this many tags before its last one.
        let k = self.fewest - 1;
        if k > REACH {
            return None;
        }
        tags.resize(self.closed_by.len(), 0);
        masks.resize(rows.range.len().div_ceil(MASK_ROWS), 0);
        found.clear();
        found.resize(counts.len(), 0);
        near(simd, rows, k, window, masks)?;
        let mut steps_left = group_steps(&rows.range);
        for (step, &mask) in masks.iter().enumerate() {
            for bit in bits(mask) {
                let last = rows.range.start + step * MASK_ROWS + bit;
                if !self.closes[number(last)] {
                    continue;
                }
                let mut distance = 0_i64;
                let before = (0..last).rev().take_while(|&before| {
                    distance = distance.saturating_add(rows.column.gap(before + 1));
                    distance <= window
                });
                let walked = before.map(|before| tags[number(before)] += 1).count();
                for closed in &self.closed_by[number(last)] {
                    found[closed.group] += closed.ways(tags).min(TOO_MANY);
                }
                for before in last - walked..last {
                    tags[number(before)] = 0;
                }
                steps_left = steps_left.checked_sub(walked)?;
            }
        }
        counts.iter_mut().zip(found).for_each(|(count, more)| *count += *more);
        Some(())
    }
}

impl OfSize {
    /// Prepares the groups that each number closes, each with `others` other channels.
    fn new(others: usize, closed: &[Vec<&Closed>]) -> Self {
        let channels = 0..u8::try_from(closed.len()).unwrap_or(u8::MAX);
        // A product of one factor is in the place of its channel: all counts are added as they are.
        let factors = |closed: &Vec<&Closed>| match others {
            1 => channels.clone().collect(),
            _ => closed.iter().flat_map(|closed| closed.others()).copied().collect(),
        };
        let products = Products::new(others, closed.iter().map(factors).collect());
        let places = |(number, closed): (u8, &Vec<&Closed>)| -> Vec<_> {
            let place = |(at, closed): (usize, &&Closed)| match closed.others() {
                &[other] => (closed.group, number, other.into()),
                _ => (closed.group, number, at),
            };
            closed.iter().enumerate().map(place).collect()
        };
        Self { products, closed: channels.clone().zip(closed).flat_map(places).collect() }
    }
}

impl Closed {
    fn new(group: usize, numbers: impl Iterator<Item = u8>) -> Self {
        let (mut others, mut len) = ([0; MOST_OTHERS], 0);
        for (number, other) in numbers.zip(&mut others) {
            *other = number;
            len += 1;
        }
        Self { group, others, len }
    }

    /// Returns the numbers of the other channels.
    pub(crate) fn others(&self) -> &[u8] {
        &self.others[..self.len]
    }

    /// Returns the product of the numbers of tags of the other channels, capped at the largest number of 128 bits.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the call takes as long as a group of three")]
    pub(crate) fn ways(&self, tags: &[u32]) -> u128 {
        let tags = |at: usize| tags[usize::from(self.others[at])];
        match self.len {
            2 => u128::from(u64::from(tags(0)) * u64::from(tags(1))),
            3 => u128::from(u64::from(tags(0)) * u64::from(tags(1))) * u128::from(tags(2)),
            len => product((0..len).map(tags)),
        }
    }
}

/// Returns the product, capped at the largest number of 128 bits.
fn product(factors: impl Iterator<Item = u32> + Clone) -> u128 {
    if factors.clone().any(|factor| factor == 0) {
        return 0;
    }
    factors.fold(1, |product: u128, factor| product.saturating_mul(factor.into()))
}
