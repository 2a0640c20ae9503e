//! The buffer that differences are written to, and which of them are wanted.

/// How many neighbours within reach a tag may have; with more of them other ways are faster.
pub(crate) const REACH: usize = 24;
/// Rows that one step handles: the bits of a mask.
pub(super) const ROWS: usize = 64;
/// Differences that one neighbour of a step gives at most: both signs with equal channels.
pub(super) const PER_NEIGHBOUR: usize = 2 * ROWS;
/// Distances to neighbouring others that are written at once.
pub(super) const CHUNK: usize = 16;

/// Where differences are written: `LEN` of them, then they are taken out.
pub(crate) struct Buffer {
    pub(super) values: Box<[u64]>,
    pub(super) len: usize,
}

/// Which differences are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The ids of starts and of stops.
    pub ends: [u8; 2],
    /// From this Δ on …
    pub low: i64,
    /// … below this many ticks more.
    pub width: u64,
    /// The largest |Δ| of those.
    pub reach: i64,
    /// Whether times may fall, as in a column that is damaged.
    pub is_column: bool,
}

/// Which distances are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distances {
    /// The smallest …
    pub first: i64,
    /// … and the largest one.
    pub last: i64,
    /// What is subtracted.
    pub low: i64,
    /// Whether from the negative of the distance.
    pub is_negative: bool,
}

impl Buffer {
    /// 8 KiB, which leave room for bins in a core's nearest cache.
    pub(super) const LEN: usize = 1024;

    pub(crate) fn new() -> Self {
        Self { values: vec![0; Self::LEN].into(), len: 0 }
    }

    /// Takes out what is written.
    pub(crate) fn empty(&mut self, take: &mut impl FnMut(&[u64])) {
        take(&self.values[..self.len]);
        self.len = 0;
    }

    /// Makes room for one more neighbour of a step.
    #[inline]
    pub(super) fn make_room(&mut self, take: &mut impl FnMut(&[u64])) {
        if self.len > Self::LEN - PER_NEIGHBOUR - 8 {
            self.empty(take);
        }
    }

    /// Writes Δ − low where it is wanted. The slot behind the last is written in any case.
    #[inline]
    pub(super) fn push(&mut self, difference: i64, is_pair: bool, wanted: &Wanted) {
        let distance = difference.wrapping_sub(wanted.low).cast_unsigned();
        self.values[self.len] = distance;
        self.len += usize::from(is_pair && distance < wanted.width);
    }
}
