//! What was counted of groups before anything is estimated of it: numbers that add up over runs.

use std::collections::{BTreeMap, BTreeSet};

use tagq_query::{
    Coincidences as Query, Error as QueryError, Execution, GroupCount, Recording, SourceSingles,
};

use super::{
    coincidences::arms,
    shifted::{Moved, Shift},
};
use crate::{Error, cache::Kept};

/// What was counted of one group, in one bin of a trace or over all.
pub(super) struct Tallied {
    /// Where the bin begins, since the run's first tag, and whether it is partial.
    pub start: Option<(i64, bool)>,
    pub channels: Vec<u16>,
    pub count: u64,
    /// What each source had of the channels.
    pub sources: Vec<SourceSingles>,
    /// The counts with channels moved.
    pub moved: Vec<Moved>,
    /// The pairs of a herald with each of two others.
    pub arms: Option<[u64; 2]>,
}

impl Tallied {
    /// Counts what stands beside the count of a group.
    pub(super) fn of(
        recording: &Recording<'_>,
        query: &Query,
        row: GroupCount,
        start: Option<(i64, bool)>,
        shift: Option<Shift>,
        kept: &Kept<'_>,
    ) -> Result<Self, QueryError> {
        let moved = match shift {
            Some(shift) => shift.counts(recording, query, &row, kept)?,
            None => Vec::new(),
        };
        let arms = match arms(query, &row.channels) {
            Some(arms) => {
                let arms = kept.answer(&arms, recording, &Execution::best())?;
                Some([arms.rows[0].count, arms.rows[1].count])
            }
            None => None,
        };
        let GroupCount { channels, count, sources } = row;
        Ok(Self { start, channels, count, sources, moved, arms })
    }

    /// Tags of each channel of the group.
    pub(super) fn singles(&self) -> Vec<u64> {
        let of = |i: usize| self.sources.iter().map(|source| source.singles[i]).sum();
        (0..self.channels.len()).map(of).collect()
    }

    fn add(&mut self, other: Self) -> Result<(), QueryError> {
        let range = || QueryError::CountRange { channels: self.channels.clone() };
        self.count = self.count.checked_add(other.count).ok_or_else(range)?;
        self.sources.extend(other.sources);
        for (moved, more) in self.moved.iter_mut().zip(other.moved) {
            moved.add(&more);
        }
        for (arm, more) in self.arms.iter_mut().flatten().zip(other.arms.into_iter().flatten()) {
            *arm = arm
                .checked_add(more)
                .ok_or_else(|| QueryError::CountRange { channels: other.channels.clone() })?;
        }
        if let (Some(start), Some(more)) = (&mut self.start, other.start) {
            start.1 |= more.1;
        }
        Ok(())
    }
}

/// Adds the rows of several runs: those of the same bin and group. `singles` gives what run so and so
/// had of bins and channels in which it counted nothing; only sets that are found, clusters, need it.
pub(super) fn add_up(
    mut of_runs: Vec<Vec<Tallied>>,
    are_found: bool,
    singles: impl Fn(usize, &[(Option<i64>, Vec<u16>)]) -> Result<Vec<Vec<SourceSingles>>, Error>,
) -> Result<Vec<Tallied>, Error> {
    if of_runs.len() == 1 {
        return Ok(of_runs.remove(0));
    }
    let key = |row: &Tallied| (row.start.map(|(start, _)| start), row.channels.clone());
    if are_found {
        let all: BTreeSet<_> = of_runs.iter().flatten().map(key).collect();
        for (of, rows) in of_runs.iter_mut().enumerate() {
            let own: BTreeSet<_> = rows.iter().map(key).collect();
            let missing: Vec<_> = all.difference(&own).cloned().collect();
            for ((start, channels), sources) in missing.iter().zip(singles(of, &missing)?) {
                rows.push(Tallied {
                    start: start.map(|start| (start, false)),
                    channels: channels.clone(),
                    count: 0,
                    sources,
                    moved: Vec::new(),
                    arms: None,
                });
            }
        }
    }
    let mut added: Vec<Tallied> = Vec::new();
    let mut place = BTreeMap::new();
    for row in of_runs.into_iter().flatten() {
        let place = *place.entry(key(&row)).or_insert(added.len());
        match added.get_mut(place) {
            Some(known) => known.add(row)?,
            None => added.push(row),
        }
    }
    // Stable: groups stay in the order asked.
    if are_found {
        added.sort_by_key(|row| {
            (row.start.map(|(start, _)| start), row.channels.len(), row.channels.clone())
        });
    } else {
        added.sort_by_key(|row| row.start.map(|(start, _)| start));
    }
    Ok(added)
}
