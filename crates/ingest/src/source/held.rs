//! Tags of a growing source that wait in memory for late ones, from one commit to the next.

use tagq_store::{Source, SourceFacts};

use crate::source::{order::Order, resume::Points};

/// Tags of a source that were read and are not committed, and where reading continues after them.
///
/// A follower hands it from one [`crate::ingest_holding`] to the next, so that no byte of the source is read
/// twice. Without it, reading begins where the store says, with the same result.
pub struct Held {
    pub(crate) order: Order,
    pub(crate) points: Points,
    /// The byte after the tags that were read.
    pub(crate) byte: u64,
    /// The source as it was committed.
    facts: SourceFacts,
    rows: u64,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("byte", &self.byte)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Held {
    /// Holds nothing: the file is read again from where the store says. Rows up to the time `last` are
    /// committed.
    pub(crate) fn read_again(horizon: usize, facts: &SourceFacts, last: Option<i64>) -> Self {
        Self {
            order: Order::resumed(horizon, &facts.resume, facts.read_tags, last),
            points: Points::new(facts.resume, horizon),
            byte: facts.resume.byte,
            facts: facts.clone(),
            rows: facts.resume.rows,
        }
    }

    /// Holds the tags that wait in `order` once the source is listed as `facts`, its rows up to the time
    /// `last`; `None` where reading did not end at a checkpoint.
    pub(crate) fn after(
        mut order: Order,
        points: Points,
        facts: SourceFacts,
        last: Option<i64>,
    ) -> Option<Self> {
        let byte = points.end(order.number)?;
        let rows = order.released_rows();
        order.commit(last);
        Some(Self { order, points, byte, facts, rows })
    }

    /// Itself, when it belongs to the source as the store has it.
    pub(crate) fn of(self, source: &Source) -> Option<Self> {
        (self.facts == source.facts && self.rows == source.rows).then_some(self)
    }
}
