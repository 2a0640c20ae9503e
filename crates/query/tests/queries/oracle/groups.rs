//! Groups of 2 to 16 channels, many at once, with each rule.

use proptest::prelude::*;
use tagq_query::{
    Coincidences, Delay, Error, Execution, Groups, Kind as _, Recording, Rule, Scope, Simd,
    TimeRange, Veto, oracle,
};
use tagq_sampling::{random_cases, some};

use crate::oracle::support::{Sources, check, recording, run, sources, tags};

fn query(groups: Groups, rule: Rule, window: i64, delays: &[(u16, i64)]) -> Coincidences {
    let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
    Coincidences { groups, rule, window, veto: None, scope: Scope { delays, ..Scope::default() } }
}

fn listed(groups: &[&[u16]], rule: Rule, window: i64) -> Coincidences {
    let groups = groups.iter().map(|group| group.to_vec()).collect();
    query(Groups::Listed(groups), rule, window, &[])
}

const RULES: [Rule; 4] = [Rule::All, Rule::Herald, Rule::PerHerald, Rule::Once];

/// Enough rows for whole steps of every kernel, with bursts and gaps, and windows from narrow to the whole
/// run.
#[test]
fn triples_of_long_sources_equal_the_oracle() {
    let sources = vec![tags(280, 6, 11), tags(90, 4, 5)];
    let windows = [0, 1, 3, 12, 60, 1_000, i64::MAX];
    let of_window = |window| RULES.map(|rule| (window, rule));
    for (window, rule) in some(windows.into_iter().flat_map(of_window)) {
        let listed = listed(&[&[1, 2, 3], &[6, 2, 1], &[9, 1, 2], &[4, 5]], rule, window);
        check(&sources, &listed, 2, &[Some(2), Some(70), None]);
    }
    for window in some(windows) {
        let every = query(Groups::EveryFold(3), Rule::All, window, &[]);
        check(&sources, &every, 2, &[Some(7), None]);
        let delayed = query(Groups::EveryFold(3), Rule::All, window, &[(1, 4), (2, -300), (3, 4)]);
        check(&sources, &delayed, 1, &[Some(64), None]);
    }
}

#[test]
fn fourfolds_equal_the_oracle() {
    let sources = vec![tags(110, 5, 23)];
    let windows = [0, 3, 12, 500];
    let of_window = |window| RULES.map(|rule| (window, rule));
    for (window, rule) in some(windows.into_iter().flat_map(of_window)) {
        let listed = listed(&[&[1, 2, 3, 4], &[5, 2, 1, 3]], rule, window);
        check(&sources, &listed, 2, &[Some(5), None]);
    }
    for window in some(windows) {
        let every = query(Groups::EveryFold(4), Rule::All, window, &[(5, 2)]);
        check(&sources, &every, 2, &[Some(5), None]);
    }
}

/// Bursts of equal times: each tuple counts once, whichever of its tags counts as the last.
#[test]
fn equal_times_count_once() {
    // 5·4·3 ways in each of two bursts; 10·8·6 if the window contains both.
    let burst = |time: i64| {
        let channels = [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 1];
        channels.map(|channel| (time, channel))
    };
    let tags: Vec<(i64, u16)> = [burst(7), burst(107)].concat();
    let sources: Sources = vec![tags.into_iter().unzip()];
    for (window, count) in [(0, 120), (99, 120), (100, 480)] {
        let query = listed(&[&[1, 2, 3], &[3, 1, 2]], Rule::All, window);
        check(&sources, &query, 2, &[None, Some(1)]);
        let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
        assert!(counted.rows.iter().all(|row| row.count == count), "{counted:?}");
    }
}

