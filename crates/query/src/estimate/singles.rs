//! What the estimates take from one source.

/// What one source contributes to an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSingles {
    /// Its live time in ticks: last minus first time over all its tags, cut to the range.
    pub live: i64,
    /// Its tags of each channel of the group.
    pub singles: Vec<u64>,
    /// The ticks in which tags of all channels can be there: its recorded time moved by the delay of each.
    pub overlap: i64,
    /// Its tags of each channel in the overlap.
    pub overlapping: Vec<u64>,
}

impl SourceSingles {
    /// A source whose channels have the same delay: they overlap for all of its live time.
    pub fn new(live: i64, singles: Vec<u64>) -> Self {
        Self { live, overlap: live, overlapping: singles.clone(), singles }
    }

    /// The same without what a part of the source has.
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
