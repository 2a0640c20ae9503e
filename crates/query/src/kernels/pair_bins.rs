//! Counts of pairs by the difference of their times, in bins that each pair of numbers has for itself.
//!
//! Numbers 0 and 1 with edges −5, −2, 3 and 6: a row of number 1 that is 4 ticks after one of number 0 adds to the third
//! bin, and one that is 4 ticks before it to the first.

use super::{
    matrix::TakePairs,
    merges::{EDGES, Merges},
    simd::Simd,
};

/// The most parts of a range of differences from which the search for a bin starts.
const PARTS: u64 = 1 << 15;

/// The bins of pairs of numbers.
#[derive(Debug)]
pub(crate) struct PairBins {
    side: usize,
    /// The bins of each later and earlier number.
    places: Vec<Place>,
    edges: Vec<Edges>,
    /// The pairs of numbers, the number of their first bin, and their edges.
    pairs: Vec<([u8; 2], usize, usize)>,
    len: usize,
}

/// Where the differences of a pair are counted.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    first: usize,
    edges: usize,
    /// −1 if the later row has the smaller number, so that the difference is negative.
    sign: i64,
}

/// Edges, and for each part of their range the bin in which it begins. One more bin, after the last, has the differences that
/// are in no bin.
#[derive(Debug)]
struct Edges {
    all: Vec<i64>,
    low: i64,
    /// The range is divided into parts of 2^n ticks.
    shift: u32,
    /// The bin of each part. The last part has all that follows; its bin is that of the differences in no bin.
    starts: Vec<u32>,
    /// The upper edge of each bin, as a distance from the first edge; that of the last bin is the largest number, so
    /// that a search ends there.
    upper: Vec<u64>,
}

impl Edges {
    /// Creates bins from ascending edges.
    fn new(all: &[i64]) -> Self {
        let (low, high) = (all.first().copied().unwrap_or(0), all.last().copied().unwrap_or(0));
        let range = high.abs_diff(low);
        let shift = (0..u64::BITS).find(|shift| range >> shift < PARTS).unwrap_or(0);
        let upper = all.iter().skip(1).map(|edge| edge.abs_diff(low));
        let upper: Vec<u64> = upper.chain([u64::MAX]).collect();
        let start = |part: u64| {
            let bin = upper.partition_point(|&edge| edge <= part << shift);
            u32::try_from(bin).unwrap_or(u32::MAX)
        };
        // The part in which the range ends, and all after it.
        let parts = (range >> shift) + 1;
        let last = u32::try_from(upper.len() - 1).unwrap_or(u32::MAX);
        let starts = (0..parts).map(start).chain([last]).collect();
        Self { all: all.to_vec(), low, shift, starts, upper }
    }

    /// Returns the bin of a difference; the bin after the last if it is in no other.
    #[inline]
    fn bin(&self, difference: i64) -> usize {
        // Below the last edge of all, so that a search ends.
        let distance = difference.wrapping_sub(self.low).cast_unsigned().min(u64::MAX - 1);
        let part = to_index(distance >> self.shift).min(self.starts.len() - 1);
        let mut bin = self.starts[part] as usize;
        // Parts of one tick need no search.
        if self.shift > 0 {
            while self.upper[bin] <= distance {
                bin += 1;
            }
        }
        bin
    }
}

/// Converts the number of a part; those beyond the limit stay large.
#[inline]
fn to_index(part: u64) -> usize {
    usize::try_from(part).unwrap_or(usize::MAX)
}

impl PairBins {
    /// Creates the bins of pairs of numbers below `side`, the smaller number first. The difference of a pair is the time
    /// of the second number less that of the first; the bins of a pair follow those of the pair before.
    pub(crate) fn new<'a>(
        side: usize,
        pairs: impl IntoIterator<Item = ([u8; 2], &'a [i64])>,
    ) -> Self {
        // Pairs that are not counted have no bins.
        let (places, edges) = (vec![Place::default(); side * side], vec![Edges::new(&[])]);
        let mut bins = Self { side, places, edges, pairs: Vec::new(), len: 1 };
        for (pair, all) in pairs {
            let known = bins.edges.iter().position(|edges| edges.all == all);
            let edges = known.unwrap_or(bins.edges.len());
            if known.is_none() {
                bins.edges.push(Edges::new(all));
            }
            let [one, other] = pair.map(usize::from);
            let place = |sign| Place { first: bins.len, edges, sign };
            bins.places[other * side + one] = place(1);
            bins.places[one * side + other] = place(-1);
            bins.pairs.push((pair, bins.len, edges));
            bins.len += all.len().max(1);
        }
        bins
    }

