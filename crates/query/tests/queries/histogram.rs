//! Histograms equal the oracle for all modes, bins, levels, morsels, threads, label widths, delays and
//! ranges.

use crate::support::{Sources, recording, recordings, sources};
use proptest::prelude::*;
use tagq_query::{
    Binned, Bins, Delay, Error, Execution, Fold, Histogram, Kind as _, Mode, Period, Recording,
    Scope, Simd, Source, TimeRange, oracle,
};
use tagq_sampling::random_cases;

type Limits = [Option<i64>; 2];

fn histogram(ends: [u16; 2], bins: Bins, mode: Mode) -> Histogram {
    let [start, stop] = ends;
    Histogram { start, stop, bins, mode, fold: None, scope: Scope::default() }
}

fn scope(delays: &[(u16, i64)], [from, to]: Limits) -> Scope {
    let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
    Scope { channels: None, delays, range: TimeRange { from, to } }
}

fn edges(bins: &Bins) -> Vec<i64> {
    (0..=bins.count()).map(|k| bins.edge(k)).collect()
}

fn expected(sources: &Sources, query: &Histogram) -> (Vec<u64>, Option<u64>) {
    let ends = [query.start, query.stop];
    let delays: Vec<_> = query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
    let range = [query.scope.range.from, query.scope.range.to];
    let edges = edges(&query.bins);
    match (query.mode, &query.bins) {
        (Mode::Grid, &Bins::Linear { low, width, count }) => {
            let bins = [low, width, count.cast_signed()];
            (oracle::histogram_grid(sources, ends, bins, &delays, range), None)
        }
        (Mode::Next | Mode::Last, _) => {
            let period = match query.fold {
                Some(Fold::Period(period)) => Some([period.numerator, period.denominator]),
                _ => None,
            };
            let is_next = query.mode == Mode::Next;
            let (counts, dropped) =
                oracle::histogram_nearest(sources, ends, &edges, is_next, period, &delays, range);
            (counts, Some(dropped))
        }
        _ => (oracle::histogram(sources, ends, &edges, &delays, range), None),
    }
}

/// Checks that all ways to run the query give the oracle's counts.
fn check(sources: &Sources, query: &Histogram, threads: usize, morsels: &[Option<usize>]) {
    let (counts, dropped) = expected(sources, query);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for recording in recordings(sources, None) {
        for simd in Simd::available() {
            for &morsel_rows in morsels {
                let execution = Execution { simd, morsel_rows };
                let binned = pool.install(|| query.run(&recording, &execution)).unwrap();
                let what = || format!("{execution:?} {query:?} {sources:?}");
                assert_eq!(binned.counts, counts, "{}", what());
                assert_eq!(binned.dropped, dropped, "{}", what());
                assert_eq!(binned.counts.len(), binned.bins.count());
                let delays: Vec<_> =
                    query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
                let range = [query.scope.range.from, query.scope.range.to];
                let singles = [query.start, query.stop]
                    .map(|channel| oracle::singles(sources, channel, &delays, range));
                assert_eq!(binned.singles(), singles);
                if query.mode == Mode::All {
                    check_g2((sources, &[]), query, &recording, &binned, &execution);
                }
            }
        }
    }
}

