//! Lists of tuples equal those of the oracle, in number and order.

use std::{collections::BTreeMap, ops::ControlFlow};

use proptest::prelude::*;
use tagq_query::{
    Coincidences, Execution, Groups, Kind as _, Recording, Rule, Scope, Simd, TimeRange, Veto,
    oracle,
};
use tagq_sampling::random_cases;

use crate::oracle::support::{Sources, every_pair, pairs, recording, sources, tags};

/// Each tuple: time, group, rows.
type Listed = Vec<(i128, usize, Vec<usize>)>;

fn list(query: &Coincidences, of: &Recording<'_>, execution: &Execution, threads: usize) -> Listed {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let times: Vec<i64> = of.sources.iter().flat_map(|s| s.tags.time.to_vec()).collect();
    let mut listed = Vec::new();
    let listing = pool.install(|| {
        query.list(of, execution, &mut |batch| {
            for tuple in batch.iter() {
                let rows = tuple.tags.iter().map(|tag| {
                    let row = usize::try_from(tag.row).unwrap();
                    assert_eq!(tag.time, times[row]);
                    row
                });
                listed.push((tuple.time.into(), tuple.group, rows.collect()));
            }
            ControlFlow::Continue(())
        })
    });
    listing.unwrap();
    listed
}

fn plain(sources: &Sources) -> Vec<Vec<(i64, u16)>> {
    let of = |(time, label): &(Vec<i64>, Vec<u16>)| {
        time.iter().copied().zip(label.iter().copied()).collect()
    };
    sources.iter().map(of).collect()
}

/// Checks that the lists of all ways to run a query equal the oracle's, and have the length of its counts.
fn check(sources: &Sources, query: &Coincidences, threads: usize, morsels: &[Option<usize>]) {
    let tags = plain(sources);
    let delays: Vec<(u16, i64)> = query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
    let veto = query.veto.as_ref().map_or((&[][..], 0), |v| (&v.channels[..], v.guard));
    let TimeRange { from, to } = query.scope.range;
    let recording = recording(sources, None);
    let groups = query.groups_in(&recording.facts()).unwrap();
    let source_of = |row: usize| {
        let mut rest = row;
        tags.iter().position(|tags| rest.checked_sub(tags.len()).map(|r| rest = r).is_none())
    };
    let mut expected = Listed::new();
    for (at, group) in groups.iter().enumerate() {
        let tuples =
            oracle::tuples(&tags, group, query.rule, query.window, &delays, veto, [from, to]);
        let count =
            oracle::coincidences(&tags, group, query.rule, query.window, &delays, veto, (from, to));
        assert_eq!(tuples.len() as u128, count, "the oracle is one with itself: {query:?}");
        expected.extend(tuples.into_iter().map(|(time, rows)| (time, at, rows)));
    }
    expected.sort_by_key(|(time, group, rows)| (*time, source_of(rows[0]), *group, rows.clone()));
    for &morsel_rows in morsels {
        let execution = Execution { simd: Simd::best(), morsel_rows };
        let listed = list(query, &recording, &execution, threads);
        assert_eq!(listed, expected, "{execution:?} {query:?} {sources:?}");
        let counted = query.run(&recording, &execution).unwrap();
        let counts: Vec<usize> =
            (0..groups.len()).map(|at| listed.iter().filter(|l| l.1 == at).count()).collect();
        assert!(counted.rows.iter().map(|row| row.count).eq(counts.iter().map(|&n| n as u64)));
    }
}

const RULES: [Rule; 5] = [Rule::All, Rule::Herald, Rule::PerHerald, Rule::Once, Rule::Grid];

fn query(groups: Groups, rule: Rule, window: i64, delays: &[(u16, i64)]) -> Coincidences {
    Coincidences { groups, rule, ..pairs(vec![], window, delays) }
}

