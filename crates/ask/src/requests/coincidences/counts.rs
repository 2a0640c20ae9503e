//! Numbers of groups before any estimate: numbers that add up over runs.
//!
//! With tags up to 99, bins of 10 ticks and a guard of 20, the bins at 70, 80 and 90 are not final, because a veto at
//! 99 or later reaches down to 79. Runs and blocks of time are added and taken away as whole numbers; estimates are
//! computed from the sums.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tagq_query::{
    Coincidences as Query, Counted, Error as QueryError, Estimate, Facts, GroupCount, Groups,
    Heralded, Kind as _, Ledger, Rule, Scope, SinglesInScope, SourceSingles, Tally, Terms, TimeBin,
    TimeDivision, TimeRange,
};

use crate::requests::{
    coincidences::{
        heralds::{OfHeralds, combined, heralded},
        shifted::{Moved, Shift, found},
    },
    columns::Place,
    division::{block_ranges, each_bin, each_block},
    used::live_of,
};

/// A bin of a trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedBin {
    pub place: Place,
    /// Whether the range or the run ends in it.
    pub is_partial: bool,
}

/// Counts of one group, in one bin of a trace or over the whole range.
pub(crate) struct GroupCounts {
    /// The bin of a trace.
    pub bin: Option<CountedBin>,
    pub channels: Vec<u16>,
    pub counts: Numbers,
    /// The share of each block of time in the counts; empty without block errors.
    pub blocks: Vec<Numbers>,
}