/// Returns the number of steps of a bin, and whether tags are counted whose partner's time is live.
fn steps(tags: &[(i64, u16)], live: &[(i64, i64)], ends: [u16; 2], width: i128) -> (i128, bool) {
    let (Some(first), Some(last)) = (tags.first(), tags.last()) else { return (1, true) };
    let tags_of = |channel: u16| tags.iter().filter(|tag| tag.1 == channel).count() as f64;
    let most_tags = tags_of(ends[0]).max(tags_of(ends[1]));
    let width_of_all = width as f64 / (i128::from(last.0) - i128::from(first.0)).max(1) as f64;
    let of_tags = (10.0 * width_of_all * most_tags.sqrt()).clamp(1.0, 65_536.0);
    let intervals = live.len() as f64;
    let ticks = live.iter().map(|&(begin, end)| i128::from(end) - i128::from(begin)).sum::<i128>();
    let width_of_live = width as f64 / ticks.max(1) as f64;
    let x = intervals * width_of_live;
    let wanted = of_tags.max(4.0 * x).max((7.0 * x * most_tags * width_of_live).sqrt());
    let most = if most_tags * width_of_live >= 0.0625 { 65_536.0 } else { 1_024.0 };
    let (steps, of_live) = if live.len() == 1 {
        (of_tags, true)
    } else if wanted * intervals <= most {
        (wanted, true)
    } else {
        (of_tags.min((most / intervals).max(1.0)), false)
    };
    #[expect(clippy::cast_possible_truncation, reason = "at most 65,536")]
    ((steps.ceil() as i128).min(width.max(0)), of_live)
}

/// Returns the intervals between dead spans, ends included.
fn live_of(&[first, last]: &[i64; 2], dead: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let inside = || dead.iter().filter(|&&(begins, ends)| begins < last && ends > first);
    let begins = [first].into_iter().chain(inside().map(|&(_, ends)| ends.min(last)));
    let ends = inside().map(|&(begins, _)| begins.max(first)).chain([last]);
    begins.zip(ends).collect()
}

fn check_g2(
    (sources, dead): (&Sources, &[(i64, i64)]),
    query: &Histogram,
    recording: &Recording<'_>,
    binned: &Binned,
    execution: &Execution,
) {
    let ends = [query.start, query.stop];
    let delays: Vec<_> = query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
    let range = [query.scope.range.from, query.scope.range.to];
    let g2 = query.g2(recording, binned, execution).unwrap();
    for (k, g2) in g2.iter().enumerate() {
        let (low, high) = (query.bins.edge(k), query.bins.edge(k + 1));
        let of = |tags: &Vec<(i64, u16)>| -> f64 {
            let (Some(first), Some(last)) = (tags.first(), tags.last()) else { return 0.0 };
            let live = live_of(&[first.0, last.0], dead);
            let delay = |channel| {
                let delay = delays.iter().find(|d| d.0 == channel).map_or(0, |d| d.1);
                i128::from(delay)
            };
            let longest = i128::from(last.0) - i128::from(first.0);
            let moved = delay(ends[0]) - delay(ends[1]);
            let low = i128::from(low).max(-longest - moved);
            let high = i128::from(high).min(longest - moved + 1);
            let (steps, of_live) = steps(tags, &live, ends, high - low);
            let edge = |step: i128| i64::try_from(low + (high - low) * step / steps).unwrap();
            let whole = [(first.0, last.0)];
            let of = |step| {
                let of_partners = |partners: &[(i64, i64)]| {
                    let bin = [edge(step), edge(step + 1)];
                    oracle::expectation(tags, [&live, partners], ends, bin, &delays, range)
                };
                let expectation = of_partners(if of_live { &live } else { &whole });
                let is_none = expectation.times[0] == 0 && expectation.pairs > 0.0;
                if is_none { of_partners(&whole) } else { expectation }
            };
            let more = (0..steps)
                .map(of)
                .filter(|of| of.pairs > 0.0 && of.times.iter().all(|&time| time > 0))
                .map(|of| {
                    let tags = of.tags.map(|tags| tags as f64);
                    let times = of.times.map(|time| time as f64);
                    tags[0] / times[0] * (tags[1] / times[1] * of.pairs)
                });
            more.sum()
        };
        let expected: f64 = sources.iter().map(of).sum();
        match g2 {
            None => assert!(expected == 0.0, "{k} {query:?} {sources:?}"),
            Some(g2) => {
                let value = binned.counts[k] as f64 / expected;
                assert!((g2.value - value).abs() <= 1e-12 * value, "{k} {query:?} {sources:?}");
                // For −t, the ticks t of the bin extend from 1 − high to 1 − low.
                let (low, high) = (i128::from(low), i128::from(high));
                let mirrored = (high.min(1 - low) - low.max(1 - high)).max(0) as f64;
                let twice = if ends[0] == ends[1] { mirrored / (high - low) as f64 } else { 0.0 };
                let err = (binned.counts[k].max(1) as f64 * (1.0 + twice)).sqrt() / expected;
                assert!((g2.err - err).abs() <= 1e-12 * err);
            }
        }
    }
}

