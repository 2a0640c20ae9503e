//! Partial answers: intervals that are merged, and prefixes that are continued while a run grows.

use crate::support::{Sources, recording, sources};
use proptest::prelude::*;
use tagq_query::{
    Bins, Coincidences, Countable as _, Delay, Error, Execution, Fold, Groups, Histogram,
    Histogram2d, Kind, MicroTimes, Mode, Partial, Period, Rates, Recording, Rule, Scope, Simd,
    TimeRange, Veto,
};
use tagq_sampling::random_cases;

/// Any of the queries.
#[derive(Debug, Clone)]
enum Query {
    Coincidences(Coincidences),
    Histogram(Histogram),
    Histogram2d(Histogram2d),
    MicroTimes(MicroTimes),
    Rates(Rates),
}

fn rules() -> impl Strategy<Value = Rule> {
    prop::sample::select(Rule::ALL.to_vec())
}

fn scopes() -> impl Strategy<Value = Scope> {
    let delays = prop::collection::vec(-90_i64..90, 0..4);
    let end = || prop::option::weighted(0.2, -100_i64..100);
    let channels = prop::option::weighted(0.3, Just(vec![2, 0, 1, 3]));
    (channels, delays, end(), end()).prop_map(|(channels, delays, from, to)| {
        let delays = (0..).zip(delays).map(|(channel, ticks)| Delay { channel, ticks }).collect();
        let to = to.map(|to| from.map_or(to, |from| to.max(from)));
        Scope { channels, delays, range: TimeRange { from, to } }
    })
}

fn coincidences() -> impl Strategy<Value = Query> {
    let groups = prop_oneof![
        Just(Groups::EveryPair),
        Just(Groups::EveryFold(3)),
        Just(Groups::Listed(vec![vec![1, 0], vec![3, 0, 2]])),
        Just(Groups::Listed(vec![vec![3, 1]])),
    ];
    (groups, rules(), 0_i64..40, prop::option::of(0_i64..20), scopes()).prop_map(
        |(mut groups, rule, window, guard, mut scope)| {
            let mut window = window;
            let mut veto = guard.map(|guard| Veto { channels: vec![4, 254], guard });
            match rule {
                Rule::Grid => {
                    window = 1 + window / 3;
                    for delay in &mut scope.delays {
                        delay.ticks -= delay.ticks % window;
                    }
                    veto = None;
                    groups = Groups::Listed(vec![vec![0, 1], vec![2, 3]]);
                }
                Rule::Cluster => veto = None,
                _ => {}
            }
            if veto.is_some() && !matches!(groups, Groups::Listed(_)) {
                scope.channels = Some(vec![0, 1, 2, 3]);
            }
            Query::Coincidences(Coincidences { groups, rule, window, veto, scope })
        },
    )
}

fn histograms() -> impl Strategy<Value = Query> {
    let mode = prop::sample::select(vec![Mode::All, Mode::Grid, Mode::Next, Mode::Last]);
    let channel = || prop_oneof![0_u16..4, Just(9)];
    (mode, channel(), channel(), 1_i64..6, prop::option::of(1_u64..40), scopes()).prop_map(
        |(mode, start, stop, width, period, mut scope)| {
            scope.channels = None;
            let mut low = -25;
            if mode == Mode::Grid {
                low -= low % width;
                for delay in &mut scope.delays {
                    delay.ticks -= delay.ticks % width;
                }
            }
            let bins = Bins::Linear { low, width, count: 30 };
            let is_folded = matches!(mode, Mode::Next | Mode::Last);
            let fold = period
                .filter(|_| is_folded)
                .map(|numerator| Fold::Period(Period { numerator, denominator: 3 }));
            Query::Histogram(Histogram { start, stop, bins, mode, fold, scope })
        },
    )
}

fn queries() -> impl Strategy<Value = Query> {
    let rates = scopes().prop_map(|scope| Query::Rates(Rates { scope, trace: None }));
    let micro = scopes().prop_map(|scope| {
        let channels = scope.channels.clone().unwrap_or_else(|| vec![3, 0]);
        Query::MicroTimes(MicroTimes {
            channels,
            bins: Bins::Linear { low: 2, width: 4, count: 9 },
            scope,
        })
    });
    prop_oneof![6 => coincidences(), 4 => histograms(), 1 => rates, 2 => histograms2d(), 1 => micro]
}