#[test]
fn groups_at_the_ends_of_64_bits() {
    let half = i64::MAX / 2;
    for time in [
        vec![i64::MIN, i64::MIN, i64::MIN + 5, i64::MIN + 5],
        vec![i64::MAX - 5, i64::MAX - 5, i64::MAX, i64::MAX],
        vec![-half, 0, 0, half],
    ] {
        let sources = vec![(time, vec![1, 2, 3, 1])];
        for window in [0, 4, 5, half - 1, half, i64::MAX] {
            for rule in RULES {
                let some = listed(&[&[1, 2, 3], &[2, 1], &[2, 3, 1]], rule, window);
                check(&sources, &some, 1, &[None, Some(1)]);
            }
            let cells = listed(&[&[1, 2], &[2, 3]], Rule::Grid, window.max(1));
            check(&sources, &cells, 1, &[None, Some(1)]);
        }
    }
}

#[test]
fn a_group_of_sixteen_and_counts_beyond_64_bits() {
    // 17 tags of each of 16 channels at one time: 17^16 = 4.9e19 ways, more than 2^64 = 1.8e19.
    let channels: Vec<u16> = (0..16).collect();
    let tags = |each: usize| -> Sources {
        vec![(vec![5; 16 * each], channels.iter().copied().cycle().take(16 * each).collect())]
    };
    for rule in [Rule::All, Rule::Herald] {
        let query = query(Groups::Listed(vec![channels.clone()]), rule, 3, &[]);
        let count = |sources: &Sources| {
            let counted = query.run(&recording(sources, None), &Execution::best());
            counted.map(|counted| counted.rows[0].count)
        };
        // 15^16 = 6.57e18.
        assert_eq!(count(&tags(15)), Ok(15_u64.pow(16)));
        let channels = channels.clone();
        assert_eq!(count(&tags(17)), Err(Error::CountRange { channels }));
    }
    // 400^15 is more than 2^128.
    let query = listed(&[&channels], Rule::Herald, 3);
    let counted = query.run(&recording(&tags(400), None), &Execution::best());
    assert!(matches!(counted, Err(Error::CountRange { .. })), "{counted:?}");
}

/// Pseudorandom numbers.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// A source with three bursts of `burst` tags each, of channels 0 to `channels` - 1. If the first channel dominates, it has half the
/// tags.
fn bursts(channels: u64, burst: u64, dominates: bool, state: &mut u64) -> Sources {
    let mut tags = Vec::new();
    for at in 0..3_i64 {
        for _ in 0..burst {
            let channel = match random(state, 2) {
                0 if dominates => 0,
                _ => random(state, channels),
            };
            let time = 3_000 * at + i64::try_from(random(state, 40) / 10).unwrap();
            tags.push((time, u16::try_from(channel).unwrap()));
        }
    }
    tags.sort_unstable();
    vec![tags.into_iter().unzip()]
}

/// Counts by products of the numbers of tags of each channel, tick by tick: brute force that visits no tuple.
fn by_products(sources: &Sources, group: &[u16], window: i64, rule: Rule) -> u64 {
    let mut count = 0;
    for (time, label) in sources {
        let in_span = |channel: u16, from: i64, to: i64| {
            let tags = time.iter().zip(label);
            tags.filter(|&(&t, &l)| l == channel && from <= t && t <= to).count() as u64
        };
        if rule != Rule::All {
            let mut heralds: Vec<(i64, u64)> = Vec::new();
            for (&herald, _) in time.iter().zip(label).filter(|&(_, &l)| l == group[0]) {
                match heralds.last_mut() {
                    Some((time, tags)) if *time == herald => *tags += 1,
                    _ => heralds.push((herald, 1)),
                }
            }
            for (herald, tags) in heralds {
                let near = group[1..].iter().map(|&c| in_span(c, herald - window, herald + window));
                let ways: u64 = near.product();
                count += tags * if rule == Rule::PerHerald { ways.min(1) } else { ways };
            }
            continue;
        }
        let mut times = time.clone();
        times.dedup();
        for last in times {
            // All within the window up to this time, less those without a tag at it.
            let ways =
                |to: i64| -> u64 { group.iter().map(|&c| in_span(c, last - window, to)).product() };
            count += ways(last) - ways(last - 1);
        }
    }
    count
}

