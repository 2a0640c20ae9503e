//! The rules: which tags make a coincidence.

/// What makes tags a coincidence. All compare delayed times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Every way to take one tag of each channel with latest minus earliest within the window.
    All,
    /// Every way to take one tag of the first channel, the herald, and one of each other channel
    /// within the window of the herald, before or after it.
    Herald,
    /// Each herald at most once: those for which there is a way by [`Rule::Herald`]. The coincidence
    /// belongs to the time at which the first way is complete.
    PerHerald,
    /// One-to-one, greedy: of the earliest unused tags of each channel, those within the window count
    /// and are used up; else the earliest is dropped. A match that a veto forbids uses its tags up.
    Once,
    /// Events: a cluster opens at the first tag of the channels in use behind the cluster before, and
    /// takes every tag up to the window behind it. One row for each set of channels that occurs, by
    /// size and then by channels. A cluster belongs to its first tag. Takes no groups.
    Cluster,
    /// Pairs with both tags in one cell: time divided by the window, rounded toward zero, so that
    /// the cell at zero is twice as wide. Delays are whole cells.
    Grid,
}

impl Rule {
    /// The ticks of differences that a pair may have, both ends included: 2w + 1, and by rule `grid` a cell.
    pub fn full_width(self, window: i64) -> i128 {
        match self {
            Self::Grid => window.into(),
            Self::All | Self::Herald | Self::PerHerald | Self::Once | Self::Cluster => {
                2 * i128::from(window) + 1
            }
        }
    }
}
