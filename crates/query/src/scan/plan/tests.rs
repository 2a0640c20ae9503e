use proptest::prelude::*;
use tagq_store::{Block, ChannelRows, Tags};

use super::*;
use crate::{
    Bins, Coincidences, Delay, Fold, Groups, Histogram, Mode, Period, Rates, Rule, TimeRange, Veto,
    scan::watch,
};

/// A query, ready to be planned and to be run.
#[derive(Debug, Clone)]
enum Query {
    Coincidences(Coincidences),
    Histogram(Histogram),
    Rates(Rates),
}

impl Query {
    fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Plan {
        match self {
            Self::Coincidences(query) => query.plan(recording, execution),
            Self::Histogram(query) => query.plan(recording, execution),
            Self::Rates(query) => query.plan(recording, execution),
        }
        .unwrap()
    }

    fn run(&self, recording: &Recording<'_>, execution: &Execution) {
        match self {
            Self::Coincidences(query) => drop(query.run(recording, execution).unwrap()),
            Self::Histogram(query) => drop(query.run(recording, execution).unwrap()),
            Self::Rates(query) => drop(query.run(recording, execution).unwrap()),
        }
    }
}

/// The planned rows and the rows actually read, each once, and their number.
#[derive(Debug, PartialEq)]
struct Taken {
    rows: Vec<Range<u64>>,
    rows_taken: u64,
}

/// Returns the planned rows and the rows that the stages of the scan read, of the time column or of labels
/// that are read alone.
fn planned_and_taken(
    query: &Query,
    recording: &Recording<'_>,
    execution: &Execution,
    has_times: bool,
) -> (Taken, Taken) {
    let plan = query.plan(recording, execution);
    let scans = || plan.scans.iter().filter(|scan| scan.has_times == has_times);
    let planned = Taken {
        rows: merged(scans().flat_map(PlannedScan::rows).collect()),
        rows_taken: scans().map(|scan| scan.rows_taken).sum(),
    };
    let mut rows = Vec::new();
    for (first, source) in numbered(recording) {
        let run = || query.run(recording, execution);
        let taken = match source.tags.channels {
            _ if has_times => watch::taken(source.tags.time, run),
            Channels::U8(labels) => watch::taken(labels, run),
            Channels::U16(labels) => watch::taken(labels, run),
        };
        rows.extend(taken.iter().map(|rows| first + rows.start as u64..first + rows.end as u64));
    }
    let taken = Taken { rows_taken: len(&rows), rows: merged(rows) };
    (planned, taken)
}

/// Creates sources of random tags with blocks of `block` rows over the whole run; a block can span the end of
/// a source.
fn recording(sources: &[Vec<(i64, u16)>], block: usize, is_wide: bool) -> Recording<'static> {
    let rows: Vec<(i64, u16)> = sources.concat();
    let blocks = (0..rows.len()).step_by(block).map(|start| {
        let rows = &rows[start..rows.len().min(start + block)];
        let mut channels: Vec<ChannelRows> = Vec::new();
        for channel in 0..CHANNELS {
            let rows = rows.iter().filter(|tag| tag.1 == channel).count() as u64;
            channels.push(ChannelRows { channel, rows });
        }
        Block {
            rows: start as u64..(start + rows.len()) as u64,
            time_min: rows[0].0,
            time_max: rows[rows.len() - 1].0,
            channels,
            crc_time: 0,
            crc_channel: 0,
        }
    });
    let blocks: Vec<Block> = blocks.collect();
    let mut first = 0;
    let of = |tags: &Vec<(i64, u16)>| {
        let time: Vec<i64> = tags.iter().map(|tag| tag.0).collect();
        let channels = if is_wide {
            Channels::U16(tags.iter().map(|tag| tag.1).collect::<Vec<_>>().leak())
        } else {
            let narrow = tags.iter().map(|tag| u8::try_from(tag.1).unwrap());
            Channels::U8(narrow.collect::<Vec<_>>().leak())
        };
        let tags = Tags { time: time.leak(), channels };
        let row = first;
        first += tags.len() as u64;
        Recording::from_tags(tags).sources.remove(0).with_blocks(blocks.clone(), row)
    };
    Recording::new(sources.iter().map(of).collect())
}

const CHANNELS: u16 = 5;

