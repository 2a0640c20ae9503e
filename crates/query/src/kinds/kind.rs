//! The trait of every kind of query.

use crate::{
    error::Error,
    partial::Partial,
    run::{recording::Recording, scope::Scope, time_range::TimeRange},
    scan::morsels::Execution,
};

/// A query whose answer adds up over intervals of delayed time: [`crate::Coincidences`],
/// [`crate::Histogram`] and [`crate::Rates`].
///
/// ```
/// use tagq_query::{Additive, Coincidences, Execution, Groups, Recording, Rule, Scope, TimeRange};
/// use tagq_store::{Channels, Tags};
///
/// let tags = Tags { time: &[0, 5, 17, 19], channels: Channels::U8(&[3, 15, 3, 15]) };
/// let recording = Recording::from_tags(tags);
/// let (groups, scope) = (Groups::EveryPair, Scope::default());
/// let query = Coincidences { groups, rule: Rule::Once, window: 5, veto: None, scope };
/// let execution = Execution::best();
/// let (before, behind) = (TimeRange { from: None, to: Some(17) }, TimeRange { from: Some(17), to: None });
/// let before = query.partial(&recording, before, None, &execution)?;
/// let behind = query.partial(&recording, behind, Some(&before), &execution)?;
/// let answer = query.finish(&recording, &before.merge(&behind)?, &execution)?;
/// assert_eq!(answer, query.run(&recording, &execution)?);
/// # Ok::<(), tagq_query::Error>(())
/// ```
pub trait Additive {
    /// The result of the query.
    type Answer;

    /// Counts the whole recording.
    ///
    /// # Errors
    /// Returns the errors of the query.
    fn answer(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Self::Answer, Error>;

    /// Counts the tuples and tags that belong to `interval`, whatever the range of the query.
    ///
    /// `before`, a partial of the same query, ends where `interval` begins. Rules that use tags up continue
    /// from it; without it they look back to the last gap, wherever that is. The result is the same.
    ///
    /// # Errors
    /// Returns the errors of the query; [`Error::PartialGap`] and [`Error::PartialOf`] if `before` does not
    /// match; [`Error::NoPartial`] for a query that cannot be counted in parts before the whole run is known.
    fn partial(
        &self,
        recording: &Recording<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Partial, Error>;

    /// Computes the result from `partial`, which must cover the range of the query.
    ///
    /// # Errors
    /// Returns [`Error::PartialOf`] or [`Error::PartialRange`] if `partial` is of another query or range, and
    /// the errors of the query.
    fn finish(
        &self,
        recording: &Recording<'_>,
        partial: &Partial,
        execution: &Execution,
    ) -> Result<Self::Answer, Error>;

    /// Returns the scope: the channels, delays and times that the query covers.
    fn scope(&self) -> &Scope;

    /// Returns the key of the query, without its range. It is identical for all queries that count the same
    /// thing.
    fn words(&self) -> String;

    /// Returns how long after a time tags can still arrive that change the counts at that time.
    fn ahead(&self) -> i64 {
        0
    }

    /// Returns the delayed time before which all counts are final, if all future tags are at or after `time`.
    /// At this delayed time itself, a tag of equal time may still arrive. Returns `None` if it does not fit
    /// in 64 bits.
    fn frontier(&self, time: i64) -> Option<i64> {
        // Zero for channels without a delay, including future ones, and for live time, which no delay moves.
        let smallest = self.scope().delays.iter().map(|delay| delay.ticks).fold(0, i64::min);
        let time = i128::from(time) + i128::from(smallest) - i128::from(self.ahead());
        i64::try_from(time).ok()
    }
}
