//! Pairs with rule `all`.

use proptest::prelude::*;
use tagq_query::{Coincidences, Error, Execution, Kind as _, Recording};
use tagq_sampling::{random_cases, some};

use crate::oracle::support::{Sources, check, every_pair, pairs, recording, run, sources, tags};

/// Every length near the 64 rows and 16 neighbours of a kernel step, from every start.
#[test]
fn kernels_equal_the_oracle_at_every_length() {
    let all = tags(420, 3, 7);
    let starts = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 63];
    let of_len = |len| starts.map(|start| [0, 3, 12].map(|window| (start, start + len, window)));
    for (start, end, window) in some((0..=200).flat_map(of_len).flatten()) {
        let source = (all.0[start..end].to_vec(), all.1[start..end].to_vec());
        let morsels = if start == 0 { &[None, Some(1), Some(7)][..] } else { &[None][..] };
        check(&vec![source], &pairs(vec![[1, 2]], window, &[]), 1, morsels);
    }
}

/// Neighbours outside the reach of the kernels: bursts, and windows longer than the run.
#[test]
fn crowded_windows_equal_the_oracle() {
    let burst = (vec![5; 300], (0..300).map(|i| i % 4 + 1).collect());
    let mixed = tags(500, 5, 3);
    for source in [burst, mixed] {
        let sources = vec![source];
        let of_window = |window| [Some(3), Some(50), None].map(|morsels| (window, morsels));
        let windows = [0, 1, 30, 400, 1_000_000, i64::MAX];
        for (window, morsels) in some(windows.into_iter().flat_map(of_window)) {
            check(&sources, &pairs(vec![[2, 1]], window, &[]), 2, &[morsels]);
            check(&sources, &every_pair(window, &[]), 2, &[morsels]);
            check(&sources, &every_pair(window, &[(2, -9), (3, 77)]), 2, &[morsels]);
        }
    }
}

#[test]
fn both_edges_of_the_window_count_and_one_tick_more_does_not() {
    for (gap, window, count) in [(12, 12, 1), (13, 12, 0), (0, 0, 1), (1, 0, 0)] {
        for (first, second) in [(3, 15), (15, 3)] {
            let sources = vec![(vec![100, 100 + gap], vec![first, second])];
            let query = pairs(vec![[3, 15]], window, &[]);
            check(&sources, &query, 1, &[None]);
            let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
            assert_eq!(counted.rows[0].count, count);
        }
    }
}

#[test]
fn times_at_the_ends_of_64_bits() {
    let half = i64::MAX / 2;
    for (time, window) in [
        (vec![i64::MIN, i64::MIN, i64::MIN + 5], 4),
        (vec![i64::MAX - 5, i64::MAX, i64::MAX], 5),
        (vec![i64::MAX - 5, i64::MAX, i64::MAX], i64::MAX),
        (vec![-half, 0, half], half),
        (vec![-half, 0, half], i64::MAX),
    ] {
        let sources = vec![(time, vec![1, 2, 1])];
        check(&sources, &pairs(vec![[1, 2]], window, &[]), 1, &[None, Some(1)]);
        check(&sources, &every_pair(window, &[]), 1, &[None, Some(1)]);
    }
    let late = vec![(vec![i64::MAX - 5, i64::MAX - 3], vec![1, 2])];
    check(&late, &pairs(vec![[1, 2]], 1, &[(2, 3)]), 1, &[None, Some(1)]);
    let refused = |delay| {
        // A move in the other direction has no effect on this pair.
        let query = pairs(vec![[1, 2]], 1, &[(1, -50), (2, delay)]);
        query.run(&recording(&late, None), &Execution::best())
    };
    assert!(matches!(refused(6), Err(Error::DelayRange { delay: 6, .. })), "{:?}", refused(6));
    assert!(matches!(refused(i64::MIN), Err(Error::DelayRange { .. })));
}