fn histograms2d() -> impl Strategy<Value = Query> {
    let channels = Just(vec![0_u16, 1, 2, 3, 9]).prop_shuffle();
    (channels, -30_i64..20, 1_i64..9, 1_u64..7, scopes()).prop_map(
        |(channels, low, width, count, mut scope)| {
            scope.channels = None;
            let bins = Bins::Linear { low, width, count };
            let (herald, others) = (channels[0], [channels[1], channels[2]]);
            Query::Histogram2d(Histogram2d { herald, others, bins, scope })
        },
    )
}

/// Calls `$check(query)` with the query of any kind.
macro_rules! with_query {
    ($query:expr, $check:expr) => {
        match $query {
            Query::Coincidences(query) => $check(&query),
            Query::Histogram(query) => $check(&query),
            Query::Histogram2d(query) => $check(&query),
            Query::MicroTimes(query) => $check(&query),
            Query::Rates(query) => $check(&query),
        }
    };
}

fn again(partial: &Partial) -> Partial {
    let bytes = partial.to_bytes();
    let read = Partial::from_bytes(&bytes).unwrap();
    assert_eq!(&read, partial);
    assert_eq!(read.to_bytes(), bytes);
    read
}

/// Splits the range of the query at each of `cuts` that is inside it.
fn intervals(range: TimeRange, cuts: &[i64]) -> Vec<TimeRange> {
    let mut cuts = cuts.to_vec();
    cuts.sort_unstable();
    let mut from = range.from;
    let mut intervals = Vec::new();
    for cut in cuts {
        let is_inside = from.is_none_or(|from| from <= cut) && range.to.is_none_or(|to| cut <= to);
        if is_inside {
            intervals.push(TimeRange { from, to: Some(cut) });
            from = Some(cut);
        }
    }
    intervals.push(TimeRange { from, to: range.to });
    intervals
}

/// Checks that partial answers of intervals add up to the answer, in any order, continued or separate.
fn adds_up<Q: Kind<Answer: PartialEq + std::fmt::Debug>>(
    query: &Q,
    recording: &Recording<'_>,
    cuts: &[i64],
    goes_on: bool,
    execution: &Execution,
) {
    let expected = match query.run(recording, execution) {
        Ok(expected) => expected,
        Err(error) => {
            let refused = query.partial(recording, query.scope().range, None, execution);
            assert_eq!(refused, Err(error));
            return;
        }
    };
    let range = query.scope().range;
    let mut parts: Vec<Partial> = Vec::new();
    for interval in intervals(range, cuts) {
        let before = parts.last().filter(|_| goes_on);
        let part = query.partial(recording, interval, before, execution).unwrap();
        assert_eq!(part.interval(), interval);
        parts.push(again(&part));
    }
    let one_by_one = parts.iter().skip(1).fold(parts[0].clone(), |all, part| {
        let merged = all.merge(part).unwrap();
        let is_seam_empty =
            part.interval().from == part.interval().to || all.interval().from == all.interval().to;
        assert!(is_seam_empty || part.merge(&all).unwrap() == merged);
        again(&merged)
    });
    assert_eq!(query.finish(recording, &one_by_one, execution).unwrap(), expected, "{parts:?}");
    let from_the_end = parts
        .iter()
        .rev()
        .skip(1)
        .fold(parts[parts.len() - 1].clone(), |all, part| part.merge(&all).unwrap());
    assert_eq!(from_the_end, one_by_one);
}

/// Returns the first `rows` rows of the sources, as the run was before the others arrived.
fn first(sources: &Sources, mut rows: usize) -> Sources {
    let mut before = Vec::new();
    for source in sources {
        let len = source.len().min(rows);
        if len > 0 || before.is_empty() {
            before.push(source[..len].to_vec());
        }
        rows -= len;
    }
    before
}

