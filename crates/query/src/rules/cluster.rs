//! Rule `cluster`: events that contain every tag up to the window after their first tag.
//!
//! Window 5: tags of channels 1, 2 and 1 at 0, 5 and 6 are the clusters {1, 2}, from 0 to 5, and {1}, from 6 on. A
//! cluster is counted in the range that holds its first tag, with its tags after that range, so that consecutive
//! ranges count each cluster once.

use std::collections::{BTreeMap, HashMap};

use crate::{
    error::Error,
    kernels::{
        rows::{MASK_ROWS, bits},
        simd::Simd,
    },
    partial::Open,
    rules::{
        definition::{Definition, Engine},
        groups::channels_of,
        sequential::{Machine, run},
        ways::part::GroupScan,
    },
    run::{
        facts::Facts,
        recording::{Recording, Source},
        scope::Scope,
        time_range::TimeRange,
    },
    scan::{
        morsels::{Execution, Interval},
        selection::{Buffers, Selected, Selection, keep_only},
    },
};

/// The largest number of channels that can be distinguished: the bits of a set.
const MOST_CHANNELS: usize = 64;

pub(crate) struct Cluster;

impl Definition for Cluster {
    fn key(&self) -> &'static str {
        "cluster"
    }

    fn summary(&self) -> &'static str {
        "Events: all tags up to the window after the first; one row per set of channels"
    }

    fn engine(&self) -> Engine {
        Engine::Clusters
    }

    fn takes_veto(&self) -> bool {
        false
    }

    /// A cluster takes tags after its first one.
    fn look_ahead(&self, window: i64) -> i64 {
        window
    }
}

/// Returns the channels whose tags form clusters, ascending.
pub(crate) fn channels(scope: &Scope, facts: &Facts) -> Result<Vec<u16>, Error> {
    let channels = scope.in_use(facts);
    let channels = channels_of(&[channels]);
    if channels.len() > MOST_CHANNELS {
        let (channels, most) = (channels.len(), MOST_CHANNELS);
        return Err(Error::ClusterChannels { channels, most });
    }
    Ok(channels)
}

/// The state of rule `cluster`: a cluster opens at the first tag after the previous cluster, and takes every
/// tag up to the window after that tag.
#[derive(Clone)]
pub(crate) struct Clusters {
    window: i64,
    /// Its channels have the numbers below.
    channels: u8,
    range: TimeRange,
    /// The first time of the open cluster, and one bit for each dense number in it.
    open: Option<(i64, u64)>,
}

/// How often each set of dense numbers (one bit per number) was a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    /// The counts of the sets that contain only the first numbers.
    few: Vec<u64>,
    others: HashMap<u64, u64>,
}

/// Sets of this many first numbers are counted in a table of 32 KiB.
const FEW: u32 = 12;

impl Machine for Clusters {
    type Counts = Sets;

    fn sees(&self, number: u8) -> bool {
        number < self.channels
    }

    fn push_alone(&self, tags: Selected<'_>, alone: &[u64], sets: &mut Sets) {
        let inside = |limit: Option<i64>, open| {
            limit.map_or(open, |limit| tags.time.partition_point(|&time| time < limit))
        };
        let rows = inside(self.range.from, 0)..inside(self.range.to, tags.time.len());
        let mut counts = [0_u64; 64];
        let steps = tags.number.chunks(MASK_ROWS).zip(alone).enumerate();
        for (step, (numbers, &alone)) in steps {
            let mut alone = [alone];
            let first = step * MASK_ROWS;
            let from = |row: usize| row.saturating_sub(first);
            keep_only(&mut alone, from(rows.start)..from(rows.end));
            for row in bits(alone[0]) {
                counts[usize::from(numbers[row]) % 64] += 1;
            }
        }
        for (number, count) in counts.into_iter().enumerate().filter(|&(_, count)| count > 0) {
            sets.add(1 << number, count);
        }
    }

    fn push(&mut self, time: i64, number: u8, sets: &mut Sets) {
        match &mut self.open {
            Some((first, set)) if time - *first <= self.window => *set |= 1 << number,
            _ => {
                self.finish(sets);
                self.open = Some((time, 1 << number));
            }
        }
    }

    fn finish(&mut self, sets: &mut Sets) {
        if let Some((first, set)) = self.open.take()
            && self.range.contains(first)
        {
            sets.add(set, 1);
        }
    }

    fn add_alone(&self, number: u8, tags: u64, sets: &mut Sets) {
        if tags > 0 {
            sets.add(1 << number, tags);
        }
    }

    fn add_pairs(&self, numbers: [u8; 2], pairs: u64, sets: &mut Sets) {
        let bit = |number: u8| if self.sees(number) { 1 << number } else { 0 };
        let set = bit(numbers[0]) | bit(numbers[1]);
        if pairs > 0 && set != 0 {
            sets.add(set, pairs);
        }
    }
}

impl Default for Sets {
    fn default() -> Self {
        Self { few: vec![0; 1 << FEW], others: HashMap::new() }
    }
}

