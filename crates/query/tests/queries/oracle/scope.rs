//! Channels in use and ranges.

use proptest::prelude::*;
use tagq_query::{
    Coincidences, Delay, Execution, Groups, Kind as _, Recording, Rule, Scope, TimeRange,
};

use crate::oracle::support::{Sources, check, every_pair, pairs, recording, run, sources, tags};

#[test]
fn only_the_channels_in_use_are_paired() {
    let sources = vec![tags(200, 5, 4)];
    let mut query = every_pair(9, &[(4, 3)]);
    // A channel without tags, 77, gives rows of zeros.
    query.scope.channels = Some(vec![77, 4, 2, 4]);
    check(&sources, &query, 2, &[None, Some(3)]);
    let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
    let channels: Vec<Vec<u16>> = counted.rows.iter().map(|row| row.channels.clone()).collect();
    assert_eq!(channels, [[2, 4], [2, 77], [4, 77]]);
    query.scope.channels = Some(vec![]);
    assert_eq!(run(&query, &recording(&sources, None), &Execution::best(), 1).rows, []);
}

/// A pair belongs to its later tag, even if the other one is before the range.
#[test]
fn a_range_takes_pairs_by_their_latest_tag() {
    let sources: Sources = vec![(vec![10, 14, 20, 30], vec![1, 2, 1, 2])];
    // Pairs within 10: (10, 14), (14, 20), (20, 30).
    for (from, to, count) in [
        (None, None, 3),
        (Some(14), None, 3),
        (Some(15), None, 2),
        (Some(15), Some(30), 1),
        (None, Some(14), 0),
        (Some(31), None, 0),
        (Some(30), Some(10), 0),
    ] {
        let mut query = every_pair(10, &[]);
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, 1, &[None, Some(1)]);
        let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
        assert_eq!(counted.rows[0].count, count, "{from:?} {to:?}");
    }
}

/// Live time and singles are cut to the range: singles by delayed time, live time by recorded time.
#[test]
fn singles_and_live_time_are_those_of_the_range() {
    let sources: Sources = vec![(vec![10, 14, 20, 30], vec![1, 2, 1, 2])];
    for (from, to, live, singles) in [
        (None, None, 20, [2, 2]),
        (Some(12), Some(31), 18, [1, 1]),
        (Some(0), Some(15), 5, [1, 0]),
        (Some(24), Some(24), 0, [0, 0]),
        (Some(24), Some(25), 1, [0, 1]),
        (Some(50), Some(60), 0, [0, 0]),
        (Some(40), Some(41), 0, [0, 1]),
    ] {
        let mut query = every_pair(1, &[(2, 10)]);
        query.scope.range = TimeRange { from, to };
        let counted = run(&query, &recording(&sources, None), &Execution::best(), 1);
        let of_source = &counted.rows[0].sources[0];
        assert_eq!(
            (of_source.live, &of_source.singles[..]),
            (live, &singles[..]),
            "{from:?} {to:?}"
        );
    }
}

/// Delays as long as the source, in both directions, move tags out of its span.
#[test]
fn delays_longer_than_the_source() {
    let sources = vec![tags(300, 4, 8)];
    let span = sources[0].0[299] - sources[0].0[0];
    for delays in [[(1, span), (2, -span)], [(1, -3 * span), (3, -3 * span + 5)]] {
        for window in [4, span, 4 * span] {
            check(&sources, &every_pair(window, &delays), 2, &[None, Some(9)]);
        }
    }
}

fn rules() -> impl Strategy<Value = (Rule, Groups)> {
    let triples = Groups::Listed(vec![vec![1, 0, 2], vec![2, 3, 1], vec![0, 1]]);
    let pairs = Groups::Listed(vec![vec![1, 0], vec![2, 3]]);
    prop::sample::select(vec![
        (Rule::All, triples.clone()),
        (Rule::Herald, triples.clone()),
        (Rule::PerHerald, triples.clone()),
        (Rule::Once, triples),
        (Rule::Grid, pairs.clone()),
        (Rule::All, pairs),
        (Rule::All, Groups::EveryPair),
    ])
}