#[test]
fn tuples_by_hand() {
    // Herald 1 at 10 and 14; 2 at 8 and 14; 3 at 14, w = 4.
    let sources: Sources = vec![(vec![8, 10, 14, 14, 14], vec![2, 1, 3, 1, 2])];
    let listed = |rule, channels: &[u16]| {
        let query = query(Groups::Listed(vec![channels.to_vec()]), rule, 4, &[]);
        check(&sources, &query, 2, &[None, Some(1), Some(2)]);
        let recording = recording(&sources, None);
        let listed = list(&query, &recording, &Execution::best(), 1);
        listed.into_iter().map(|(time, _, rows)| (time, rows)).collect::<Vec<_>>()
    };
    assert_eq!(listed(Rule::All, &[1, 2]), [(10, vec![1, 0]), (14, vec![1, 4]), (14, vec![3, 4])]);
    assert_eq!(listed(Rule::Once, &[1, 2]), [(10, vec![1, 0]), (14, vec![3, 4])]);
    assert_eq!(listed(Rule::PerHerald, &[1, 2]), [(10, vec![1, 0]), (14, vec![3, 4])]);
    // 8 and 14 are six apart, but both are within four of the herald at 10.
    let all = [(14, vec![1, 0, 2]), (14, vec![1, 4, 2]), (14, vec![3, 4, 2])];
    assert_eq!(listed(Rule::Herald, &[1, 2, 3]), all);
    assert_eq!(listed(Rule::PerHerald, &[1, 2, 3]), [(14, vec![1, 0, 2]), (14, vec![3, 4, 2])]);
}

#[test]
fn delays_put_sources_side_by_side() {
    // The second source begins 5 after the first, and its channel 2 is moved back by 20.
    let sources: Sources =
        vec![(vec![0, 3, 20, 25], vec![1, 2, 2, 1]), (vec![30, 34, 36, 40], vec![1, 2, 1, 2])];
    for delay in [-60, -20, 0, 15, 60] {
        for rule in RULES {
            let groups = Groups::Listed(vec![vec![1, 2], vec![2, 1]]);
            let query = query(groups, rule, 15, &[(2, delay)]);
            if rule != Rule::Grid || delay % 15 == 0 {
                check(&sources, &query, 2, &[None, Some(1), Some(3)]);
            }
        }
    }
}

#[test]
fn times_at_the_ends_of_64_bits() {
    for time in [
        vec![i64::MIN, i64::MIN, i64::MIN + 5, i64::MIN + 5],
        vec![i64::MAX - 5, i64::MAX - 5, i64::MAX, i64::MAX],
    ] {
        let sources = vec![(time, vec![1, 2, 3, 1])];
        for window in [1, 4, 5, i64::MAX] {
            for rule in RULES {
                let groups = Groups::Listed(vec![vec![2, 1], vec![1, 3]]);
                let mut query = query(groups, rule, window, &[]);
                check(&sources, &query, 1, &[None, Some(1)]);
                if rule != Rule::Grid {
                    query.veto = Some(Veto { channels: vec![7], guard: i64::MAX });
                    query.window = window.min(1 << 36);
                    check(&sources, &query, 1, &[None, Some(1)]);
                }
            }
        }
    }
}

