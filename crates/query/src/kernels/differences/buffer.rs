//! The buffer for written differences, and the selection of wanted differences.

/// The largest number of neighbours within reach that a tag may have; above it, other methods are faster.
pub(crate) const REACH: usize = 24;
/// Rows that one step handles: the bits of a mask.
pub(super) const ROWS: usize = 64;
/// The largest number of differences of one neighbour of a step: both signs with equal channels.
pub(super) const PER_NEIGHBOUR: usize = 2 * ROWS;
/// Distances to consecutive others that are written at once.
pub(super) const CHUNK: usize = 16;

/// Collects differences: after `LEN` of them, they are passed on.
pub(crate) struct Buffer {
    pub(super) values: Box<[u64]>,
    pub(super) len: usize,
}

/// Selects the differences that are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The ids of starts and of stops.
    pub ends: [u8; 2],
    /// The smallest wanted Δ.
    pub low: i64,
    /// The number of wanted values of Δ, in ticks, from `low` on.
    pub width: u64,
    /// The largest wanted |Δ|.
    pub reach: i64,
    /// Whether times may decrease, as in a damaged column.
    pub is_column: bool,
}

/// Selects the distances that are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distances {
    /// The smallest wanted distance.
    pub first: i64,
    /// The largest wanted distance.
    pub last: i64,
    /// The value that is subtracted.
    pub low: i64,
    /// Whether it is subtracted from the negative of the distance.
    pub is_negative: bool,
}

impl Buffer {
    /// 8 KiB, which leaves room for bins in a core's nearest cache.
    pub(super) const LEN: usize = 1024;

    pub(crate) fn new() -> Self {
        Self { values: vec![0; Self::LEN].into(), len: 0 }
    }

    /// Passes the written differences to `take` and empties the buffer.
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

    /// Writes Δ − low if it is wanted. The slot after the last one is written in any case.
    #[inline]
    pub(super) fn push(&mut self, difference: i64, is_pair: bool, wanted: &Wanted) {
        let distance = difference.wrapping_sub(wanted.low).cast_unsigned();
        self.values[self.len] = distance;
        self.len += usize::from(is_pair && distance < wanted.width);
    }
}
