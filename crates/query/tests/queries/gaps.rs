//! Counts over the column of gaps: equal to those over the times of the same rows, at every level of instructions and
//! however the rows are cut.

use std::path::Path;

use proptest::prelude::*;
use tagq_query::{
    Bins, Coincidences, Delay, Execution, Groups, Histogram, Kind as _, Ledger, Mode, Recording,
    Rule, Scan, Scope, Simd, Source, TimeRange, Veto, WindowPlan, oracle,
};
use tagq_sampling::random_cases;
use tagq_store::{Access, Channels, Creation, SourceFacts, Store, Tags, Tick, Writer};

/// The channel of vetoes, which belongs to no listed group.
const VETO: u16 = 4;

/// Sources of rows, in order of time.
type Sources = Vec<Vec<(i64, u16)>>;

fn store(folder: &Path, sources: &Sources) -> Store {
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let mut writer = Writer::open(folder, &creation).unwrap();
    for rows in sources {
        writer.begin_source();
        let (times, channels): (Vec<i64>, Vec<u16>) = rows.iter().copied().unzip();
        writer.append(&times, &channels).unwrap();
        writer.finish_source(SourceFacts::named("a source"));
    }
    writer.commit().unwrap();
    Store::open(folder, Access::Copied).unwrap()
}

fn with_gaps(folder: &Path) -> Store {
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let mut writer = Writer::open(folder, &creation).unwrap();
    writer.make_gaps().unwrap();
    writer.commit().unwrap();
    Store::open(folder, Access::Copied).unwrap()
}

fn sources() -> impl Strategy<Value = Sources> {
    let gap = prop_oneof![
        6 => 0..200_i64,
        2 => 65_500..65_600_i64,
        1 => 0..3_i64,
        1 => 100_000..1_000_000_i64,
    ];
    // Bursts of more tags than kernels look back at.
    let burst = prop_oneof![150 => 0..3_i64, 1 => 1_000_000..10_000_000_i64];
    let channel = || prop_oneof![9 => 0..4_u16, 1 => Just(VETO), 1 => Just(255)];
    let rows = prop_oneof![
        3 => prop::collection::vec((gap, channel()), 0..300),
        1 => prop::collection::vec((burst, channel()), 0..600),
    ];
    prop::collection::vec(rows, 1..4).prop_map(|mut sources| {
        let mut time = -1_000;
        for row in sources.iter_mut().flatten() {
            time += row.0;
            row.0 = time;
        }
        sources
    })
}

/// Returns the range between two rows, each with some ticks more.
fn time_range(sources: &Sources, range: Option<(usize, usize, i64)>) -> TimeRange {
    let rows = sources.concat();
    let edge = |row: usize, by: i64| rows.get(row % rows.len().max(1)).map(|row| row.0 + by);
    range.map_or(TimeRange::default(), |(from, to, by)| {
        let (from, to) = (edge(from, by), edge(to, -by));
        TimeRange { from: from.min(to), to: from.max(to) }
    })
}

fn counts(
    query: &Coincidences,
    recording: &Recording<'_>,
    execution: &Execution,
) -> Vec<(Vec<u16>, u64)> {
    let counted = query.run(recording, execution).unwrap();
    counted.rows.into_iter().map(|row| (row.channels, row.count)).collect()
}

/// Returns the sources with wide labels, so that no query compares rows as they are stored.
fn with_wide_labels(sources: &[(Vec<i64>, Vec<u16>)]) -> Recording<'_> {
    fn of((time, labels): &(Vec<i64>, Vec<u16>)) -> Source<'_> {
        let tags = Tags { time: time[..].into(), channels: Channels::U16(labels.into()) };
        Recording::from_tags(tags).sources.remove(0)
    }
    Recording::new(sources.iter().map(of).collect())
}

