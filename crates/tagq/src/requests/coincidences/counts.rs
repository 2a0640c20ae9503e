//! Counts of groups before any estimate: numbers that add up over runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tagq_query::{
    Coincidences as Query, Error as QueryError, Estimate, GroupCount, Groups, Heralded, Rule,
    Scope, SourceSingles, Tally, Terms,
};

use crate::error::Error;
use crate::requests::{
    coincidences::{
        heralds::{OfHeralds, combined, heralded},
        shifted::{Moved, Shift, found},
    },
    ledger::Ledger,
};

/// Counts of one group, in one bin of a trace or over the whole range.
pub(crate) struct GroupCounts {
    /// Start of the bin since the first tag of the run, and whether the bin is partial.
    pub start: Option<(i64, bool)>,
    pub channels: Vec<u16>,
    pub counts: Counts,
    /// The share of each block of time in the counts; empty without block errors.
    pub blocks: Vec<Counts>,
}

/// Numbers that add up over runs, and over blocks of time.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub count: u64,
    /// Singles of the channels per source; a block has its part of each source.
    pub sources: Vec<SourceSingles>,
    /// The counts with channels moved.
    moved: Vec<Moved>,
    /// With a veto, the pairs of the heralds that it leaves: those of each channel of a pair.
    heralding: [Option<OfHeralds>; 2],
    /// The counts of a heralded g2.
    heralded: Option<Heralded>,
}

impl Counts {
    /// Counts the values that accompany the counts of groups.
    fn of_rows(
        ledger: &Ledger<'_>,
        query: &Query,
        rows: Vec<GroupCount>,
        shift: Option<Shift>,
    ) -> Result<Rows, QueryError> {
        let recording = ledger.recording();
        let of = |GroupCount { channels, count, sources }: GroupCount| {
            let moved = match shift {
                Some(shift) => shift.counts_by(recording, query, &channels, &|query| {
                    Ok(ledger.answer(query)?.rows[0].count)
                })?,
                None => Vec::new(),
            };
            let mut heralding = [None, None];
            for (of, heralding) in heralding.iter_mut().enumerate() {
                *heralding = OfHeralds::counted(recording, query, (&channels, of), shift)?;
            }
            let heralded = heralded(ledger, query, (&channels, count, &sources))?;
            Ok((channels, Self { count, sources, moved, heralding, heralded }))
        };
        rows.into_iter().map(of).collect()
    }

    /// Adds the counts of other sources.
    fn add(&mut self, other: Self) -> Option<()> {
        self.count = self.count.checked_add(other.count)?;
        self.sources.extend(other.sources);
        add_moved(&mut self.moved, other.moved);
        for (heralding, more) in self.heralding.iter_mut().zip(other.heralding) {
            match (heralding, more) {
                (Some(of), Some(more)) => {
                    of.count = of.count.checked_add(more.count)?;
                    of.heralds = of.heralds.checked_add(more.heralds)?;
                    add_moved(&mut of.moved, more.moved);
                }
                (of, more) => *of = of.take().or(more),
            }
        }
        match (&mut self.heralded, other.heralded) {
            (Some(of), Some(more)) => {
                *of = combined(of, &more, u64::checked_add, i64::checked_add)?;
            }
            (of, more) => *of = of.or(more),
        }
        Some(())
    }

    /// Returns the counts without one of the blocks.
    fn without(&self, block: &Self) -> Self {
        let less = |a: u64, b: u64| a.saturating_sub(b);
        let moved = |all: &[Moved], part: &[Moved]| -> Vec<Moved> {
            all.iter().zip(part).map(|(all, part)| all.without(part)).collect()
        };
        let sources = self.sources.iter().zip(&block.sources);
        let heralding = [0, 1].map(|i| {
            let (all, part) = self.heralding[i].as_ref().zip(block.heralding[i].as_ref())?;
            Some(OfHeralds {
                count: less(all.count, part.count),
                heralds: less(all.heralds, part.heralds),
                moved: moved(&all.moved, &part.moved),
            })
        });
        let heralded = self.heralded.zip(block.heralded).and_then(|(all, part)| {
            let less = |a: u64, b: u64| Some(less(a, b));
            combined(&all, &part, less, i64::checked_sub)
        });
        Self {
            count: less(self.count, block.count),
            sources: sources.map(|(source, part)| source.without(part)).collect(),
            moved: moved(&self.moved, &block.moved),
            heralding,
            heralded,
        }
    }

