//! Putting written differences into bins.

use super::bins::{Binning, WithBin};
use crate::level::differences::Buffer;

/// Copies of the bins, so that an increment need not wait for the one before it.
const COPIES: usize = 4;
/// Above this many bins copies would not fit in the nearest caches, and equal neighbours are rare.
const COPIED_BINS: usize = 1 << 11;
/// Above this many bins small counts would take longer to add up than they save.
const SMALL_BINS: usize = 1 << 15;

/// Small counts of one thread, which fit in the nearest caches, added up before one can run over.
pub(super) struct Tally {
    bins: usize,
    small: Vec<u16>,
    /// Differences in the small counts.
    len: usize,
}

/// What a thread needs to put differences into bins.
pub(super) struct Bucket {
    pub(super) buffer: Buffer,
    pub(super) tally: Tally,
}

impl Bucket {
    pub(super) fn new(bins: usize) -> Self {
        Self { buffer: Buffer::new(), tally: Tally::new(bins) }
    }
}

impl Tally {
    fn new(bins: usize) -> Self {
        let copies = if bins <= COPIED_BINS { COPIES } else { usize::from(bins <= SMALL_BINS) };
        Self { bins, small: vec![0; copies * bins], len: 0 }
    }

    /// Counts differences that are given as distances from the lower edge of bin 0.
    pub(super) fn add(&mut self, binning: &Binning, distances: &[u64], counts: &mut [u64]) {
        if self.small.is_empty() {
            binning.with(Scatter { distances, counts });
            return;
        }
        for distances in distances.chunks(u16::MAX.into()) {
            if self.len + distances.len() > u16::MAX.into() {
                self.drain(counts);
            }
            self.len += distances.len();
            if self.small.len() == self.bins {
                binning.with(Scatter { distances, counts: &mut self.small });
            } else {
                binning.with(ScatterCopies { distances, counts: &mut self.small });
            }
        }
    }

    /// Adds what was counted to `counts` and begins anew.
    pub(super) fn drain(&mut self, counts: &mut [u64]) {
        for copy in self.small.chunks_exact_mut(self.bins.max(1)) {
            for (count, small) in counts.iter_mut().zip(copy) {
                *count += u64::from(std::mem::take(small));
            }
        }
        self.len = 0;
    }
}

struct Scatter<'a, C> {
    distances: &'a [u64],
    counts: &'a mut [C],
}

impl<C: std::ops::AddAssign + From<u8>> WithBin<()> for Scatter<'_, C> {
    #[inline]
    fn call(self, bin: impl Fn(u64) -> usize) {
        let Self { distances, counts } = self;
        let (eights, rest) = distances.as_chunks::<8>();
        for eight in eights {
            // All bins first: an increment would hold up the next one's shift or multiplication.
            for bin in eight.map(&bin) {
                counts[bin] += C::from(1);
            }
        }
        for &distance in rest {
            counts[bin(distance)] += C::from(1);
        }
    }
}

/// Into copies of all bins, in turn.
struct ScatterCopies<'a> {
    distances: &'a [u64],
    counts: &'a mut [u16],
}

impl WithBin<()> for ScatterCopies<'_> {
    #[inline]
    fn call(self, bin: impl Fn(u64) -> usize) {
        let (first, second) = self.counts.split_at_mut(self.counts.len() / 2);
        let ((a, b), (c, d)) =
            (first.split_at_mut(first.len() / 2), second.split_at_mut(second.len() / 2));
        let (fours, rest) = self.distances.as_chunks::<COPIES>();
        for &[p, q, r, s] in fours {
            a[bin(p)] += 1;
            b[bin(q)] += 1;
            c[bin(r)] += 1;
            d[bin(s)] += 1;
        }
        for &distance in rest {
            a[bin(distance)] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bins;

    /// More differences in one bin than a small count holds, with copies of bins, without, and with
    /// too many bins for small counts.
    #[test]
    fn no_count_runs_over() {
        for count in [3, 5_000, 40_000] {
            let bins = Bins::Linear { low: 0, width: 1, count };
            let binning = Binning::of(&bins);
            let mut tally = Tally::new(bins.count());
            let mut counts = vec![0; bins.count()];
            for _ in 0..300 {
                tally.add(&binning, &[1; 1_001], &mut counts);
                tally.add(&binning, &[count - 1; 3], &mut counts);
            }
            tally.add(&binning, &vec![2; 70_000], &mut counts);
            tally.drain(&mut counts);
            let mut expected = vec![0; bins.count()];
            expected[1] = 300_300;
            expected[2] = 70_000;
            expected[bins.count() - 1] += 900;
            assert_eq!(counts, expected);
        }
    }
}
