//! What of a growing source waits in memory for tags that come late, from one commit to the next.

use tagq_store::{Source, SourceFacts};

use crate::{order::Order, resume::Points};

/// Tags of a source that were read and are not committed, and where reading goes on behind them.
///
/// Whoever follows a source hands it from one
/// [`crate::ingest_holding`] to the next, so that no byte of the source is
/// read twice. The store says where reading begins without it; what comes of both is the same.
pub struct Held {
    pub(crate) order: Order,
    pub(crate) points: Points,
    /// Behind the tags that were read.
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
    /// Nothing: the file is read again from where the store says, up to what is committed until the time
    /// `last` and on.
    pub(crate) fn read_again(horizon: usize, facts: &SourceFacts, last: Option<i64>) -> Self {
        Self {
            order: Order::resumed(horizon, &facts.resume, facts.read_tags, last),
            points: Points::new(facts.resume, horizon),
            byte: facts.resume.byte,
            facts: facts.clone(),
            rows: facts.resume.rows,
        }
    }

    /// What waits in `order` once the source is listed as `facts`, its rows up to the time `last`;
    /// nothing where reading ended at no place to go on from.
    pub(crate) fn behind(
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