fn bins() -> impl Strategy<Value = Bins> {
    prop_oneof![
        3 => (-90_i64..90, 1_i64..12, 1_u64..40)
            .prop_map(|(low, width, count)| Bins::Linear { low, width, count }),
        1 => (0_i64..130, 1_i64..30).prop_map(|(reach, width)| Bins::centred(reach, width).unwrap()),
        1 => (1_i64..20, 1_i64..150, 1_u32..30)
            .prop_map(|(low, more, n)| Bins::logarithmic(low, low + more, n).unwrap()),
        1 => prop::collection::btree_set(-100_i64..100, 2..9)
            .prop_map(|edges| Bins::Edges(edges.into_iter().collect())),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    [prop::option::of(-70_i64..70), prop::option::of(-70_i64..70)]
}

proptest! {
    #![proptest_config(random_cases(400))]
    #[test]
    fn every_path_equals_the_oracle(
        sources in sources(false),
        ends in [0_u16..4, 0_u16..4],
        bins in bins(),
        mode in prop::sample::select(vec![Mode::All, Mode::Next, Mode::Last]),
        period in prop::option::of((1_u64..200, 1_u64..5)),
        delays in prop::collection::hash_map(0_u16..4, -50_i64..50, 0..4),
        limits in limits(),
        morsel in 1_usize..8,
        threads in 1_usize..4,
    ) {
        let delays: Vec<_> = delays.into_iter().collect();
        let fold = period.filter(|_| mode != Mode::All).map(|(numerator, denominator)| {
            Fold::Period(Period { numerator, denominator })
        });
        let query = Histogram { fold, scope: scope(&delays, limits), ..histogram(ends, bins, mode) };
        check(&sources, &query, threads, &[Some(morsel), None]);
    }

    #[test]
    fn dead_spans_are_no_time_for_pairs(
        sources in sources(false),
        ends in [0_u16..4, 0_u16..4],
        bins in bins(),
        delays in prop::collection::hash_map(0_u16..4, -50_i64..50, 0..4),
        limits in limits(),
        spans in prop::collection::vec((1_i64..30, 1_i64..20), 1..8),
    ) {
        let mut at = -70;
        let dead: Vec<(i64, i64)> = spans
            .iter()
            .map(|&(apart, long)| {
                let begins = at + apart;
                at = begins + long;
                (begins, at)
            })
            .collect();
        let is_dead = |time: i64| dead.iter().any(|&(begins, ends)| begins < time && time < ends);
        let mut sources = sources;
        for tags in &mut sources {
            tags.retain(|&(time, _)| !is_dead(time));
        }
        let delays: Vec<_> = delays.into_iter().collect();
        let query = Histogram { scope: scope(&delays, limits), ..histogram(ends, bins, Mode::All) };
        for recording in recordings(&sources, Some(5)) {
            let with_dead = |source: &Source<'static>| source.clone().with_dead(&dead);
            let recording = Recording::new(recording.sources.iter().map(with_dead).collect());
            let execution = Execution::best();
            let binned = query.run(&recording, &execution).unwrap();
            check_g2((&sources, &dead), &query, &recording, &binned, &execution);
        }
    }

    #[test]
    fn cells_equal_the_oracle(
        sources in sources(false),
        ends in [0_u16..4, 0_u16..4],
        (low, width, count) in (-12_i64..12, 1_i64..12, 1_u64..20),
        delays in prop::collection::hash_map(0_u16..4, -5_i64..5, 0..4),
        limits in limits(),
        morsel in 1_usize..8,
        threads in 1_usize..4,
    ) {
        let delays: Vec<_> = delays.into_iter().map(|(channel, cells)| (channel, cells * width)).collect();
        let bins = Bins::Linear { low: low * width, width, count };
        let query = Histogram { scope: scope(&delays, limits), ..histogram(ends, bins, Mode::Grid) };
        check(&sources, &query, threads, &[Some(morsel), None]);
    }

    #[test]
    fn disjoint_ranges_add_up(
        sources in sources(false),
        ends in [0_u16..4, 0_u16..4],
        bins in bins(),
        mode in prop::sample::select(vec![Mode::All, Mode::Next, Mode::Last]),
        delay in -50_i64..50,
        mut cuts in prop::collection::vec(-80_i64..80, 1..4),
    ) {
        cuts.sort_unstable();
        let recording = recording(&sources);
        let run = |limits| {
            let scope = scope(&[(1, delay)], limits);
            let query = Histogram { scope, ..histogram(ends, bins.clone(), mode) };
            query.run(&recording, &Execution::best()).unwrap()
        };
        let whole = run([None, None]);
        let froms = [None].into_iter().chain(cuts.iter().copied().map(Some));
        let tos = cuts.iter().copied().map(Some).chain([None]);
        let parts: Vec<_> = froms.zip(tos).map(|(from, to)| run([from, to])).collect();
        let sum = |k: usize| parts.iter().map(|part| part.counts[k]).sum::<u64>();
        prop_assert_eq!((0..whole.counts.len()).map(sum).collect::<Vec<_>>(), whole.counts);
        let dropped: Option<u64> = parts.iter().map(|part| part.dropped).sum();
        prop_assert_eq!(dropped, whole.dropped);
    }
}

/// Returns tags in bursts and between them, so that the density of pairs varies.
fn bursts(rows: usize, channels: u64, seed: u64) -> Vec<(i64, u16)> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut time = -5_000_i64;
    let tag = |row: usize| {
        let gap = if (row / 300).is_multiple_of(3) { next() % 2 } else { next() % 60 };
        time += gap.cast_signed();
        (time, u16::try_from(next() % channels).unwrap())
    };
    (0..rows).map(tag).collect()
}

