//! Rates equal the oracle: whole, cut, in bins, with and without a block index.

use crate::support::{Sources, recording, recordings, sources};
use proptest::prelude::*;
use tagq_query::{
    Delay, Error, Execution, Kind as _, Rates, Recording, Scope, Simd, TimeDivision, TimeRange,
    oracle,
};
use tagq_sampling::random_cases;

fn rates(delays: &[(u16, i64)], range: [Option<i64>; 2], bin: Option<i64>) -> Rates {
    let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
    let range = TimeRange { from: range[0], to: range[1] };
    Rates { scope: Scope { channels: None, delays, range }, trace: bin.map(TimeDivision::Width) }
}

fn check(sources: &Sources, query: &Rates, threads: usize, block_rows: usize) {
    let delays: Vec<(u16, i64)> =
        query.scope.delays.iter().map(|delay| (delay.channel, delay.ticks)).collect();
    let range = [query.scope.range.from, query.scope.range.to];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for recording in recordings(sources, Some(block_rows)) {
        for simd in Simd::available() {
            let execution = Execution { simd, morsel_rows: None };
            let rated = pool.install(|| query.run(&recording, &execution)).unwrap();
            let expected: Vec<u64> = rated
                .channels
                .iter()
                .map(|&channel| oracle::singles(sources, channel, &delays, range))
                .collect();
            assert_eq!(rated.counts(), expected, "{simd:?} {query:?} {sources:?}");
            assert_eq!(rated.live(), oracle::live(sources, range));
            let Some(trace) = &rated.trace else { continue };
            let Some(TimeDivision::Width(width)) = query.trace else { continue };
            let origin = sources.iter().flatten().map(|tag| tag.0).min();
            let mut sums = vec![0; rated.channels.len()];
            let mut live = 0;
            let rows = trace.counts.chunks(rated.channels.len().max(1));
            for (bin, counts) in trace.bins.iter().zip(rows) {
                let start = origin.unwrap() + bin.of.number * width;
                let from = query.scope.range.from.map_or(start, |from| from.max(start));
                let end = start + width;
                let to = query.scope.range.to.map_or(end, |to| to.min(end));
                assert_eq!(i128::from(bin.live), oracle::live(sources, [Some(from), Some(to)]));
                for (i, &channel) in rated.channels.iter().enumerate() {
                    let expected =
                        oracle::singles(sources, channel, &delays, [Some(from), Some(to)]);
                    assert_eq!(counts[i], expected, "{simd:?} {bin:?} {query:?} {sources:?}");
                    sums[i] += counts[i];
                }
                live += i128::from(bin.live);
            }
            assert_eq!(sums, rated.counts(), "the bins add up");
            assert_eq!(live, rated.live(), "the live time of the bins adds up");
            assert!(trace.bins.windows(2).all(|pair| pair[0].of.number + 1 == pair[1].of.number));
        }
    }
}

proptest! {
    #![proptest_config(random_cases(300))]
    #[test]
    fn every_path_equals_the_oracle(
        sources in sources(true),
        delays in prop::collection::hash_map(0_u16..4, -50_i64..50, 0..4),
        from in prop::option::of(-80_i64..80),
        to in prop::option::of(-80_i64..80),
        bin in prop::option::of(1_i64..90),
        threads in 1_usize..4,
        block_rows in 1_usize..8,
    ) {
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        check(&sources, &rates(&delays, [from, to], bin), threads, block_rows);
    }
}

#[test]
fn bins_begin_at_the_first_tag_and_the_cut_ones_are_marked() {
    let sources = vec![vec![(100, 1), (109, 2), (135, 1)], vec![(150, 2), (159, 1)]];
    let of = |query: &Rates| {
        let rated = query.run(&recording(&sources), &Execution::best()).unwrap();
        let trace = rated.trace.unwrap();
        let bins = trace
            .bins
            .iter()
            .map(|bin| (bin.of.number, bin.live, bin.of.is_cut || !bin.of.is_final));
        (bins.collect::<Vec<_>>(), trace.counts)
    };
    // 100..110, …, 150..160; between 135 and 150 nothing is live; the last bin may still grow.
    let (bins, counts) = of(&rates(&[], [None, None], Some(10)));
    let live = [10, 10, 10, 5, 0, 9];
    let expected: Vec<_> =
        (0..).zip(live).map(|(number, live)| (number, live, number == 5)).collect();
    assert_eq!(bins, expected);
    assert_eq!(counts, [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]);
    // The range cuts bins 0 and 3.
    let (bins, counts) = of(&rates(&[], [Some(105), Some(131)], Some(10)));
    assert_eq!(bins, [(0, 5, true), (1, 10, false), (2, 10, false), (3, 1, true)]);
    assert_eq!(counts, [0, 1, 0, 0, 0, 0, 0, 0]);
    // A range on bin edges cuts nothing.
    let (bins, _) = of(&rates(&[], [Some(110), Some(130)], Some(10)));
    assert_eq!(bins, [(1, 10, false), (2, 10, false)]);
    // A channel moved back by 41: its tag of 109 is at 68, that of 150 at 109, and all before 159 − 41 = 118
    // is final.
    let (bins, counts) = of(&rates(&[(2, -41)], [None, None], Some(10)));
    assert_eq!((bins[0], bins.len()), ((-4, 0, false), 10));
    assert_eq!(counts[..2], [0, 1]);
    assert_eq!((bins[4], bins[5]), ((0, 10, false), (1, 10, true)));
    assert_eq!(counts[8..10], [1, 1]);
}

#[test]
fn a_channel_without_tags_is_a_zero_and_the_order_is_that_asked() {
    let sources = vec![vec![(1, 7), (2, 7), (4, 5)]];
    let mut query = rates(&[], [None, None], None);
    query.scope.channels = Some(vec![7, 9, 5]);
    let rated = query.run(&recording(&sources), &Execution::best()).unwrap();
    assert_eq!((rated.channels.clone(), rated.counts()), (vec![7, 9, 5], vec![2, 0, 1]));
    let empty = query.run(&Recording::new(vec![]), &Execution::best()).unwrap();
    assert_eq!((empty.counts(), empty.live()), (vec![0, 0, 0], 0));
}

#[test]
fn rates_that_mean_nothing_are_refused() {
    let sources = vec![vec![(0, 1), (1 << 60, 1)]];
    let run = |query: Rates| query.run(&recording(&sources), &Execution::best());
    assert_eq!(run(rates(&[], [None, None], Some(0))), Err(Error::BinWidth { width: 0 }));
    assert_eq!(
        run(rates(&[], [None, None], Some(1))),
        Err(Error::Bins { bins: (1 << 60) + 1, max: 1 << 27 })
    );
    assert!(matches!(
        run(rates(&[(1, i64::MAX)], [None, None], None)),
        Err(Error::DelayRange { .. })
    ));
    let ends = vec![vec![(i64::MIN, 1), (i64::MIN + 5, 1)], vec![(i64::MAX, 1)]];
    assert!(matches!(
        rates(&[], [None, None], Some(10)).run(&recording(&ends), &Execution::best()),
        Err(Error::DelayRange { .. })
    ));
    check(&ends, &rates(&[], [Some(i64::MIN + 2), Some(i64::MAX)], None), 1, 2);
}
