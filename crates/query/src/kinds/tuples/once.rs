//! The matches of rule `once`.

use std::{collections::VecDeque, ops::ControlFlow};

use super::{
    batch::{Batches, Tuples},
    feed::{Feed, Source, Taken, Wanted},
    vetoes::Vetoes,
    walk::Walker,
};
use crate::{
    rules::veto::Veto,
    run::{scope::Scope, time_range::TimeRange},
};

/// The groups and channels that every source is searched for.
pub(super) struct Plan {
    window: i64,
    range: TimeRange,
    /// The number of channels of each group.
    sizes: Vec<usize>,
    /// The groups that contain each number, and its place in them.
    places_of: Vec<Vec<(usize, usize)>>,
}

impl Plan {
    pub(super) fn new(groups: &[Vec<u16>], wanted: &Wanted, window: i64, range: TimeRange) -> Self {
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
    plan: &'a Plan,
    source: Source<'a>,
    /// Tags of each group and channel that are not used up and can still find partners.
    unused: Vec<Vec<VecDeque<Taken>>>,
    /// The matches that are complete at the current time.
    matches: Vec<(usize, Vec<Taken>)>,
    vetoes: Option<Vetoes<'a>>,
}

impl<'a> Once<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        source: Source<'a>,
        veto: Option<&Veto>,
        scope: &Scope,
    ) -> Self {
        let vetoes = veto.map(|veto| {
            let mut vetoes = Vetoes::new(source, veto, scope);
            if let Some(from) = plan.range.from {
                vetoes.start_at(from.saturating_sub(plan.window));
            }
            vetoes
        });
        let unused = plan.sizes.iter().map(|&size| vec![VecDeque::new(); size]).collect();
        Self { plan, source, unused, matches: Vec::new(), vetoes }
    }

    /// Adds a tag of one group; returns the match that it completes.
    fn push(&mut self, (group, place): (usize, usize), tag: Taken) -> Option<Vec<Taken>> {
        let oldest = tag.time.saturating_sub(self.plan.window);
        let unused = &mut self.unused[group];
        unused[place].push_back(tag);
        let mut is_complete = true;
        for channel in &mut *unused {
            while channel.front().is_some_and(|tag| tag.time < oldest) {
                channel.pop_front();
            }
            is_complete &= !channel.is_empty();
        }
        is_complete.then(|| unused.iter_mut().filter_map(VecDeque::pop_front).collect())
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
                if let Some(found) = self.push((group, place), tag) {
                    self.matches.push((group, found));
                }
            }
        }
        if self.matches.is_empty() || !plan.range.contains(time) {
            self.matches.clear();
            return ControlFlow::Continue(());
        }
        let floor = match &mut self.vetoes {
            None => Some(i64::MIN),
            Some(vetoes) => vetoes.floor(time),
        };
        self.matches.sort_by_key(|&(group, _)| group);
        for (group, found) in self.matches.drain(..) {
            let earliest = found.iter().map(|tag| tag.time).min();
            if floor.is_some_and(|floor| earliest >= Some(floor)) {
                let tags = found.iter().map(|tag| self.source.listed(tag.row));
                batches.add(|batch| batch.push(group, time, tags))?;
            }
        }
        ControlFlow::Continue(())
    }
}