/// Enough tags and bins for every counting method, and for more than one unit and step of each.
#[test]
fn crowded_and_sparse_windows_equal_the_oracle() {
    let source = bursts(1_200, 3, 5);
    for bins in [
        Bins::centred(40, 1).unwrap(),
        Bins::centred(2_000, 8).unwrap(),
        Bins::centred(20_000, 700).unwrap(),
        Bins::linear(5_000, 6_000, 13).unwrap(),
        Bins::linear(-6_000, -5_500, 16).unwrap(),
        Bins::logarithmic(8, 60_000, 20).unwrap(),
    ] {
        for ends in [[0, 1], [1, 1]] {
            for delays in [&[][..], &[(1, 700)]] {
                let mut query = histogram(ends, bins.clone(), Mode::All);
                query.scope = scope(delays, [None, None]);
                check(&vec![source.clone()], &query, 2, &[None]);
            }
        }
    }
}

/// About 6 and at most 23 neighbours within reach, for every length near the rows of a vector step.
#[test]
fn neighbours_equal_the_oracle_at_every_length() {
    let all: Vec<_> = (0_i64..420).map(|i| i * 13 + i * i * 7 % 23 - 5_000).collect();
    let mut all: Vec<_> = all.into_iter().zip((0..420_u16).map(|i| i * 7 / 3 % 3)).collect();
    all.sort_by_key(|&(time, _)| time);
    for len in (0..60).step_by(13).chain(60..=200) {
        for start in [0, 5] {
            let sources = vec![all[start..start + len].to_vec()];
            let ends = [[0, 1], [1, 0], [1, 1]][len % 3];
            let bins = Bins::linear(-70 - i64::try_from(len % 7).unwrap(), 83, 1).unwrap();
            check(&sources, &histogram(ends, bins, Mode::All), 1, &[None, Some(70)]);
        }
    }
}

