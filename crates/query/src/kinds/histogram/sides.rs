//! All pairs of two sorted lists of times, counted in one of three ways.
//!
//! A pair belongs to its later tag, its owner: stops own pairs with Δ ≥ 0, starts those with Δ < 0. On each side a
//! pair has a distance D ≥ 0, owner minus other, and the bins are intervals of D. Counting goes pair by pair or edge
//! by edge: counting the pairs at least E apart costs one step per tag, however many pairs there are. Starts at 2 and
//! 7, a stop at 10, edges 0, 5 and 10: 2, 1 and 0 pairs are at least that far apart, so both bins hold one. Many bins
//! of one width are counted together, by counts that slide.

use std::ops::Range;

use super::{
    bins::{Binning, Bins},
    tally::Bucket,
};
use crate::{
    kernels::{
        distances::{Distances, distances, narrow::LIMIT},
        merges::EDGES,
        simd::Simd,
        sliding::{EqualBins, SlidingCut},
    },
    scan::route::{cycles_of_pairs, pairs_per_edge},
};

/// Owners that are processed together: they and the others near them stay in a core's nearest caches.
const UNIT: usize = 4096;
/// The number of owners from which the number of pairs is estimated.
const SAMPLES: usize = 128;

/// Selects which of the two tags of a pair is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Δ = D ≥ 0.
    Stop,
    /// Δ = −D < 0.
    Start,
}

/// The bins as seen from one side.
pub(super) struct Side<'a> {
    pub(super) owner: Owner,
    pub(super) bins: &'a Bins,
    binning: &'a Binning,
    simd: Simd,
    /// The bins that overlap this side, nearest to D = 0 first; there are `count` of them.
    nearest: usize,
    count: usize,
    /// The smallest and the largest distance of a pair on this side.
    pub(super) first: i64,
    pub(super) last: i64,
}

impl<'a> Side<'a> {
    /// Returns `None` if no pair of this side can be in the bins; distances are at most `longest`.
    pub(super) fn new(
        owner: Owner,
        bins: &'a Bins,
        binning: &'a Binning,
        longest: i64,
        simd: Simd,
    ) -> Option<Self> {
        let edges = bins.count();
        let (low, high) = (i128::from(bins.edge(0)), i128::from(bins.edge(edges)));
        let (first, last) = match owner {
            Owner::Stop => (low.max(0), high - 1),
            Owner::Start => ((1 - high).max(1), -low),
        };
        let first = i64::try_from(first).ok()?;
        let last = i64::try_from(last.min(longest.into())).ok()?;
        if first > last {
            return None;
        }
        let bin = |distance: i64| {
            let difference = if owner == Owner::Stop { distance } else { -distance };
            match bins {
                Bins::Linear { low, width, .. } => {
                    let from_low = i128::from(difference) - i128::from(*low);
                    usize::try_from(from_low / i128::from(*width)).unwrap_or(usize::MAX)
                }
                Bins::Edges(edges) => edges.partition_point(|&edge| edge <= difference) - 1,
            }
        };
        let (nearest, farthest) = (bin(first), bin(last));
        let count = nearest.abs_diff(farthest) + 1;
        Some(Self { owner, bins, binning, simd, nearest, count, first, last })
    }

    /// Returns whether pairs of equal times are counted on this side.
    pub(super) fn holds_zero(&self) -> bool {
        self.owner == Owner::Stop && self.first == 0
    }

    /// Returns the i-th bin of this side.
    pub(super) fn bin(&self, i: usize) -> usize {
        match self.owner {
            Owner::Stop => self.nearest + i,
            Owner::Start => self.nearest - i,
        }
    }

    /// Returns the smallest distance in the i-th bin of this side; for the bin after the last, the largest
    /// distance plus one.
    fn edge(&self, i: usize) -> i128 {
        if i == 0 {
            return self.first.into();
        }
        if i == self.count {
            return i128::from(self.last) + 1;
        }
        match self.owner {
            Owner::Stop => self.bins.edge(self.nearest + i).into(),
            Owner::Start => 1 - i128::from(self.bins.edge(self.nearest - i + 1)),
        }
    }

