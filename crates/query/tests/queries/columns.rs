//! Answers do not depend on the columns of times that a store has: a column of times, gaps beside it, or gaps, far
//! distances and steps in its place.
//!
//! Rows come from a seed, because runs of several blocks are too long to be shrunk.

use std::{
    fmt::{Debug, Write as _},
    ops::{ControlFlow, Range},
    path::Path,
};

use proptest::prelude::*;
use tagq_query::{
    Bins, Coincidences, Delay, Execution, Fold, Groups, Histogram, Histogram2d, Image, Kind,
    Ledger, Lookup, Markers, MicroTimes, Mode, Period, PixelMicro, Raster, Rates, Recording,
    Regions, Rule, Scan, Scope, Simd, Source, TimeDivision, TimeRange, Veto, oracle,
    shortest_intervals,
};
use tagq_sampling::random_cases;
use tagq_store::{
    Access, Channels, Creation, MicroColumn, RunId, SourceFacts, Store, Tags, Tick, Writer,
};

const STEP_ROWS: usize = 1_024;
const BLOCK_ROWS: usize = 65_536;
/// The channel of vetoes.
const VETO: u16 = 4;

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    fn between(&mut self, range: Range<i64>) -> i64 {
        range.start + (self.word() % range.end.abs_diff(range.start).max(1)) as i64
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// Rows in order of time, and where each source begins.
#[derive(Debug)]
struct Run {
    times: Vec<i64>,
    labels: Vec<u16>,
    micro: Vec<u32>,
    /// The rows of each source.
    sources: Vec<Range<usize>>,
}

/// Which distances most rows have.
#[derive(Debug, Clone, Copy)]
enum Ticks {
    /// Many equal times.
    Few,
    /// Some hundred: few gaps are saturated.
    Hundreds,
    /// As with a tick of 1 ps: most gaps are saturated.
    Many,
    /// Distances of more than 32 bits among them.
    Long,
}

/// Distances around those where the encoding, or the width of a far distance, changes.
const EDGES: [i64; 9] = [
    65_534,
    65_535,
    65_536,
    70_000,
    (1 << 31) - 1,
    (1 << 32) - 2,
    (1 << 32) - 1,
    1 << 32,
    (1 << 40) + 3,
];

impl Ticks {
    fn distance(self, random: &mut Random) -> i64 {
        match (self, random.below(40)) {
            (Self::Few, _) => random.between(0..3),
            (Self::Long, 0..3) | (Self::Hundreds | Self::Many, 0) => random.one_of(&EDGES),
            (Self::Hundreds | Self::Long, _) => random.between(0..400),
            (Self::Many, 1..30) => random.between(60_000..2_000_000),
            (Self::Many, _) => random.between(0..50),
        }
    }
}

impl Run {
    fn random(random: &mut Random, rows: usize) -> Self {
        let ticks = random.one_of(&[Ticks::Few, Ticks::Hundreds, Ticks::Many, Ticks::Long]);
        let has_far_edges = random.one_in(2);
        let channels = random.one_of(&[2, 5, 5, 300]);
        let mut time = -random.between(0..1 << 40);
        let mut far_until = 0;
        let (mut times, mut labels, mut micro) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..rows {
            // Runs of far rows, and far rows at the edges of steps and blocks.
            if !matches!(ticks, Ticks::Few) && random.one_in(500) {
                far_until = row + random.below(70);
            }
            let is_edge = has_far_edges && [0, 1, STEP_ROWS - 1].contains(&(row % STEP_ROWS));
            time += if row < far_until || is_edge && !random.one_in(3) {
                random.one_of(&EDGES)
            } else {
                ticks.distance(random)
            };
            times.push(time);
            labels.push(random.below(channels) as u16);
            micro.push(random.below(90) as u32);
        }
        let edges = [0, STEP_ROWS, STEP_ROWS + 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1];
        let cut = |random: &mut Random| {
            let near = random.one_of(&edges);
            if near < rows && random.one_in(2) { near } else { random.below(rows + 1) }
        };
        let mut ends: Vec<usize> = (0..random.below(4)).map(|_| cut(random)).collect();
        ends.push(rows);
        ends.sort_unstable();
        let starts = [0].into_iter().chain(ends.iter().copied());
        let sources = starts.zip(&ends).map(|(start, &end)| start..end).collect();
        Self { times, labels, micro, sources }
    }

    /// Writes the run into `folder`, with a commit after some sources; the columns are chosen before one of them.
    fn write(&self, folder: &Path, columns: Columns, before_source: usize) {
        let creation =
            Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([3; 16])) };
        let mut writer = Writer::open(folder, &creation).unwrap();
        for (i, rows) in self.sources.iter().enumerate() {
            if i == before_source {
                columns.choose(&mut writer);
            }
            writer.begin_source();
            let (times, labels) = (&self.times[rows.clone()], &self.labels[rows.clone()]);
            writer.append_with_micro(times, labels, &self.micro[rows.clone()]).unwrap();
            writer.finish_source(SourceFacts::named(&i.to_string()));
            if i == before_source {
                writer.commit().unwrap();
            }
        }
        columns.choose(&mut writer);
        writer.commit().unwrap();
    }

    /// The rows of each source for the oracle.
    fn plain(&self) -> Vec<Vec<(i64, u16)>> {
        let of = |rows: &Range<usize>| {
            rows.clone().map(|row| (self.times[row], self.labels[row])).collect()
        };
        self.sources.iter().map(of).collect()
    }

    /// The same rows in memory, with labels of two bytes.
    fn in_memory(&self) -> Recording<'_> {
        let of = |rows: &Range<usize>| {
            let channels = Channels::U16((&self.labels[rows.clone()]).into());
            let tags = Tags { time: self.times[rows.clone()].into(), channels };
            let mut source: Source<'_> = Recording::from_tags(tags).sources.remove(0);
            source.micro = Some(MicroColumn::U32((&self.micro[rows.clone()]).into()));
            source
        };
        Recording::new(self.sources.iter().map(of).collect())
    }

    /// A distance of two rows that are near each other, or one more or less.
    fn window(&self, random: &mut Random, reach: usize) -> i64 {
        let first = random.below(self.times.len());
        let last = (first + random.below(reach)).min(self.times.len().saturating_sub(1));
        let times = self.times.get(last).zip(self.times.get(first));
        times.map_or(9, |(last, first)| (last - first + random.between(-1..2)).max(0))
    }

    /// A range between the times of two rows, or open.
    fn range(&self, random: &mut Random) -> TimeRange {
        let mut edge = || {
            let row = random.below(self.times.len());
            let time = self.times.get(row).copied().unwrap_or(0) + random.between(-2..3);
            (!random.one_in(4)).then_some(time)
        };
        let (from, to) = (edge(), edge());
        match (from, to) {
            _ if random.one_in(2) => TimeRange::default(),
            (Some(from), Some(to)) => {
                TimeRange { from: Some(from.min(to)), to: Some(from.max(to)) }
            }
            _ => TimeRange { from, to },
        }
    }
}

