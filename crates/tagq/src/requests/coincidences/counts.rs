//! Counts of groups before any estimate: numbers that add up over runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;
use tagq_query::{
    Coincidences as Query, Counted, Error as QueryError, Estimate, Execution, GroupCount, Groups,
    Kind as _, Recording, Rule, Scope, SourceSingles, Tally, Terms, TimeRange,
};

use crate::error::Error;
use crate::requests::{
    blocks,
    coincidences::shifted::{Moved, Shift, found},
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
    /// The pairs of a herald with each of two other channels.
    arms: Option<[u64; 2]>,
    /// The tags of each channel that remain after the veto.
    left_by_veto: Option<Vec<u64>>,
}

/// Answers a query over a recording, from the cache or by counting.
pub(super) type Answering<'a> =
    &'a (dyn Fn(&Query, &Recording<'_>) -> Result<Counted, QueryError> + Sync);

impl Counts {
    /// Counts the values that accompany the counts of groups.
    fn of_rows(
        recording: &Recording<'_>,
        query: &Query,
        rows: Vec<GroupCount>,
        shift: Option<Shift>,
        answer: Answering<'_>,
    ) -> Result<Vec<(Vec<u16>, Self)>, QueryError> {
        let left = LeftByVeto::of(recording, query, &rows, shift)?;
        let of = |GroupCount { channels, count, sources }: GroupCount| {
            let moved = match shift {
                Some(shift) => shift.counts_by(recording, query, &channels, &|query| {
                    Ok(answer(query, recording)?.rows[0].count)
                })?,
                None => Vec::new(),
            };
            let arms = match arms(query, &channels) {
                Some(arms) => {
                    let arms = answer(&arms, recording)?;
                    Some([arms.rows[0].count, arms.rows[1].count])
                }
                None => None,
            };
            let left_by_veto = left.as_ref().map(|left| left.of_group(&channels));
            Ok((channels, Self { count, sources, moved, arms, left_by_veto }))
        };
        rows.into_iter().map(of).collect()
    }

    /// Adds the counts of other sources.
    fn add(&mut self, other: Self) -> Option<()> {
        let add = |a: u64, b: u64| a.checked_add(b);
        self.count = add(self.count, other.count)?;
        self.sources.extend(other.sources);
        if self.moved.is_empty() {
            self.moved = other.moved;
        } else {
            for (moved, more) in self.moved.iter_mut().zip(other.moved) {
                moved.add(&more);
            }
        }
        match (&mut self.arms, other.arms) {
            (Some(arms), Some(more)) => *arms = [add(arms[0], more[0])?, add(arms[1], more[1])?],
            (arms, more) => *arms = arms.or(more),
        }
        match (&mut self.left_by_veto, other.left_by_veto) {
            (Some(left), Some(more)) => {
                left.iter_mut().zip(more).for_each(|(left, more)| *left += more);
            }
            (left, more) => *left = left.take().or(more),
        }
        Some(())
    }

    /// Returns the counts without one of the blocks.
    fn without(&self, block: &Self) -> Self {
        let less = |a: u64, b: u64| a.saturating_sub(b);
        let sources = self.sources.iter().zip(&block.sources);
        Self {
            count: less(self.count, block.count),
            sources: sources.map(|(source, part)| source.without(part)).collect(),
            moved: self
                .moved
                .iter()
                .zip(&block.moved)
                .map(|(all, part)| all.without(part))
                .collect(),
            arms: self
                .arms
                .zip(block.arms)
                .map(|(all, part)| [0, 1].map(|i| less(all[i], part[i]))),
            left_by_veto: self.left_by_veto.as_ref().zip(block.left_by_veto.as_ref()).map(
                |(all, part)| all.iter().zip(part).map(|(all, part)| less(*all, *part)).collect(),
            ),
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
            left_by_veto: self.left_by_veto.as_deref(),
            arms: self.arms,
        };
        (Estimate::new(&tally, terms), note)
    }
}

