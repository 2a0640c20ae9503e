//! A histogram of differences that is searched for peaks.

/// Equal bins of `width` ticks, starting at `low`.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    /// Lower edge of the first bin, in ticks.
    pub low: i64,
    /// Width of a bin, in ticks.
    pub width: i64,
    pub counts: Vec<u64>,
}