/// A batch is passed on when it is full, even if one morsel has more tuples than fit in memory.
#[test]
fn a_burst_of_tuples_is_given_in_batches_and_can_be_broken_off() {
    // 70,000 tags of each of two channels at one time: 4.9e9 pairs.
    let labels: Vec<u16> = [1, 2].repeat(70_000);
    let sources: Sources = vec![(vec![5; labels.len()], labels)];
    let query = every_pair(3, &[]);
    let (mut batches, mut most, mut tuples) = (0, 0, 0);
    let recording = recording(&sources, None);
    let listing = query.list(&recording, &Execution::best(), &mut |batch| {
        batches += 1;
        tuples += batch.len();
        most = most.max(batch.len());
        if tuples < 1_000_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    listing.unwrap();
    assert!(batches > 50 && most <= 1 << 14 && tuples < 1_100_000, "{batches} {most} {tuples}");
}

/// Checks that the listed clusters have the same channel sets as the counted ones, with all their tags.
fn check_clusters(sources: &Sources, query: &Coincidences, morsels: &[Option<usize>]) {
    let tags = plain(sources);
    let delays: Vec<(u16, i64)> = query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
    let TimeRange { from, to } = query.scope.range;
    let recording = recording(sources, None);
    let channels = query.scope.channels.clone().unwrap_or_else(|| recording.channels());
    let expected = oracle::cluster_tags(&tags, &channels, query.window, &delays, [from, to]);
    let labels: Vec<u16> = sources.iter().flat_map(|source| source.1.clone()).collect();
    for &morsel_rows in morsels {
        let execution = Execution { simd: Simd::best(), morsel_rows };
        let mut listed: Vec<(i128, Vec<usize>)> = Vec::new();
        let listing = query.list_clusters(&recording, &execution, &mut |batch| {
            for of in batch {
                let at = usize::try_from(of.cluster).unwrap();
                if at == listed.len() {
                    listed.push((of.time.into(), Vec::new()));
                }
                assert_eq!(at + 1, listed.len());
                let row = usize::try_from(of.tag.row).unwrap();
                assert_eq!(of.channel, labels[row]);
                listed[at].1.push(row);
            }
            ControlFlow::Continue(())
        });
        listing.unwrap();
        assert_eq!(listed, expected, "{execution:?} {query:?} {sources:?}");
        let mut sets: BTreeMap<Vec<u16>, u64> = BTreeMap::new();
        for (_, rows) in &listed {
            let mut set: Vec<u16> = rows.iter().map(|&row| labels[row]).collect();
            set.sort_unstable();
            set.dedup();
            *sets.entry(set).or_default() += 1;
        }
        let counted = query.run(&recording, &execution).unwrap().rows;
        let counted: BTreeMap<_, _> =
            counted.into_iter().map(|row| (row.channels, row.count)).collect();
        assert_eq!(sets, counted);
    }
}

fn groups() -> impl Strategy<Value = Groups> {
    let group = prop::sample::subsequence(vec![0_u16, 1, 2, 3, 255], 2..=4).prop_shuffle();
    prop_oneof![
        3 => prop::collection::vec(group, 1..4).prop_map(Groups::Listed),
        1 => (2_usize..4).prop_map(Groups::EveryFold),
    ]
}

proptest! {
    #![proptest_config(random_cases(250))]
    #[test]
    fn every_list_equals_the_oracle(
        sources in sources(35),
        groups in groups(),
        rule in prop::sample::select(RULES[..4].to_vec()),
        window in prop_oneof![4 => 0_i64..12, 1 => 0_i64..150],
        delays in prop::collection::hash_map(0_u16..4, -90_i64..90, 0..4),
        guard in prop::option::weighted(0.4, 0_i64..15),
        from in prop::option::weighted(0.4, -150_i64..100),
        to in prop::option::weighted(0.4, -100_i64..150),
        morsel in 1_usize..8,
        threads in 1_usize..4,
    ) {
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        let mut query = query(groups, rule, window, &delays);
        query.scope.range = TimeRange { from, to };
        if let (Some(guard), Groups::Listed(_)) = (guard, &query.groups) {
            query.veto = Some(Veto { channels: vec![254], guard });
        }
        check(&sources, &query, threads, &[Some(morsel), None]);
    }

    #[test]
    fn cells_are_listed(
        sources in sources(60),
        window in 1_i64..40,
        delay in -3_i64..4,
        from in prop::option::of(-150_i64..100),
        to in prop::option::of(-100_i64..150),
        morsel in 1_usize..8,
    ) {
        let mut query = every_pair(window, &[(1, delay * window)]);
        query.rule = Rule::Grid;
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, 2, &[Some(morsel), None]);
    }

    #[test]
    fn clusters_are_listed(
        sources in sources(60),
        window in 0_i64..40,
        delays in prop::collection::hash_map(0_u16..4, -90_i64..90, 0..4),
        some in prop::option::of(prop::sample::subsequence(vec![0_u16, 1, 2, 3, 255], 1..4)),
        from in prop::option::of(-150_i64..100),
        to in prop::option::of(-100_i64..150),
        morsel in 1_usize..8,
    ) {
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        let mut query = query(Groups::EveryPair, Rule::Cluster, window, &delays);
        query.scope = Scope { channels: some, range: TimeRange { from, to }, ..query.scope };
        check_clusters(&sources, &query, &[Some(morsel), None]);
    }
}

#[test]
fn long_runs_are_listed_alike_whatever_the_seams() {
    let sources = vec![tags(6_000, 4, 3), tags(5_000, 4, 5)];
    for (rule, window) in [(Rule::All, 6), (Rule::Herald, 9), (Rule::Once, 40)] {
        let groups = Groups::Listed(vec![vec![1, 2], vec![3, 1, 4], vec![2, 4]]);
        let query = query(groups, rule, window, &[(2, 11), (3, -400)]);
        let recording = recording(&sources, None);
        let whole = list(&query, &recording, &Execution::best(), 1);
        for (morsel_rows, threads) in [(Some(7), 3), (Some(100), 1), (Some(999), 2)] {
            let execution = Execution { simd: Simd::best(), morsel_rows };
            assert_eq!(list(&query, &recording, &execution, threads), whole);
        }
        let counted = query.run(&recording, &Execution::best()).unwrap();
        assert_eq!(whole.len() as u64, counted.rows.iter().map(|row| row.count).sum::<u64>());
    }
}