/// The columns for times.
#[derive(Debug, Clone, Copy)]
enum Columns {
    Times,
    TimesAndGaps,
    Distances,
}

impl Columns {
    const ALL: [Self; 3] = [Self::Times, Self::TimesAndGaps, Self::Distances];

    fn choose(self, writer: &mut Writer) {
        match self {
            Self::Times => {}
            Self::TimesAndGaps => writer.make_gaps().unwrap(),
            Self::Distances => writer.drop_times().unwrap(),
        }
    }
}

type Answer = dyn Fn(&Recording<'_>, &Execution) -> String;

/// A query of some kind: its name with its options, and how it is answered.
struct Question {
    name: String,
    answer: Box<Answer>,
    /// Whether the answer has numbers of rows, which rows in memory do not have.
    has_rows: bool,
}

fn question<K: Kind + Debug + Clone + 'static>(query: &K) -> Question
where
    K::Answer: Debug,
{
    let query = query.clone();
    Question {
        name: format!("{query:?}"),
        answer: Box::new(move |recording, execution| {
            format!("{:?}", query.run(recording, execution))
        }),
        has_rows: false,
    }
}

/// Questions of every kind to a run. Windows hold few rows if the run is long.
fn questions(run: &Run, random: &mut Random, reach: usize) -> Vec<Question> {
    let mut all = Vec::new();
    for _ in 0..2 {
        all.extend(coincidences(run, random, reach));
        all.extend(histograms(run, random, reach));
    }
    let scope = scope(run, random);
    // A short run with long delays would have millions of narrow bins.
    let moved = scope.delays.iter().map(|delay| delay.ticks.abs()).max().unwrap_or(0);
    let span = run.times.last().zip(run.times.first()).map_or(1, |(last, first)| last - first);
    let widest = span + 2 * moved;
    let width = (!random.one_in(3)).then(|| 1 + widest / random.between(1..40));
    all.push(question(&Rates { scope: scope.clone(), trace: width.map(TimeDivision::Width) }));
    let bins = Bins::linear(random.between(0..20), 90, random.between(1..7)).unwrap();
    let markers = Markers {
        line: 2,
        line_end: (!random.one_in(3)).then_some(3),
        frame: None,
        is_repaired: random.one_in(2),
    };
    let raster = Raster {
        pixels: 5,
        lines: 9,
        first_line: u32::from(random.one_in(2)),
        first_frame: 0,
        is_two_way: random.one_in(2),
        sine: None,
    };
    // Frames that are added up need no place of their own; there are fewer than lines.
    all.push(question(&Image {
        markers,
        photons: vec![0, 1],
        raster,
        regions: random
            .one_in(2)
            .then(|| Regions::new((0..45).map(|at| at % 4).collect()).unwrap()),
        micro: PixelMicro::Bins(bins.clone()),
        is_apart: false,
        is_by_channel: random.one_in(2),
        frames: run.times.len(),
        scope: scope.clone(),
    }));
    all.push(question(&MicroTimes { channels: vec![0, 1], bins, scope }));
    all.push(Question {
        name: "shortest intervals".into(),
        answer: Box::new(|recording, execution| {
            format!("{:?}", shortest_intervals(recording, execution))
        }),
        has_rows: false,
    });
    all
}

fn scope(run: &Run, random: &mut Random) -> Scope {
    let delay = |random: &mut Random| match random.below(4) {
        0 => random.between(-300..300),
        1 => random.between(-70_000..70_000),
        2 => random.between(-(1 << 33)..1 << 33),
        _ => run.window(random, 20),
    };
    let delays: Vec<Delay> = match random.below(4) {
        0 => {
            let ticks = delay(random);
            (0..300).map(|channel| Delay { channel, ticks }).collect()
        }
        1 => (0..3).map(|channel| Delay { channel, ticks: delay(random) }).collect(),
        _ => Vec::new(),
    };
    Scope { range: run.range(random), delays, ..Scope::default() }
}

fn coincidences(run: &Run, random: &mut Random, reach: usize) -> Vec<Question> {
    let groups = random.one_of(&[
        Groups::Listed(vec![vec![0, 1]]),
        Groups::Listed(vec![vec![1, 0], vec![1, 2], vec![0, 3]]),
        Groups::Listed(vec![vec![2, 0, 1]]),
        Groups::Listed(vec![vec![0, 1, 2], vec![0, 1, 2, 3]]),
        Groups::EveryPair,
    ]);
    let is_listed = matches!(groups, Groups::Listed(_));
    let is_of_pairs = match &groups {
        Groups::Listed(groups) => groups.iter().all(|group| group.len() == 2),
        _ => true,
    };
    let rule = random.one_of(&Rule::ALL);
    let rule = match rule {
        Rule::Grid if !is_of_pairs => Rule::All,
        Rule::Herald | Rule::PerHerald if !is_listed => Rule::All,
        rule => rule,
    };
    // All pairs of 300 channels take long.
    let groups = match groups {
        Groups::EveryPair if run.labels.iter().any(|&label| label > 4) => {
            Groups::Listed(vec![vec![0, 1], vec![0, 299]])
        }
        groups => groups,
    };
    let window = run.window(random, reach).max(1);
    let can_veto = is_listed && ![Rule::Cluster, Rule::Grid].contains(&rule);
    let guard = random.one_in(3).then(|| run.window(random, 3 * reach));
    let veto = guard.filter(|_| can_veto).map(|guard| Veto { channels: vec![VETO], guard });
    let query = Coincidences { groups, rule, window, veto, scope: scope(run, random) };
    let (listed, heralds) = (query.clone(), query.clone());
    let list = move |recording: &Recording<'_>, execution: &Execution| {
        let mut tuples = String::new();
        let left = if listed.rule == Rule::Cluster {
            listed.list_clusters(recording, execution, &mut |batch| {
                for tag in batch {
                    write!(tuples, "{tag:?}").unwrap();
                }
                tuples.truncate(20_001);
                if tuples.len() > 20_000 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        } else {
            listed.list(recording, execution, &mut |batch| {
                for tuple in batch.iter() {
                    write!(tuples, "{tuple:?}").unwrap();
                    if tuples.len() > 20_000 {
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            })
        };
        format!("{left:?} {tuples}")
    };
    let left = move |recording: &Recording<'_>, execution: &Execution| {
        let scan = Scan::new(recording, execution);
        format!("{:?}", heralds.of_heralds_left(&Ledger::of(&scan), 1, &[&[], &[0], &[2, 0]]))
    };
    vec![
        question(&query),
        Question { name: format!("list of {query:?}"), answer: Box::new(list), has_rows: true },
        Question { name: format!("heralds of {query:?}"), answer: Box::new(left), has_rows: false },
    ]
}

fn histograms(run: &Run, random: &mut Random, reach: usize) -> Vec<Question> {
    let width = 1 + run.window(random, reach) / random.between(1..30);
    let low = random.between(-40..20) * width;
    let linear = Bins::linear(low, low + random.between(1..60) * width, width).unwrap();
    let most = 3 + run.window(random, 3 * reach);
    let log = Bins::logarithmic(random.between(1..most), most, 5).unwrap();
    let mode = random.one_of(&[Mode::All, Mode::All, Mode::Next, Mode::Last]);
    let is_one_sided = mode != Mode::All;
    let bins = match (random.below(3), is_one_sided) {
        (0, _) => log,
        (_, true) => Bins::linear(0, 40 * width, width).unwrap(),
        (_, false) => linear.clone(),
    };
    let period = Period { numerator: 1 + width as u64 * 7, denominator: 3 };
    let fold = random.one_of(&[None, Some(Fold::Period(period)), Some(Fold::SyncDivider(2))]);
    let fold = fold.filter(|_| is_one_sided);
    let (start, stop) = (random.below(3) as u16, random.below(3) as u16);
    let histogram = Histogram { start, stop, bins, mode, fold, scope: scope(run, random) };
    let grid = Histogram {
        mode: Mode::Grid,
        bins: linear.clone(),
        fold: None,
        scope: scope(run, random),
        ..histogram
    };
    let scope = scope(run, random);
    let square = Histogram2d { herald: 0, others: [1, 2], bins: linear, scope };
    vec![question(&histogram), question(&grid), question(&square)]
}

/// Asks all questions in every way, and compares the answers with those of the rows in memory.
fn check(run: &Run, random: &mut Random, reach: usize) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let before_source = random.below(run.sources.len() + 1);
    let paths = Columns::ALL.map(|columns| {
        let path = folder.path().join(format!("{columns:?}"));
        run.write(&path, columns, before_source);
        path
    });
    let questions = questions(run, random, reach);
    let levels: Vec<Simd> = Simd::available().into_iter().collect();
    let mut execution = || Execution {
        simd: random.one_of(&levels),
        morsel_rows: random.one_in(2).then(|| 1 + random.below(run.times.len().min(3_000))),
    };
    let plain = run.in_memory();
    let stores: Vec<Store> = paths
        .iter()
        .flat_map(|path| [Access::Mapped, Access::Copied].map(|access| (path, access)))
        .map(|(path, access)| Store::open(path, access).unwrap())
        .collect();
    for question in &questions {
        let known = if question.has_rows { &Recording::of(&stores[0]) } else { &plain };
        let expected = (question.answer)(known, &execution());
        let mut of_joined = None;
        for store in &stores {
            let execution = execution();
            let name = &question.name;
            let columns = (store.manifest().has_times(), store.gaps().is_some(), &execution);
            let ask = |recording: &Recording<'_>| {
                store.guarded(|_| (question.answer)(recording, &execution)).unwrap()
            };
            let found = ask(&Recording::of(store));
            prop_assert_eq!(&found, &expected, "{:?} {}", columns, name);
            let found = ask(&Recording::joined(store));
            let expected = of_joined.get_or_insert_with(|| found.clone());
            prop_assert_eq!(&found, expected, "joined {:?} {}", columns, name);
        }
    }
    check_lookup(run, &stores[4], random)?;
    check_prefix(run, &paths, &questions, random)
}

fn check_lookup(run: &Run, store: &Store, random: &mut Random) -> Result<(), TestCaseError> {
    let lookup = Lookup::of(store);
    for _ in 0..20 {
        let near = run.times.get(random.below(run.times.len())).copied().unwrap_or(0);
        let time = near + random.between(-1..2);
        let expected = run.times.partition_point(|&at| at < time);
        prop_assert_eq!(lookup.row(time).unwrap(), expected, "{}", time);
    }
    Ok(())
}

/// Opens the rows with some times as of an earlier number of rows: a scan of these finds what it finds in all rows.
fn check_prefix(
    run: &Run,
    paths: &[std::path::PathBuf],
    questions: &[Question],
    random: &mut Random,
) -> Result<(), TestCaseError> {
    let rows = random.below(run.times.len() + 1);
    let range = run.range(random);
    let times = range.from.unwrap_or(i64::MIN)..=range.to.map_or(i64::MAX, |to| to - 1);
    let times = if times.is_empty() { i64::MIN..=i64::MAX } else { times };
    let mut answers: Vec<Vec<String>> = Vec::new();
    for path in paths {
        let whole = Store::open(path, Access::Mapped).unwrap();
        let earlier = whole.first_rows(rows as u64).unwrap();
        for access in [Access::Mapped, Access::Copied] {
            let store = Store::open_prefix(path, &earlier, access, &times).unwrap();
            let start = run.times[..rows].partition_point(|time| time < times.start());
            let end = run.times[..rows].partition_point(|time| time <= times.end()).max(start);
            prop_assert_eq!(store.opened(), start..end);
            prop_assert!(store.tags().time == &run.times[start..end]);
            if (start, end) != (0, rows) {
                continue;
            }
            let recording = Recording::of(&store);
            let ask = |question: &Question| (question.answer)(&recording, &Execution::best());
            answers.push(store.guarded(|_| questions.iter().map(ask).collect()).unwrap());
        }
    }
    for found in &answers {
        for ((found, expected), question) in found.iter().zip(&answers[0]).zip(questions) {
            prop_assert_eq!(found, expected, "first {} rows: {}", rows, question.name);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(random_cases(100))]

    #[test]
    fn short_runs(seed: u64, rows in 0..150_usize) {
        let random = &mut Random(seed);
        let run = Run::random(random, rows);
        check(&run, random, 60)?;
    }
}

proptest! {
    #![proptest_config(random_cases(16))]

    #[test]
    fn runs_of_some_steps(seed: u64, rows in 900..5_000_usize) {
        let random = &mut Random(seed);
        let run = Run::random(random, rows);
        check(&run, random, 12)?;
    }
}

#[test]
fn runs_of_some_blocks() {
    for (seed, rows) in [(1, 2 * BLOCK_ROWS + 3 * STEP_ROWS + 5), (2, BLOCK_ROWS), (3, 140_000)] {
        let random = &mut Random(seed);
        let run = Run::random(random, rows);
        check(&run, random, 6).unwrap();
    }
}

proptest! {
    #![proptest_config(random_cases(150))]

    #[test]
    fn counts_of_distances_are_those_of_the_oracle(seed: u64, rows in 0..70_usize) {
        let random = &mut Random(seed);
        let run = Run::random(random, rows);
        let folder = tempfile::tempdir().unwrap();
        run.write(folder.path(), Columns::Distances, random.below(3));
        let store = Store::open(folder.path(), Access::Mapped).unwrap();
        let plain = run.plain();
        let window = run.window(random, 40);
        let scope = scope(&run, random);
        let mut delays: Vec<(u16, i64)> = scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
        delays.truncate(5);
        let rule = random.one_of(&[Rule::All, Rule::Herald, Rule::PerHerald, Rule::Once]);
        let group = random.one_of(&[vec![0, 1], vec![2, 0, 1]]);
        let TimeRange { from, to } = scope.range;
        let query = Coincidences {
            groups: Groups::Listed(vec![group.clone()]),
            rule,
            window,
            veto: None,
            scope: scope.clone(),
        };
        let bins = Bins::linear(-window - 1, 2 * window + 3, 1 + window / 9).unwrap();
        let edges: Vec<i64> = (0..=bins.count()).map(|k| bins.edge(k)).collect();
        let (start, stop) = (0, random.below(3) as u16);
        let histogram = Histogram { start, stop, bins, mode: Mode::All, fold: None, scope };
        let expected =
            oracle::coincidences(&plain, &group, rule, window, &delays, (&[], 0), (from, to));
        let of_bins = oracle::histogram(&plain, [start, stop], &edges, &delays, [from, to]);
        for simd in Simd::available() {
            let recording = Recording::of(&store);
            let execution = Execution { simd, morsel_rows: Some(1 + random.below(40)) };
            let counted = query.run(&recording, &execution).unwrap();
            prop_assert_eq!(u128::from(counted.rows[0].count), expected, "{:?}", query);
            let binned = histogram.run(&recording, &execution).unwrap();
            prop_assert_eq!(&binned.counts, &of_bins, "{:?}", histogram);
        }
    }
}