#[test]
fn no_pair_spans_two_sources() {
    let sources =
        vec![(vec![1, 2], vec![1, 1]), (vec![2, 3], vec![2, 2]), (vec![3, 3], vec![1, 2])];
    let query = pairs(vec![[1, 2]], 10, &[]);
    check(&sources, &query, 2, &[None, Some(1)]);
    let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
    assert_eq!(counted.rows[0].count, 1);
    assert_eq!(counted.rows[0].singles(), [3, 3]);
}

#[test]
fn many_channels_and_none() {
    // All 256 labels of a narrow column, and 300 of a wide one.
    let sources = vec![((0..512).collect(), (0..512).map(|i| i % 256).collect())];
    check(&sources, &pairs(vec![[0, 255], [255, 254], [7, 9]], 300, &[]), 2, &[None, Some(5)]);
    check(&sources, &pairs(vec![[255, 0]], 1, &[(0, 256)]), 1, &[None, Some(5)]);
    check(&sources, &pairs(vec![[300, 0], [400, 300]], 9, &[]), 1, &[None]);
    check(&sources, &pairs(vec![[300, 0]], 9, &[]), 1, &[None]);
    let wide = vec![((0..600).collect(), (0..600).map(|i| i % 300).collect())];
    check(&wide, &pairs(vec![[299, 0], [1, 2]], 2, &[]), 1, &[None, Some(7)]);
    check(&wide, &every_pair(2, &[(7, -299), (299, 4)]), 2, &[None]);
    let empty = every_pair(2, &[]).run(&Recording::new(vec![]), &Execution::best());
    assert_eq!(empty.map(|counted| counted.rows), Ok(vec![]));
    check(&vec![(vec![], vec![])], &pairs(vec![[1, 2]], 2, &[(1, 5)]), 1, &[None]);
}

#[test]
fn queries_that_mean_nothing_are_refused() {
    let sources = vec![(vec![1], vec![1])];
    let run = |query: Coincidences| query.run(&recording(&sources, None), &Execution::best());
    assert_eq!(run(pairs(vec![[3, 3]], 1, &[])), Err(Error::SameChannel { channel: 3 }));
    assert_eq!(run(pairs(vec![[1, 2]], -1, &[])), Err(Error::NegativeWindow { window: -1 }));
    assert_eq!(
        run(pairs(vec![[1, 2]], 1, &[(2, 5), (1, 0), (2, 6)])),
        Err(Error::TwoDelays { channel: 2, first: 5, second: 6 })
    );
}

proptest! {
    #![proptest_config(random_cases(200))]
    #[test]
    fn every_path_equals_the_oracle(
        sources in sources(90),
        wide in any::<bool>(),
        window in 0_i64..40,
        delays in prop::collection::hash_map(0_u16..4, -50_i64..50, 0..4),
        listed in prop::option::of(prop::collection::vec((0_u16..4, 1_u16..4), 1..4)),
        morsel in 1_usize..8,
        threads in 1_usize..4,
    ) {
        let mut sources = sources;
        if wide {
            for (_, labels) in &mut sources {
                labels.iter_mut().filter(|label| **label > 100).for_each(|label| *label += 1_000);
            }
        }
        let delays: Vec<(u16, i64)> = delays.into_iter().collect();
        let query = match listed {
            Some(groups) => {
                pairs(groups.into_iter().map(|(a, b)| [a, (a + b) % 4]).collect(), window, &delays)
            }
            None => every_pair(window, &delays),
        };
        check(&sources, &query, threads, &[Some(morsel), None]);
    }

    #[test]
    fn names_and_origins_do_not_matter(
        sources in sources(90),
        window in 0_i64..40,
        shift in -1_000_000_000_i64..1_000_000_000,
    ) {
        let counts = |sources: &Sources, group| {
            let query = pairs(vec![group], window, &[]);
            run(&query, &recording(sources, None), &Execution::best(), 1).rows[0].count
        };
        let renamed: Sources = sources.iter().map(|(time, labels)| {
            (time.iter().map(|t| t + shift).collect(), labels.iter().map(|l| l ^ 3).collect())
        }).collect();
        prop_assert_eq!(counts(&sources, [0, 1]), counts(&renamed, [3, 2]));
        prop_assert_eq!(counts(&sources, [0, 1]), counts(&sources, [1, 0]));
    }
}
