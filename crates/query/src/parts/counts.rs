//! What parts counted.

use std::collections::BTreeMap;

use crate::{error::Error, run::counts::Counts};

/// What some of the parts of a run counted. It can be added to that of the others, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartCounts {
    pub(super) counts: BTreeMap<Asked, Counts>,
    /// The row at an undelayed time of a source: both are of the source.
    pub(super) places: BTreeMap<(u32, i64), u64>,
    /// The tags of a channel between the first row of a part and a row inside it, by source, row and channel.
    pub(super) singles: BTreeMap<(u32, u64, u16), u64>,
    /// The rows of each part in each source, by source and part; only if there are any.
    pub(super) rows: BTreeMap<(u32, u32), PartRows>,
}

/// Counts that were asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    /// The source alone; `None` for all of them.
    pub source: Option<u32>,
    /// The key of the query.
    pub key: String,
    /// The range of delayed time.
    pub range: (Option<i64>, Option<i64>),
}

/// The rows of a part in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartRows {
    pub begin: u64,
    pub end: u64,
    /// The tags of each channel, ascending; channels without tags are left out.
    pub tags: Vec<(u16, u64)>,
}

impl PartCounts {
    /// Adds what other parts of the same run counted for the same question.
    ///
    /// # Errors
    /// [`Error::PartialSum`] for sums that do not fit, [`Error::PartialDamaged`] for counts of another shape.
    pub fn add(&mut self, other: Self) -> Result<(), Error> {
        for (asked, more) in other.counts {
            match self.counts.get_mut(&asked) {
                Some(counts) => counts.add(&more)?,
                None => drop(self.counts.insert(asked, more)),
            }
        }
        self.places.extend(other.places);
        self.singles.extend(other.singles);
        self.rows.extend(other.rows);
        Ok(())
    }

    /// Returns the counts of one part as those of part number `number`.
    #[must_use]
    pub fn numbered(mut self, number: u32) -> Self {
        let rows = self.rows.into_iter().map(|((of, _), rows)| ((of, number), rows));
        self.rows = rows.collect();
        self
    }
}