/// The tags that remain after a veto, for the channels that need it.
struct LeftByVeto(HashMap<u16, u64>);

impl LeftByVeto {
    /// Counts them if singles divide vetoed counts: for measured accidentals, and for a heralded g2.
    fn of(
        recording: &Recording<'_>,
        query: &Query,
        rows: &[GroupCount],
        shift: Option<Shift>,
    ) -> Result<Option<Self>, QueryError> {
        let divides = |row: &&GroupCount| {
            (shift.is_some() && row.channels.len() == 2) || arms(query, &row.channels).is_some()
        };
        let mut channels: Vec<u16> =
            rows.iter().filter(divides).flat_map(|row| row.channels.clone()).collect();
        channels.sort_unstable();
        channels.dedup();
        if query.veto.is_none() || channels.is_empty() {
            return Ok(None);
        }
        let left = query.left_by_veto(recording, &channels, &Execution::best())?;
        Ok(left.map(|left| Self(channels.into_iter().zip(left).collect())))
    }

    fn of_group(&self, group: &[u16]) -> Vec<u64> {
        group.iter().map(|channel| self.0.get(channel).copied().unwrap_or(0)).collect()
    }
}

impl GroupCounts {
    /// Counts the values that accompany the counts of a query, and its blocks.
    pub(super) fn of(
        recording: &Recording<'_>,
        query: &Query,
        counted: Counted,
        start: Option<(i64, bool)>,
        how: How,
        answer: Answering<'_>,
    ) -> Result<Vec<Self>, QueryError> {
        let rows = Counts::of_rows(recording, query, counted.rows, how.shift, answer)?;
        let mut blocks = match how.blocks {
            Some(blocks) => in_blocks(recording, query, blocks, how.shift)?,
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

/// The counts of each group in a block, and the singles of its sources for groups without counts.
type Block = (HashMap<Vec<u16>, Counts>, Vec<SourceSingles>);

/// Counts every block of every source separately, so that blocks belong to one source.
fn in_blocks(
    recording: &Recording<'_>,
    query: &Query,
    blocks: u32,
    shift: Option<Shift>,
) -> Result<Vec<Block>, QueryError> {
    // The list of groups does not depend on the block.
    let in_use = query.scope.channels.clone().unwrap_or_else(|| recording.channels());
    let channels = match &query.groups {
        Groups::Listed(_) if query.rule != Rule::Cluster => query.scope.channels.clone(),
        _ => Some(in_use),
    };
    let ranges = blocks::ranges(recording, query.scope.range, blocks);
    let pieces = recording.pass(query.scope.range).in_pieces(ranges.len());
    let silent = recording.in_silence();
    let answer =
        |query: &Query, recording: &Recording<'_>| query.run(recording, &Execution::best());
    let block = |ranges: &Vec<TimeRange>| {
        pieces.begin()?;
        let mut all: HashMap<Vec<u16>, Counts> = HashMap::new();
        let mut nothing = Vec::new();
        for (s, &range) in ranges.iter().enumerate() {
            let scope = Scope { channels: channels.clone(), range, ..query.scope.clone() };
            let query = Query { scope, ..query.clone() };
            let source = silent.of_source(s);
            let rows = query.run(&source, &Execution::best())?.rows;
            let empty = SourceSingles::new(range.live_of(&source.sources[0]), Vec::new());
            for (channels, counts) in Counts::of_rows(&source, &query, rows, shift, &answer)? {
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
    ranges.par_iter().map(block).collect()
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

/// Returns the query that is counted next to a group of three with rule `herald`, also with each herald
/// once: the pairs of its herald by the same rule.
pub(super) fn arms(query: &Query, channels: &[u16]) -> Option<Query> {
    let [herald, a, b] = channels[..] else { return None };
    let groups = Groups::Listed(vec![vec![herald, a], vec![herald, b]]);
    matches!(query.rule, Rule::Herald | Rule::PerHerald).then(|| Query { groups, ..query.clone() })
}