/// Sources that follow each other, with `gap` ticks between their tags on average.
fn sources(gap: i64) -> impl Strategy<Value = Vec<Vec<(i64, u16)>>> {
    let tag = (0..2 * gap, 0..CHANNELS);
    prop::collection::vec(prop::collection::vec(tag, 0..400), 1..4).prop_map(|sources| {
        let mut time = -500;
        let mut tag = |(after, channel)| {
            time += after;
            (time, channel)
        };
        sources.into_iter().map(|tags| tags.into_iter().map(&mut tag).collect()).collect()
    })
}

fn query() -> impl Strategy<Value = Query> {
    let moment = || prop::option::of(-1_000_i64..4_000);
    let delay = prop_oneof![3 => Just(0_i64), 1 => -40_i64..40, 1 => -2_000_i64..2_000];
    let delays = prop::collection::vec(delay, usize::from(CHANNELS));
    let scope = (delays, moment(), moment()).prop_map(|(delays, from, to)| {
        let delays = (0..).zip(delays).filter(|delay| delay.1 != 0);
        let delays = delays.map(|(channel, ticks)| Delay { channel, ticks }).collect();
        Scope { channels: None, delays, range: TimeRange { from, to } }
    });
    let groups = prop_oneof![
        Just(Groups::Listed(vec![vec![1, 3]])),
        Just(Groups::Listed(vec![vec![4, 300]])),
        Just(Groups::Listed(vec![vec![1, 3, 0], vec![2, 3]])),
        Just(Groups::EveryPair),
        Just(Groups::EveryFold(3)),
    ];
    let rule = prop_oneof![Just(Rule::All), Just(Rule::Herald), Just(Rule::PerHerald)];
    let coincidences = (groups, rule, 0_i64..20, prop::option::of(0_i64..20), scope.clone());
    let coincidences = coincidences.prop_map(|(groups, rule, window, guard, mut scope)| {
        let veto = guard.map(|guard| Veto { channels: vec![2], guard });
        if veto.is_some() {
            scope.channels = Some(vec![0, 1, 3, 4, 300]);
        }
        let groups = match (groups, &veto) {
            (Groups::Listed(_), Some(_)) => Groups::Listed(vec![vec![1, 3, 0], vec![4, 3]]),
            (groups, _) => groups,
        };
        Query::Coincidences(Coincidences { groups, rule, window, veto, scope })
    });
    let grid = (0_i64..9, scope.clone()).prop_map(|(width, mut scope)| {
        scope.delays.iter_mut().for_each(|delay| delay.ticks *= width + 1);
        let groups = Groups::EveryPair;
        let (rule, window) = (Rule::Grid, width + 1);
        Query::Coincidences(Coincidences { groups, rule, window, veto: None, scope })
    });
    let mode = prop_oneof![Just(Mode::All), Just(Mode::Grid), Just(Mode::Next), Just(Mode::Last)];
    let ends = (0..CHANNELS, 0..CHANNELS);
    let bins = (-60_i64..60, 1_i64..9, 1_u64..20);
    let histogram =
        (ends, bins, mode, scope.clone()).prop_map(|((start, stop), bins, mode, mut scope)| {
            let (low, width, count) = bins;
            let low = low / width * width;
            if mode == Mode::Grid {
                scope.delays.iter_mut().for_each(|delay| delay.ticks *= width);
            }
            let is_near = matches!(mode, Mode::Next | Mode::Last);
            let fold = is_near.then_some(Fold::Period(Period { numerator: 7, denominator: 2 }));
            let bins = Bins::Linear { low, width, count };
            Query::Histogram(Histogram { start, stop, bins, mode, fold, scope })
        });
    let rates = (prop::option::of(1_i64..300), scope);
    let rates = rates.prop_map(|(bin, scope)| Query::Rates(Rates { scope, bin }));
    prop_oneof![4 => coincidences, 1 => grid, 4 => histogram, 2 => rates]
}

