//! Queries over columns with damaged times: an answer or an error. If the scanned rows are out of order, the
//! error must say so.

use std::{fs, ops::ControlFlow};

use proptest::prelude::*;
use tagq_query::{
    Bins, Coincidences, Delay, Error, Execution, Groups, Histogram, Kind as _, Ledger, Mode, Rates,
    Recording, Rule, Scan, Scope, Simd, TimeDivision, TimeRange, Veto, shortest_intervals,
};
use tagq_sampling::random_cases;
use tagq_store::{
    Access, Channels, Creation, SourceFacts, Store, Tags, Tick, Writer, format::HEADER_BYTES,
};

/// Returns rows in order, and the same rows with some of them changed.
fn columns() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
    let edges = vec![i64::MIN, -1, 0, 1 << 40, i64::MAX];
    let value = prop_oneof![prop::sample::select(edges), any::<i64>(), 0_i64..9_000];
    let damage = (any::<prop::sample::Index>(), value, 0_u32..64, 0_u8..3);
    let gaps = prop::collection::vec(0_i64..60, 1..300);
    (gaps, prop::collection::vec(damage, 1..4)).prop_map(|(gaps, damage)| {
        let time = |time: &mut i64, gap: i64| {
            *time += gap;
            Some(*time)
        };
        let whole: Vec<i64> = gaps.into_iter().scan(0, time).collect();
        let mut damaged = whole.clone();
        for (at, value, bit, kind) in damage {
            let row = at.index(damaged.len());
            match kind {
                0 => damaged[row] = value,
                1 => damaged[row] ^= 1 << bit,
                // As after a lost page.
                _ => damaged[row..].iter_mut().take(40).for_each(|time| *time = value),
            }
        }
        (whole, damaged)
    })
}

/// Returns all rules with their groups.
fn asked(window: i64, scope: &Scope, guard: Option<i64>) -> Vec<Coincidences> {
    let pair = Groups::Listed(vec![vec![0, 1]]);
    let more = Groups::Listed(vec![vec![0, 1, 2], vec![2, 1]]);
    let rules = [
        (Rule::All, &pair),
        (Rule::All, &more),
        (Rule::All, &Groups::EveryPair),
        (Rule::All, &Groups::EveryFold(3)),
        (Rule::Herald, &more),
        (Rule::PerHerald, &more),
        (Rule::Once, &more),
        (Rule::Cluster, &Groups::EveryPair),
        (Rule::Grid, &Groups::EveryPair),
        (Rule::Grid, &pair),
    ];
    let of = |(rule, groups): (Rule, &Groups)| {
        let veto = guard.map(|guard| Veto { channels: vec![3], guard });
        let veto = veto.filter(|_| {
            let takes = !matches!(rule, Rule::Cluster | Rule::Grid);
            takes && matches!(groups, Groups::Listed(_))
        });
        let delays = if rule == Rule::Grid { Vec::new() } else { scope.delays.clone() };
        let scope = Scope { delays, ..scope.clone() };
        Coincidences { groups: groups.clone(), rule, window, veto, scope }
    };
    rules.into_iter().map(of).collect()
}

fn histograms(scope: &Scope) -> Vec<Histogram> {
    let bins = [
        Bins::linear(-50, 50, 3).unwrap(),
        Bins::linear(-8_192, 8_192, 8).unwrap(),
        Bins::linear(0, 1 << 40, 1 << 30).unwrap(),
        Bins::logarithmic(1, 1 << 50, 7).unwrap(),
    ];
    let all = bins.into_iter().flat_map(|bins| {
        [
            (Mode::All, 0, 1),
            (Mode::All, 2, 2),
            (Mode::Next, 0, 1),
            (Mode::Last, 1, 2),
            (Mode::Next, 3, 3),
        ]
        .map(|(mode, start, stop)| Histogram {
            start,
            stop,
            bins: bins.clone(),
            mode,
            fold: None,
            scope: scope.clone(),
        })
    });
    let mut all: Vec<Histogram> = all.collect();
    let bins = Bins::linear(-90, 90, 10).unwrap();
    let scope = Scope { delays: Vec::new(), ..scope.clone() };
    all.push(Histogram { start: 0, stop: 1, bins, mode: Mode::Grid, fold: None, scope });
    all
}