/// Bursts of up to 6,000 tags within a window, of 3 to 16 channels, over several blocks.
#[test]
fn bursts_equal_products_of_counts() {
    let mut state = 7;
    for channels in some([3, 4, 5, 8, 9, 16]) {
        for (burst, dominates) in [(1_000, false), (1_000, true), (90, true), (6_000, false)] {
            let sources = bursts(channels, burst, dominates, &mut state);
            let all: Vec<u16> = (0..u16::try_from(channels).unwrap()).collect();
            let groups = |size: usize, most: usize| -> Vec<Vec<u16>> {
                let mut chosen: Vec<Vec<u16>> = all.windows(size).map(<[u16]>::to_vec).collect();
                chosen.extend(all.windows(size).map(|group| group.iter().rev().copied().collect()));
                chosen.truncate(most);
                chosen
            };
            for (groups, window, rule) in [
                (groups(2, 20), 1, Rule::All),
                (groups(3, 1), 4, Rule::All),
                (groups(3, 20), 2, Rule::All),
                ([groups(3, 3), groups(4, 5), groups(5, 4)].concat(), 3, Rule::All),
                ([groups(2, 3), groups(3, 5), groups(4, 4)].concat(), 1, Rule::Herald),
                (groups(3, 1), 2, Rule::Herald),
                ([groups(2, 3), groups(3, 5), groups(4, 4)].concat(), 0, Rule::PerHerald),
                (groups(3, 1), 3_000, Rule::PerHerald),
            ] {
                let expected: Vec<u64> =
                    groups.iter().map(|group| by_products(&sources, group, window, rule)).collect();
                let query = query(Groups::Listed(groups), rule, window, &[]);
                for simd in Simd::available() {
                    for morsel_rows in [None, Some(700)] {
                        let execution = Execution { simd, morsel_rows };
                        let counted = query.run(&recording(&sources, None), &execution).unwrap();
                        let counts: Vec<u64> = counted.rows.iter().map(|row| row.count).collect();
                        assert_eq!(counts, expected, "{simd:?} {query:?}");
                    }
                }
            }
        }
    }
}

/// Pairs with a herald are pairs, whichever channel is the herald, also of more channels than are counted side by side.
#[test]
fn pairs_with_heralds_of_many_channels_equal_the_oracle() {
    let channels = 18_u16;
    let rows = (0..40 * i64::from(channels)).zip((0..channels).cycle());
    let sources: Sources = vec![rows.unzip()];
    let chained: Vec<Vec<u16>> = (1..channels).map(|c| vec![c - 1, c]).collect();
    let apart: Vec<Vec<u16>> = (0..channels / 2).map(|c| vec![2 * c, 2 * c + 1]).collect();
    for groups in [chained, apart] {
        for delays in [&[][..], &[(3, 40)]] {
            let query = query(Groups::Listed(groups.clone()), Rule::Herald, 5, delays);
            check(&sources, &query, 2, &[Some(5), Some(100), None]);
        }
    }
}

/// Products that do not fit in 64 bits for all rows, after rows whose products do: 4,000 tags of each of five channels near one tag
/// of a sixth.
#[test]
fn large_products_are_counted_row_by_row() {
    let alone = (0..5_000_i64).map(|row| (1_000 * row, 0_u16));
    let burst = |time: i64| (0..10_000_u16).map(move |row| (time, 1 + row % 5));
    let at = 6_000_000;
    let rows = alone.chain(burst(at)).chain([(at + 1, 0)]).chain(burst(at + 2));
    let sources: Sources = vec![rows.unzip()];
    for (rule, count) in
        [(Rule::All, 4_000_u64.pow(5)), (Rule::Herald, 4_000_u64.pow(5)), (Rule::PerHerald, 1)]
    {
        let query = listed(&[&[0, 1, 2, 3, 4, 5]], rule, 3);
        for simd in Simd::available() {
            for morsel_rows in [None, Some(5_000), Some(9_000)] {
                let execution = Execution { simd, morsel_rows };
                let counted = query.run(&recording(&sources, None), &execution).unwrap();
                assert_eq!(counted.rows[0].count, count, "{rule:?} {simd:?} {morsel_rows:?}");
            }
        }
    }
}