proptest! {
    #![proptest_config(random_cases(800))]

    #[test]
    fn stored_rows_give_the_counts_of_extracted_channels(
        sources in sources(),
        window in prop_oneof![0..300_i64, 65_400..65_700_i64, Just(65_534), Just(65_535)],
        groups in prop::sample::select(vec![
            Groups::Listed(vec![vec![1, 3]]),
            Groups::Listed(vec![vec![0, 255]]),
            Groups::Listed(vec![vec![2, 300]]),
            Groups::EveryPair,
            Groups::EveryFold(3),
            Groups::Listed(vec![vec![0, 1, 2], vec![0, 1, 2, 3], vec![1, 2, 255]]),
            Groups::Listed(vec![vec![3, 2, 1, 0]]),
        ]),
        range in prop::option::of((0..400_usize, 0..400_usize, -2..3_i64)),
        delays in prop_oneof![
            2 => Just(vec![]),
            1 => (-70_000..70_000_i64).prop_map(|all| vec![all; 256]),
            2 => prop::collection::vec(-300..300_i64, 4),
            2 => prop::collection::vec(-20..20_i64, 4),
            1 => prop::collection::vec(prop_oneof![-66_000..66_000_i64, Just(i64::MIN / 4)], 4),
        ],
        rule in prop_oneof![
            3 => Just(Rule::All),
            1 => Just(Rule::Herald),
            1 => Just(Rule::PerHerald),
            1 => Just(Rule::Once),
            1 => Just(Rule::Cluster),
        ],
        guard in prop::option::of(prop_oneof![0..300_i64, 0..80_000_i64]),
        morsel_rows in prop_oneof![Just(None), (1..90_usize).prop_map(Some)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let by_times = store(folder.path(), &sources);
        let by_gaps = with_gaps(folder.path());
        prop_assert!(by_times.gaps().is_none() && by_gaps.gaps().is_some());
        let range = time_range(&sources, range);
        let delays = (0..).zip(delays).map(|(channel, ticks)| Delay { channel, ticks }).collect();
        let scope = Scope { range, delays, ..Scope::default() };
        let is_vetoed = matches!(groups, Groups::Listed(_)) && rule != Rule::Cluster;
        let veto = guard.filter(|_| is_vetoed).map(|guard| Veto { channels: vec![VETO, 77], guard });
        let query = Coincidences { groups, rule, window, veto, scope };
        let execution = Execution { morsel_rows, ..Execution::best() };
        let columns: Vec<(Vec<i64>, Vec<u16>)> =
            sources.iter().map(|rows| rows.iter().copied().unzip()).collect();
        let expected = counts(&query, &with_wide_labels(&columns), &execution);
        let left = |recording: &Recording<'_>| {
            let scan = Scan::new(recording, &execution);
            query.of_heralds_left(&Ledger::of(&scan), 1, &[&[], &[0], &[2, 0]]).ok()
        };
        prop_assert_eq!(left(&Recording::of(&by_gaps)), left(&with_wide_labels(&columns)));
        for simd in Simd::available() {
            let execution = Execution { simd, morsel_rows };
            for store in [&by_times, &by_gaps] {
                let found = counts(&query, &Recording::of(store), &execution);
                prop_assert_eq!(&found, &expected, "{:?} {}", simd, store.gaps().is_some());
            }
        }
    }
}

