//! Half-open ranges of time.
//!
//! From 100 up to 300: 100 and 299 are in the range, 300 is not. Ranges that follow each other share no time.

/// Times from `from` up to, not including, `to`, in ticks; `None` means no limit. Queries compare it with delayed
/// times, unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TimeRange {
    /// The first time in the range.
    pub from: Option<i64>,
    /// The first time after the range.
    pub to: Option<i64>,
}

impl TimeRange {
    /// Returns whether a time lies in the range.
    pub fn contains(&self, time: i64) -> bool {
        self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time < to)
    }

    /// Returns whether the range has no limits.
    pub fn is_open(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Returns whether no time lies in the range.
    pub(crate) fn is_empty(&self) -> bool {
        self.from.zip(self.to).is_some_and(|(from, to)| from >= to)
    }

    /// Returns the times that lie in both ranges.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let tighter = |a: Option<i64>, b: Option<i64>, of: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(of(a, b)),
            (a, b) => a.or(b),
        };
        Self {
            from: tighter(self.from, other.from, i64::max),
            to: tighter(self.to, other.to, i64::min),
        }
    }
}
