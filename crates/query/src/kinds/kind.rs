//! The trait of every kind of query, and the frame in which all of them are counted.

use crate::{
    error::Error,
    partial::{Partial, State},
    run::{counts::Counts, recording::Recording, scope::Scope, time_range::TimeRange},
    scan::{morsels::Execution, plan::Plan},
};

/// A query whose counts add up over intervals of delayed time: [`crate::Coincidences`], [`crate::Histogram`]
/// and [`crate::Rates`].
///
/// ```
/// use tagq_query::{Coincidences, Execution, Groups, Kind, Recording, Rule, Scope, TimeRange};
/// use tagq_store::{Channels, Tags};
///
/// let tags = Tags { time: &[0, 5, 17, 19], channels: Channels::U8(&[3, 15, 3, 15]) };
/// let recording = Recording::from_tags(tags);
/// let (groups, scope) = (Groups::EveryPair, Scope::default());
/// let query = Coincidences { groups, rule: Rule::Once, window: 5, veto: None, scope };
/// let execution = Execution::best();
/// let (early, late) = (TimeRange { from: None, to: Some(17) }, TimeRange { from: Some(17), to: None });
/// let early = query.partial(&recording, early, None, &execution)?;
/// let late = query.partial(&recording, late, Some(&early), &execution)?;
/// let answer = query.finish(&recording, &early.merge(&late)?, &execution)?;
/// assert_eq!(answer, query.run(&recording, &execution)?);
/// # Ok::<(), tagq_query::Error>(())
/// ```
pub trait Kind: Sized {
    /// The result of the query.
    type Answer;

    /// Returns the scope: the channels, delays and times that the query covers.
    fn scope(&self) -> &Scope;

    /// Returns the same query over another range of time.
    #[must_use]
    fn over(&self, range: TimeRange) -> Self;

    /// Returns the key of the query, without its range. It is identical for all queries that count the same
    /// thing.
    fn key(&self) -> String;

    /// Rejects an invalid query.
    ///
    /// # Errors
    /// Returns the errors of the query.
    #[doc(hidden)]
    fn check(&self, recording: &Recording<'_>) -> Result<(), Error>;

    /// Counts the tuples and tags that belong to the range of a query that was checked, from the state at the
    /// end of `before`.
    #[doc(hidden)]
    fn count(
        &self,
        recording: &Recording<'_>,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error>;

    /// Computes the result from the counts in the range of a query that was checked.
    #[doc(hidden)]
    fn answer(
        &self,
        recording: &Recording<'_>,
        counts: Counts,
        execution: &Execution,
    ) -> Result<Self::Answer, Error>;

    /// Adds the rows that a query that was checked would read.
    #[doc(hidden)]
    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut Plan,
    ) -> Result<(), Error>;

    /// Returns how long after a time tags can still arrive that change the counts at that time.
    #[doc(hidden)]
    fn look_ahead(&self) -> i64 {
        0
    }

    /// Returns how many ticks before and after its range tags can lie that matter to its counts, apart from delays;
    /// `None` if they can lie anywhere. Rules that use tags up also look back to a gap.
    fn reach(&self) -> Option<i64> {
        Some(0)
    }

    /// Rejects a query that depends on the whole run.
    #[doc(hidden)]
    fn check_additive(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Counts the whole recording. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// Fails for an invalid query, and if delayed times or counts do not fit in 64 bits.
    fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Self::Answer, Error> {
        self.check(recording)?;
        recording.check_around(self.scope());
        let counts = recording.counted(|| self.key(), self.scope().range, &|in_full, range| {
            if !recording.is_in_parts() {
                return Ok(self.count(in_full, None, execution)?.0);
            }
            self.check_additive()?;
            Ok(self.over(range).count(in_full, None, execution)?.0)
        })?;
        recording.check_pass()?;
        self.sound_answer(recording, counts, execution)
    }

    /// Computes the result, and rejects it if rows that it reads are damaged.
    #[doc(hidden)]
    fn sound_answer(
        &self,
        recording: &Recording<'_>,
        counts: Counts,
        execution: &Execution,
    ) -> Result<Self::Answer, Error> {
        let answer = self.answer(recording, counts, execution)?;
        recording.check_damage()?;
        Ok(answer)
    }

    /// Returns the plan of [`Kind::run`]: the rows that it would read, without counting.
    ///
    /// # Errors
    /// See [`Kind::run`]. Counts that do not fit in 64 bits are not detected.
    fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Plan, Error> {
        self.check(recording)?;
        let mut plan = Plan::new(recording, execution);
        self.add_to_plan(recording, execution, &mut plan)?;
        Ok(plan)
    }

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
    ) -> Result<Partial, Error> {
        self.check_additive()?;
        let query = self.key();
        Partial::check_before(before, &query, interval)?;
        let part = self.over(interval);
        part.check(recording)?;
        recording.check_around(part.scope());
        let (counts, state) = part.count(recording, before, execution)?;
        recording.check_pass()?;
        Ok(Partial { query, interval, counts, state })
    }

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
    ) -> Result<Self::Answer, Error> {
        self.check(recording)?;
        partial.check_of(&self.key(), self.scope().range)?;
        self.sound_answer(recording, partial.counts.clone(), execution)
    }

    /// Returns the delayed time before which all counts are final, if all future tags are at or after `time`.
    /// At this delayed time itself, a tag of equal time may still arrive. Returns `None` if it does not fit
    /// in 64 bits.
    fn frontier(&self, time: i64) -> Option<i64> {
        // Zero for channels without a delay, including future ones, and for live time, which no delay moves.
        let smallest = self.scope().delays.iter().map(|delay| delay.ticks).fold(0, i64::min);
        let time = i128::from(time) + i128::from(smallest) - i128::from(self.look_ahead());
        i64::try_from(time).ok()
    }
}