    /// Adds the pairs of each owner with each of the others to the counts of their bins. Both lists must be
    /// in order; differences between any two of their times must fit in `i64`.
    pub(super) fn count(
        &self,
        owners: &[i64],
        others: &[i64],
        bucket: &mut Bucket<'_>,
        counts: &mut [u64],
    ) {
        if owners.is_empty() {
            return;
        }
        match self.way(owners, others) {
            Way::Pairs(split) => {
                let mut edges = EdgeBins::new(split..self.count);
                for owners in owners.chunks(UNIT) {
                    if bucket.stop.is_asked() {
                        return;
                    }
                    let near = &others[self.near(owners, others, self.last)];
                    if near.is_empty() {
                        continue;
                    }
                    if split > 0 {
                        self.enumerate(owners, near, split, bucket, counts);
                    }
                    self.merge(owners, others, &mut edges, bucket, counts);
                }
            }
            Way::Together(bins, cut) => {
                self.together(owners, others, (bins, &cut), bucket, counts);
            }
        }
    }

    /// Counts bins of one width together, and the others edge by edge.
    fn together(
        &self,
        owners: &[i64],
        others: &[i64],
        (bins, cut): (Range<usize>, &SlidingCut),
        bucket: &mut Bucket<'_>,
        counts: &mut [u64],
    ) {
        let mut ends = [0..bins.start, bins.end..self.count].map(EdgeBins::new);
        let mut instead = EdgeBins::new(bins.clone());
        let mut sums = vec![0; bins.len()];
        let mut left = owners;
        while !left.is_empty() {
            if bucket.stop.is_asked() {
                return;
            }
            let (taken, is_counted) =
                bucket.sliding.count_block(self.simd, cut, left, others, &mut sums);
            let (block, rest) = left.split_at(taken);
            for owners in block.chunks(UNIT) {
                for edges in &mut ends {
                    self.merge(owners, others, edges, bucket, counts);
                }
                if !is_counted {
                    self.merge(owners, others, &mut instead, bucket, counts);
                }
            }
            left = rest;
        }
        for (bin, sum) in bins.zip(sums) {
            let count = &mut counts[self.bin(bin)];
            *count = count.wrapping_add(sum);
        }
    }

    /// Returns the others with which any owner can form a pair at a distance of at most `last`.
    fn near(&self, owners: &[i64], others: &[i64], last: i64) -> Range<usize> {
        let (earliest, latest) = (owners[0], owners[owners.len() - 1]);
        let start = others
            .partition_point(|&other| i128::from(earliest) - i128::from(other) > i128::from(last));
        let end = others.partition_point(|&other| {
            i128::from(latest) - i128::from(other) >= i128::from(self.first)
        });
        start..end.max(start)
    }

    /// Returns the cheapest way to count.
    fn way(&self, owners: &[i64], others: &[i64]) -> Way {
        let pairs_below = |bins: usize| self.sampled_pairs(owners, others, bins);
        let pairs = pairs_below(self.count);
        let step_pairs = pairs_per_edge(owners.len() + others.len());
        let of_edges = step_pairs.saturating_mul(self.count as u64 + 1);
        if let Some((bins, cut)) = self.equal_bins(others) {
            let ticks = owners[owners.len() - 1].wrapping_sub(owners[0]).cast_unsigned();
            let cycles = cut.cycles([owners.len(), others.len()], ticks);
            if cycles < cycles_of_pairs(pairs.min(of_edges)) {
                return Way::Together(bins, cut);
            }
        }
        // If all bins hold about the same number of pairs, either all of them are counted this way or none.
        if pairs <= of_edges / 4 {
            return Way::Pairs(self.count);
        }
        if let Bins::Linear { .. } = self.bins {
            return Way::Pairs(if pairs <= of_edges { self.count } else { 0 });
        }
        // Bins get wider with distance: count pair by pair up to the bin from which on a merge is cheaper.
        let (mut few, mut many) = (0, self.count);
        while few + 4 < many {
            let middle = few + (many - few) / 2;
            let next = (middle + 4).min(self.count);
            let in_next = pairs_below(next) - pairs_below(middle);
            if in_next <= step_pairs * (next - middle) as u64 {
                few = middle;
            } else {
                many = middle;
            }
        }
        Way::Pairs(few)
    }

