//! The input of the estimates from one source.

/// The contribution of one source to an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSingles {
    /// The live time in ticks: last minus first time over all its tags, cut to the range.
    pub live: i64,
    /// The tags of each channel of the group.
    pub singles: Vec<u64>,
    /// The ticks in which all channels can have tags: the intersection of its recorded time moved by each
    /// delay.
    pub overlap: i64,
    /// The tags of each channel in the overlap.
    pub overlapping: Vec<u64>,
}

impl SourceSingles {
    /// Creates a source whose channels have the same delay: they overlap for all of its live time.
    pub fn new(live: i64, singles: Vec<u64>) -> Self {
        Self { live, overlap: live, overlapping: singles.clone(), singles }
    }

    /// Returns the source without the contribution of a part of it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        let less = |all: &[u64], part: &[u64]| {
            all.iter().zip(part).map(|(all, part)| all.saturating_sub(*part)).collect()
        };
        Self {
            live: self.live - part.live,
            singles: less(&self.singles, &part.singles),
            overlap: self.overlap - part.overlap,
            overlapping: less(&self.overlapping, &part.overlapping),
        }
    }
}
