//! The list of rules. A new rule is a variant here and a file with its [`Definition`].

use crate::rules::{
    all::All, cluster::Cluster, definition::Definition, grid::Grid, herald::Herald, once::Once,
};

/// Defines which tags form a coincidence. All rules compare delayed times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Every way to take one tag of each channel with latest minus earliest time within the window.
    All,
    /// Every way to take one tag of the first channel, the herald, and one tag of each other channel within
    /// the window of the herald, before or after it.
    Herald,
    /// Each herald at most once: heralds for which there is a way by [`Rule::Herald`]. The coincidence
    /// belongs to the time at which the first way is complete.
    PerHerald,
    /// One-to-one, greedy: if the earliest unused tags of each channel lie within the window, they count and
    /// are used up; otherwise the earliest one is dropped. A match that a veto rejects uses its tags up, too.
    Once,
    /// Events: a cluster opens at the first tag of the channels in use after the previous cluster, and takes
    /// every tag up to the window after that tag. One row for each set of channels that occurs, by size and
    /// then by channels. A cluster belongs to its first tag. This rule takes no groups.
    Cluster,
    /// Pairs with both tags in one cell: time divided by the window, rounded toward zero, so that the cell at
    /// zero is twice as wide. Delays must be whole cells.
    Grid,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 6] =
        [Self::All, Self::Herald, Self::PerHerald, Self::Once, Self::Cluster, Self::Grid];

    /// Returns the name of the rule.
    pub fn name(self) -> &'static str {
        self.definition().name()
    }

    /// Returns which combinations of tags count, in one line.
    pub fn summary(self) -> &'static str {
        self.definition().summary()
    }

    /// Returns whether the window bounds all tags of a group of `size` channels together, from the earliest to
    /// the latest, and not each tag on its side of another one.
    pub fn is_span(self, size: usize) -> bool {
        self.definition().is_span(size)
    }

    /// Returns the ticks of differences that a pair may have, both ends included: 2w + 1, and for rule `grid`
    /// one cell.
    pub fn full_width(self, window: i64) -> i128 {
        self.definition().full_width(window)
    }

    /// Returns the definition of the rule: which tags count, and how they are scanned.
    pub(crate) fn definition(self) -> &'static dyn Definition {
        match self {
            Self::All => &All,
            Self::Herald => &Herald { once: false },
            Self::PerHerald => &Herald { once: true },
            Self::Once => &Once,
            Self::Cluster => &Cluster,
            Self::Grid => &Grid,
        }
    }
}
