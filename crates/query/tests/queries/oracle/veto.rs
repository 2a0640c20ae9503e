//! Vetoes, with each rule that accepts them.

use proptest::prelude::*;
use tagq_query::{
    Coincidences, Error, Execution, Groups, Kind as _, Ledger, Recording, Rule, Scan, Simd,
    TimeRange, Veto, oracle,
};
use tagq_store::{Channels, Tags};

use crate::oracle::support::{check, pairs, recording, sources, tags};

const RULES: [Rule; 4] = [Rule::All, Rule::Herald, Rule::PerHerald, Rule::Once];

proptest! {
    #[test]
    fn a_veto_near_any_tag_forbids_it(
        sources in sources(60),
        rule in prop::sample::select(&RULES[..]),
        groups in prop::sample::select(vec![
            Groups::Listed(vec![vec![0, 1]]),
            Groups::Listed(vec![vec![1, 0], vec![0, 1]]),
            Groups::Listed(vec![vec![1, 2, 0], vec![0, 1]]),
        ]),
        window in prop_oneof![0_i64..30, Just(1_000), Just(1 << 36)],
        guard in 0_i64..20,
        delays in prop::collection::vec(-90_i64..90, 4),
        from in prop::option::of(-100_i64..100),
        to in prop::option::of(-100_i64..100),
    ) {
        let delays: Vec<(u16, i64)> = (0..).zip(delays).collect();
        let mut query = Coincidences { groups, rule, ..pairs(vec![], window, &delays) };
        query.veto = Some(Veto { channels: vec![3, 77], guard });
        query.scope.range = TimeRange { from, to };
        check(&sources, &query, 2, &[Some(3), None]);
    }
}

proptest! {
    /// As if the heralds near a veto were not there.
    #[test]
    fn a_veto_leaves_the_heralds_that_it_is_not_near(
        sources in sources(60),
        rule in prop::sample::select(&RULES[..3]),
        window in 0_i64..30,
        guard in 0_i64..20,
        delays in prop::collection::vec(-90_i64..90, 4),
        from in prop::option::of(-100_i64..100),
        to in prop::option::of(-100_i64..100),
    ) {
        let delays: Vec<(u16, i64)> = (0..).zip(delays).collect();
        let mut query = Coincidences { rule, ..pairs(vec![[1, 0]], window, &delays) };
        query.veto = Some(Veto { channels: vec![3, 77], guard });
        query.scope.range = TimeRange { from, to };
        let near = |tags: &[(i64, u16)], time: i64| {
            let apart = |&(veto, channel): &(i64, u16)| {
                let delay = |channel: u16| delays.iter().find(|of| of.0 == channel).map_or(0, |of| of.1);
                channel == 3 && (veto + delay(3) - time - delay(1)).abs() <= guard
            };
            tags.iter().any(apart)
        };
        let left: Vec<Vec<(i64, u16)>> = sources
            .iter()
            .map(|(time, labels)| {
                let all: Vec<_> = time.iter().copied().zip(labels.iter().copied()).collect();
                let is_left = |&(time, channel): &(i64, u16)| channel != 1 || !near(&all, time);
                all.iter().copied().filter(is_left).collect()
            })
            .collect();
        let others: [&[u16]; 4] = [&[], &[0], &[2], &[2, 0]];
        let expected = others.map(|others| {
            let group = [&[1], others].concat();
            let (rule, window) = if others.is_empty() { (Rule::All, 0) } else { (rule, window) };
            let range = (from, to);
            let count = oracle::coincidences(&left, &group, rule, window, &delays, (&[], 0), range);
            u64::try_from(count).unwrap()
        });
        let recording = recording(&sources, None);
        for simd in Simd::available() {
            let execution = Execution { simd, morsel_rows: Some(7) };
            let scan = Scan::new(&recording, &execution);
            let counted = query.of_heralds_left(&Ledger::of(&scan), 1, &others).unwrap();
            prop_assert_eq!(&counted[..], &expected);
        }
    }
}

/// Long enough for whole steps of every kernel.
#[test]
fn long_sources_with_vetoes() {
    let sources = vec![tags(260, 6, 9)];
    for rule in RULES {
        for (window, guard) in [(3, 0), (12, 5), (12, 60), (400, 1)] {
            let groups = Groups::Listed(vec![vec![1, 2], vec![2, 1, 3], vec![4, 5]]);
            let mut query = Coincidences { groups, rule, ..pairs(vec![], window, &[(1, 4)]) };
            query.veto = Some(Veto { channels: vec![6], guard });
            check(&sources, &query, 2, &[Some(50), None]);
        }
    }
}

#[test]
fn vetoes_that_mean_nothing_are_refused() {
    let tags = Tags { time: (&[0, 5][..]).into(), channels: Channels::U8((&[1, 2]).into()) };
    let recording = Recording::from_tags(tags);
    let refused = |rule, window, veto: Veto| {
        let query = Coincidences { rule, veto: Some(veto), ..pairs(vec![[1, 2]], window, &[]) };
        query.run(&recording, &Execution::best()).unwrap_err()
    };
    let veto = |channel, guard| Veto { channels: vec![channel], guard };
    assert_eq!(refused(Rule::All, 5, veto(2, 5)), Error::VetoInGroup { channel: 2 });
    assert_eq!(refused(Rule::All, 5, veto(3, -1)), Error::NegativeGuard { guard: -1 });
    for rule in [Rule::Grid, Rule::Cluster] {
        let others = vec!["all", "herald", "per-herald", "once"];
        assert_eq!(refused(rule, 5, veto(3, 5)), Error::VetoRule { rule: rule.name(), others });
    }
    let wide = refused(Rule::All, (1 << 36) + 1, veto(3, 5));
    assert_eq!(wide, Error::VetoWindow { window: (1 << 36) + 1, most: 1 << 36 });
}