/// Distances are counted in 32 bits if they fit: starts and stops about 2^26 ticks apart, with bins that end
/// near 2^30 and 2^32 ticks, on both sides and on one, and widths that are powers of two or not.
#[test]
fn bins_around_32_bits_equal_the_oracle() {
    let scatter = |i: i64| i * (1 << 26) + i * i * 7_919 % (1 << 25) - (1 << 40);
    let source: Vec<_> =
        (0..500).map(|i| (scatter(i), u16::try_from(i * 7 / 3 % 2).unwrap())).collect();
    for limit in [1_i64 << 30, 1 << 32] {
        for width in [1 << 23, 1 << 25, 30_000_001] {
            for (low, high) in [
                (-limit + 1, limit),
                (-limit, limit + 1),
                (-limit - 9, limit + 2),
                (-(1 << 28), limit - 1),
                (1 << 28, limit + (1 << 28)),
                (-limit - (1 << 28), 1 << 29),
            ] {
                let bins = Bins::linear(low, high, width).unwrap();
                check(&vec![source.clone()], &histogram([0, 1], bins, Mode::All), 1, &[None]);
            }
        }
    }
}

#[test]
fn many_tags_equal_the_oracle() {
    for bins in [Bins::linear(-300, 300, 200).unwrap(), Bins::linear(-9, 12, 7).unwrap()] {
        let sources = vec![bursts(7_000, 2, 9)];
        check(&sources, &histogram([0, 1], bins, Mode::All), 2, &[None]);
    }
}

#[test]
fn times_at_the_ends_of_64_bits() {
    let half = i64::MAX / 2;
    for times in [
        vec![i64::MIN, i64::MIN, i64::MIN + 5],
        vec![i64::MAX - 5, i64::MAX, i64::MAX],
        vec![-half, 0, half],
        vec![i64::MIN, -1],
        vec![0, i64::MAX],
    ] {
        let labels = [1, 2, 1].into_iter().cycle();
        let sources = vec![times.into_iter().zip(labels).collect::<Vec<_>>()];
        for bins in [
            Bins::linear(-5, 6, 1).unwrap(),
            Bins::linear(i64::MIN, 3 << 60, 1 << 60).unwrap(),
            Bins::Edges(vec![i64::MIN, -half, 0, half, i64::MAX]),
            Bins::linear(half - 2, half + 3, 1).unwrap(),
        ] {
            for ends in [[1, 2], [2, 1], [1, 1]] {
                for mode in [Mode::All, Mode::Next, Mode::Last] {
                    let query = histogram(ends, bins.clone(), mode);
                    check(&sources, &query, 1, &[None, Some(1)]);
                }
            }
        }
        let cells = Bins::linear(-6, 6, 3).unwrap();
        check(&sources, &histogram([1, 2], cells, Mode::Grid), 1, &[None, Some(1)]);
    }
}

