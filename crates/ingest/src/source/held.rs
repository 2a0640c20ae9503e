//! Tags of a growing source that are held in memory from one commit to the next, because late tags may
//! belong before them.

use tagq_store::{Source, SourceFacts};

use crate::{
    formats::format::Checkpoint,
    source::{order::Order, resume::Points},
};

/// Tags of a source that were read and are not committed, and where reading continues after them.
///
/// A follower passes it from one [`crate::ingest_holding`] to the next, so that no byte of the source is
/// read twice. Without it, reading starts at the resume point of the store, with the same result.
pub struct Held {
    pub(crate) order: Order,
    pub(crate) points: Points,
    /// The place after the tags that were read.
    pub(crate) start: Checkpoint,
    /// The source as it was committed.
    facts: SourceFacts,
    rows: u64,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("start", &self.start)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Held {
    /// Holds no tags: the file is read again from its resume point. Rows up to the time `last` are
    /// committed.
    pub(crate) fn read_again(horizon: usize, facts: &SourceFacts, last: Option<i64>) -> Self {
        Self {
            order: Order::resumed(horizon, &facts.resume, facts.read_tags, last),
            points: Points::new(facts.resume, horizon),
            start: Checkpoint { byte: facts.resume.byte, overflow: facts.resume.overflow },
            facts: facts.clone(),
            rows: facts.resume.rows,
        }
    }

    /// Holds the tags in `order` after the source is listed as `facts`, with rows up to the time `last`.
    /// Returns `None` if reading did not end at a checkpoint.
    pub(crate) fn after(
        mut order: Order,
        points: Points,
        facts: SourceFacts,
        last: Option<i64>,
    ) -> Option<Self> {
        let start = points.end(order.number)?;
        let rows = order.released_rows();
        order.commit(last);
        Some(Self { order, points, start, facts, rows })
    }

    /// Returns itself if it belongs to the last commit of the source.
    pub(crate) fn of(self, source: &Source) -> Option<Self> {
        (self.facts == source.facts && self.rows == source.rows).then_some(self)
    }
}