    /// Returns the bins of one width, and how to count them together; `None` without such bins.
    fn equal_bins(&self, others: &[i64]) -> Option<(Range<usize>, SlidingCut)> {
        let &Bins::Linear { width, .. } = self.bins else { return None };
        // The first bin and the last one can be cut: by D = 0, or by the length of the run.
        let is_whole = |bin: usize| self.edge(bin + 1) - self.edge(bin) == i128::from(width);
        let start = usize::from(!is_whole(0));
        let end = if is_whole(self.count - 1) { self.count } else { self.count - 1 };
        let count = end.checked_sub(start).filter(|count| *count > 0)?;
        let first = i64::try_from(self.edge(start)).ok()?;
        let ticks = others.last()?.wrapping_sub(*others.first()?).max(1);
        let cut =
            SlidingCut::of(EqualBins { first, width, count }, others.len() as f64 / ticks as f64);
        Some((start..end, cut?))
    }

    /// Estimates how many pairs lie in the first `bins` bins, from a sample of the owners.
    fn sampled_pairs(&self, owners: &[i64], others: &[i64], bins: usize) -> u64 {
        let end = i64::try_from(self.edge(bins) - 1).unwrap_or(i64::MAX);
        let of_owner = |&owner: &i64| {
            let reached = others.partition_point(|&other| owner - other >= self.first);
            (reached - others[..reached].partition_point(|&other| owner - other > end)) as u64
        };
        let samples = owners.iter().step_by(owners.len() / SAMPLES + 1);
        let pairs: u64 = samples.clone().map(of_owner).sum();
        pairs * owners.len() as u64 / samples.len().max(1) as u64
    }

    /// Counts the first `bins` bins pair by pair.
    fn enumerate(
        &self,
        owners: &[i64],
        others: &[i64],
        bins: usize,
        Bucket { differences, narrow, tally, .. }: &mut Bucket<'_>,
        counts: &mut [u64],
    ) {
        let wanted = Distances {
            first: self.first,
            last: i64::try_from(self.edge(bins) - 1).unwrap_or(i64::MAX),
            low: self.bins.edge(0),
            is_negative: self.owner == Owner::Start,
        };
        let (low, high) = (wanted.low, self.bins.edge(self.bins.count()));
        if wanted.last >= LIMIT || high.abs_diff(low) > 1 << 32 {
            let wide = &mut differences.wide;
            return distances(self.simd, [owners, others], &wanted, wide, |distances| {
                tally.add(self.binning, distances, counts);
            });
        }
        let mut left = owners;
        while let Some(&first) = left.first() {
            let (owners, rest) =
                left.split_at(left.partition_point(|&owner| owner - first < LIMIT));
            let others = &others[self.near(owners, others, wanted.last)];
            let lists = [owners, others];
            match *self.binning {
                Binning::Shift(bits) if tally.is_small() && bits < u32::BITS => {
                    let take = |numbers: &mut [u16]| tally.count(numbers, counts);
                    narrow.numbers(self.simd, lists, &wanted, bits, take);
                }
                _ => narrow.distances(self.simd, lists, &wanted, |distances| {
                    tally.add(self.binning, distances, counts);
                }),
            }
            left = rest;
        }
    }

