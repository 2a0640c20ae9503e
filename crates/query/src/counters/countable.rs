//! Counts that add up over ranges of delayed time, and the tags outside of a range that they depend on.
//!
//! Rule `all` with window 5 and a veto of guard 10 needs tags from 15 ticks before the range to 10 ticks after it. If
//! all future tags are at t or later, its counts before t − 10 are final.

use crate::{
    error::Error,
    partial::{Partial, State},
    run::{
        counts::Counts,
        facts::Facts,
        recording::Recording,
        scope::{Delay, Scope},
        time_range::TimeRange,
    },
    scan::morsels::Execution,
};

/// Something whose counts add up over ranges of delayed time: a query, or a count that accompanies one.
pub trait Countable: Sync {
    /// Returns the scope: the channels, delays and times that it covers.
    fn scope(&self) -> &Scope;

    /// Returns its key, which leaves out its range. Queries that count the same have the same key.
    fn key(&self) -> String;

    /// Returns how far outside of a range tags can lie that its counts there depend on.
    fn needs(&self) -> Needs;

    /// Returns the counts of no tag.
    fn nothing(&self) -> Counts;

    /// Returns the pairs that it counts in a run with these facts, if it counts nothing else: all pairs of two channels
    /// within a window.
    fn pairs(&self, _facts: &Facts) -> Option<Pairs<'_>> {
        None
    }

    /// Counts the tuples and tags that belong to a range, whatever the range of its scope, from the state at the end of
    /// `before`. It was checked.
    ///
    /// # Errors
    /// Errors of the query.
    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error>;
}

/// Pairs of tags within a window.
#[derive(Debug, Clone)]
pub struct Pairs<'a> {
    /// The two channels of each group.
    pub groups: Vec<Vec<u16>>,
    /// The longest difference in ticks.
    pub window: i64,
    /// The delays of channels.
    pub delays: &'a [Delay],
}

/// How far outside of a range tags can lie that counts in it depend on, apart from delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// How many ticks before the range tags can lie that matter; `None` if they can lie anywhere.
    pub before: Option<i64>,
    /// How many ticks after a time tags can lie that change the counts at that time.
    pub after: i64,
    /// For rules that use tags up, the window in ticks: no match crosses a longer gap, and without a state they look
    /// back to one. `None` for other rules.
    pub gap: Option<i64>,
    /// Whether the counts of ranges add up. If not, they depend on the whole run.
    pub is_additive: bool,
}

impl Needs {
    /// Needs nothing outside of a range.
    pub(crate) const NOTHING: Self =
        Self { before: Some(0), after: 0, gap: None, is_additive: true };

    /// Returns how many ticks before and after a range tags can lie that matter; `None` if they can lie anywhere.
    pub fn reach(&self) -> Option<i64> {
        self.before.map(|before| before.max(self.after))
    }
}

/// Returns the delayed time before which all counts are final, if all future tags are at or after `time`. At this
/// delayed time itself, a tag of equal time may still arrive. Returns `None` if it does not fit in 64 bits.
pub(crate) fn frontier(of: &(impl Countable + ?Sized), time: i64) -> Option<i64> {
    // Zero for channels without a delay, including future ones, and for live time, which no delay moves.
    let smallest = of.scope().delays.iter().map(|delay| delay.ticks).fold(0, i64::min);
    let time = i128::from(time) + i128::from(smallest) - i128::from(of.needs().after);
    i64::try_from(time).ok()
}

impl dyn Countable + '_ {
    /// Returns the delayed time before which all counts are final, see [`crate::Kind::frontier`].
    pub fn frontier(&self, time: i64) -> Option<i64> {
        frontier(self, time)
    }

    /// Rejects counts that do not add up.
    pub(crate) fn check_additive(&self) -> Result<(), Error> {
        if self.needs().is_additive { Ok(()) } else { Err(Error::NoPartial) }
    }

    /// Counts in a range. Rejects damaged rows, around the ends of the range and among the rows that were read.
    pub(crate) fn counted(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        recording.check_ends()?;
        recording.check_around(range, &self.scope().delays);
        let counted = self.count(recording, range, before, execution)?;
        recording.check_pass()?;
        Ok(counted)
    }

    /// Counts the tuples and tags that belong to `interval`, whatever the range of its scope, from the state at the
    /// end of `before`.
    ///
    /// # Errors
    /// See [`crate::Kind::partial`].
    pub(crate) fn partial(
        &self,
        recording: &Recording<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Partial, Error> {
        self.check_additive()?;
        let query = self.key();
        Partial::check_before(before, &query, interval)?;
        let (counts, state) = self.counted(recording, interval, before, execution)?;
        Ok(Partial { query, interval, counts, state })
    }
}