impl Sets {
    fn add(&mut self, set: u64, count: u64) {
        match usize::try_from(set).ok().and_then(|set| self.few.get_mut(set)) {
            Some(few) => *few += count,
            None => *self.others.entry(set).or_default() += count,
        }
    }

    /// Iterates over all sets that occurred, with their counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let few = (0..).zip(self.few.iter().copied()).filter(|&(_, count)| count > 0);
        few.chain(self.others.iter().map(|(&set, &count)| (set, count)))
    }
}

/// The result of rule `cluster`.
pub(crate) struct Clustered {
    /// Each set of channels that was a cluster, ascending, with its count. Sorted by set.
    pub sets: BTreeMap<Vec<u16>, u128>,
    /// The last cluster of each source, if it reaches the end of the range.
    pub open: Vec<Open>,
}

/// Counts by rule `cluster` over all sources, from the end of `before`; the channels of `part` are ascending.
pub(crate) fn clusters(
    part: &GroupScan,
    recording: &Recording<'_>,
    before: Option<&[Open]>,
    execution: &Execution,
) -> Clustered {
    let (window, range) = (part.window, part.scope.range);
    // At most MOST_CHANNELS.
    let channels = u8::try_from(part.channels.len()).unwrap_or(u8::MAX);
    let pass = recording.pass(range);
    let mut total: HashMap<u64, u128> = HashMap::new();
    let mut clustered = Clustered { sets: BTreeMap::new(), open: Vec::new() };
    for (number, source) in (0..).zip(&recording.sources) {
        let mut machine = Clusters { window, channels, range, open: None };
        let known = before.unwrap_or(&[]).iter().find(|open| open.source == number);
        // A cluster that was already counted takes tags, but is not counted again: it begins before the
        // range.
        machine.open = known.map(|open| (open.first, 0));
        let mut outcome = run(&[machine], part, before.is_some(), pass, source, execution);
        if let Some(mut machine) = outcome.ends[0].take() {
            let mut sets = Sets::default();
            if let Some(to) = range.to {
                machine.complete(source, &part.selection, to, execution.simd);
                let reaches = |&(first, _): &(i64, u64)| first >= to.saturating_sub(window);
                let first = machine.open.filter(reaches).map(|(first, _)| first);
                clustered.open.extend(first.map(|first| Open { source: number, first }));
            }
            machine.finish(&mut sets);
            outcome.counts.push(vec![sets]);
        }
        for (set, count) in outcome.counts.iter().flatten().flat_map(Sets::counted) {
            *total.entry(set).or_default() += u128::from(count);
        }
    }
    for (set, count) in total {
        let is_in_set = |&(bit, _): &(u32, _)| set >> bit & 1 == 1;
        let channels = (0..).zip(&part.channels).filter(is_in_set).map(|(_, &channel)| channel);
        clustered.sets.insert(channels.collect(), count);
    }
    clustered
}

impl Clusters {
    /// Adds the tags from `to` on that still belong to the open cluster.
    fn complete(&mut self, source: &Source<'_>, selection: &Selection, to: i64, simd: Simd) {
        let Some((first, set)) = &mut self.open else { return };
        let end = first.checked_add(self.window).and_then(|last| last.checked_add(1));
        if end.is_some_and(|end| end <= to) {
            return;
        }
        let mut buffers = Buffers::default();
        let after = Interval { start: to, end };
        for &number in selection.select(simd, source, after, &mut buffers).number {
            *set |= 1 << number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coincidences, Delay, Groups, Kind as _, Rule, Veto, oracle};
    use proptest::prelude::*;
    use tagq_sampling::random_cases;
    use tagq_store::{Channels, Tags};

    type Sources = Vec<Vec<(i64, u16)>>;

    fn sources() -> impl Strategy<Value = Sources> {
        let source = prop::collection::vec((-40_i64..200, 0_u16..5), 0..60).prop_map(|mut tags| {
            tags.sort_by_key(|&(time, _)| time);
            tags
        });
        prop::collection::vec(source, 1..3)
    }

    fn recording(sources: &Sources) -> Recording<'static> {
        let source = |tags: &Vec<(i64, u16)>| {
            let time: Vec<i64> = tags.iter().map(|&(time, _)| time).collect();
            let label: Vec<u16> = tags.iter().map(|&(_, label)| label).collect();
            let tags = Tags {
                time: (&*time.leak()).into(),
                channels: Channels::U16((&*label.leak()).into()),
            };
            Recording::from_tags(tags).sources.remove(0)
        };
        Recording::new(sources.iter().map(source).collect())
    }

    fn scope(delays: &[(u16, i64)], range: [Option<i64>; 2]) -> Scope {
        let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
        Scope { channels: None, delays, range: TimeRange { from: range[0], to: range[1] } }
    }

    fn sets(
        recording: &Recording<'_>,
        channels: &[u16],
        window: i64,
        scope: &Scope,
        execution: &Execution,
    ) -> BTreeMap<Vec<u16>, u128> {
        let scope = Scope { channels: Some(channels.to_vec()), ..scope.clone() };
        let (groups, rule) = (Groups::EveryPair, Rule::Cluster);
        let query = Coincidences { groups, rule, window, veto: None, scope };
        let rows = query.run(recording, execution).unwrap().rows.into_iter();
        rows.map(|row| (row.channels, row.count.into())).collect()
    }

