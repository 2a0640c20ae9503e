//! Tags in the order of their sync pulses, as a T3 file has them.
//!
//! A tag at 1,000 ticks with a micro time of 300 belongs to the pulse at 700, and comes before a tag at 800 whose pulse
//! is at 800. A tag is handed on when no later tag can have an earlier pulse: a micro time is at most 32,767.

use std::{cmp::Reverse, collections::BinaryHeap};

use tagq_store::{Tag, format::MICRO_NONE};

use super::writer::MICRO_MAX;

/// Takes tags in order of time and gives them in order of the times of their pulses. Tags of one pulse stay in order.
#[derive(Debug, Default)]
pub(crate) struct ByPulse {
    /// The time of the pulse, the number of the tag, its channel and its micro time.
    waiting: BinaryHeap<Reverse<(i64, u64, u64, u32)>>,
    tags: u64,
    /// The latest time of a tag.
    latest: Option<i64>,
}

impl ByPulse {
    /// Takes a tag with its micro time, or [`MICRO_NONE`].
    pub(crate) fn push(&mut self, Tag { time, channel }: Tag, micro: u32) {
        let after = if micro == MICRO_NONE { 0 } else { micro };
        self.waiting.push(Reverse((time.saturating_sub(after.into()), self.tags, channel, micro)));
        self.tags += 1;
        self.latest = self.latest.max(Some(time));
    }

    /// The next tag with the time of its pulse, and its micro time, if no later tag can come before it. If no tag
    /// comes any more, that is any.
    pub(crate) fn pop(&mut self, is_end: bool) -> Option<(Tag, u32)> {
        let Reverse((pulse, ..)) = *self.waiting.peek()?;
        let certain = self.latest.map(|latest| latest.saturating_sub(MICRO_MAX.into()));
        if !is_end && Some(pulse) >= certain {
            return None;
        }
        let Reverse((time, _, channel, micro)) = self.waiting.pop()?;
        Some((Tag { time, channel }, micro))
    }
}
