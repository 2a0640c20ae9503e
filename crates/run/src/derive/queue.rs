//! Tags that wait, taken from the front.
//!
//! Taken tags are removed from memory only when they are at least half of all, so taking costs as much as the tags
//! taken.

use std::ops::Range;

use tagq_derived::LabelledTags;

/// Tags in order. Taking some of them costs as much as they are, however many wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    tags: LabelledTags,
    /// The first tag that was not taken.
    at: usize,
}

impl Queue {
    /// Returns the number of tags that wait.
    pub(super) fn len(&self) -> usize {
        self.tags.len() - self.at
    }

    /// Returns the time of the last tag that waits.
    pub(super) fn last_time(&self) -> Option<i64> {
        self.tags.times[self.at..].last().copied()
    }

    /// Appends later tags, and leaves none of them.
    pub(super) fn take_in(&mut self, tags: &mut LabelledTags) {
        if self.len() == 0 {
            self.tags.clear();
            self.at = 0;
            std::mem::swap(&mut self.tags, tags);
        } else {
            self.append(tags, 0..tags.len());
        }
        tags.clear();
    }

    /// Appends some later tags.
    pub(super) fn append(&mut self, tags: &LabelledTags, of: Range<usize>) {
        self.tags.append(tags, of);
    }

    /// Takes the tags before a time.
    pub(super) fn take(&mut self, until: i64) -> LabelledTags {
        let count = self.tags.times[self.at..].partition_point(|&time| time < until);
        if count == self.len() && self.at == 0 {
            return std::mem::take(&mut self.tags);
        }
        let mut taken = LabelledTags::default();
        taken.append(&self.tags, self.at..self.at + count);
        self.at += count;
        if self.at >= self.tags.len().div_ceil(2) {
            self.tags.remove_first(self.at);
            self.at = 0;
        }
        taken
    }
}
