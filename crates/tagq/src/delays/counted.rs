//! A histogram of differences in which peaks are searched.

/// Equal bins of `width` ticks from `low` on.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    /// Ticks of the first bin's lower edge.
    pub low: i64,
    /// Ticks of a bin.
    pub width: i64,
    pub counts: Vec<u64>,
}
