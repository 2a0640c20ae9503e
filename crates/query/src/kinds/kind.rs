//! The trait of every kind of query, with the steps in which all of them are counted: check, count, answer.
//!
//! The counts of consecutive intervals, merged, give the answer of one count over all of them.

use crate::{
    counters::{Countable, Ledger, Scan, frontier},
    error::Error,
    partial::Partial,
    run::{counts::Counts, facts::Facts, recording::Recording, time_range::TimeRange},
    scan::{morsels::Execution, plan::ReadPlan},
};

/// A query whose counts add up over intervals of delayed time, such as [`crate::Coincidences`], [`crate::Histogram`]
/// and [`crate::Rates`].
///
/// ```
/// use tagq_query::{Coincidences, Execution, Groups, Kind, Recording, Rule, Scope, TimeRange};
/// use tagq_store::{Channels, Tags};
///
/// let tags = Tags { time: (&[0, 5, 17, 19]).into(), channels: Channels::U8((&[3, 15, 3, 15]).into()) };
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
pub trait Kind: Countable + Sized {
    /// The result of the query.
    type Answer;

    /// Returns the same query over another range of time.
    #[must_use]
    fn over(&self, range: TimeRange) -> Self;

    /// Rejects an invalid query.
    ///
    /// # Errors
    /// Returns the errors of the query.
    #[doc(hidden)]
    fn check(&self, facts: &Facts) -> Result<(), Error>;

    /// Computes the result from the counts in the range of a query that was checked.
    #[doc(hidden)]
    fn answer(&self, ledger: &Ledger<'_>, counts: Counts) -> Result<Self::Answer, Error>;

    /// Adds the rows that a query that was checked would read.
    #[doc(hidden)]
    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error>;

    /// Answers from a ledger.
    ///
    /// # Errors
    /// Fails for an invalid query, and if delayed times or counts do not fit in 64 bits; errors of the ledger.
    fn ask(&self, ledger: &Ledger<'_>) -> Result<Self::Answer, Error> {
        self.check(ledger.facts())?;
        let counts = ledger.counts(self.scope().range, self)?;
        let answer = self.answer(ledger, counts)?;
        ledger.check()?;
        Ok(answer)
    }

    /// Counts the whole recording. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// See [`Kind::ask`].
    fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Self::Answer, Error> {
        self.ask(&Ledger::of(&Scan::new(recording, execution)))
    }

    /// Returns the plan of [`Kind::run`]: the rows that it would read, without counting.
    ///
    /// # Errors
    /// See [`Kind::run`]. Counts that do not fit in 64 bits are not detected.
    fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<ReadPlan, Error> {
        recording.check_ends()?;
        self.check(&recording.facts())?;
        // Whole blocks would be read for a few rows of each.
        let recording = &recording.unchecked();
        let mut plan = ReadPlan::new(recording, execution);
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
        self.check(&recording.facts())?;
        let what: &dyn Countable = self;
        what.partial(recording, interval, before, execution)
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
        let scan = Scan::new(recording, execution);
        let ledger = Ledger::of(&scan);
        self.check(ledger.facts())?;
        let counts = partial.counts_of(&self.key(), self.scope().range)?;
        let answer = self.answer(&ledger, counts.clone())?;
        ledger.check()?;
        Ok(answer)
    }

    /// Returns the delayed time before which all counts are final, if all future tags are at or after `time`.
    /// At this delayed time itself, a tag of equal time may still arrive. Returns `None` if it does not fit
    /// in 64 bits.
    fn frontier(&self, time: i64) -> Option<i64> {
        frontier(self, time)
    }
}