    fn live(&self) -> f64 {
        self.sources.iter().map(|source| source.live as f64).sum()
    }

    /// Returns the ticks in which coincidences are possible.
    fn overlap(&self) -> f64 {
        self.sources.iter().map(|source| source.overlap as f64).sum()
    }

    /// Returns the estimates from the counts, and a note for the user.
    fn estimate(&self, terms: &Terms, is_shifted: bool) -> (Estimate, Option<String>) {
        let channels = self.sources.first().map_or(0, |source| source.singles.len());
        let found = is_shifted.then(|| found(channels, &self.moved));
        let (shifted, note) = found.map_or((None, None), |found| (Some(found.shifted), found.note));
        let tally = Tally {
            count: self.count,
            sources: &self.sources,
            shifted,
            heralding: self.heralding.each_ref().map(|of| of.as_ref()?.estimate()),
            heralded: self.heralded,
        };
        (Estimate::new(&tally, terms), note)
    }
}

fn add_moved(all: &mut Vec<Moved>, more: Vec<Moved>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.iter_mut().zip(more).for_each(|(moved, more)| moved.add(&more));
    }
}

impl GroupCounts {
    /// Counts a query, the values that accompany its counts, and its blocks; `start` is that of a bin of a trace.
    pub(super) fn of(
        ledger: &Ledger<'_>,
        query: &Query,
        start: Option<(i64, bool)>,
        how: How,
    ) -> Result<Vec<Self>, QueryError> {
        let rows = ledger.answer(query)?.rows;
        let rows = Counts::of_rows(ledger, query, rows, how.shift)?;
        let mut blocks = match how.blocks {
            Some(blocks) => in_blocks(ledger, query, blocks, how.shift)?,
            None => Vec::new(),
        };
        let tallied = |(channels, counts): (Vec<u16>, Counts)| {
            let own = |(block, sources): &mut (HashMap<Vec<u16>, Counts>, Vec<SourceSingles>)| {
                let nothing = || Counts { sources: sources.clone(), ..Counts::default() };
                block.remove(&channels).unwrap_or_else(nothing)
            };
            Self { start, blocks: blocks.iter_mut().map(own).collect(), channels, counts }
        };
        Ok(rows.into_iter().map(tallied).collect())
    }

    /// Returns the tags of each channel of the group.
    pub(super) fn singles(&self) -> Vec<u64> {
        let sources = &self.counts.sources;
        let of = |i: usize| sources.iter().map(|source| source.singles[i]).sum();
        (0..self.channels.len()).map(of).collect()
    }

    /// Returns the estimates from the counts, and a note for the user.
    pub(super) fn estimate(&self, terms: &Terms, is_shifted: bool) -> (Estimate, Option<String>) {
        let (estimate, note) = self.counts.estimate(terms, is_shifted);
        if self.blocks.is_empty() {
            return (estimate, note);
        }
        let (live, overlap) = (self.counts.live(), self.counts.overlap());
        let without = |block: &Counts| {
            let left = self.counts.without(block);
            // A given live time is divided in the same proportions as the recorded one.
            let live_s = terms.live_s.map(|given| given * left.live() / live);
            let share = left.overlap() / overlap;
            (left.estimate(&Terms { live_s, ..*terms }, is_shifted).0, share)
        };
        let left_out: Vec<(Estimate, f64)> = self.blocks.iter().map(without).collect();
        (estimate.with_block_errors(&left_out), note)
    }

    fn add(&mut self, other: Self) -> Result<(), QueryError> {
        let range = || QueryError::CountRange { channels: self.channels.clone() };
        self.counts.add(other.counts).ok_or_else(range)?;
        for (block, more) in self.blocks.iter_mut().zip(other.blocks) {
            block.add(more).ok_or_else(range)?;
        }
        if let (Some(start), Some(more)) = (&mut self.start, other.start) {
            start.1 |= more.1;
        }
        Ok(())
    }
}

/// The methods for accidentals and errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub shift: Option<Shift>,
    pub blocks: Option<u32>,
}