/// Checks that a prefix continued at its frontier gives the answer of the whole run, at each length of the
/// run.
fn grows<Q: Kind<Answer: PartialEq + std::fmt::Debug>>(
    query: &Q,
    sources: &Sources,
    lengths: &[usize],
    execution: &Execution,
) {
    let all: usize = sources.iter().map(Vec::len).sum();
    let mut lengths: Vec<usize> = lengths.iter().map(|&length| length % (all + 1)).collect();
    lengths.push(all);
    lengths.sort_unstable();
    let range = query.scope().range;
    let mut prefix: Option<Partial> = None;
    for rows in lengths {
        let known = first(sources, rows);
        let recording = recording(&known);
        let Ok(expected) = query.run(&recording, execution) else { continue };
        let Some(&(time, _)) = known.iter().flatten().last() else { continue };
        let frontier = query.frontier(time).unwrap();
        let frontier = range.to.map_or(frontier, |to| to.min(frontier));
        let from = prefix.as_ref().map_or(range.from, |prefix| prefix.interval().to);
        if from.is_none_or(|from| from <= frontier) {
            let more = TimeRange { from, to: Some(frontier) };
            let more = query.partial(&recording, more, prefix.as_ref(), execution).unwrap();
            prefix =
                Some(again(&prefix.map_or(more.clone(), |prefix| prefix.merge(&more).unwrap())));
        }
        let Some(prefix) = &prefix else { continue };
        let rest = TimeRange { from: prefix.interval().to, to: range.to };
        let rest = query.partial(&recording, rest, Some(prefix), execution).unwrap();
        let answer = query.finish(&recording, &prefix.merge(&rest).unwrap(), execution).unwrap();
        assert_eq!(answer, expected, "{rows} rows, {prefix:?}, {rest:?}");
    }
}

proptest! {
    #![proptest_config(random_cases(1_000))]

    #[test]
    fn intervals_add_up(
        sources in sources(false),
        query in queries(),
        cuts in prop::collection::vec(-160_i64..160, 0..5),
        goes_on: bool,
        rows in 1_usize..9,
    ) {
        let execution = Execution { simd: Simd::best(), morsel_rows: Some(rows) };
        let recording = recording(&sources);
        with_query!(query, |query: &_| adds_up(query, &recording, &cuts, goes_on, &execution));
    }

    #[test]
    fn a_prefix_goes_on_while_the_run_grows(
        sources in sources(true),
        query in queries(),
        lengths in prop::collection::vec(0_usize..200, 0..6),
        rows in 1_usize..9,
    ) {
        let execution = Execution { simd: Simd::best(), morsel_rows: Some(rows) };
        with_query!(query, |query: &_| grows(query, &sources, &lengths, &execution));
    }
}

fn pair() -> Coincidences {
    let groups = Groups::Listed(vec![vec![0, 1]]);
    Coincidences { groups, rule: Rule::Once, window: 5, veto: None, scope: Scope::default() }
}

fn part(query: &Coincidences, from: Option<i64>, to: Option<i64>) -> Partial {
    let sources = vec![vec![(0, 0), (3, 1), (20, 0), (22, 0), (24, 1)]];
    let recording = recording(&sources);
    query.partial(&recording, TimeRange { from, to }, None, &Execution::best()).unwrap()
}

#[test]
fn what_does_not_follow_is_refused() {
    let query = pair();
    let early = part(&query, None, Some(10));
    for (from, to) in [(Some(9), None), (Some(11), None), (None, Some(10)), (None, None)] {
        let refused = early.merge(&part(&query, from, to)).unwrap_err();
        assert!(matches!(refused, Error::PartialGap { .. }), "{refused}");
    }
    let recording = recording(&vec![vec![(0, 0)]]);
    let execution = Execution::best();
    let backwards = TimeRange { from: Some(3), to: Some(2) };
    let refused = query.partial(&recording, backwards, None, &execution).unwrap_err();
    assert!(refused.to_string().contains("ends before it begins"), "{refused}");
    let wider = Coincidences { window: 6, ..query.clone() };
    let refused = early.merge(&part(&wider, Some(10), None)).unwrap_err();
    assert!(matches!(refused, Error::PartialOf { .. }), "{refused}");
    let refused = query.finish(&recording, &early, &execution).unwrap_err();
    assert!(matches!(refused, Error::PartialRange { .. }), "{refused}");
    let bins = Bins::Linear { low: 0, width: 1, count: 3 };
    let fold = Some(Fold::SyncDivider(2));
    let scope = Scope::default();
    let synced = Histogram { start: 0, stop: 1, bins, mode: Mode::Last, fold, scope };
    let refused = synced.partial(&recording, TimeRange::default(), None, &execution);
    assert_eq!(refused, Err(Error::NoPartial));
}