proptest! {
    #![proptest_config(random_cases(48))]

    #[test]
    fn ends_in_an_answer_or_an_error(
        (whole, damaged) in columns(),
        window in prop_oneof![1_i64..20, 1_i64..900, 1..=1_i64 << 36],
        rows in prop_oneof![1_usize..90, Just(usize::MAX)],
        delay in prop_oneof![Just(0), -80_i64..80, Just(1 << 50)],
        range in prop_oneof![Just([None; 2]), prop::array::uniform2(prop::option::of(-10_i64..9_000))],
        guard in prop::option::of(0_i64..40),
        is_wide in any::<bool>(),
        channels in 2_u16..5,
    ) {
        let wide: Vec<u16> = (0..).map(|row| row * 7 % 11 % channels).take(whole.len()).collect();
        let narrow: Vec<u8> = wide.iter().map(|label| label.to_le_bytes()[0]).collect();
        let channels = if is_wide { Channels::U16((&wide).into()) } else { Channels::U8((&narrow).into()) };
        let (time, ends) = (&whole[..], [whole[0], whole[whole.len() - 1]]);
        // Only a drop so large that its difference wraps may be missed, and not if it affects a single row.
        let is_out = !damaged.is_sorted() && damaged.iter().all(|time| time.unsigned_abs() < 1 << 62);
        let delays = vec![Delay { channel: 1, ticks: delay }];
        let range = TimeRange { from: range[0], to: range[1] };
        let scope = Scope { channels: None, delays, range };
        for simd in Simd::available() {
            let execution = Execution { simd, morsel_rows: (rows < 90).then_some(rows) };
            // No state of one query remains for the next.
            let recording = || {
                let mut recording = Recording::from_tags(Tags { time: time.into(), channels });
                recording.sources[0].tags.time = damaged[..].into();
                recording
            };
            let check = |is_right: Result<(), Error>, scans: bool, what: &str| {
                match is_right {
                    Ok(()) if !scans || !range.is_open() || !is_out => {}
                    Err(Error::Unordered { row, block: 0 }) => {
                        let row = usize::try_from(row).unwrap();
                        let outside = damaged[row] < ends[0] || damaged[row] > ends[1];
                        let falls = |row: usize| row > 0 && damaged[row..].first() < damaged.get(row - 1);
                        prop_assert!(outside || falls(row) || falls(row + 1), "{what}: {row}");
                    }
                    Err(Error::DelayRange { .. } | Error::CountRange { .. } | Error::Bins { .. }) => {}
                    other => prop_assert!(false, "{what}: {other:?} of {damaged:?}"),
                }
                Ok(())
            };
            for query in asked(window, &scope, guard) {
                let what = format!("{query:?}");
                // With too few channels there are no groups to count.
                let scans = matches!(query.groups, Groups::Listed(_));
                check(query.run(&recording(), &execution).map(drop), scans, &what)?;
                check(query.plan(&recording(), &execution).map(drop), false, &what)?;
                let mut tuples = 0_u32;
                let mut take = || {
                    tuples += 1;
                    if tuples < 9 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                };
                let listed = if query.rule == Rule::Cluster {
                    query.list_clusters(&recording(), &execution, &mut |_| take())
                } else {
                    query.list(&recording(), &execution, &mut |_| take())
                };
                check(listed, false, &what)?;
            }
            for query in histograms(&scope) {
                let what = format!("{query:?}");
                let recording = recording();
                let found = query.run(&recording, &execution);
                if let Ok(binned) = &found && query.mode == Mode::All {
                    let _: Result<_, Error> = query.g2(&recording, binned, &execution);
                }
                check(found.map(drop), query.mode == Mode::All, &what)?;
                check(query.plan(&recording, &execution).map(drop), false, &what)?;
            }
            let rates = Rates { scope: scope.clone(), trace: Some(TimeDivision::Width(1 << 11)) };
            check(rates.run(&recording(), &execution).map(drop), false, "rates")?;
            check(shortest_intervals(&recording(), &execution).map(drop), true, "shortest")?;
        }
    }
}

/// Rows of a lost page that are a whole 64-bit range before the rows after them, in morsels that begin
/// inside.
#[test]
fn times_that_rise_by_more_than_64_bits_are_out_of_order() {
    let whole: Vec<i64> = (0..203).map(|row| 34 * row).collect();
    let labels: Vec<u8> = (0..203_u16).map(|row| (row * 7 % 11 % 2).to_le_bytes()[0]).collect();
    let mut damaged = whole.clone();
    damaged[100..140].fill(i64::MIN);
    for simd in Simd::available() {
        for morsel_rows in [10, 40, 60, 203] {
            let execution = Execution { simd, morsel_rows: Some(morsel_rows) };
            for histogram in histograms(&Scope::default()) {
                let tags =
                    Tags { time: whole[..].into(), channels: Channels::U8((&labels).into()) };
                let mut recording = Recording::from_tags(tags);
                recording.sources[0].tags.time = damaged[..].into();
                let found = histogram.run(&recording, &execution);
                let is_noticed = matches!(found, Err(Error::Unordered { block: 0, .. }));
                // Pairs within the columns; rises and falls of 2^63 ticks cancel in the other kernels.
                let in_columns = histogram.mode == Mode::All && histogram.stop == 1;
                assert!(is_noticed || !in_columns, "{simd:?}, {morsel_rows} rows: {histogram:?}");
            }
        }
    }
}

/// Gaps are enough for the counts of a histogram. Its expectation reads times, by searches that a lost page misleads.
#[test]
fn expectations_from_damaged_times_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let mut writer = Writer::open(folder.path(), &creation).unwrap();
    writer.make_gaps().unwrap();
    writer.begin_source();
    let times: Vec<i64> =
        (0..70_000).map(|row| 1_000 + 40_000 * row + row * row % 30_011).collect();
    let labels: Vec<u16> = (0..70_000_u32).map(|row| u16::from(row % 7 % 3 == 0)).collect();
    writer.append(&times, &labels).unwrap();
    writer.finish_source(SourceFacts::named("a source"));
    writer.commit().unwrap();
    let bins = Bins::linear(-500, 500, 10).unwrap();
    let scope = Scope::default();
    let query = Histogram { start: 0, stop: 1, bins, mode: Mode::All, fold: None, scope };
    let expected = || {
        let store = Store::open(folder.path(), Access::Copied).unwrap();
        let recording = Recording::of(&store);
        let scan = Scan::new(&recording, &Execution::best());
        query.expected(&Ledger::of(&scan))
    };
    let intact = expected().unwrap();
    let path = folder.path().join("time.col");
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for page in (HEADER_BYTES..whole.len()).step_by(4_096) {
        let mut damaged = whole.clone();
        damaged[page..whole.len().min(page + 4_096)].fill(0);
        fs::write(&path, damaged).unwrap();
        match expected() {
            Ok(expected) => assert_eq!(expected, intact, "the page at byte {page}"),
            Err(error) => {
                assert!(
                    matches!(error, Error::Unordered { .. } | Error::Damaged { .. }),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}
