//! The counts of parts of a run, which can be added in any order.
//!
//! The counts of a question are sums over the parts; tags before a time are stored by the part that holds the time.

use std::collections::BTreeMap;

use super::counter::CountQuestion;
use crate::{error::Error, run::counts::Counts};

/// The counts of some of the parts of a run. Those of other parts can be added in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartCounts {
    pub(super) counts: BTreeMap<Question, Counts>,
    /// The tags of a channel from the beginning of a part to a time inside it, by source, undelayed time and channel.
    pub(super) tags: BTreeMap<(u32, i64, u16), u64>,
    /// By the time at which a part begins, `None` for the first one: its tags by source and channel, if there are any.
    pub(super) totals: BTreeMap<Option<i64>, BTreeMap<(u32, u16), u64>>,
}

/// The query, source and range that counts belong to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Question {
    /// The source alone; `None` for all of them.
    pub source: Option<u32>,
    /// The key of the query.
    pub key: String,
    /// The range of delayed time.
    pub range: (Option<i64>, Option<i64>),
}

impl Question {
    pub(super) fn of(asked: &CountQuestion<'_>) -> Self {
        let range = (asked.range.from, asked.range.to);
        Self { source: asked.source, key: asked.what.key(), range }
    }
}

impl PartCounts {
    /// Adds the counts of other parts of the same run for the same question.
    ///
    /// # Errors
    /// [`Error::PartialSum`] for sums that do not fit, [`Error::PartialDamaged`] for counts of another shape.
    pub fn add(&mut self, other: Self) -> Result<(), Error> {
        for (question, more) in other.counts {
            match self.counts.get_mut(&question) {
                Some(counts) => counts.add(&more)?,
                None => drop(self.counts.insert(question, more)),
            }
        }
        self.tags.extend(other.tags);
        self.totals.extend(other.totals);
        Ok(())
    }
}