/// A part with more than 2^128 ways stays too large, whatever other parts add.
#[test]
fn too_large_counts_are_refused_with_others_after_them() {
    let channels: Vec<u16> = (0..16).collect();
    let burst = (0..6_400_u16).map(|row| (5, row % 16));
    let later = (0..3 * 6_400_u16).map(|row| (1_000 + i64::from(row / 16) * 1_000, row % 16));
    let sources: Sources = vec![burst.chain(later).unzip()];
    for rule in [Rule::All, Rule::Herald] {
        let query = query(Groups::Listed(vec![channels.clone()]), rule, 3, &[]);
        let execution = Execution { morsel_rows: Some(6_400), ..Execution::best() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let counted = pool.install(|| query.run(&recording(&sources, None), &execution));
        assert!(matches!(counted, Err(Error::CountRange { .. })), "{rule:?} {counted:?}");
    }
}

/// More tags in a window than the packed counts of a small group can hold, and twice the range of a lane.
#[test]
fn a_burst_of_more_than_16_bits() {
    for burst in [65_535, 65_536, 131_073] {
        let mut sources: Sources = vec![(vec![5; burst], vec![1; burst])];
        sources[0].0.extend([6, 6, 7]);
        sources[0].1.extend([2, 3, 3]);
        for (window, count) in [(0, 0), (1, burst), (2, 2 * burst), (i64::MAX, 2 * burst)] {
            for simd in Simd::available() {
                let execution = Execution { simd, ..Execution::best() };
                let count_of = |group: &[u16], rule| {
                    let counted =
                        listed(&[group], rule, window).run(&recording(&sources, None), &execution);
                    counted.unwrap().rows[0].count
                };
                assert_eq!(count_of(&[1, 2, 3], Rule::All), count as u64, "{burst} {window}");
                // The herald is at 6, with one of its partners.
                let of_herald = if window == 1 { 2 * burst } else { count };
                assert_eq!(
                    count_of(&[2, 1, 3], Rule::Herald),
                    of_herald as u64,
                    "{burst} {window}"
                );
                let once = u64::from(window > 0);
                assert_eq!(count_of(&[2, 1, 3], Rule::PerHerald), once, "{burst} {window}");
            }
        }
    }
}

#[test]
fn a_herald_counts_once_where_its_first_way_is_complete() {
    // Herald at 100; partners at 95, 97 (channel 2) and 103, 108 (channel 3), w = 10: four ways, the first
    // complete at 103.
    let sources: Sources = vec![(vec![95, 97, 100, 103, 108], vec![2, 2, 1, 3, 3])];
    for (rule, from, to, count) in [
        (Rule::Herald, None, None, 4),
        (Rule::Herald, None, Some(104), 2),
        (Rule::Herald, Some(104), None, 2),
        (Rule::PerHerald, None, None, 1),
        (Rule::PerHerald, Some(103), Some(104), 1),
        (Rule::PerHerald, Some(104), None, 0),
        (Rule::PerHerald, None, Some(103), 0),
    ] {
        let mut query = listed(&[&[1, 2, 3]], rule, 10);
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, 1, &[None, Some(1)]);
        let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
        assert_eq!(counted.rows[0].count, count, "{query:?}");
    }
}

#[test]
fn the_cell_at_zero_is_twice_as_wide() {
    // By hand: t/10 rounded toward zero is -1, 0, 0, 0, 1.
    let sources: Sources = vec![(vec![-10, -9, 9, 9, 10], vec![1, 1, 2, 2, 1])];
    let query = listed(&[&[1, 2]], Rule::Grid, 10);
    check(&sources, &query, 1, &[None, Some(1)]);
    let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
    assert_eq!(counted.rows[0].count, 2);
}

