//! Batches of tuples and tags for the caller.
//!
//! A batch is passed on when it holds 16,384 tags, and after each read of the columns, so that rare tuples arrive
//! early.

use std::ops::ControlFlow;

use crate::run::recording::Recording;

/// The largest number of tags per batch.
const BATCH_TAGS: usize = 1 << 14;

/// A tag of a listed tuple or cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedTag {
    /// The row in the recording, counted over all sources.
    pub row: u64,
    /// The time in ticks as recorded.
    pub time: i64,
}

/// A batch of tuples, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tuples {
    groups: Vec<usize>,
    times: Vec<i64>,
    /// Where the tags of each tuple end.
    ends: Vec<usize>,
    tags: Vec<ListedTag>,
}

/// One tuple of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuple<'a> {
    /// The index of the group in the query.
    pub group: usize,
    /// The delayed time of the latest tag.
    pub time: i64,
    /// One tag per channel, in the order of the group.
    pub tags: &'a [ListedTag],
}

/// A tag of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterTag {
    /// The number of the cluster: clusters are counted from 0 in the order in which they are listed.
    pub cluster: u64,
    /// The delayed time of the cluster's first tag.
    pub time: i64,
    /// The channel of this tag.
    pub channel: u16,
    /// The row and time of this tag.
    pub tag: ListedTag,
}

impl Tuples {
    /// Returns the number of tuples.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns whether there are no tuples.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Iterates over the tuples, in order.
    pub fn iter(&self) -> impl Iterator<Item = Tuple<'_>> {
        (0..self.len()).map(|at| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            let tags = &self.tags[start..self.ends[at]];
            Tuple { group: self.groups[at], time: self.times[at], tags }
        })
    }

    pub(super) fn push(&mut self, group: usize, time: i64, tags: impl Iterator<Item = ListedTag>) {
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

/// Collects batches and passes them to the consumer.
pub(super) struct Batches<'s, B> {
    pub recording: &'s Recording<'s>,
    pub batch: B,
    pub take: &'s mut (dyn FnMut(&B) -> ControlFlow<()> + Send),
}

/// A container that is filled and passed on.
pub(super) trait Batch {
    /// Returns the number of tags in the batch.
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
    /// Adds to the batch, and passes it on when it is full.
    pub(super) fn add(&mut self, add: impl FnOnce(&mut B)) -> ControlFlow<()> {
        add(&mut self.batch);
        if self.batch.tags() >= BATCH_TAGS { self.give() } else { ControlFlow::Continue(()) }
    }

    /// Passes on the current batch, so that the consumer need not wait for a full batch of rare tuples. Nothing is
    /// passed on after rows were found damaged.
    pub(super) fn give(&mut self) -> ControlFlow<()> {
        if self.recording.check_damage().is_err() {
            return ControlFlow::Break(());
        }
        if self.batch.tags() == 0 {
            return ControlFlow::Continue(());
        }
        let taken = (self.take)(&self.batch);
        self.batch.clear();
        taken
    }
}
