//! The selection of tags and of their columns.

use tagq::{LeftOut, query::TimeRange, store::TimeUnit};

/// A selection of tags and of their columns.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Range of recorded times in ticks, half-open.
    pub range: TimeRange,
    /// Only these channels.
    pub channels: Option<Vec<u16>>,
    /// Only the first tags of the run, up to this number.
    pub first: Option<usize>,
    /// The columns.
    pub columns: Projection,
    /// No tags of these blocks, because they are damaged.
    pub left_out: LeftOut,
    /// An additional column of floats, relative to the first tag of the run.
    pub time_unit: Option<TimeUnit>,
}

/// The columns of tags that are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection {
    /// The times in ticks.
    pub time: bool,
    /// The channels.
    pub channel: bool,
    /// The micro times, if the run has them.
    pub micro: bool,
}

impl Default for Projection {
    fn default() -> Self {
        Self { time: true, channel: true, micro: true }
    }
}