#[test]
fn queries_that_count_the_same_have_the_same_words() {
    let query = pair();
    let delays = vec![Delay { channel: 1, ticks: 0 }, Delay { channel: 9, ticks: 4 }];
    let range = TimeRange { from: Some(3), to: None };
    let same = Coincidences { scope: Scope { delays, range, channels: None }, ..query.clone() };
    assert_eq!(query.key(), same.key());
    assert_eq!(query.key(), "coincidences; rule once; window 5; groups 0,1");
    let every = |groups| Coincidences { groups, ..query.clone() }.key();
    assert_eq!(every(Groups::EveryPair), every(Groups::EveryFold(2)));
    assert_ne!(every(Groups::EveryPair), every(Groups::EveryFold(3)));
    // A channel without tags so far may appear later with its delay.
    let early = Scope { delays: vec![Delay { channel: 9, ticks: -40 }], ..Scope::default() };
    let every = Coincidences { groups: Groups::EveryPair, scope: early.clone(), ..query.clone() };
    assert_eq!(every.frontier(100), Some(60));
    // The same holds for delays of channels in no group: one rule for all queries.
    assert_eq!(Coincidences { scope: early.clone(), ..query.clone() }.frontier(100), Some(60));
    let rates = |scope| Rates { scope, trace: None }.frontier(100);
    assert_eq!(rates(early), Some(60));
    // A channel moved forward does not change live time, and channels without a delay may appear.
    let late = vec![Delay { channel: 1, ticks: 60 }];
    let late = |channels| Scope { channels, delays: late.clone(), ..Scope::default() };
    assert_eq!((rates(late(None)), rates(late(Some(vec![1])))), (Some(100), Some(100)));
    let veto = Some(Veto { channels: vec![9], guard: 7 });
    assert_eq!(Coincidences { veto, ..query }.frontier(100), Some(93));
}

/// One unused tag of channel 0 at 22 ticks: 20 and 24 were matched.
#[test]
fn the_serialised_form_is_the_one_in_the_documents() {
    let bytes = part(&pair(), None, Some(25)).to_bytes();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fixtures/partials/once.v1");
    if std::env::var_os("TAGQ_WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(std::path::Path::new(golden).parent().unwrap()).unwrap();
        std::fs::write(golden, &bytes).unwrap();
    }
    assert_eq!(std::fs::read(golden).unwrap(), bytes);
    let text = b"coincidences; rule once; window 5; groups 0,1";
    // An open begin, 25 ticks; one group of two channels, counted twice; one source with 22 left of its first
    // channel and none of its second.
    let expected = [
        &45_u64.to_le_bytes()[..],
        text,
        &[2],
        &0_i64.to_le_bytes(),
        &25_i64.to_le_bytes(),
        &[1],
        &1_u64.to_le_bytes(),
        &2_u64.to_le_bytes(),
        &[0, 0, 1, 0],
        &2_u128.to_le_bytes(),
        &[1],
        &1_u64.to_le_bytes(),
        &0_u32.to_le_bytes(),
        &2_u64.to_le_bytes(),
        &[0, 0, 1, 0],
        &1_u64.to_le_bytes(),
        &22_i64.to_le_bytes(),
        &0_u64.to_le_bytes(),
    ]
    .concat();
    assert_eq!(&bytes[..12], b"TAGQPART\x01\0\0\0");
    assert_eq!(&bytes[16..], expected);
}

#[test]
fn other_bytes_are_refused() {
    let bytes = part(&pair(), None, Some(25)).to_bytes();
    for len in 0..bytes.len() {
        assert!(Partial::from_bytes(&bytes[..len]).is_err(), "{len} bytes");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(Partial::from_bytes(&changed).is_err(), "byte {at}, bit {bit}");
        }
    }
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_eq!(Partial::from_bytes(&newer), Err(Error::PartialVersion { version: 2 }));
}