proptest! {
    #[test]
    fn disjoint_ranges_add_up(
        sources in sources(90),
        (rule, groups) in rules(),
        window in 1_i64..60,
        delay in -2_i64..3,
        mut cuts in prop::collection::vec(-200_i64..200, 0..5),
        morsel in 1_usize..8,
    ) {
        cuts.sort_unstable();
        let from = [None].into_iter().chain(cuts.iter().copied().map(Some));
        let to = cuts.iter().copied().map(Some).chain([None]);
        let delays = vec![Delay { channel: 1, ticks: delay * window }];
        let counts = |range| -> Vec<u64> {
            let channels = Some(vec![0, 1, 2, 3]);
            let scope = Scope { delays: delays.clone(), range, channels };
            let query = Coincidences { groups: groups.clone(), rule, window, veto: None, scope };
            let execution = Execution { morsel_rows: Some(morsel), ..Execution::best() };
            let counted = run(&query, &recording(&sources, None), &execution, 1);
            counted.rows.iter().map(|row| row.count).collect()
        };
        let whole = counts(TimeRange::default());
        let mut sum = vec![0; whole.len()];
        for (from, to) in from.zip(to) {
            let part = counts(TimeRange { from, to });
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        prop_assert_eq!(sum, whole);
    }
}

/// Equal delays move the live time out of a range.
#[test]
fn equal_delays_move_the_live_time() {
    let sources = vec![(vec![29, 113], vec![0, 1])];
    let mut query = pairs(vec![[0, 1]], 5, &[(0, 18), (1, 18)]);
    for (to, overlap) in [(30, 0), (47, 0), (50, 3), (200, 84)] {
        query.scope.range = TimeRange { from: None, to: Some(to) };
        let counted = query.run(&recording(&sources, None), &Execution::best()).unwrap();
        assert_eq!(counted.rows[0].sources[0].overlap, overlap, "{to}");
    }
}

proptest! {
    /// Tick by tick, and tag by tag: the time that channels with different delays share leaves out what is dead for one
    /// of them.
    #[test]
    fn channels_share_the_time_that_is_live_for_all(
        tags in prop::collection::vec((0_i64..120, 0_u16..3), 2..60),
        spans in prop::collection::vec((1_i64..30, 1_i64..20), 0..5),
        delays in prop::collection::vec(-40_i64..40, 3),
        from in prop::option::of(-40_i64..150),
        to in prop::option::of(-40_i64..150),
    ) {
        let mut at = 0;
        let dead: Vec<(i64, i64)> = spans
            .iter()
            .map(|&(apart, long)| {
                let begins = at + apart;
                at = begins + long;
                (begins, at)
            })
            .collect();
        let is_dead = |time: i64| dead.iter().any(|&(begins, ends)| begins < time && time < ends);
        let mut tags = tags;
        tags.retain(|&(time, _)| !is_dead(time));
        tags.sort_unstable();
        let Some((&(first, _), &(last, _))) = tags.first().zip(tags.last()) else { return Ok(()) };
        let (time, labels) = tags.iter().copied().unzip();
        let sources = vec![(time, labels)];
        let plain = recording(&sources, None);
        let recording = Recording::new(vec![plain.sources[0].clone().with_dead(&dead)]);
        let of: Vec<(u16, i64)> = (0..).zip(delays.iter().copied()).collect();
        let mut query = pairs(vec![], 5, &of);
        query.groups = Groups::Listed(vec![vec![0, 1, 2]]);
        query.scope.range = TimeRange { from, to };
        let counted = query.run(&recording, &Execution::best()).unwrap();
        let source = &counted.rows[0].sources[0];
        // The unit from t to t + 1, and a tag at t.
        let is_live = |t: i64| first <= t && t < last && !dead.iter().any(|&(b, e)| b <= t && t < e);
        let has_tags = |t: i64| first <= t && t <= last && !is_dead(t);
        let is_shared = |t: i64, is_it: &dyn Fn(i64) -> bool| {
            query.scope.range.contains(t) && delays.iter().all(|&delay| is_it(t - delay))
        };
        let units = (-100..300).filter(|&t| is_shared(t, &is_live)).count();
        prop_assert_eq!(source.overlap, i64::try_from(units).unwrap());
        if delays.iter().any(|&delay| delay != delays[0]) {
            let overlapping: Vec<u64> = (0..3_u16)
                .map(|channel| {
                    let of = |&&(time, label): &&(i64, u16)| {
                        label == channel && is_shared(time + delays[usize::from(channel)], &has_tags)
                    };
                    tags.iter().filter(of).count() as u64
                })
                .collect();
            prop_assert_eq!(&source.overlapping, &overlapping);
        }
    }
}
