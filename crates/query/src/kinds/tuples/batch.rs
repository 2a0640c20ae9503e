//! Tuples and tags on their way to the caller, in batches.

use std::ops::ControlFlow;

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

/// Batches on their way to whoever takes them.
pub(super) struct Batches<'s, B> {
    pub batch: B,
    pub take: &'s mut (dyn FnMut(&B) -> ControlFlow<()> + Send),
}

/// What is filled and given away.
pub(super) trait Batch {
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
    pub(super) fn add(&mut self, add: impl FnOnce(&mut B)) -> ControlFlow<()> {
        add(&mut self.batch);
        if self.batch.tags() >= BATCH_TAGS { self.give() } else { ControlFlow::Continue(()) }
    }

    /// Gives away what there is, so that nobody waits for a batch of rare tuples.
    pub(super) fn give(&mut self) -> ControlFlow<()> {
        if self.batch.tags() == 0 {
            return ControlFlow::Continue(());
        }
        let taken = (self.take)(&self.batch);
        self.batch.clear();
        taken
    }
}
