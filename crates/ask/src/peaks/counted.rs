//! A histogram of differences that is searched for peaks.

/// Equal bins of `width` steps, starting at step `low`.
#[derive(Debug, Clone)]
pub(crate) struct DifferenceCounts {
    /// The first step of the first bin.
    pub low: i64,
    /// Width of a bin, in steps.
    pub width: i64,
    /// A step in ticks: one tick, or the resolution of the recorded times.
    pub step: f64,
    pub counts: Vec<u64>,
}