#[test]
fn pairs_by_hand() {
    let sources = vec![vec![(10, 1), (10, 2), (10, 1), (13, 2), (20, 1)], vec![(21, 2)]];
    let of = |query: &Histogram| query.run(&recording(&sources), &Execution::best()).unwrap();
    // From 1 to 2: 10→10 twice, 10→13 twice, 20→10 and 20→13; none to the other source.
    let two = of(&histogram([1, 2], Bins::linear(-10, 4, 1).unwrap(), Mode::All));
    assert_eq!(two.counts, [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2]);
    assert_eq!(two.singles(), [3, 3]);
    // From 1 to 1: the two tags of 10 with each other, in both directions, and 20 with each of them, in both
    // directions.
    let one = of(&histogram([1, 1], Bins::centred(10, 1).unwrap(), Mode::All));
    assert_eq!((one.counts[0], one.counts[10], one.counts[20]), (2, 2, 2));
    assert_eq!(one.counts.iter().sum::<u64>(), 6);
    // Starts 10, 10, 20: the next stop of the first two is 10, the last has none.
    let next = of(&histogram([1, 2], Bins::linear(0, 5, 5).unwrap(), Mode::Next));
    assert_eq!((next.counts, next.dropped), (vec![2], Some(1)));
    // Stops 10, 13, 21: the last has no start in its source.
    let last = of(&histogram([1, 2], Bins::linear(0, 4, 1).unwrap(), Mode::Last));
    assert_eq!((last.counts, last.dropped), (vec![1, 0, 0, 1], Some(1)));
    // Between neighbours of one channel: 0 and 10; the last tag has none.
    let same = of(&histogram([1, 1], Bins::linear(0, 11, 1).unwrap(), Mode::Next));
    assert_eq!((same.counts[0], same.counts[10], same.dropped), (1, 1, Some(1)));
}

#[test]
fn the_period_is_the_mean_spacing_of_the_recorded_sync() {
    // Syncs every 9 or 10 ticks, three pulses each: the period is 38 / 4 / 3 = 19/6 ticks.
    let mut tags: Vec<(i64, u16)> = [0, 9, 19, 28, 38].map(|time| (time, 1)).to_vec();
    tags.extend([(3, 2), (4, 2), (9, 2), (18, 2)]);
    tags.sort_unstable();
    let sources = vec![tags];
    let mut query = histogram([1, 2], Bins::linear(0, 4, 1).unwrap(), Mode::Last);
    query.fold = Some(Fold::SyncDivider(3));
    let binned = query.run(&recording(&sources), &Execution::best()).unwrap();
    let period = Period { numerator: 38, denominator: 12 };
    assert_eq!(binned.period, Some(period));
    // 3 → 3, 4 → 4 − 19/6 = 5/6 → 0, 9 → 0 on the sync itself, 18 → 9 − 2·19/6 = 16/6 → 2.
    assert_eq!((binned.counts.clone(), binned.dropped), (vec![2, 0, 1, 1], Some(0)));
    query.fold = Some(Fold::Period(period));
    check(&sources, &query, 2, &[None, Some(2)]);
    query.start = 7;
    query.fold = Some(Fold::SyncDivider(3));
    let none = query.run(&recording(&sources), &Execution::best());
    assert_eq!(none, Err(Error::NoSync { channel: 7 }));
}

#[test]
fn bins_hold_what_was_asked() {
    assert_eq!(edges(&Bins::centred(64, 1).unwrap()), (-64..=65).collect::<Vec<_>>());
    assert_eq!(edges(&Bins::centred(4, 2).unwrap()), [-5, -3, -1, 1, 3, 5]);
    assert_eq!(edges(&Bins::centred(4, 3).unwrap()), [-4, -1, 2, 5]);
    assert_eq!(edges(&Bins::centred(0, 5).unwrap()), [-2, 3]);
    assert_eq!(edges(&Bins::linear(-3, 4, 3).unwrap()), [-3, 0, 3, 6]);
    // 10^(k/3) = 1, 2.15, 4.64, 10, 21.5, 46.4; the half of 2·10^(1/3)… is rounded up.
    assert_eq!(edges(&Bins::logarithmic(1, 50, 3).unwrap()), [1, 2, 5, 10, 22, 46, 50]);
    // Ten per decade from 1: 1, 1.26, 1.58, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 7.9, 10; 1.26 rounds to 1.
    assert_eq!(edges(&Bins::logarithmic(1, 10, 10).unwrap()), [1, 2, 3, 4, 5, 6, 8, 10]);
    let trillion = Bins::linear(0, 1_000_000_000_000, 1);
    assert_eq!(trillion, Err(Error::Bins { bins: 1_000_000_000_000, max: 1 << 27 }));
    assert!(matches!(Bins::linear(i64::MIN, i64::MAX, 1), Err(Error::Bins { .. })));
    assert!(matches!(Bins::linear(0, i64::MAX, 1 << 62), Err(Error::BinRange { .. })));
    assert!(matches!(Bins::centred(i64::MAX, 1), Err(Error::Bins { .. })));
    assert_eq!(Bins::linear(3, 3, 1), Err(Error::EmptyRange { low: 3, high: 3 }));
    assert_eq!(Bins::linear(3, 5, 0), Err(Error::BinWidth { width: 0 }));
    assert_eq!(Bins::logarithmic(0, 5, 1), Err(Error::LogRange { low: 0, high: 5 }));
    assert_eq!(Bins::logarithmic(1, 5, 0), Err(Error::PerDecade { per_decade: 0 }));
}