    /// Counts bins edge by edge.
    fn merge(
        &self,
        owners: &[i64],
        others: &[i64],
        EdgeBins { bins, reached }: &mut EdgeBins,
        Bucket { merges, stop, .. }: &mut Bucket<'_>,
        counts: &mut [u64],
    ) {
        if bins.start >= bins.end {
            return;
        }
        let mut bin = bins.start;
        let mut pairs_before = None;
        for group in reached.chunks_mut(EDGES) {
            if stop.is_asked() {
                return;
            }
            let len = group.len();
            let edge = |i: usize| i64::try_from((i < len).then(|| self.edge(bin + i))?).ok();
            // No owner reaches an edge that does not exist.
            let edges: [Option<i64>; EDGES] = std::array::from_fn(edge);
            let mut parts = [&others[..0]; EDGES];
            let mut sums = [0; EDGES];
            for (e, edge) in edges.iter().enumerate() {
                let Some(edge) = *edge else { continue };
                let start = reached_from(group[e], owners[0], others, edge);
                group[e] = reached_from(start, owners[owners.len() - 1], others, edge);
                parts[e] = &others[start..group[e]];
                sums[e] = start as u64 * owners.len() as u64;
            }
            let merged =
                merges.reaching(self.simd, owners, parts, edges.map(Option::unwrap_or_default));
            for (sum, merged) in sums.iter().zip(merged).take(group.len()) {
                let pairs = sum + merged;
                if let Some(before) = pairs_before.replace(pairs) {
                    let count = &mut counts[self.bin(bin - 1)];
                    // In damaged rows, more may have been subtracted than was counted.
                    *count = count.wrapping_add(before - pairs);
                }
                bin += 1;
            }
        }
    }
}

/// How the bins of a side are counted.
enum Way {
    /// So many pair by pair, and the others edge by edge.
    Pairs(usize),
    /// Those of a range together, and the others edge by edge.
    Together(Range<usize>, SlidingCut),
}

/// Bins that are counted edge by edge.
struct EdgeBins {
    bins: Range<usize>,
    /// For each edge how many of the others the previous owners reach.
    reached: Vec<usize>,
}

impl EdgeBins {
    fn new(bins: Range<usize>) -> Self {
        let reached = vec![0; bins.len() + 1];
        Self { bins, reached }
    }
}

/// Returns how many of the others are at least `edge` before `owner`, given that the first `known` are.
fn reached_from(known: usize, owner: i64, others: &[i64], edge: i64) -> usize {
    let mut start = known;
    let mut reach = 1;
    while others.get(start + reach - 1).is_some_and(|&other| owner - other >= edge) {
        start += reach;
        reach *= 2;
    }
    let end = others.len().min(start + reach);
    start + others[start..end].partition_point(|&other| owner - other >= edge)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::run::progress::Stop;

    proptest! {
        /// Zero in a bin, at an edge of bins, and outside of them; bins that the run cuts; crowds that are too dense.
        #[test]
        fn together_equals_one_by_one(
            mut starts in prop::collection::vec(0_i64..4_000, 0..60),
            mut stops in prop::collection::vec(0_i64..4_000, 1..60),
            (low, width, count) in (-3_000_i64..500, 1_i64..300, 1_u64..120),
            longest in prop::sample::select(vec![900_i64, i64::MAX]),
            crowd in prop::sample::select(vec![0_usize, 0, 300]),
        ) {
            stops.extend(std::iter::repeat_n(2_000, crowd));
            starts.sort_unstable();
            stops.sort_unstable();
            let bins = Bins::Linear { low, width, count };
            let binning = Binning::of(&bins);
            let mut expected = vec![0; bins.count()];
            let pairs = starts.iter().flat_map(|a| stops.iter().map(move |b| b - a));
            for difference in pairs.filter(|of| of.abs() <= longest) {
                if let Some(bin) = bins.holding(difference) {
                    expected[bin] += 1;
                }
            }
            let mut counts = vec![0; bins.count()];
            for owner in [Owner::Stop, Owner::Start] {
                let (owners, others) = match owner {
                    Owner::Stop => (&stops, &starts),
                    Owner::Start => (&starts, &stops),
                };
                let side = Side::new(owner, &bins, &binning, longest, Simd::best());
                let Some(side) = side.filter(|_| !owners.is_empty()) else { continue };
                let mut bucket = Bucket::new(bins.count(), Stop::default());
                match side.equal_bins(others) {
                    Some((bins, cut)) => {
                        let bins = (bins, &cut);
                        side.together(owners, others, bins, &mut bucket, &mut counts);
                    }
                    None => side.count(owners, others, &mut bucket, &mut counts),
                }
                bucket.tally.drain(&mut counts);
            }
            prop_assert_eq!(counts, expected);
        }
    }
}
