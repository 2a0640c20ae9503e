//! Counts over the column of gaps: equal to those over the times of the same rows, at every level of instructions and
//! however the rows are cut.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::path::Path;

use proptest::prelude::*;
use tagq_query::{
    Coincidences, Execution, Groups, Kind as _, Recording, Rule, Scope, Simd, TimeRange,
};
use tagq_store::{Access, Creation, SourceFacts, Store, Tick, Writer};

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
    let channel = prop_oneof![9 => 0..4_u16, 1 => Just(255)];
    let rows = prop::collection::vec((gap, channel), 0..300);
    prop::collection::vec(rows, 1..4).prop_map(|mut sources| {
        let mut time = -1_000;
        for row in sources.iter_mut().flatten() {
            time += row.0;
            row.0 = time;
        }
        sources
    })
}

fn counts(query: &Coincidences, store: &Store, execution: &Execution) -> Vec<u64> {
    let counted = query.run(&Recording::of(store), execution).unwrap();
    counted.rows.iter().map(|row| row.count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn gaps_and_times_give_the_same_counts(
        sources in sources(),
        window in prop_oneof![0..300_i64, 65_400..65_700_i64, Just(65_534), Just(65_535)],
        groups in prop::sample::select(vec![
            Groups::Listed(vec![vec![1, 3]]),
            Groups::Listed(vec![vec![0, 255]]),
            Groups::Listed(vec![vec![2, 300]]),
            Groups::EveryPair,
        ]),
        range in prop::option::of((0..400_usize, 0..400_usize, -2..3_i64)),
        morsel_rows in prop_oneof![Just(None), (1..90_usize).prop_map(Some)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let by_times = store(folder.path(), &sources);
        let by_gaps = with_gaps(folder.path());
        prop_assert!(by_times.gaps().is_none() && by_gaps.gaps().is_some());
        let rows = sources.concat();
        let edge = |row: usize, by: i64| rows.get(row % rows.len().max(1)).map(|row| row.0 + by);
        let range = range.map_or(TimeRange::default(), |(from, to, by)| {
            let (from, to) = (edge(from, by), edge(to, -by));
            TimeRange { from: from.min(to), to: from.max(to) }
        });
        let scope = Scope { range, ..Scope::default() };
        let query = Coincidences { groups, rule: Rule::All, window, veto: None, scope };
        let expected = counts(&query, &by_times, &Execution { morsel_rows, ..Execution::best() });
        for simd in Simd::available() {
            let execution = Execution { simd, morsel_rows };
            prop_assert_eq!(&counts(&query, &by_gaps, &execution), &expected, "{:?}", simd);
        }
    }
}

/// A tag each 10 ticks: windows below 200 ticks are read from gaps, others from times.
#[test]
fn gaps_are_read_where_they_are_faster() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<(i64, u16)> =
        (0..100_000).map(|row| 10 * row).zip([0, 1, 2].into_iter().cycle()).collect();
    store(folder.path(), &vec![rows]);
    let store = with_gaps(folder.path());
    for (window, groups, reads_gaps) in [
        (190, vec![vec![0, 1]], true),
        (210, vec![vec![0, 1]], false),
        (190, vec![vec![0, 1, 2]], false),
    ] {
        let (groups, scope) = (Groups::Listed(groups), Scope::default());
        let query = Coincidences { groups, rule: Rule::All, window, veto: None, scope };
        let plan = query.plan(&Recording::of(&store), &Execution::best()).unwrap();
        let expected = if reads_gaps { 3 } else { 9 };
        assert_eq!(plan.kernels().contains(&"sums of gaps"), reads_gaps, "{window}");
        assert_eq!(plan.bytes(), 100_000 * expected, "{window}");
    }
}
