//! Lists the matches of rule `once`, by the [`Matching`] that also counts them.
//!
//! Tags of channels 1, 3 and 2 at 0, 4 and 4, window 5: by the groups (1, 2) and (1, 3) both matches are at 4, and
//! are listed in the order of the groups, not in that of the rows.

use std::ops::ControlFlow;

use super::{
    batch::{Batches, Tuples},
    feed::{ChannelNumbers, Feed, FeedSource, Taken},
    walk::Walker,
};
use crate::{
    rules::{
        once::Matching,
        veto::{Forbidding, Guard, Veto},
    },
    run::{scope::Scope, time_range::TimeRange},
};

/// The groups and channels that every source is searched for.
pub(super) struct OnceScan {
    window: i64,
    range: TimeRange,
    /// The number of channels of each group.
    sizes: Vec<usize>,
    /// The groups that contain each number, and its place in them.
    places_of: Vec<Vec<(usize, usize)>>,
}

impl OnceScan {
    pub(super) fn new(
        groups: &[Vec<u16>],
        wanted: &ChannelNumbers,
        window: i64,
        range: TimeRange,
    ) -> Self {
        let mut places_of = vec![Vec::new(); wanted.channels()];
        for (at, group) in groups.iter().enumerate() {
            for (place, &channel) in group.iter().enumerate() {
                places_of[wanted.number(channel)].push((at, place));
            }
        }
        Self { window, range, sizes: groups.iter().map(Vec::len).collect(), places_of }
    }
}

/// The walk through one source.
pub(super) struct Once<'a> {
    plan: &'a OnceScan,
    source: FeedSource<'a>,
    /// The matching of each group.
    groups: Vec<Matching<Taken>>,
    /// The matches that are complete at the current time.
    matches: Vec<(usize, Vec<Taken>)>,
    veto: Option<Guard<'a>>,
}

impl<'a> Once<'a> {
    pub(super) fn new(
        plan: &'a OnceScan,
        source: FeedSource<'a>,
        veto: Option<&Veto>,
        scope: &Scope,
    ) -> Self {
        let groups = plan.sizes.iter().map(|&size| Matching::new(size, plan.window)).collect();
        let veto = veto.map(|veto| Forbidding::new(veto, scope).guard(source.tags));
        Self { plan, source, groups, matches: Vec::new(), veto }
    }
}

impl Walker for Once<'_> {
    type Batch = Tuples;

    fn step(&mut self, feed: &mut Feed<'_>, batches: &mut Batches<'_, Tuples>) -> ControlFlow<()> {
        let plan = self.plan;
        let Some(Taken { time, .. }) = feed.peek() else { return ControlFlow::Continue(()) };
        while let Some(tag) = feed.peek().filter(|tag| tag.time == time) {
            feed.advance();
            for &(group, place) in &plan.places_of[tag.number as usize] {
                if self.groups[group].push(place, tag) {
                    self.matches.push((group, self.groups[group].take().collect()));
                }
            }
        }
        if self.matches.is_empty() || !plan.range.contains(time) {
            self.matches.clear();
            return ControlFlow::Continue(());
        }
        self.matches.sort_by_key(|&(group, _)| group);
        for (group, found) in self.matches.drain(..) {
            let earliest = found.iter().map(|tag| tag.time).min().unwrap_or(time);
            if !self.veto.as_mut().is_some_and(|veto| veto.forbids(earliest, time)) {
                let tags = found.iter().map(|tag| self.source.listed(tag.row));
                batches.add(|batch| batch.push(group, time, tags))?;
            }
        }
        ControlFlow::Continue(())
    }
}