proptest! {
    /// The rows read are exactly the rows planned; a plan marked as "at least" reads no less.
    #[test]
    fn a_plan_is_what_the_scan_takes(
        sources in prop_oneof![sources(1), sources(10), sources(60)],
        query in query(),
        (block, is_wide) in (1_usize..200, any::<bool>()),
        rows in prop_oneof![Just(None), (1_usize..100).prop_map(Some)],
    ) {
        let recording = recording(&sources, block, is_wide);
        let execution = Execution { simd: Simd::best(), morsel_rows: rows };
        for has_times in [false, true] {
            let plan = query.plan(&recording, &execution);
            let (planned, taken) = planned_and_taken(&query, &recording, &execution, has_times);
            let mut scans = plan.scans.iter().filter(|scan| scan.has_times == has_times);
            if scans.any(|scan| scan.is_at_least) {
                let both = merged([&planned.rows[..], &taken.rows].concat());
                prop_assert_eq!(&both, &taken.rows, "{:?} takes less than {:?}", query, planned);
                prop_assert!(planned.rows_taken <= taken.rows_taken);
            } else {
                prop_assert_eq!(&planned, &taken, "{:?}", query);
            }
        }
    }
}

/// Creates tags in pairs with room between them: no kernel finds a crowded window. Every 50th row has another
/// row just before it.
fn roomy() -> Recording<'static> {
    let tag = |i: i64| (30 * i + 18 * (i % 2) + i * i % 7, u16::try_from(i * i % 11 % 5).unwrap());
    recording(&[(0..900).map(tag).collect(), (900..1_500).map(tag).collect()], 128, false)
}

/// Kernels that may read more read exactly the planned rows if no window is crowded.
#[test]
fn at_least_is_all_where_tags_have_room() {
    let recording = roomy();
    let scope = Scope::default();
    let bins = Bins::Linear { low: -40, width: 4, count: 20 };
    let histogram = |mode, scope: &Scope| {
        let bins = bins.clone();
        Query::Histogram(Histogram {
            start: 1,
            stop: 4,
            bins,
            mode,
            fold: None,
            scope: scope.clone(),
        })
    };
    let of = |rule, groups: &Groups| {
        let (groups, scope) = (groups.clone(), scope.clone());
        Query::Coincidences(Coincidences { groups, rule, window: 20, veto: None, scope })
    };
    let moved = Scope { delays: vec![Delay { channel: 4, ticks: 3 }], ..Scope::default() };
    let one = Groups::Listed(vec![vec![1, 4]]);
    for query in [
        of(Rule::All, &one),
        of(Rule::All, &Groups::EveryPair),
        of(Rule::Once, &one),
        of(Rule::Once, &Groups::EveryFold(3)),
        of(Rule::Cluster, &Groups::EveryPair),
        histogram(Mode::All, &scope),
        histogram(Mode::All, &moved),
        histogram(Mode::Next, &scope),
        histogram(Mode::Last, &moved),
    ] {
        for morsel_rows in [Some(50), None] {
            let execution = Execution { simd: Simd::best(), morsel_rows };
            assert!(query.plan(&recording, &execution).is_at_least(), "{query:?}");
            let (planned, taken) = planned_and_taken(&query, &recording, &execution, true);
            assert_eq!(planned, taken, "{query:?} by {morsel_rows:?}");
        }
    }
}

#[test]
fn a_range_leaves_blocks_out_and_bytes_follow_the_columns() {
    let recording = roomy();
    // Rows 100 to 199 of 1,500, and one row in the window of the first.
    let time = recording.sources[0].tags.time;
    let range = TimeRange { from: Some(time[100]), to: Some(time[200]) };
    let scope = Scope { range, ..Scope::default() };
    let groups = Groups::EveryPair;
    let query = Coincidences { groups, rule: Rule::All, window: 35, veto: None, scope };
    let plan = query.plan(&recording, &Execution::best()).unwrap();
    let earliest = time.iter().position(|&t| t >= time[100] - 35).unwrap() as u64;
    assert!((98..100).contains(&earliest));
    assert_eq!(plan.scans[0].rows(), std::slice::from_ref(&(earliest..200)));
    // Singles: 28 rows remain of the block up to 128, and 56 of the next one are left out.
    assert_eq!(plan.scans[1].rows(), [100..128, 200..256]);
    assert_eq!(plan.rows(), std::slice::from_ref(&(earliest..256)));
    assert_eq!(plan.bytes(), (200 - earliest) * 9 + 56);
    assert_eq!(plan.bytes_of(&plan.scans[1]), 84);
}