#[test]
fn more_channels_than_one_scan_holds() {
    let wide: Sources =
        vec![((0..700).map(|i| i / 3).collect(), (0..700).map(|i| i * 11 % 350 + 9).collect())];
    let groups: Vec<Vec<u16>> = (9..357).map(|c| vec![c, c + 1, c + 2]).collect();
    for rule in RULES {
        check(&wide, &query(Groups::Listed(groups.clone()), rule, 40, &[(20, 8)]), 2, &[None]);
    }
    let every = query(Groups::EveryFold(4), Rule::All, 4, &[]);
    let refused = every.run(&recording(&wide, None), &Execution::best());
    assert!(matches!(refused, Err(Error::TooManyGroups { .. })));
}

#[test]
fn groups_that_mean_nothing_are_refused() {
    let sources: Sources = vec![(vec![1], vec![1])];
    let error = |query: &Coincidences| {
        query.run(&recording(&sources, None), &Execution::best()).unwrap_err()
    };
    let all = |groups: &[&[u16]]| listed(groups, Rule::All, 1);
    assert_eq!(error(&all(&[&[3]])), Error::GroupSize { size: 1 });
    let long: Vec<u16> = (0..17).collect();
    assert_eq!(error(&all(&[&long])), Error::GroupSize { size: 17 });
    assert_eq!(error(&all(&[&[1, 2, 1]])), Error::SameChannel { channel: 1 });
    let fold = |size| query(Groups::EveryFold(size), Rule::All, 1, &[]);
    assert_eq!(error(&fold(1)), Error::GroupSize { size: 1 });
    assert_eq!(error(&fold(17)), Error::GroupSize { size: 17 });
    let grid = |groups: &[&[u16]], window| listed(groups, Rule::Grid, window);
    assert_eq!(error(&grid(&[&[1, 2]], 0)), Error::GridWindow);
    assert_eq!(error(&grid(&[&[1, 2, 3]], 5)), Error::GridGroup { channels: vec![1, 2, 3] });
    let delayed = |group: &[u16]| {
        query(Groups::Listed(vec![group.to_vec()]), Rule::Grid, 5, &[(2, 12), (1, 5)])
    };
    let parted = Error::GridDelay { channel: 2, delay: 12, window: 5 };
    assert_eq!(error(&delayed(&[1, 2])), parted);
    // The delay of a channel in no group does not split cells of any group.
    let other = delayed(&[1, 3]).run(&recording(&sources, None), &Execution::best());
    assert!(other.is_ok(), "{other:?}");
    let mut left_out = all(&[&[1, 2]]);
    left_out.scope.channels = Some(vec![2, 3]);
    assert_eq!(error(&left_out), Error::NotInUse { channel: 1 });
    let none = fold(3).run(&Recording::new(vec![]), &Execution::best());
    assert_eq!(none.unwrap().rows, []);
}

#[test]
fn the_oracle_by_hand() {
    let tags = vec![vec![(0, 1), (4, 2), (5, 3), (9, 2)]];
    let count = |rule, window| {
        oracle::coincidences(&tags, &[3, 1, 2], rule, window, &[(1, 1)], (&[], 0), (None, None))
    };
    // With channel 1 at 1: spans 1..5 (4 ticks) and 1..9 (8); all within 4 of the tag of channel 3.
    assert_eq!([count(Rule::All, 3), count(Rule::All, 4), count(Rule::All, 8)], [0, 1, 2]);
    assert_eq!([count(Rule::Herald, 3), count(Rule::Herald, 4)], [0, 2]);
    assert_eq!(count(Rule::PerHerald, 4), 1);
}

fn groups() -> impl Strategy<Value = Groups> {
    let group = prop::sample::subsequence(vec![0_u16, 1, 2, 3, 255], 2..=4).prop_shuffle();
    prop_oneof![
        3 => prop::collection::vec(group, 1..4).prop_map(Groups::Listed),
        1 => (2_usize..5).prop_map(Groups::EveryFold),
    ]
}

