//! Partial answers: bytes that are none are refused, and those that are merge like integers.

use std::collections::BTreeMap;

use tagq::Parts;
use tagq_query::{
    Coincidences, Delay, Error, Execution, Groups, Kind as _, PartCounts, Partial, Recording, Rule,
    Scope, TimeRange,
};
use tagq_store::{Channels, Tags};

use crate::recipe::Recipe;

/// Any bytes are refused as a partial answer, or are the only form of one; two of these merge to the sum
/// of their counts or are refused. Intervals of a run, counted one by one, merge to the answer, in any
/// order.
///
/// The first byte of the input says whether the rest are two partial answers, with their checksums made
/// right, or a recipe: a run, a query and where its times are cut.
///
/// # Panics
/// When they do not.
pub fn partials(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    if recipe.is() {
        let len = recipe.below(1 << 16);
        let rest = recipe.rest();
        check_parts(rest);
        let (one, other) = rest.split_at(len.min(rest.len()));
        let read: Vec<Partial> = [one, other].into_iter().filter_map(as_read).collect();
        for a in &read {
            for b in &read {
                check_merged(a, b);
            }
        }
    } else {
        check_cut(&mut recipe);
    }
}

/// Bytes are refused as parts of a plan and as the counts in them, or are the only form of these.
fn check_parts(bytes: &[u8]) {
    if let Ok(counts) = PartCounts::from_bytes(bytes) {
        assert_eq!(counts.to_bytes(), bytes);
    }
    let bytes = with_checksum(bytes);
    if let Ok(parts) = Parts::from_bytes(&bytes) {
        assert_eq!(parts.to_bytes(), bytes);
    }
}

/// The same bytes with a right checksum.
fn with_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 16 {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
    bytes
}

/// The partial answer that these bytes are, once their checksum is right.
fn as_read(bytes: &[u8]) -> Option<Partial> {
    drop(Partial::from_bytes(bytes));
    let bytes = with_checksum(bytes);
    let partial = Partial::from_bytes(&bytes).ok()?;
    assert_eq!(partial.to_bytes(), bytes);
    Some(partial)
}

/// Whether what is merged covers both intervals and is refused for a reason.
fn check_merged(a: &Partial, b: &Partial) {
    let (of_a, of_b) = (a.interval(), b.interval());
    let follows = |a: TimeRange, b: TimeRange| a.to.is_some() && a.to == b.from;
    match a.merge(b) {
        Ok(merged) => {
            assert_eq!(a.query(), b.query());
            let covered = if follows(of_b, of_a) {
                TimeRange { from: of_b.from, to: of_a.to }
            } else {
                assert!(follows(of_a, of_b));
                TimeRange { from: of_a.from, to: of_b.to }
            };
            assert_eq!(merged.interval(), covered);
            assert_eq!(Partial::from_bytes(&merged.to_bytes()), Ok(merged));
        }
        Err(Error::PartialOf { .. }) => assert_ne!(a.query(), b.query()),
        Err(Error::PartialGap { .. }) => assert!(!follows(of_a, of_b) && !follows(of_b, of_a)),
        // Only what was made up has counts of two kinds, or so many of them.
        Err(Error::PartialDamaged { .. } | Error::PartialSum) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A run of few tags, cut into intervals.
fn check_cut(recipe: &mut Recipe<'_>) {
    let rules = [Rule::All, Rule::Herald, Rule::PerHerald, Rule::Once, Rule::Cluster];
    let rule = rules[recipe.below(rules.len())];
    let window = i64::from(recipe.byte() % 32);
    let delays = (0..recipe.below(4))
        .map(|channel| Delay { channel: channel as u16, ticks: i64::from(recipe.byte()) - 128 });
    let scope = Scope { delays: delays.collect(), ..Scope::default() };
    let groups = match rule {
        Rule::Herald | Rule::PerHerald => Groups::Listed(vec![vec![1, 0], vec![2, 0, 1]]),
        _ => Groups::EveryPair,
    };
    let query = Coincidences { groups, rule, window, veto: None, scope };
    let mut cuts: Vec<i64> =
        (0..recipe.below(5)).map(|_| i64::from(recipe.byte()) * 2 - 128).collect();
    cuts.sort_unstable();
    let from_the_end = recipe.is();
    let goes_on = recipe.is();
    let mut time = 0;
    let (times, labels): (Vec<i64>, Vec<u16>) = recipe
        .rest()
        .iter()
        .take(200)
        .map(|byte| {
            time += i64::from(byte >> 3 & 7) * i64::from(byte >> 6);
            (time, u16::from(byte & 3))
        })
        .unzip();
    let tags = Tags { time: times[..].into(), channels: Channels::U16((&labels).into()) };
    let recording = Recording::from_tags(tags);
    let execution = Execution { morsel_rows: Some(5), ..Execution::best() };

    let ends = cuts.iter().map(|&cut| Some(cut)).chain([None]);
    let mut from = None;
    let mut parts: Vec<Partial> = Vec::new();
    for to in ends {
        let before = parts.last().filter(|_| goes_on);
        let interval = TimeRange { from, to };
        parts.push(query.partial(&recording, interval, before, &execution).unwrap());
        from = to;
    }
    if from_the_end {
        parts.reverse();
    }
    let merged = parts.iter().skip(1).fold(parts[0].clone(), |all, part| all.merge(part).unwrap());
    let answer = query.run(&recording, &execution).unwrap();
    let counts = |counted: tagq_query::Counted| -> BTreeMap<Vec<u16>, u64> {
        counted.rows.into_iter().map(|row| (row.channels, row.count)).collect()
    };
    let finished = query.finish(&recording, &merged, &execution).unwrap();
    assert_eq!(counts(finished), counts(answer), "{query:?} {times:?} {labels:?} {parts:?}");
}
