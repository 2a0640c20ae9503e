//! Putting written differences into bins.

use super::bins::{Binning, WithBin};
use crate::level::differences::Buffer;

/// Copies of the bins, so that an increment need not wait for the one before it.
const COPIES: usize = 4;
/// Above this many bins copies would not fit in the nearest caches, and equal neighbours are rare.
const COPIED_BINS: usize = 1 << 12;

/// What a thread needs to count in the columns as they lie.
pub(super) struct Direct {
    pub(super) buffer: Buffer,
    pub(super) tally: Tally,
}

/// Counts of the bins.
pub(super) struct Tally {
    bins: usize,
    counts: Vec<u64>,
}

impl Direct {
    pub(super) fn new(bins: usize) -> Self {
        Self { buffer: Buffer::new(), tally: Tally { bins, counts: Vec::new() } }
    }
}

impl Tally {
    /// Counts differences that are given as distances from the lower edge of bin 0.
    pub(super) fn add(&mut self, binning: &Binning, distances: &[u64]) {
        let copies = if self.bins <= COPIED_BINS { COPIES } else { 1 };
        self.counts.resize(copies * self.bins, 0);
        binning.with(Scatter { distances, counts: &mut self.counts, bins: self.bins });
    }

    /// Adds all counts to `counts` and begins anew.
    pub(super) fn drain(&mut self, counts: &mut [u64]) {
        for copy in self.counts.chunks_exact_mut(self.bins.max(1)) {
            for (count, more) in counts.iter_mut().zip(copy) {
                *count += std::mem::take(more);
            }
        }
    }
}

struct Scatter<'a> {
    distances: &'a [u64],
    counts: &'a mut [u64],
    bins: usize,
}

impl WithBin<()> for Scatter<'_> {
    #[inline]
    fn call(self, bin: impl Fn(u64) -> usize) {
        let Self { distances, counts, bins } = self;
        if counts.len() < COPIES * bins {
            for &distance in distances {
                counts[bin(distance)] += 1;
            }
            return;
        }
        let (first, second) = counts.split_at_mut(2 * bins);
        let ((a, b), (c, d)) = (first.split_at_mut(bins), second.split_at_mut(bins));
        let (fours, rest) = distances.as_chunks::<COPIES>();
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
