//! Lists the tags of clusters.
//!
//! Window 5: tags at 0, 5 and 6 are the cluster 0 with two tags and the cluster 1 with one. Clusters must open where
//! rule `cluster` opens them, so the walk begins after a gap, and clusters before the range get no number.

use std::{cell::Cell, ops::ControlFlow};

use super::{
    batch::{Batches, ClusterTag},
    feed::{Feed, FeedSource},
    walk::Walker,
};
use crate::run::time_range::TimeRange;

/// The walk through one source.
pub(super) struct Clusters<'a> {
    source: FeedSource<'a>,
    channels: &'a [u16],
    window: i64,
    range: TimeRange,
    /// The number of the next cluster of the recording.
    number: &'a Cell<u64>,
}

impl<'a> Clusters<'a> {
    /// Creates the walk; `channels` must be ascending.
    pub(super) fn new(
        source: FeedSource<'a>,
        channels: &'a [u16],
        window: i64,
        range: TimeRange,
        number: &'a Cell<u64>,
    ) -> Self {
        Self { source, channels, window, range, number }
    }
}

impl Walker for Clusters<'_> {
    type Batch = Vec<ClusterTag>;

    fn step(
        &mut self,
        feed: &mut Feed<'_>,
        batches: &mut Batches<'_, Vec<ClusterTag>>,
    ) -> ControlFlow<()> {
        let Some(first) = feed.peek() else { return ControlFlow::Continue(()) };
        let time = first.time;
        let is_listed = self.range.contains(time);
        let cluster = self.number.get();
        self.number.set(cluster + u64::from(is_listed));
        while let Some(tag) = feed.peek().filter(|tag| tag.time - time <= self.window) {
            feed.advance();
            if is_listed {
                let channel = self.channels[tag.number as usize];
                let tag = self.source.listed(tag.row);
                batches.add(|batch| batch.push(ClusterTag { cluster, time, channel, tag }))?;
            }
        }
        ControlFlow::Continue(())
    }
}
