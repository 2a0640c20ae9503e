//! The tuples that a query counts, one by one, in order of time.
//!
//! All threads take tags out of the columns, a few morsels ahead ([`feed`]); one walks through them in
//! order and meets every tuple at its latest tag ([`ways`], [`once`]), every cluster at its first
//! ([`clusters`]). What it holds is the tags of a window and one batch, however many tuples there are.

mod clusters;
mod feed;
mod once;
mod vetoes;
mod ways;

use std::ops::ControlFlow;

use crate::{Acquisition, Coincidences, Error, Execution, Recording, Rule, TimeRange, groups};
use clusters::Clusters;
use feed::{Feed, Wanted};
use once::Once;
use ways::{Ways, WaysOf};

/// Tags of a batch at most.
const BATCH_TAGS: usize = 1 << 14;

/// A tag that is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedTag {
    /// Its row in the recording, all sources counted through.
    pub row: u64,
    /// Its time in ticks as recorded.
    pub time: i64,
}

/// A batch of tuples, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tuples {
    groups: Vec<usize>,
    times: Vec<i64>,
    /// Where the tags of each end.
    ends: Vec<usize>,
    tags: Vec<ListedTag>,
}

/// One tuple of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuple<'a> {
    /// Which of the groups of the query.
    pub group: usize,
    /// The delayed time of its latest tag.
    pub time: i64,
    /// A tag of each channel, in the order of the group.
    pub tags: &'a [ListedTag],
}

/// A tag of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterTag {
    /// Which cluster: they are counted from 0 in the order they are listed in.
    pub cluster: u64,
    /// The delayed time of the cluster's first tag.
    pub time: i64,
    /// The channel of this one.
    pub channel: u16,
    /// Its row and time.
    pub tag: ListedTag,
}

impl Tuples {
    /// How many tuples.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The tuples, in order.
    pub fn iter(&self) -> impl Iterator<Item = Tuple<'_>> {
        (0..self.len()).map(|at| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            let tags = &self.tags[start..self.ends[at]];
            Tuple { group: self.groups[at], time: self.times[at], tags }
        })
    }

    fn push(&mut self, group: usize, time: i64, tags: impl Iterator<Item = ListedTag>) {
        self.groups.push(group);
        self.times.push(time);
        self.tags.extend(tags);
        self.ends.push(self.tags.len());
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.times.clear();
        self.ends.clear();
        self.tags.clear();
    }
}

/// Batches on their way to whoever takes them.
struct Batches<'s, B> {
    batch: B,
    take: &'s mut (dyn FnMut(&B) -> ControlFlow<()> + Send),
}

/// What is filled and given away.
trait Batch {
    /// Tags in it.
    fn tags(&self) -> usize;
    fn clear(&mut self);
}

impl Batch for Tuples {
    fn tags(&self) -> usize {
        self.tags.len()
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}

impl Batch for Vec<ClusterTag> {
    fn tags(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        Self::clear(self);
    }
}

impl<B: Batch> Batches<'_, B> {
    /// Adds to the batch, and gives it away when it is full.
    fn add(&mut self, add: impl FnOnce(&mut B)) -> ControlFlow<()> {
        add(&mut self.batch);
        if self.batch.tags() >= BATCH_TAGS { self.give() } else { ControlFlow::Continue(()) }
    }

    /// Gives away what there is, so that nobody waits for a batch of rare tuples.
    fn give(&mut self) -> ControlFlow<()> {
        if self.batch.tags() == 0 {
            return ControlFlow::Continue(());
        }
        let taken = (self.take)(&self.batch);
        self.batch.clear();
        taken
    }
}

impl Coincidences {
    /// The groups that are asked for, in the order of [`Coincidences::run`] and of
    /// [`Tuple::group`].
    ///
    /// # Errors
    /// As [`Coincidences::run`].
    pub fn groups_in(&self, recording: &Recording<'_>) -> Result<Vec<Vec<u16>>, Error> {
        self.check(recording)?;
        let groups = groups::asked(&self.groups, &self.scope, recording)?;
        self.check_groups(&groups)?;
        Ok(groups)
    }

    /// Gives every tuple that [`Coincidences::run`] counts to `take`, in batches: in order of time, those
    /// of one time in the order of sources, of groups, of rows. Stops when `take` breaks off. By rule
    /// [`Rule::PerHerald`] a herald's tuple is the way that is complete first, and of those of one time
    /// the one of the first rows. Clusters are listed by [`Coincidences::list_clusters`].
    ///
    /// Holds the tags of two windows and one batch. Any number of threads gives the same batches' content.
    ///
    /// # Errors
    /// As [`Coincidences::run`].
    pub fn list(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        take: &mut (dyn FnMut(&Tuples) -> ControlFlow<()> + Send),
    ) -> Result<(), Error> {
        let groups = self.groups_in(recording)?;
        let wanted = Wanted::new(&groups::channels_of(&groups), &self.scope);
        let range = self.scope.range;
        let veto = self.veto.as_ref();
        let mut batches = Batches { batch: Tuples::default(), take };
        if self.rule == Rule::Once {
            let plan = once::Plan::new(&groups, &wanted, self.window, range);
            let walk = |source| {
                let from = range.from.and_then(|from| {
                    feed::fresh_start(source, &wanted, self.window, from, execution)
                });
                let taken = TimeRange { from, to: range.to };
                let feed = Feed::new(source, &wanted, Some(self.window), taken, execution);
                (feed, Once::new(&plan, source, veto, &self.scope))
            };
            walk_all(recording, &wanted, walk, &mut batches)?;
        } else {
            let plan = Ways::new(&groups, &wanted, self.rule, self.window, range);
            let before = plan.look_back();
            let from = range.from.map(|from| from.saturating_sub(before));
            let taken = TimeRange { from, to: range.to };
            let walk = |source| {
                let feed = Feed::new(source, &wanted, Some(plan.nearest()), taken, execution);
                (feed, WaysOf::new(&plan, source, veto, &self.scope))
            };
            walk_all(recording, &wanted, walk, &mut batches)?;
        }
        Ok(())
    }

