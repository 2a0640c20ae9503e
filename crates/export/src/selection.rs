//! Which tags, and which of their columns.

use tagq::query::TimeRange;

use crate::unit::TimeUnit;

/// Which tags, and which columns of them.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Times in ticks as recorded, half-open.
    pub range: TimeRange,
    /// Only these channels.
    pub channels: Option<Vec<u16>>,
    /// Only among so many tags from the beginning of the run.
    pub first: Option<usize>,
    /// Which columns.
    pub columns: Projection,
    /// A column of floats beside them, relative to the run's first tag.
    pub time_unit: Option<TimeUnit>,
}

/// Which columns of tags are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection {
    /// The times in ticks.
    pub time: bool,
    /// The channels.
    pub channel: bool,
}

impl Default for Projection {
    fn default() -> Self {
        Self { time: true, channel: true }
    }
}
