//! The tuples that a query counts, one by one, in order of time.
//!
//! All threads extract tags from the columns, a few morsels ahead ([`feed`]). One thread walks through them
//! in order and finds every tuple at its latest tag ([`ways`], [`once`]), every cluster at its first tag
//! ([`clusters`]). Memory holds the tags of a window and one batch, however many tuples there are.

mod batch;
mod clusters;
mod feed;
mod once;
mod vetoes;
mod walk;
mod ways;

pub use batch::{ClusterTag, ListedTag, Tuple, Tuples};

use std::ops::ControlFlow;

use crate::{
    error::Error,
    kinds::coincidences::Coincidences,
    rules::{definition::Engine, groups},
    run::{recording::Recording, time_range::TimeRange},
    scan::morsels::Execution,
};
use batch::Batches;
use clusters::Clusters;
use feed::{ChannelNumbers, Feed};
use once::Once;
use walk::walk_all;
use ways::{Ways, WaysOf};

impl Coincidences {
    /// Passes every tuple that [`crate::Kind::run`] counts to `take`, in batches: in order of time; for
    /// equal times in the order of sources, of groups, of rows. Stops when `take` breaks off. For rule
    /// [`crate::Rule::PerHerald`], the tuple of a herald is the one that is complete first; of those complete at the
    /// same time, the one with the first rows. Clusters are listed by [`Coincidences::list_clusters`].
    ///
    /// Holds the tags of two windows and one batch in memory. The tuples and their order do not depend on the number
    /// of threads.
    ///
    /// # Errors
    /// See [`crate::Kind::run`].
    pub fn list(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        take: &mut (dyn FnMut(&Tuples) -> ControlFlow<()> + Send),
    ) -> Result<(), Error> {
        recording.check_ends()?;
        let groups = self.groups_in(&recording.facts())?;
        let wanted = ChannelNumbers::new(&groups::channels_of(&groups), &self.scope);
        let range = self.scope.range;
        let veto = self.veto.as_ref();
        let mut batches = Batches { recording, batch: Tuples::default(), take };
        let rule = self.rule.definition();
        match rule.engine() {
            Engine::Ways => {
                let plan = Ways::new(&groups, &wanted, rule, self.window, range);
                let from = range.from.map(|from| from.saturating_sub(plan.look_back()));
                let taken = TimeRange { from, to: range.to };
                let walk = |source| {
                    let feed = Feed::new(source, &wanted, Some(plan.nearest()), taken, execution);
                    (feed, WaysOf::new(&plan, source, veto, &self.scope))
                };
                walk_all(recording, &wanted, walk, &mut batches)
            }
            Engine::Matches => {
                let plan = once::OnceScan::new(&groups, &wanted, self.window, range);
                let walk = |source| {
                    let from = range.from.and_then(|from| {
                        feed::fresh_start(source, &wanted, self.window, from, execution)
                    });
                    let taken = TimeRange { from, to: range.to };
                    let feed = Feed::new(source, &wanted, Some(self.window), taken, execution);
                    (feed, Once::new(&plan, source, veto, &self.scope))
                };
                walk_all(recording, &wanted, walk, &mut batches)
            }
            // A cluster is no tuple.
            Engine::Clusters => Ok(()),
        }
    }

    /// Passes the tags of every cluster that [`crate::Kind::run`] counts by rule [`crate::Rule::Cluster`] to
    /// `take`, in batches that may split a cluster: clusters in order of their first tag, then of sources;
    /// tags in order of delayed time, then of rows.
    ///
    /// Holds one batch in memory, however long a cluster is.
    ///
    /// # Errors
    /// See [`crate::Kind::run`].
    pub fn list_clusters(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        take: &mut (dyn FnMut(&Vec<ClusterTag>) -> ControlFlow<()> + Send),
    ) -> Result<(), Error> {
        let channels = groups::channels_of(&self.groups_in(&recording.facts())?);
        let wanted = ChannelNumbers::new(&channels, &self.scope);
        let mut batches = Batches { recording, batch: Vec::new(), take };
        let (window, range) = (self.window, self.scope.range);
        let number = std::cell::Cell::new(0);
        let walk = |source| {
            let from = range
                .from
                .and_then(|from| feed::fresh_start(source, &wanted, window, from, execution));
            // The last cluster continues past the range.
            let to = range.to.and_then(|to| to.checked_add(window));
            let feed = Feed::new(source, &wanted, None, TimeRange { from, to }, execution);
            (feed, Clusters::new(source, &channels, window, range, &number))
        };
        walk_all(recording, &wanted, walk, &mut batches)?;
        Ok(())
    }
}