proptest! {
    #![proptest_config(random_cases(150))]
    #[test]
    fn every_rule_equals_the_oracle(
        sources in sources(45),
        groups in groups(),
        rule in prop::sample::select(vec![Rule::All, Rule::All, Rule::Herald, Rule::PerHerald]),
        window in prop_oneof![4 => 0_i64..12, 1 => 0_i64..150],
        delays in prop::collection::hash_map(0_u16..4, -90_i64..90, 0..4),
        from in prop::option::of(-150_i64..100),
        to in prop::option::of(-100_i64..150),
        morsel in 1_usize..8,
        threads in 1_usize..4,
    ) {
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        let mut query = query(groups, rule, window, &delays);
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, threads, &[Some(morsel), None]);
    }

    /// Most rows are alone, so rows are compared with their neighbours whatever the delays.
    #[test]
    fn sparse_runs_equal_the_oracle(
        rows in prop::collection::vec((prop_oneof![0..4_i64, 0..60_i64, 300..900_i64], 0..5_u16), 0..60),
        groups in groups(),
        rule in prop::sample::select(vec![Rule::All, Rule::All, Rule::Herald, Rule::PerHerald, Rule::Once]),
        window in prop_oneof![2 => 0_i64..12, 1 => 0_i64..60],
        delays in prop::collection::hash_map(0_u16..4, prop_oneof![-5_i64..5, -60_i64..60], 0..4),
        morsel in 1_usize..30,
        threads in 1_usize..4,
    ) {
        let mut time = -9_000;
        let tags = rows.into_iter().map(|(gap, label)| {
            time += gap;
            (time, if label == 4 { 255 } else { label })
        });
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        let query = query(groups, rule, window, &delays);
        check(&vec![tags.unzip()], &query, threads, &[Some(morsel), None]);
    }

    /// Up to 16 channels with a few tags in a window, and delays: groups of all sizes side by side.
    #[test]
    fn crowded_runs_equal_the_oracle(
        rows in prop::collection::vec((prop_oneof![2 => 0..3_i64, 1 => 0..40_i64], 0..16_u16), 0..70),
        channels in 2..=16_u16,
        groups in prop::collection::vec(
            (prop::sample::subsequence((0..16_u16).collect::<Vec<_>>(), 2..=5).prop_shuffle(), 2..=5_usize),
            1..12,
        ),
        rule in prop::sample::select(vec![Rule::All, Rule::All, Rule::Herald, Rule::PerHerald]),
        window in 0_i64..12,
        delays in prop::collection::hash_map(0_u16..4, -60_i64..60, 0..3),
        guard in prop::option::of(0..3_i64),
        from in prop::option::of(-150_i64..100),
        to in prop::option::of(-100_i64..150),
        (morsel, threads) in (1_usize..30, 1_usize..4),
    ) {
        let mut time = -200;
        let tags: (Vec<i64>, Vec<u16>) = rows
            .into_iter()
            .map(|(gap, label)| {
                time += gap;
                (time, if label == 15 { 99 } else { label % channels })
            })
            .unzip();
        let sources = vec![tags];
        let groups = groups.into_iter().map(|(group, size)| group[..size.min(group.len())].to_vec());
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        let mut query = query(Groups::Listed(groups.collect()), rule, window, &delays);
        query.veto = guard.map(|guard| Veto { channels: vec![99], guard });
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, threads, &[Some(morsel), None]);
    }

    #[test]
    fn cells_equal_the_oracle(
        sources in sources(90),
        listed in prop::option::of(prop::collection::vec((0_u16..4, 1_u16..4), 1..4)),
        window in 1_i64..40,
        delays in prop::collection::hash_map(0_u16..4, -3_i64..4, 0..4),
        from in prop::option::of(-150_i64..100),
        to in prop::option::of(-100_i64..150),
        morsel in 1_usize..8,
        threads in 1_usize..4,
    ) {
        let delays: Vec<(u16, i64)> = delays.into_iter().map(|(c, d)| (c, d * window)).collect();
        let groups = match listed {
            Some(pairs) => {
                Groups::Listed(pairs.into_iter().map(|(a, b)| vec![a, (a + b) % 4]).collect())
            }
            None => Groups::EveryPair,
        };
        let mut query = query(groups, Rule::Grid, window, &delays);
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, threads, &[Some(morsel), None]);
    }
}
