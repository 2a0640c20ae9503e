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

/// Returns the recorded ticks of a range, if the recorded time is moved by the delay of a channel.
fn live_moved(
    sources: &Sources,
    channel: u16,
    delays: &[(u16, i64)],
    range: [Option<i64>; 2],
) -> i128 {
    let delay = delays.iter().find(|&&(of, _)| of == channel).map_or(0, |of| of.1);
    oracle::live(sources, range.map(|time| time.map(|time| time.saturating_sub(delay))))
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
            for (&channel, live) in rated.channels.iter().zip(rated.live_of()) {
                assert_eq!(live, live_moved(sources, channel, &delays, range));
            }
            let Some(trace) = &rated.trace else { continue };
            let Some(TimeDivision::Width(width)) = query.trace else { continue };
            let origin = sources.iter().flatten().map(|tag| tag.0).min();
            let mut sums = vec![0; rated.channels.len()];
            let mut live = 0;
            let len = rated.channels.len().max(1);
            let rows = trace.counts.chunks(len).zip(trace.live.chunks(len));
            let earliest = delays.iter().map(|&(_, ticks)| ticks).min().unwrap_or(0).min(0);
            for (bin, (counts, of_channels)) in trace.bins.iter().zip(rows) {
                let nominal = origin.unwrap() + bin.of.number * width;
                // Tags that delays put less than a bin before the first one belong to it.
                let is_first = bin.of.number == earliest / width && range[0] != Some(nominal);
                let start = if is_first { origin.unwrap() + earliest } else { nominal };
                let from = query.scope.range.from.map_or(start, |from| from.max(start));
                let end = nominal + width;
                let to = query.scope.range.to.map_or(end, |to| to.min(end));
                assert_eq!(i128::from(bin.live), oracle::live(sources, [Some(from), Some(to)]));
                for (i, &channel) in rated.channels.iter().enumerate() {
                    let expected =
                        oracle::singles(sources, channel, &delays, [Some(from), Some(to)]);
                    assert_eq!(counts[i], expected, "{simd:?} {bin:?} {query:?} {sources:?}");
                    let moved = live_moved(sources, channel, &delays, [Some(from), Some(to)]);
                    assert_eq!(i128::from(of_channels[i]), moved);
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
fn tags_that_a_delay_puts_before_the_first_bin_belong_to_it() {
    let sources = vec![vec![(100, 2), (105, 1), (119, 1), (120, 2), (130, 1)]];
    let of = |delay: i64, range: [Option<i64>; 2]| {
        let query = rates(&[(2, delay)], range, Some(10));
        let trace = query.run(&recording(&sources), &Execution::best()).unwrap().trace.unwrap();
        let bins = trace.bins.iter().map(|bin| (bin.of.number, bin.of.start, bin.of.is_partial()));
        (bins.collect::<Vec<_>>(), trace.counts, trace.live)
    };
    // Channel 2 at 96 and 116: it was recorded from 96 to 126, channel 1 from 100 to 130.
    let (bins, counts, live) = of(-4, [None, None]);
    assert_eq!(bins, [(0, 0, false), (1, 10, false), (2, 20, true), (3, 30, true)]);
    assert_eq!(counts, [1, 1, 1, 1, 0, 0, 1, 0]);
    assert_eq!(live, [10, 14, 10, 10, 10, 6, 0, 0]);
    // At 76 and 96: from bin -2 on, which begins at 76 and not at 80, to 106.
    let (bins, counts, live) = of(-24, [None, None]);
    assert_eq!((bins[0], bins[1], bins.len()), ((-2, -20, false), (-1, -10, false), 6));
    assert_eq!(counts[..6], [0, 1, 0, 1, 1, 0]);
    assert_eq!(live[..6], [0, 14, 0, 10, 10, 6]);
    // A selection from the beginning of the bin on leaves them out; a later one cuts the bin.
    let (bins, counts, live) = of(-4, [Some(100), Some(120)]);
    assert_eq!(bins, [(0, 0, false), (1, 10, false)]);
    assert_eq!((counts, live), (vec![1, 0, 1, 1], vec![10, 10, 10, 10]));
    let (bins, counts, _) = of(-4, [Some(97), Some(110)]);
    assert_eq!((bins, counts), (vec![(0, 0, true)], vec![1, 0]));
    // Moved to 104 and 124, and recorded up to 134: the row after the last bin is of real tags.
    let (bins, counts, live) = of(14, [None, None]);
    assert_eq!((bins[0], bins.len()), ((0, 0, false), 4));
    assert_eq!(counts, [1, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(live, [10, 0, 10, 6, 10, 10, 0, 10]);
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