proptest! {
    #![proptest_config(random_cases(400))]

    #[test]
    fn windows_counted_together_equal_the_oracle(
        sources in sources(),
        windows in prop::collection::vec(
            (prop_oneof![3 => 0..300_i64, 1 => 65_400..65_700_i64], -400..400_i64),
            1..6,
        ),
        delays in prop_oneof![2 => Just(vec![0; 3]), 1 => prop::collection::vec(-300..300_i64, 3)],
        groups in prop::sample::select(vec![
            Groups::Listed(vec![vec![1, 3], vec![2, 1], vec![0, 255]]),
            Groups::Listed(vec![vec![0, 3], vec![2, 300]]),
            Groups::EveryPair,
        ]),
        morsel_rows in prop_oneof![Just(None), (1..90_usize).prop_map(Some)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let by_times = store(folder.path(), &sources);
        let by_gaps = with_gaps(folder.path());
        let columns: Vec<(Vec<i64>, Vec<u16>)> =
            sources.iter().map(|rows| rows.iter().copied().unzip()).collect();
        // The delay of channel 3 is scanned, too.
        let query = |&(window, moved): &(i64, i64)| {
            let delays = (0..).zip(delays.iter().copied().chain([moved]));
            let delays = delays.map(|(channel, ticks)| Delay { channel, ticks }).collect();
            let scope = Scope { delays, ..Scope::default() };
            let (groups, rule) = (groups.clone(), Rule::All);
            Coincidences { groups, rule, window, veto: None, scope }
        };
        let queries: Vec<Coincidences> = windows.iter().map(query).collect();
        let count_plainly = |query: &Coincidences, group: &[u16]| {
            let delays: Vec<_> = query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
            let (rule, window) = (query.rule, query.window);
            let all = (None, None);
            oracle::coincidences(&sources, group, rule, window, &delays, (&[], 0), all)
        };
        let groups = queries[0].run(&with_wide_labels(&columns), &Execution::best()).unwrap().rows;
        let groups: Vec<Vec<u16>> = groups.into_iter().map(|row| row.channels).collect();
        let expected: Vec<Vec<u128>> = queries
            .iter()
            .map(|query| groups.iter().map(|group| count_plainly(query, group)).collect())
            .collect();
        for recording in
            [Recording::of(&by_times), Recording::of(&by_gaps), with_wide_labels(&columns)]
        {
            for simd in Simd::available() {
                let scan = Scan::new(&recording, &Execution { simd, morsel_rows });
                let plan = WindowPlan::new(recording.facts());
                for query in &queries {
                    query.ask(&Ledger::of(&plan)).unwrap();
                }
                let windows = plan.count(&Ledger::of(&scan)).unwrap();
                for (query, expected) in queries.iter().zip(&expected) {
                    // The plan has no counts: they are those of the windows.
                    let rows = query.ask(&Ledger::of(&windows.over(&plan))).unwrap().rows;
                    let found: Vec<u128> = rows.iter().map(|row| row.count.into()).collect();
                    prop_assert_eq!(&found, expected, "{:?} {:?} {:?}", simd, query, groups);
                }
            }
        }
    }
}

fn histogram(query: &Histogram, store: &Store, execution: &Execution) -> Vec<u64> {
    query.run(&Recording::of(store), execution).unwrap().counts
}

proptest! {
    #![proptest_config(random_cases(400))]

    #[test]
    fn gaps_and_times_give_the_same_histograms(
        sources in sources(),
        (start, stop) in (0..4_u16, 0..4_u16),
        (low, width, count) in prop_oneof![
            (-90..90_i64, 1..5_i64, 1..60_usize),
            (-33_000..200_i64, 1..64_i64, 1..1_100_usize),
            (-200_i64..200, 13..14_i64, 1..300_usize),
        ],
        range in prop::option::of((0..400_usize, 0..400_usize, -2..3_i64)),
        delays in prop_oneof![
            2 => Just([0; 2]),
            1 => (-70_000..70_000_i64).prop_map(|both| [both; 2]),
            2 => [-300..300_i64, -300..300_i64],
            1 => [-66_000..66_000_i64, -66_000..66_000_i64],
        ],
        morsel_rows in prop_oneof![Just(None), (1..90_usize).prop_map(Some)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let by_times = store(folder.path(), &sources);
        let by_gaps = with_gaps(folder.path());
        let count = i64::try_from(count).unwrap();
        let bins = Bins::linear(low, low + width * count, width).unwrap();
        let delay = |channel, ticks| Delay { channel, ticks };
        let mut delays = vec![delay(start, delays[0]), delay(stop, delays[1])];
        if start == stop {
            delays.pop();
        }
        let scope = Scope { range: time_range(&sources, range), delays, ..Scope::default() };
        let query = Histogram { start, stop, bins, mode: Mode::All, fold: None, scope };
        let expected = histogram(&query, &by_times, &Execution { morsel_rows, ..Execution::best() });
        for simd in Simd::available() {
            let execution = Execution { simd, morsel_rows };
            prop_assert_eq!(&histogram(&query, &by_gaps, &execution), &expected, "{:?}", simd);
        }
    }
}

/// A tag each 10 ticks: one pair is read from gaps for windows below 200 ticks, without vectors below 10 ticks; pairs of
/// all channels below 10 ticks; one group of three while a window holds less than half a row on average.
#[test]
fn gaps_are_read_where_they_are_faster() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<(i64, u16)> =
        (0..100_000).map(|row| 10 * row).zip([0, 1, 2].into_iter().cycle()).collect();
    store(folder.path(), &vec![rows]);
    let store = with_gaps(folder.path());
    let levels = Simd::available();
    for &simd in &levels {
        let of_pair = if simd == levels[0] { [9, 11] } else { [190, 210] };
        for (window, groups, reads_gaps) in [
            (of_pair[0], vec![vec![0, 1]], true),
            (of_pair[1], vec![vec![0, 1]], false),
            (9, vec![vec![0, 1], vec![1, 2]], true),
            (11, vec![vec![0, 1], vec![1, 2]], false),
            (4, vec![vec![0, 1, 2]], true),
            (6, vec![vec![0, 1, 2]], false),
        ] {
            let (groups, scope) = (Groups::Listed(groups), Scope::default());
            let query = Coincidences { groups, rule: Rule::All, window, veto: None, scope };
            let execution = Execution { simd, ..Execution::best() };
            let plan = query.plan(&Recording::of(&store), &execution).unwrap();
            let expected = if reads_gaps { 3 } else { 9 };
            let found = (plan.kernels().contains(&"sums of gaps"), plan.bytes());
            assert_eq!(found, (reads_gaps, 100_000 * expected), "{window}, {simd:?}");
        }
    }
}