    /// Returns the number of counts: the bins of all pairs, and one more for each pair and for all that are not counted.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bins of all pairs.
    pub(crate) fn bins(&self) -> usize {
        self.len - 1 - self.pairs.len()
    }

    /// Returns the counts of the bins of all pairs, in order.
    pub(crate) fn of_bins<'a>(&self, counts: &'a [u64]) -> impl Iterator<Item = u64> + use<'a, '_> {
        let of_pair = |&(_, first, edges): &([u8; 2], usize, usize)| {
            &counts[first..][..self.edges[edges].all.len().saturating_sub(1)]
        };
        self.pairs.iter().flat_map(of_pair).copied()
    }

    /// Adds the pairs of tags of these times and numbers whose later tag is not among the first `head` tags, by merges:
    /// their time does not depend on the number of pairs.
    pub(crate) fn add_crowded(
        &self,
        simd: Simd,
        (time, number): (&[i64], &[u8]),
        head: usize,
        counts: &mut [u64],
    ) {
        let lists = |end: usize| {
            let mut lists = vec![Vec::new(); self.side];
            for (&time, &number) in time[..end].iter().zip(number) {
                if let Some(list) = lists.get_mut(usize::from(number)) {
                    list.push(time);
                }
            }
            lists
        };
        let (all, heads, mut merges) = (lists(time.len()), lists(head), Merges::default());
        for &([one, other], first, edges) in &self.pairs {
            let edges = &self.edges[edges].all;
            let mut reaching = |lists: &[Vec<i64>]| {
                let [one, other] = [one, other].map(|number| &lists[usize::from(number)][..]);
                reaching(&mut merges, simd, [one, other], edges)
            };
            let (all, heads) = (reaching(&all), reaching(&heads));
            let ends = all.windows(2).zip(heads.windows(2));
            for (count, (all, heads)) in counts[first..].iter_mut().zip(ends) {
                let of_heads = heads[0].wrapping_sub(heads[1]);
                *count = count.wrapping_add(all[0].wrapping_sub(all[1]).wrapping_sub(of_heads));
            }
        }
    }
}

/// Returns for each edge how many pairs of two lists have a difference, second less first, from this edge on.
fn reaching(merges: &mut Merges, simd: Simd, [one, other]: [&[i64]; 2], edges: &[i64]) -> Vec<u64> {
    let Some(&last) = other.last() else { return vec![0; edges.len()] };
    let four = |edges: &[i64]| {
        let of_four: [i64; EDGES] =
            std::array::from_fn(|at| edges.get(at).or(edges.last()).copied().unwrap_or(0));
        let reached = of_four
            .map(|edge| &one[..one.partition_point(|&time| last.wrapping_sub(time) >= edge)]);
        merges.reaching(simd, other, reached, of_four).into_iter().take(edges.len())
    };
    edges.chunks(EDGES).flat_map(four).collect()
}

/// Counts in the bins of pairs.
pub(crate) struct InBins<'a> {
    pub bins: &'a PairBins,
    pub counts: &'a mut [u64],
}

impl TakePairs for InBins<'_> {
    #[inline]
    fn take(&mut self, [later, earlier]: [u8; 2], apart: impl FnOnce() -> i64) {
        let place = usize::from(later) * self.bins.side + usize::from(earlier);
        let Place { first, edges, sign } = self.bins.places[place];
        let bin = self.bins.edges[edges].bin(sign.wrapping_mul(apart()));
        self.counts[first + bin] += 1;
    }
}
