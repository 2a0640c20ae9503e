//! The trait of every rule: which tags form a coincidence, how a scan finds and lists them, and what independent
//! light gives.

use crate::{
    error::Error,
    run::scope::Scope,
    scan::route::{Amount, Work},
};

/// A rule of coincidences.
pub(crate) trait Definition: Sync {
    /// Returns the name in keys of partial results. It is part of a released format.
    fn key(&self) -> &'static str;

    /// Returns the name in requests, answers and errors.
    fn name(&self) -> &'static str {
        self.key()
    }

    /// Returns which combinations of tags count, in one line.
    fn summary(&self) -> &'static str;

    /// Returns whether the window bounds all tags of a group of `size` channels together, from the earliest to
    /// the latest, and not each tag on its side of another one.
    fn is_span(&self, _size: usize) -> bool {
        true
    }

    /// Returns how tags are searched for coincidences.
    fn engine(&self) -> Engine {
        Engine::Ways
    }

    /// Returns whether the herald, the first channel of a group, is special.
    fn heralds(&self) -> Heralds {
        Heralds::None
    }

    /// Returns the width of the cells that times are divided into; `None` if times are compared.
    fn cells(&self, _window: i64) -> Option<i64> {
        None
    }

    /// Rejects windows, groups and delays that the rule does not support.
    fn check(&self, _window: i64, _groups: &[Vec<u16>], _scope: &Scope) -> Result<(), Error> {
        Ok(())
    }

    /// Returns whether vetoes can reject its coincidences.
    fn takes_veto(&self) -> bool {
        true
    }

    /// Returns how far before its time the other tags of a coincidence can lie, in groups of up to `size`
    /// channels.
    fn look_back(&self, window: i64, _size: usize) -> i64 {
        window
    }

    /// Returns how long after its time a coincidence can take tags.
    fn look_ahead(&self, _window: i64) -> i64 {
        0
    }

    /// Returns the largest distance between neighbouring tags of a tuple.
    fn nearest(&self, window: i64) -> i64 {
        window
    }

    /// Returns the first time that a tag can have in a tuple whose latest tag is at `time`, and the first time
    /// that its herald can have.
    fn first_times(&self, time: i64, window: i64) -> [i64; 2] {
        [time.saturating_sub(window); 2]
    }

    /// Returns the ticks of differences that a pair may have, both ends included.
    fn full_width(&self, window: i64) -> i128 {
        2 * i128::from(window) + 1
    }

    /// Returns whether every way to take one tag of each channel counts; only then is there an expectation.
    fn counts_every_way(&self) -> bool {
        false
    }

    /// Returns the expected coincidences of independent channels with these tags in `live` ticks.
    fn expected(&self, _tags: &[u64], _live: f64, _window: i64) -> Option<f64> {
        None
    }

    /// Returns the variance of the count of a group divided by its mean, for independent channels; `in_window`
    /// holds the tags of each channel in w + ½ ticks, the herald's first (docs/estimates.md, "Errors").
    fn clumping(&self, _in_window: &[f64]) -> f64 {
        1.0
    }
}

/// How tags are searched for coincidences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Every way to take one tag of each channel; no tag is used up.
    Ways,
    /// Matches that use tags up.
    Matches,
    /// Clusters of any tags, for sets of channels in place of groups.
    Clusters,
}

/// How a rule treats the first channel of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heralds {
    /// Like the others.
    None,
    /// The window is around its tags.
    Every,
    /// The window is around its tags, and each of them counts at most once.
    Once,
}

/// Selects how a scan counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Method {
    /// One pair.
    Pair,
    /// Pairs of many channels at once.
    Pairs,
    /// Larger groups.
    Groups {
        /// The number of channels of the smallest.
        fewest: usize,
        amount: Amount,
    },
    /// Groups with a herald.
    Heralds {
        /// Whether each herald counts once.
        once: bool,
    },
    /// A rule that uses tags up.
    Matches,
}

impl Method {
    /// Returns the method for groups that are all pairs, or all larger.
    pub(crate) fn new(rule: &dyn Definition, groups: &[Vec<u16>], amount: Amount) -> Self {
        let fewest = groups.iter().map(Vec::len).min().unwrap_or(0);
        match (rule.engine(), rule.heralds(), groups[0].len(), groups.len()) {
            (Engine::Matches | Engine::Clusters, ..) => Self::Matches,
            (Engine::Ways, Heralds::Once, ..) => Self::Heralds { once: true },
            (Engine::Ways, Heralds::None | Heralds::Every, 2, 1) => Self::Pair,
            (Engine::Ways, Heralds::None | Heralds::Every, 2, _) => Self::Pairs,
            (Engine::Ways, Heralds::Every, ..) => Self::Heralds { once: false },
            (Engine::Ways, Heralds::None, ..) => Self::Groups { fewest, amount },
        }
    }

    /// Returns the kind of count, by which the route is chosen.
    pub(crate) fn work(self) -> Work {
        match self {
            Self::Pair => Work::Pair,
            Self::Pairs => Work::Pairs,
            Self::Groups { fewest, amount } => Work::Groups { fewest, amount },
            Self::Heralds { once } => Work::Heralds { once },
            Self::Matches => Work::Matches,
        }
    }
}

/// Returns the number of tuples expected of independent channels: N₁ times N/`live`·`width`, the tags in a window of
/// `width` ticks, of each other channel.
pub(crate) fn expected_tuples(tags: &[u64], live: f64, width: f64) -> Option<f64> {
    let (first, others) = tags.split_first()?;
    Some(others.iter().fold(*first as f64, |product, &n| product * (n as f64 / live * width)))
}

/// Returns the elementary symmetric polynomials: for each k, the sum of the products of all choices of k values. Of
/// 1, 2 and 3 they are 1, 6, 11 and 6.
pub(crate) fn symmetric(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; values.len() + 1];
    sums[0] = 1.0;
    for (known, value) in values.iter().enumerate() {
        for k in (1..=known + 1).rev() {
            sums[k] += value * sums[k - 1];
        }
    }
    sums
}
