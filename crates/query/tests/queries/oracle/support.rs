//! Generated runs, and a query compared with the oracle in every way to run it.

use std::collections::HashMap;

use proptest::prelude::*;
use tagq_query::{
    Coincidences, Counted, Delay, Execution, Groups, Kind as _, Recording, Rule, Scope, Simd,
    Source, TimeRange, oracle,
};
use tagq_store::{Channels, Tags};

/// Times and labels for each source.
pub(crate) type Sources = Vec<(Vec<i64>, Vec<u16>)>;

fn narrow(sources: &Sources) -> Vec<Vec<u8>> {
    sources
        .iter()
        .map(|(_, labels)| labels.iter().map(|&l| u8::try_from(l).unwrap_or(0)).collect())
        .collect()
}

pub(crate) fn recording<'a>(sources: &'a Sources, narrow: Option<&'a [Vec<u8>]>) -> Recording<'a> {
    let one = |i: usize| -> Source<'a> {
        let (time, labels) = &sources[i];
        let channels = match narrow {
            Some(narrow) => Channels::U8((&narrow[i]).into()),
            None => Channels::U16(labels.into()),
        };
        Recording::from_tags(Tags { time: time[..].into(), channels }).sources.remove(0)
    };
    Recording::new((0..sources.len()).map(one).collect())
}

pub(crate) fn run(
    query: &Coincidences,
    recording: &Recording<'_>,
    execution: &Execution,
    threads: usize,
) -> Counted {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| query.run(recording, execution)).unwrap()
}

/// Checks that all ways to run the query give the oracle's counts.
pub(crate) fn check(
    sources: &Sources,
    query: &Coincidences,
    threads: usize,
    morsels: &[Option<usize>],
) {
    let tags: Vec<Vec<(i64, u16)>> = sources
        .iter()
        .map(|(time, labels)| time.iter().copied().zip(labels.iter().copied()).collect())
        .collect();
    let delays: Vec<(u16, i64)> = query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
    let is_narrow = sources.iter().all(|(_, labels)| labels.iter().all(|&label| label < 256));
    let labels = narrow(sources);
    let mut recordings = vec![recording(sources, None)];
    if is_narrow {
        recordings.push(recording(sources, Some(&labels)));
    }
    let TimeRange { from, to } = query.scope.range;
    let mut expected: HashMap<Vec<u16>, u128> = HashMap::new();
    let mut count_plainly = |group: &[u16]| {
        let (rule, window) = (query.rule, query.window);
        let veto = query.veto.as_ref().map_or((&[][..], 0), |v| (&v.channels[..], v.guard));
        let count = || oracle::coincidences(&tags, group, rule, window, &delays, veto, (from, to));
        *expected.entry(group.to_vec()).or_insert_with(count)
    };
    for recording in &recordings {
        for simd in Simd::available() {
            for &morsel_rows in morsels {
                let execution = Execution { simd, morsel_rows };
                let counted = run(query, recording, &execution, threads);
                for row in &counted.rows {
                    let expected = count_plainly(&row.channels);
                    assert_eq!(
                        u128::from(row.count),
                        expected,
                        "{simd:?} {execution:?} {:?} {query:?} {sources:?}",
                        row.channels
                    );
                }
            }
        }
    }
}

pub(crate) fn pairs(groups: Vec<[u16; 2]>, window: i64, delays: &[(u16, i64)]) -> Coincidences {
    let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
    let groups = Groups::Listed(groups.into_iter().map(Vec::from).collect());
    let scope = Scope { delays, ..Scope::default() };
    Coincidences { groups, rule: Rule::All, window, veto: None, scope }
}

pub(crate) fn every_pair(window: i64, delays: &[(u16, i64)]) -> Coincidences {
    Coincidences { groups: Groups::EveryPair, ..pairs(vec![], window, delays) }
}

pub(crate) fn sources(most: usize) -> impl Strategy<Value = Sources> {
    let label = prop_oneof![4 => 0_u16..4, 1 => prop::sample::select(vec![254_u16, 255])];
    let source = (prop::collection::vec((-60_i64..60, label), 0..most)).prop_map(|mut tags| {
        tags.sort_by_key(|&(time, _)| time);
        tags.into_iter().unzip()
    });
    prop::collection::vec(source, 1..3)
}

/// Returns tags with gaps for which windows of 0 to 20 ticks contain none, few or many tags.
pub(crate) fn tags(rows: usize, channels: u16, seed: u64) -> (Vec<i64>, Vec<u16>) {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut time = -50_i64;
    let rows = (0..rows).map(|_| {
        let gap = match next() % 8 {
            0..3 => 0,
            3..6 => next() % 7,
            6 => next() % 40,
            _ => 300,
        };
        time += gap.cast_signed();
        (time, (next() % u64::from(channels)) as u16 + 1)
    });
    rows.unzip()
}
