//! What every kind of query does.

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
    /// The answer to the query.
    type Answer;

    /// Counts all there is.
    ///
    /// # Errors
    /// Those of the query.
    fn answer(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Self::Answer, Error>;

    /// Counts what belongs to `interval`, whatever range the query has.
    ///
    /// `before`, of the same query, ends where `interval` begins. Then rules that use tags up go on from
    /// there; without it they look back to the last gap, wherever that is. The answer is the same.
    ///
    /// # Errors
    /// Those of the query; [`Error::PartialGap`] and [`Error::PartialOf`] when `before` is another one;
    /// [`Error::NoPartial`] for a query of which no part can be counted before all is known.
    fn partial(
        &self,
        recording: &Recording<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Partial, Error>;

    /// The answer of which `partial` is the counts: it covers the range of the query.
    ///
    /// # Errors
    /// [`Error::PartialOf`] or [`Error::PartialRange`] when it is the counts of something else, and
    /// those of the query.
    fn finish(
        &self,
        recording: &Recording<'_>,
        partial: &Partial,
        execution: &Execution,
    ) -> Result<Self::Answer, Error>;

    /// Which tags the query is about.
    fn scope(&self) -> &Scope;

    /// The query in words and numbers, in one form for all that count the same, without its range.
    fn words(&self) -> String;

    /// How far behind a time tags can come that change what is counted at it.
    fn ahead(&self) -> i64 {
        0
    }

    /// The delayed time before which all counts are final once no tag comes before `time` any more. At
    /// this time itself an equal one may still arrive. Nothing when it is out of reach.
    fn frontier(&self, time: i64) -> Option<i64> {
        // Zero for channels without a delay, also those still to come, and for live time, which no delay moves.
        let smallest = self.scope().delays.iter().map(|delay| delay.ticks).fold(0, i64::min);
        let time = i128::from(time) + i128::from(smallest) - i128::from(self.ahead());
        i64::try_from(time).ok()
    }
}