    fn ranges() -> impl Strategy<Value = [Option<i64>; 2]> {
        let end = || prop::option::weighted(0.4, -60_i64..220);
        (end(), end()).prop_map(|(from, to)| [from, to])
    }

    fn delays() -> impl Strategy<Value = Vec<(u16, i64)>> {
        prop::collection::vec(-90_i64..90, 0..4).prop_map(|d| (0..).zip(d).collect())
    }

    proptest! {
        #![proptest_config(random_cases(1_000))]

        #[test]
        fn once_is_the_greedy_matching(
            sources in sources(),
            window in 0_i64..40,
            delays in delays(),
            range in ranges(),
            guard in prop::option::of(0_i64..20),
            rows in 1_usize..8,
        ) {
            let groups = vec![vec![0, 1], vec![3, 0, 2], vec![9, 1], vec![2, 1, 0, 3]];
            let veto = guard.map(|guard| Veto { channels: vec![4], guard });
            let execution = Execution { simd: Simd::best(), morsel_rows: Some(rows) };
            let scope = scope(&delays, range);
            let forbids = (if guard.is_some() { &[4][..] } else { &[] }, guard.unwrap_or(0));
            let query = Coincidences {
                groups: Groups::Listed(groups.clone()),
                rule: Rule::Once,
                window,
                veto,
                scope,
            };
            for row in query.run(&recording(&sources), &execution).unwrap().rows {
                let group = &row.channels;
                let expected = oracle::once(&sources, group, window, &delays, forbids, range);
                prop_assert_eq!(row.count, expected, "{:?}", group);
            }
        }

        #[test]
        fn clusters_take_all_up_to_the_window(
            sources in sources(),
            window in 0_i64..40,
            delays in delays(),
            range in ranges(),
            rows in 1_usize..8,
        ) {
            let channels = [2, 0, 3];
            let execution = Execution { simd: Simd::best(), morsel_rows: Some(rows) };
            let scope = scope(&delays, range);
            let rows = sets(&recording(&sources), &channels, window, &scope, &execution);
            let expected = oracle::clusters(&sources, &channels, window, &delays, range);
            for (set, count) in &rows {
                let same = expected.iter().filter(|other| *other == set).count();
                prop_assert_eq!(*count, same as u128, "{:?}", set);
            }
            prop_assert_eq!(rows.values().sum::<u128>(), expected.len() as u128);
        }
    }

    /// Tags alone and in runs at every place of a mask, and across the edges of masks.
    #[test]
    fn tags_that_are_alone_are_found_at_every_place() {
        let time = |i: i64| 9 * i - [0, 6, 7, 0, 0][usize::try_from(i % 5).unwrap()];
        let label = |i: i64| u16::try_from(i % 7 % 3).unwrap();
        let lens = [0, 1, 2, 63, 64, 65, 66, 127, 128, 129, 200];
        // Pairs begin at every fifth row, including the last row of a mask.
        for (len, first) in lens.into_iter().flat_map(|len| (0..5).map(move |first| (len, first))) {
            let sources =
                vec![(first..first + len).map(|i| (time(i), label(i))).collect::<Vec<_>>()];
            for (simd, range) in Simd::available()
                .into_iter()
                .flat_map(|simd| [[None; 2], [Some(200), Some(1_100)]].map(|range| (simd, range)))
            {
                let execution = Execution { simd, morsel_rows: None };
                let scope = scope(&[], range);
                let recording = recording(&sources);
                let rows = sets(&recording, &[0, 1, 2], 3, &scope, &execution);
                let expected = oracle::clusters(&sources, &[0, 1, 2], 3, &[], range);
                for (set, count) in &rows {
                    let same = expected.iter().filter(|other| *other == set).count();
                    assert_eq!(*count, same as u128, "{set:?} of {len}");
                }
                assert_eq!(rows.values().sum::<u128>(), expected.len() as u128);
                let groups = Groups::Listed(vec![vec![0, 1], vec![2, 1, 0]]);
                let query = Coincidences { groups, rule: Rule::Once, window: 3, veto: None, scope };
                for row in query.run(&recording, &execution).unwrap().rows {
                    let expected = oracle::once(&sources, &row.channels, 3, &[], (&[], 0), range);
                    assert_eq!(row.count, expected, "{:?} of {len}", row.channels);
                }
            }
        }
    }

    #[test]
    fn many_channels_have_sets_of_their_own() {
        // Channel 60 is past the table of small sets.
        let channels: Vec<u16> = (0..64).collect();
        let tags = vec![(0, 60), (1, 3), (1, 60), (50, 3), (90, 63)];
        let execution = Execution::best();
        let scope = Scope::default();
        let rows = sets(&recording(&vec![tags]), &channels, 5, &scope, &execution);
        assert_eq!(rows, [(vec![3], 1), (vec![63], 1), (vec![3, 60], 1)].into());
    }
}