/// Edges near 2^62, where a float is wrong by hundreds of ticks. Each is checked with integers: (2e − 1)^2 ≤
/// (2·low)^2·10 < (2e + 1)^2 for two bins per decade.
#[test]
fn edges_far_out_are_rounded_exactly() {
    let low = 123_456_789_012_345_678_i64;
    let found = edges(&Bins::logarithmic(low, i64::MAX, 2).unwrap());
    let wide = u128::from(low.unsigned_abs());
    assert_eq!(found[2], low * 10);
    // √10 · 1.2e17 by hand: (2·low)^2·10 is below 2^127.
    let e = u128::from(found[1].unsigned_abs());
    assert!((2 * e - 1).pow(2) <= 4 * wide * wide * 10, "{e}");
    assert!(4 * wide * wide * 10 < (2 * e + 1).pow(2), "{e}");
}

#[test]
fn histograms_that_mean_nothing_are_refused() {
    let sources = vec![vec![(0, 1), (9, 2)]];
    let run = |query: &Histogram| query.run(&recording(&sources), &Execution::best()).map(drop);
    let all = histogram([1, 2], Bins::centred(5, 2).unwrap(), Mode::All);
    let fold = Some(Fold::Period(Period { numerator: 3, denominator: 1 }));
    assert_eq!(run(&Histogram { fold, ..all.clone() }), Err(Error::FoldedPairs));
    let none = Some(Fold::Period(Period { numerator: 3, denominator: 0 }));
    assert_eq!(run(&Histogram { fold: none, mode: Mode::Next, ..all.clone() }), Err(Error::Period));
    let grid = Histogram { mode: Mode::Grid, ..all.clone() };
    assert_eq!(run(&grid), Err(Error::OffGrid { ticks: -7, width: 2 }));
    let edges = Histogram { bins: Bins::Edges(vec![1, 2]), ..grid.clone() };
    assert_eq!(run(&edges), Err(Error::GridOfEdges));
    let bins = Bins::linear(-2, 4, 2).unwrap();
    let delayed = Histogram { bins, scope: scope(&[(2, 3)], [None, None]), ..grid.clone() };
    assert_eq!(run(&delayed), Err(Error::OffGrid { ticks: 3, width: 2 }));
    let mut outside = all.clone();
    outside.scope.channels = Some(vec![1, 3]);
    assert_eq!(run(&outside), Err(Error::NotInUse { channel: 2 }));
    let far = Histogram { scope: scope(&[(2, i64::MAX)], [None, None]), ..all.clone() };
    assert!(matches!(run(&far), Err(Error::DelayRange { .. })));
    let recording = recording(&sources);
    let next = Histogram { mode: Mode::Next, ..all };
    let binned = next.run(&recording, &Execution::best()).unwrap();
    assert_eq!(next.g2(&recording, &binned, &Execution::best()), Err(Error::NoG2));
}