/// Numbers that add up over runs, and over blocks of time.
#[derive(Clone, Default)]
pub(crate) struct Numbers {
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

impl Numbers {
    /// Counts the values that accompany the counts of groups.
    fn of_rows(
        ledger: &Ledger<'_>,
        query: &Query,
        rows: Vec<GroupCount>,
        shift: Option<Shift>,
    ) -> Result<GroupRows, QueryError> {
        let of = |GroupCount { channels, count, sources }: GroupCount| {
            let moved = match shift {
                Some(shift) => shift.counts_by(ledger.facts(), query, &channels, &|query| {
                    Ok(query.ask(ledger)?.rows[0].count)
                })?,
                None => Vec::new(),
            };
            let mut heralding = [None, None];
            for (of, heralding) in heralding.iter_mut().enumerate() {
                *heralding = OfHeralds::counted(ledger, query, (&channels, of), shift)?;
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
        let without = |block: &Numbers| {
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
        if let (Some(bin), Some(more)) = (&mut self.bin, other.bin) {
            bin.is_partial |= more.is_partial;
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
type GroupRows = Vec<(Vec<u16>, Numbers)>;

/// The counts of each group in a block, and the singles of its sources for groups without counts.
type Block = (HashMap<Vec<u16>, Numbers>, Vec<SourceSingles>);

/// Counts the blocks of time.
fn blocks_of(
    ledger: &Ledger<'_>,
    query: &Query,
    blocks: u32,
    shift: Option<Shift>,
) -> Result<Vec<Block>, QueryError> {
    // The list of groups does not depend on the block.
    let channels = match &query.groups {
        Groups::Listed(_) if query.rule != Rule::Cluster => query.scope.channels.clone(),
        _ => Some(query.scope.in_use(ledger.facts())),
    };
    let counted = each_block(ledger, query.scope.range, blocks, |source, range| {
        let scope = Scope { channels: channels.clone(), range, ..query.scope.clone() };
        let query = Query { scope, ..query.clone() };
        let rows = query.ask(source)?.rows;
        let rows = Numbers::of_rows(source, &query, rows, shift)?;
        let live = source.facts()[0].live().ticks_in(range);
        Ok((rows, SourceSingles::new(live, Vec::new())))
    })?;
    let block = |sources: Vec<(GroupRows, SourceSingles)>| {
        let mut all: HashMap<Vec<u16>, Numbers> = HashMap::new();
        let mut nothing = Vec::new();
        for (rows, empty) in sources {
            for (channels, counts) in rows {
                let known = all
                    .entry(channels.clone())
                    .or_insert_with(|| Numbers { sources: nothing.clone(), ..Numbers::default() });
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

/// The counts of a run, or of several.
pub(crate) struct Counts {
    /// Bin by bin, with all groups in each.
    pub groups: Vec<GroupCounts>,
    /// For rule `cluster`, by the place of each bin: the tags of all channels, from which those of sets that do not occur
    /// follow.
    found: BTreeMap<Option<Place>, SinglesInScope>,
    /// The live ticks of the selection.
    pub live: i128,
}

impl Counts {
    /// Counts a query, or each bin of time as if it were queried alone.
    pub(super) fn of(
        ledger: &Ledger<'_>,
        query: &Query,
        trace: Option<&TimeDivision>,
        how: How,
    ) -> Result<Self, QueryError> {
        let live = live_of(ledger.facts(), query.scope.range);
        let mut all = Self { groups: Vec::new(), found: BTreeMap::new(), live };
        let Some(division) = trace else {
            let counted = GroupCounts::of(ledger, query, None, how)?;
            all.add_bin(query, None, counted);
            return Ok(all);
        };
        let query_of = query_of(query, ledger.facts());
        let counted_bin =
            |bin: &TimeBin| CountedBin { place: Place::of(bin), is_partial: bin.is_partial() };
        let of_bin = |ledger: &Ledger<'_>, bin: &TimeBin| {
            GroupCounts::of(ledger, &query_of(bin), Some(counted_bin(bin)), how)
        };
        let frontier = |last| frontier(query, how.shift, last);
        for (bin, counted) in each_bin(ledger, &scope_of_bins(query), division, frontier, of_bin)? {
            all.add_bin(query, Some(Place::of(&bin)), counted);
        }
        Ok(all)
    }

    fn add_bin(
        &mut self,
        query: &Query,
        place: Option<Place>,
        (groups, singles): (Vec<GroupCounts>, SinglesInScope),
    ) {
        self.groups.extend(groups);
        if query.rule == Rule::Cluster {
            self.found.insert(place, singles);
        }
    }

    /// Adds rows of zeros for sets that were found in other runs.
    fn add_missing(&mut self, sets: &BTreeSet<(Option<Place>, Vec<u16>)>, blocks: u32) {
        let own: BTreeSet<_> = self.groups.iter().map(GroupCounts::key).collect();
        for (place, channels) in sets.difference(&own) {
            // A bin that the run does not have has no live time.
            let found = self.found.get(place);
            let zero = |sources| Numbers { sources, ..Numbers::default() };
            let live_of = |found: &SinglesInScope| {
                let ranges = block_ranges(found.facts(), found.scope().range, blocks);
                let of_block = |ranges: Vec<TimeRange>| {
                    let live = found.facts().iter().zip(ranges);
                    let live = live.map(|(source, range)| source.live().ticks_in(range));
                    zero(live.map(|t| SourceSingles::new(t, vec![0; channels.len()])).collect())
                };
                ranges.into_iter().map(of_block).collect()
            };
            self.groups.push(GroupCounts {
                bin: place.map(|place| CountedBin { place, is_partial: false }),
                channels: channels.clone(),
                counts: zero(found.map_or_else(Vec::new, |found| found.of_group(channels))),
                blocks: found.map_or_else(Vec::new, live_of),
            });
        }
    }
}

/// Returns the time before which counts are final. Tags moved back by a shift may arrive later by that shift.
fn frontier(query: &Query, shift: Option<Shift>, last: i64) -> Option<i64> {
    let longest = shift.map_or(Some(0), |shift| i64::try_from(shift.longest()).ok());
    query.frontier(last)?.checked_sub(longest?)
}

/// Returns the scope whose tags decide which bins of time there are: that of the channels of the groups, if they are named.
pub(super) fn scope_of_bins(query: &Query) -> Scope {
    match &query.groups {
        Groups::Listed(groups) => Scope { channels: Some(groups.concat()), ..query.scope.clone() },
        Groups::EveryPair | Groups::EveryFold(_) => query.scope.clone(),
    }
}

/// Returns the query of each bin.
pub(super) fn query_of<'q>(
    query: &'q Query,
    facts: &Facts,
) -> impl Fn(&TimeBin) -> Query + Sync + use<'q> {
    // The list of pairs does not depend on the bin.
    let fixed = match &query.groups {
        Groups::Listed(_) => query.scope.clone(),
        _ => Scope { channels: Some(query.scope.in_use(facts)), ..query.scope.clone() },
    };
    move |bin: &TimeBin| Query { scope: fixed.over(bin.range), ..query.clone() }
}

impl GroupCounts {
    /// Counts a query, the values that accompany its counts, and its blocks.
    fn of(
        ledger: &Ledger<'_>,
        query: &Query,
        bin: Option<CountedBin>,
        how: How,
    ) -> Result<(Vec<Self>, SinglesInScope), QueryError> {
        let Counted { rows, singles } = query.ask(ledger)?;
        let rows = Numbers::of_rows(ledger, query, rows, how.shift)?;
        let mut blocks = match how.blocks {
            Some(blocks) => blocks_of(ledger, query, blocks, how.shift)?,
            None => Vec::new(),
        };
        let tallied = |(channels, counts): (Vec<u16>, Numbers)| {
            let own = |(block, sources): &mut (HashMap<Vec<u16>, Numbers>, Vec<SourceSingles>)| {
                let nothing = || Numbers { sources: sources.clone(), ..Numbers::default() };
                block.remove(&channels).unwrap_or_else(nothing)
            };
            Self { bin, blocks: blocks.iter_mut().map(own).collect(), channels, counts }
        };
        Ok((rows.into_iter().map(tallied).collect(), singles))
    }

    fn place(&self) -> Option<Place> {
        self.bin.map(|bin| bin.place)
    }

    /// Returns the bin and the channels.
    fn key(&self) -> (Option<Place>, Vec<u16>) {
        (self.place(), self.channels.clone())
    }
}

/// Adds the rows of several runs with the same bin and group.
pub(super) fn add_up(mut of_runs: Vec<Counts>, blocks: Option<u32>) -> Result<Counts, QueryError> {
    if of_runs.len() == 1 {
        return Ok(of_runs.remove(0));
    }
    let are_found = of_runs.iter().any(|of| !of.found.is_empty());
    if are_found {
        let all: BTreeSet<_> =
            of_runs.iter().flat_map(|of| &of.groups).map(GroupCounts::key).collect();
        for of in &mut of_runs {
            of.add_missing(&all, blocks.unwrap_or(0));
        }
    }
    let live = of_runs.iter().map(|of| of.live).sum();
    let mut groups: Vec<GroupCounts> = Vec::new();
    let mut place = BTreeMap::new();
    for row in of_runs.into_iter().flat_map(|of| of.groups) {
        let place = *place.entry(row.key()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(known) => known.add(row)?,
            None => groups.push(row),
        }
    }
    // Stable sort: groups stay in the requested order.
    if are_found {
        groups.sort_by_key(|row| (row.place(), row.channels.len(), row.channels.clone()));
    } else {
        groups.sort_by_key(GroupCounts::place);
    }
    Ok(Counts { groups, found: BTreeMap::new(), live })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq_query::{Delay, Execution, Recording, Scan, TimeBins, Veto};
    use tagq_store::{Channels, Tags};

    /// Returns the partial bins for tags up to 99 and bins of 10.
    fn partial(rule: Rule, guard: Option<i64>, delay: i64) -> Vec<i64> {
        let time: Vec<i64> = (0..100).collect();
        let labels = [1, 2, 1, 2, 3].repeat(20);
        let tags = Tags { time: time[..].into(), channels: Channels::U8((&labels).into()) };
        let query = Query {
            groups: Groups::Listed(vec![vec![1, 2]]),
            rule,
            window: 12,
            veto: guard.map(|guard| Veto { channels: vec![3], guard }),
            scope: Scope {
                channels: Some(vec![1, 2]),
                delays: vec![Delay { channel: 3, ticks: delay }],
                range: TimeRange::default(),
            },
        };
        let recording = Recording::from_tags(tags);
        let all =
            TimeBins::of(&recording.facts(), &query.scope, &TimeDivision::Width(10), |last| {
                frontier(&query, None, last)
            });
        let all = all.unwrap().unwrap();
        let scan = Scan::new(&recording, &Execution::best());
        let needed = all.needed(&Ledger::of(&scan), &query.scope);
        let partial = all.bins()[needed].to_vec().into_iter().filter(TimeBin::is_partial);
        partial.map(|bin| 10 * bin.number).collect()
    }

    #[test]
    fn a_bin_is_final_when_no_veto_and_no_tag_of_a_cluster_can_come() {
        // At 99 another tag with the same time may still arrive, so that the bin that ends at 100 is
        // not final.
        assert_eq!(partial(Rule::All, None, 0), [90]);
        // A veto at 99 or later reaches down to 99 - 19 = 80; with 20 it reaches 79, in the bin before.
        assert_eq!(partial(Rule::All, Some(19), 0), [80, 90]);
        assert_eq!(partial(Rule::All, Some(20), 0), [70, 80, 90]);
        // Moved by -5, the next tag may arrive at 94.
        assert_eq!(partial(Rule::All, Some(14), -5), [80, 90]);
        assert_eq!(partial(Rule::All, Some(15), -5), [70, 80, 90]);
        // A cluster that starts at 87 may still grow at 99.
        assert_eq!(partial(Rule::Cluster, None, 0), [80, 90]);
    }
}
