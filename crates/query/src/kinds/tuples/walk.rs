//! The walk through the sources of a recording, in order of delayed time.
//!
//! A source up to 90 with a channel that is delayed by 50 has tags up to 140. If the next source begins at 100, both
//! are walked through in turn, so that tuples are listed in order of time.

use std::ops::ControlFlow;

use super::{
    batch::{Batch, Batches},
    feed::{ChannelNumbers, Feed, FeedSource},
};
use crate::{error::Error, run::recording::Recording};

/// Finds tuples on its way through a source.
pub(super) trait Walker {
    type Batch: Batch;

    /// Processes the tags of the next time, or of the next cluster.
    fn step(
        &mut self,
        feed: &mut Feed<'_>,
        batches: &mut Batches<'_, Self::Batch>,
    ) -> ControlFlow<()>;
}

/// Walks through all sources, until the consumer of the batches breaks off or rows are found out of order.
pub(super) fn walk_all<'a, W: Walker>(
    recording: &'a Recording<'a>,
    wanted: &ChannelNumbers,
    walk: impl Fn(FeedSource<'a>) -> (Feed<'a>, W),
    batches: &mut Batches<'_, W::Batch>,
) -> Result<(), Error> {
    // Breaking off is not an error.
    let _: ControlFlow<()> = walk_sources(recording, wanted, walk, batches);
    recording.check_damage()
}

/// Delays can put tags of one source after those of the next source; both are then walked through in
/// parallel.
fn walk_sources<'a, W: Walker>(
    recording: &'a Recording<'a>,
    wanted: &ChannelNumbers,
    walk: impl Fn(FeedSource<'a>) -> (Feed<'a>, W),
    batches: &mut Batches<'_, W::Batch>,
) -> ControlFlow<()> {
    let mut first_row = 0;
    let mut waiting: Vec<(i64, usize, FeedSource<'a>)> = Vec::new();
    for (at, tags) in recording.sources.iter().enumerate() {
        if let Some((first, _)) = tags.span() {
            let begins = first.saturating_add(wanted.smallest_delay());
            waiting.push((begins, at, FeedSource { tags, first_row }));
        }
        first_row += tags.tags.len() as u64;
    }
    // The next source is the last element.
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
        // The walker takes the first step itself, even if others have the same time.
        walker.step(feed, batches)?;
        loop {
            if feed.has_read() {
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