    /// Gives the tags of every cluster that [`Coincidences::run`] counts by rule [`Rule::Cluster`] to
    /// `take`, in batches that may part a cluster: clusters in order of their first tag, then of
    /// sources; tags in order of delayed time, then of rows.
    ///
    /// Holds one batch, however long a cluster is.
    ///
    /// # Errors
    /// As [`Coincidences::run`].
    pub fn list_clusters(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        take: &mut (dyn FnMut(&Vec<ClusterTag>) -> ControlFlow<()> + Send),
    ) -> Result<(), Error> {
        self.check(recording)?;
        let channels = self.cluster_channels(recording)?;
        let wanted = Wanted::new(&channels, &self.scope);
        let mut batches = Batches { batch: Vec::new(), take };
        let (window, range) = (self.window, self.scope.range);
        let number = std::cell::Cell::new(0);
        let walk = |source| {
            let from = range
                .from
                .and_then(|from| feed::fresh_start(source, &wanted, window, from, execution));
            // The last cluster goes on beyond the range.
            let to = range.to.and_then(|to| to.checked_add(window));
            let feed = Feed::new(source, &wanted, None, TimeRange { from, to }, execution);
            (feed, Clusters::new(source, &channels, window, range, &number))
        };
        walk_all(recording, &wanted, walk, &mut batches)?;
        Ok(())
    }
}

/// A source as it is walked through.
#[derive(Debug, Clone, Copy)]
struct Source<'a> {
    tags: &'a Acquisition<'a>,
    /// The first row of the source in the recording.
    first_row: u64,
}

impl Source<'_> {
    fn listed(&self, row: usize) -> ListedTag {
        ListedTag { row: self.first_row + row as u64, time: self.tags.tags.time[row] }
    }
}

/// What meets tuples on its way through a source.
trait Walker {
    type Batch: Batch;

    /// Takes the tags of the next time, or of the next cluster.
    fn step(
        &mut self,
        feed: &mut Feed<'_>,
        batches: &mut Batches<'_, Self::Batch>,
    ) -> ControlFlow<()>;
}

/// Walks through all sources, until whoever takes the batches breaks off, or rows are found out of order.
fn walk_all<'a, W: Walker>(
    recording: &'a Recording<'a>,
    wanted: &Wanted,
    walk: impl Fn(Source<'a>) -> (Feed<'a>, W),
    batches: &mut Batches<'_, W::Batch>,
) -> Result<(), Error> {
    // Breaking off is no failure.
    let _: ControlFlow<()> = walk_sources(recording, wanted, walk, batches);
    recording.check_order()
}

/// Delays can put tags of one source behind those of the next: then they are
/// walked through side by side.
fn walk_sources<'a, W: Walker>(
    recording: &'a Recording<'a>,
    wanted: &Wanted,
    walk: impl Fn(Source<'a>) -> (Feed<'a>, W),
    batches: &mut Batches<'_, W::Batch>,
) -> ControlFlow<()> {
    let mut first_row = 0;
    let mut waiting: Vec<(i64, usize, Source<'a>)> = Vec::new();
    for (at, tags) in recording.sources.iter().enumerate() {
        if let Some((first, _)) = tags.span() {
            let begins = first.saturating_add(wanted.smallest_delay());
            waiting.push((begins, at, Source { tags, first_row }));
        }
        first_row += tags.tags.len() as u64;
    }
    // The next is the last.
    waiting.sort_by_key(|&(begins, at, _)| std::cmp::Reverse((begins, at)));
    let mut active: Vec<(usize, Feed<'a>, W)> = Vec::new();
    loop {
        let mut next: Vec<(i64, usize)> = Vec::new();
        for (place, (_, feed, _)) in active.iter_mut().enumerate() {
            next.extend(feed.peek().map(|tag| (tag.time, place)));
        }
        next.sort_unstable();
        let first = next.first().copied();
        if let Some(&(begins, at, source)) = waiting.last()
            && first.is_none_or(|(time, _)| begins <= time)
        {
            waiting.pop();
            let (feed, walker) = walk(source);
            let place = active.partition_point(|(other, ..)| *other < at);
            active.insert(place, (at, feed, walker));
            continue;
        }
        let Some((time, place)) = first else { break };
        let others = next.get(1).map(|&(time, _)| time);
        let limit = others.into_iter().chain(waiting.last().map(|&(begins, ..)| begins)).min();
        let (_, feed, walker) = &mut active[place];
        // The first step is its own, also where others have the same time.
        walker.step(feed, batches)?;
        loop {
            if feed.has_read() {
                if recording.check_order().is_err() {
                    return ControlFlow::Break(());
                }
                batches.give()?;
            }
            let Some(tag) = feed.peek() else { break };
            if limit.is_some_and(|limit| tag.time >= limit.max(time.saturating_add(1))) {
                break;
            }
            walker.step(feed, batches)?;
        }
        active.retain_mut(|(_, feed, _)| feed.peek().is_some());
    }
    batches.give()
}
