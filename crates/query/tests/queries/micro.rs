//! Histograms of micro times equal the oracle: bins, level, threads, width of the labels, delays, ranges.

use crate::support::{micro_of, recording, recordings, sources};
use proptest::prelude::*;
use tagq_query::{Bins, Delay, Execution, Kind as _, MicroTimes, Scope, Simd, TimeRange, oracle};
use tagq_sampling::random_cases;

proptest! {
    #![proptest_config(random_cases(300))]

    #[test]
    fn every_way_of_counting_equals_the_oracle(
        sources in sources(true),
        channels in Just(vec![0_u16, 1, 3, 255, 1_255]).prop_shuffle(),
        of in 0_usize..4,
        low in -5_i64..30,
        width in 1_i64..8,
        count in 1_u64..12,
        delays in prop::collection::vec(-60_i64..60, 0..4),
        from in prop::option::of(-50_i64..120),
        to in prop::option::of(-50_i64..120),
        threads in 1_usize..4,
    ) {
        let delays: Vec<(u16, i64)> = (0..).zip(delays).collect();
        let bins = Bins::Linear { low, width, count };
        let edges: Vec<i64> = (0..=bins.count()).map(|k| bins.edge(k)).collect();
        let scope = Scope {
            channels: None,
            delays: delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect(),
            range: TimeRange { from, to },
        };
        let query = MicroTimes { channels: channels[..of].to_vec(), bins, scope };
        let tags: Vec<Vec<(i64, u16, Option<u32>)>> = sources
            .iter()
            .map(|tags| tags.iter().map(|&(time, of)| (time, of, micro_of(time, of))).collect())
            .collect();
        let expected: Vec<u64> = query
            .channels
            .iter()
            .flat_map(|&channel| oracle::micro_times(&tags, channel, &edges, &delays, [from, to]))
            .collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for recording in recordings(&sources, Some(40)) {
            for simd in Simd::available() {
                let execution = Execution { simd, morsel_rows: None };
                let counts = pool.install(|| query.run(&recording, &execution)).unwrap();
                prop_assert_eq!(&counts, &expected, "{:?}", execution);
            }
        }
    }
}

#[test]
fn each_channel_has_its_own_bins() {
    // Micro times 7·t mod 50 + label mod 3; those that end with 9 are none.
    let tags = vec![vec![(0, 0), (1, 1), (2, 0), (7, 0), (10, 1)]];
    let bins = Bins::Linear { low: 0, width: 8, count: 3 };
    let query = MicroTimes { channels: vec![1, 0], bins, scope: Scope::default() };
    let counts = query.run(&recording(&tags), &Execution::best()).unwrap();
    // Channel 1: 8 and 21. Channel 0: 0, 14, and none at time 7.
    assert_eq!(counts, [0, 1, 1, 1, 1, 0]);
    let best = Execution::best();
    let largest = MicroTimes::largest(&[0], &Scope::default(), &recording(&tags), &best);
    assert_eq!(largest, Ok(Some(14)));
}
