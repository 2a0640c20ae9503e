//! Histograms in two dimensions equal the oracle: bins, level, morsel, threads, width of the labels, delays,
//! ranges.

use crate::support::{recording, recordings, sources};
use proptest::prelude::*;
use tagq_query::{
    Bins, Delay, Error, Execution, Histogram2d, Kind as _, Recording, Scope, Simd, TimeRange,
    oracle,
};
use tagq_sampling::random_cases;

fn edges(bins: &Bins) -> Vec<i64> {
    (0..=bins.count()).map(|k| bins.edge(k)).collect()
}

fn query(channels: [u16; 3], bins: Bins) -> Histogram2d {
    let [herald, a, b] = channels;
    Histogram2d { herald, others: [a, b], bins, scope: Scope::default() }
}

proptest! {
    #![proptest_config(random_cases(300))]

    #[test]
    fn every_way_of_counting_equals_the_oracle(
        sources in sources(true),
        channels in Just(vec![0_u16, 1, 2, 3]).prop_shuffle(),
        low in -40_i64..30,
        width in 1_i64..8,
        count in 1_u64..7,
        delays in prop::collection::vec(-60_i64..60, 0..4),
        from in prop::option::of(-50_i64..120),
        to in prop::option::of(-50_i64..120),
        morsel_rows in 1_usize..20,
        threads in 1_usize..4,
    ) {
        let delays: Vec<(u16, i64)> = (0..).zip(delays).collect();
        let channels = [channels[0], channels[1], channels[2]];
        let mut query = query(channels, Bins::Linear { low, width, count });
        query.scope.delays =
            delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
        query.scope.range = TimeRange { from, to };
        let expected =
            oracle::histogram2d(&sources, channels, &edges(&query.bins), &delays, [from, to]);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for recording in recordings(&sources, None) {
            for simd in Simd::available() {
                for morsel_rows in [None, Some(morsel_rows)] {
                    let execution = Execution { simd, morsel_rows };
                    let binned = pool.install(|| query.run(&recording, &execution)).unwrap();
                    prop_assert_eq!(&binned.counts, &expected, "{:?}", execution);
                    for (i, &channel) in channels.iter().enumerate() {
                        let counted: u64 = binned.sources.iter().map(|of| of.singles[i]).sum();
                        let singles = oracle::singles(&sources, channel, &delays, [from, to]);
                        prop_assert_eq!(counted, singles);
                    }
                }
            }
        }
    }
}

#[test]
fn a_triple_is_in_the_cell_of_both_differences() {
    // Herald at 100; A 5 ticks after it, B 3 before it and 7 after it.
    let tags = vec![vec![(97, 2), (100, 0), (105, 1), (107, 2)]];
    let bins = Bins::Linear { low: -10, width: 5, count: 4 };
    let (query, recording) = (query([0, 1, 2], bins), recording(&tags));
    let binned = query.run(&recording, &Execution::best()).unwrap();
    // Bin 3 holds 5 to 9, bin 1 holds -5 to -1.
    let mut counts = vec![0; 16];
    counts[3 * 4 + 1] = 1;
    counts[3 * 4 + 3] = 1;
    assert_eq!(binned.counts, counts);
    // One source of 10 ticks with 1, 1 and 2 tags: 2·5·5/100, of which the span of the tags takes a share. In cell
    // (-10 to -6, -10 to -6) the herald is 8 ticks after both; in (-5 to -1, 5 to 9) they are 10 ticks apart, in
    // (5 to 9, -5 to -1), too; in (0 to 4, 0 to 4) the herald is 2 ticks before both.
    let expected = query.expected(&recording.facts(), &binned);
    let of = |a: usize, b: usize| expected[4 * a + b];
    for (cell, share) in [(of(0, 0), 0.2), (of(1, 3), 0.0), (of(3, 1), 0.0), (of(2, 2), 0.8)] {
        assert!((cell - 0.5 * share).abs() < 1e-12, "{expected:?}");
    }
    // Without 101 to 103, 8 ticks are live, with 1, 1 and 2 tags. The ticks from 97, 98, 103 and 104 on are live, and
    // those 2 ticks later, too.
    let dead = Recording::new(vec![recording.sources[0].clone().with_dead(&[(101, 103)])]);
    let binned = query.run(&dead, &Execution::best()).unwrap();
    let expected = query.expected(&dead.facts(), &binned);
    assert!((expected[4 * 2 + 2] - 2.0 / 512.0 * 25.0 * 4.0).abs() < 1e-12, "{expected:?}");
}

#[test]
fn equal_channels_and_too_many_cells_are_refused() {
    let tags = vec![vec![(0, 0), (1, 1)]];
    let recording = recording(&tags);
    let bins = |count| Bins::Linear { low: 0, width: 1, count };
    let refused = |channels, bins| query(channels, bins).run(&recording, &Execution::best());
    assert_eq!(refused([0, 1, 1], bins(4)), Err(Error::ChannelTwice { channel: 1 }));
    assert_eq!(refused([1, 2, 1], bins(4)), Err(Error::ChannelTwice { channel: 1 }));
    let too_many = refused([0, 1, 2], bins(4097));
    assert_eq!(too_many, Err(Error::Bins { bins: 4097 * 4097, max: 1 << 24 }));
    assert!(refused([0, 1, 2], bins(4096)).is_ok());
}