/// The counts of some groups.
type Rows = Vec<(Vec<u16>, Counts)>;

/// The counts of each group in a block, and the singles of its sources for groups without counts.
type Block = (HashMap<Vec<u16>, Counts>, Vec<SourceSingles>);

/// Counts the blocks of time.
fn in_blocks(
    ledger: &Ledger<'_>,
    query: &Query,
    blocks: u32,
    shift: Option<Shift>,
) -> Result<Vec<Block>, QueryError> {
    // The list of groups does not depend on the block.
    let in_use = query.scope.in_use(ledger.recording());
    let channels = match &query.groups {
        Groups::Listed(_) if query.rule != Rule::Cluster => query.scope.channels.clone(),
        _ => Some(in_use),
    };
    let counted = ledger.in_blocks(query.scope.range, blocks, |source, range| {
        let scope = Scope { channels: channels.clone(), range, ..query.scope.clone() };
        let query = Query { scope, ..query.clone() };
        let rows = source.answer(&query)?.rows;
        let rows = Counts::of_rows(source, &query, rows, shift)?;
        let live = source.recording().sources[0].live().ticks_in(range);
        Ok((rows, SourceSingles::new(live, Vec::new())))
    })?;
    let block = |sources: Vec<(Rows, SourceSingles)>| {
        let mut all: HashMap<Vec<u16>, Counts> = HashMap::new();
        let mut nothing = Vec::new();
        for (rows, empty) in sources {
            for (channels, counts) in rows {
                let known = all
                    .entry(channels.clone())
                    .or_insert_with(|| Counts { sources: nothing.clone(), ..Counts::default() });
                known.add(counts).ok_or(QueryError::CountRange { channels })?;
            }
            nothing.push(empty.clone());
            // Sets that do not occur in this source still get its time.
            for counts in all.values_mut().filter(|counts| counts.sources.len() < nothing.len()) {
                counts.sources.push(empty.clone());
            }
        }
        Ok((all, nothing))
    };
    counted.into_iter().map(block).collect()
}

/// The singles of bins and sets with a count of zero: of each source, and of each block per source.
pub(super) type Nothing = (Vec<SourceSingles>, Vec<Vec<SourceSingles>>);

/// Adds the rows of several runs with the same bin and group. `nothing` returns the values of a given
/// run for bins and channels with a count of zero; only sets that are found (clusters) need it.
pub(super) fn add_up(
    mut of_runs: Vec<Vec<GroupCounts>>,
    are_found: bool,
    nothing: impl Fn(usize, &[(Option<i64>, Vec<u16>)]) -> Result<Vec<Nothing>, Error>,
) -> Result<Vec<GroupCounts>, Error> {
    if of_runs.len() == 1 {
        return Ok(of_runs.remove(0));
    }
    let key = |row: &GroupCounts| (row.start.map(|(start, _)| start), row.channels.clone());
    if are_found {
        let all: BTreeSet<_> = of_runs.iter().flatten().map(key).collect();
        for (of, rows) in of_runs.iter_mut().enumerate() {
            let own: BTreeSet<_> = rows.iter().map(key).collect();
            let missing: Vec<_> = all.difference(&own).cloned().collect();
            for ((start, channels), (sources, blocks)) in missing.iter().zip(nothing(of, &missing)?)
            {
                let zero = |sources| Counts { sources, ..Counts::default() };
                rows.push(GroupCounts {
                    start: start.map(|start| (start, false)),
                    channels: channels.clone(),
                    counts: zero(sources),
                    blocks: blocks.into_iter().map(zero).collect(),
                });
            }
        }
    }
    let mut added: Vec<GroupCounts> = Vec::new();
    let mut place = BTreeMap::new();
    for row in of_runs.into_iter().flatten() {
        let place = *place.entry(key(&row)).or_insert(added.len());
        match added.get_mut(place) {
            Some(known) => known.add(row)?,
            None => added.push(row),
        }
    }
    // Stable sort: groups stay in the requested order.
    if are_found {
        added.sort_by_key(|row| {
            (row.start.map(|(start, _)| start), row.channels.len(), row.channels.clone())
        });
    } else {
        added.sort_by_key(|row| row.start.map(|(start, _)| start));
    }
    Ok(added)
}
