//! Coincidences over 100 M rows: the floor, each level, delays, windows of all widths, larger groups, each
//! rule; then the whole process over 35 M rows. `cargo xtask bench` builds the program and runs this.
//!
//! `TAGQ_BENCH_ROWS` and `TAGQ_BENCH_ROUNDS` make it shorter.
//! `cargo bench -p tagq-benches --bench coincidences -- WORD…` times only the cases whose names contain a
//! word.

use std::{cell::LazyCell, env, error::Error, path::Path, process::Command, rc::Rc, time::Instant};

use tagq::{
    query::{
        Coincidences, Delay, Execution, Groups, Kind as _, Recording, Rule, Scope, Simd, TimeRange,
        Veto,
    },
    store::{Channels, Tags},
};
use tagq_benches::{Answer, Case, Suite, made_run, plain, sum_of_columns};

/// 2 ns in ticks.
const NARROW: i64 = 12;
/// Delays of all channels, as cables make them: up to 13 ns.
const CABLES: Delays = &[(1, 17), (2, -42), (3, 81), (4, -64), (5, 33), (6, 5), (7, -12), (8, 60)];
/// 10 ms and 1 s in ticks.
const BIN: i64 = 64_000_000;
const SECOND: i64 = 100 * BIN;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |name: &str, default: u64| -> Result<u64, Box<dyn Error>> {
        Ok(env::var(name).ok().map(|text| text.parse()).transpose()?.unwrap_or(default))
    };
    let rows = number("TAGQ_BENCH_ROWS", 100_000_000)?;
    let rounds = usize::try_from(number("TAGQ_BENCH_ROUNDS", 9)?)?;
    let made = made_run(rows)?;
    let tags = made.store.tags();
    let Channels::U8(label) = tags.channels else { return Err("a narrow column expected".into()) };
    let label = label.all();
    let time = made.store.whole_times()?;
    let recording = Recording::of(&made.store);
    let times = Recording::from_tags(tags);
    println!(
        "{} rows, {} threads, best level {}\n",
        tags.len(),
        rayon::current_num_threads(),
        Simd::best().name()
    );
    let lists = Lists::new(LazyCell::new(Box::new(|| plain::times_of_channels(time, label))));
    let mut bench = Bench { recording: &recording, times: &times, lists, cases: Vec::new() };
    bench.cases.push(Case {
        name: "floor: sum of both columns".into(),
        run: Box::new(move || vec![sum_of_columns(time, label)]),
        answer: None,
    });
    bench.pairs();
    bench.groups();
    bench.delays();
    bench.vetoes();
    bench.rules(time, label);
    bench.ranges(tags);
    Suite { rows: tags.len() as u64, row_bytes: 9, cases: bench.cases }.run(rounds);

    whole_process(number("TAGQ_BENCH_PROCESS_ROWS", 35_000_000)?)
}

/// The times of each channel, extracted on first use.
type Lists<'a> = Rc<LazyCell<Vec<Vec<i64>>, Box<dyn FnOnce() -> Vec<Vec<i64>> + 'a>>>;

/// Channels and their delays.
type Delays = &'static [(u16, i64)];

struct Bench<'a> {
    recording: &'a Recording<'a>,
    /// The same tags without gaps.
    times: &'a Recording<'a>,
    lists: Lists<'a>,
    cases: Vec<Case<'a>>,
}

impl<'a> Bench<'a> {
    fn add(&mut self, name: &str, simd: Simd, query: &Coincidences, answer: Option<&Answer<'a>>) {
        let execution = Execution { simd, ..Execution::best() };
        for (recording, column) in [(self.recording, ""), (self.times, ", from times")] {
            let query = query.clone();
            self.cases.push(Case {
                name: format!("{name}, {}{column}", simd.name()),
                run: Box::new(move || counts(&query, recording, &execution)),
                answer: answer.cloned(),
            });
        }
    }

    /// Returns the answer that a plain method computes from the times of each channel.
    fn plain(&self, make: impl FnOnce(&[Vec<i64>]) -> Vec<u64> + 'a) -> Option<Answer<'a>> {
        let lists = Rc::clone(&self.lists);
        tagq_benches::answer(move || make(&lists))
    }

    /// Counts each group with rule `all`, with delays of its channels.
    fn plain_all(&self, groups: Vec<Vec<u16>>, window: i64, delays: Delays) -> Option<Answer<'a>> {
        self.plain(move |lists| {
            let delay = |channel| delays.iter().find(|delay| delay.0 == channel).map_or(0, |d| d.1);
            let list = |channel: u16| plain::delayed(&lists[usize::from(channel)], delay(channel));
            let moved: Vec<Vec<i64>> = (0..=8).map(list).collect();
            let of = |group: &Vec<u16>| {
                let lists: Vec<&[i64]> =
                    group.iter().map(|&c| &moved[usize::from(c)][..]).collect();
                plain::all(&lists, window)
            };
            groups.iter().map(of).collect()
        })
    }

    fn pairs(&mut self) {
        const FOUR: [&[u16]; 6] = [&[1, 2], &[1, 3], &[1, 4], &[2, 3], &[2, 4], &[3, 4]];
        let listed = |groups: &[&[u16]]| groups.iter().map(|group| group.to_vec()).collect();
        let cases: [(&str, Coincidences, Delays); 5] = [
            ("one pair, 2 ns", query(&[&[1, 2]], NARROW, &[]), &[]),
            ("all 28 pairs, 2 ns", every(Groups::EveryPair, NARROW), &[]),
            ("one pair, delay 100 ns", query(&[&[1, 2]], NARROW, &[(2, 640)]), &[(2, 640)]),
            ("one pair, delay 1 us", query(&[&[1, 2]], NARROW, &[(1, 6_400)]), &[(1, 6_400)]),
            (
                "6 pairs of 4 channels, 4 delays, 2 ns",
                query(&FOUR, NARROW, &[(2, 640), (3, -5_000), (4, 81)]),
                &[(2, 640), (3, -5_000), (4, 81)],
            ),
        ];
        for (name, query, delays) in cases {
            let groups = match &query.groups {
                Groups::Listed(groups) => groups.clone(),
                _ => every_choice(2),
            };
            let answer = self.plain_all(groups, NARROW, delays);
            for simd in Simd::available() {
                self.add(name, simd, &query, answer.as_ref());
            }
        }
        for (name, window) in [("100 ns", 640), ("1 us", 6_400), ("1 ms", 6_400_000)] {
            let answer = self.plain_all(listed(&[&[1, 2]]), window, &[]);
            let one = query(&[&[1, 2]], window, &[]);
            self.add(&format!("one pair, {name}"), Simd::best(), &one, answer.as_ref());
            let answer = self.plain_all(every_choice(2), window, &[]);
            let every = every(Groups::EveryPair, window);
            self.add(&format!("all 28 pairs, {name}"), Simd::best(), &every, answer.as_ref());
        }
    }

    fn groups(&mut self) {
        for (name, window) in [("2 ns", NARROW), ("1 us", 6_400)] {
            for group in [&[1, 2, 3][..], &[1, 2, 3, 4]] {
                let answer = self.plain_all(vec![group.to_vec()], window, &[]);
                let name = format!("one group of {}, {name}", group.len());
                self.add(&name, Simd::best(), &query(&[group], window, &[]), answer.as_ref());
            }
            let answer = self.plain_all(every_choice(3), window, &[]);
            let every = every(Groups::EveryFold(3), window);
            self.add(&format!("all 56 groups of 3, {name}"), Simd::best(), &every, answer.as_ref());
        }
    }

    fn delays(&mut self) {
        let name = |what: &str| format!("{what}, 2 ns, cables");
        let answer = self.plain_all(every_choice(2), NARROW, CABLES);
        let pairs = Coincidences { groups: Groups::EveryPair, ..query(&[], NARROW, CABLES) };
        self.add(&name("all 28 pairs"), Simd::best(), &pairs, answer.as_ref());
        let group = query(&[&[1, 2, 3]], NARROW, CABLES);
        let answer = self.plain_all(vec![vec![1, 2, 3]], NARROW, CABLES);
        self.add(&name("one group of 3"), Simd::best(), &group, answer.as_ref());
        let of_lists = |count: fn(&[&[i64]]) -> u64| {
            move |lists: &[Vec<i64>]| {
                let list = |at: usize| plain::delayed(&lists[at], CABLES[at - 1].1);
                let lists = [1, 2, 3].map(list);
                vec![count(&lists.each_ref().map(|list| &list[..]))]
            }
        };
        for (rule, count) in [
            (Rule::Herald, (|lists| plain::herald(lists, NARROW, false)) as fn(&[&[i64]]) -> u64),
            (Rule::Once, |lists| plain::once(lists, NARROW)),
        ] {
            let answer = self.plain(of_lists(count));
            let query = Coincidences { rule, ..group.clone() };
            let name = name(&format!("one group of 3, {rule:?}"));
            self.add(&name, Simd::best(), &query, answer.as_ref());
        }
    }

    fn vetoes(&mut self) {
        const GUARD: i64 = 64;
        let answer = self.plain(|lists| {
            vec![plain::allowed_pairs(&lists[1], &lists[2], &lists[8], NARROW, GUARD)]
        });
        let veto = Some(Veto { channels: vec![8], guard: GUARD });
        let query = Coincidences { veto, ..query(&[&[1, 2]], NARROW, &[]) };
        self.add("one pair, 2 ns, a veto 10 ns around", Simd::best(), &query, answer.as_ref());
    }

    fn rules(&mut self, time: &'a [i64], label: &'a [u8]) {
        let by_rule =
            |groups: &[&[u16]], rule, window| Coincidences { rule, ..query(groups, window, &[]) };
        let best = Simd::best();
        for (name, window) in [("2 ns", NARROW), ("1 us", 6_400)] {
            for (rule, once) in [(Rule::Herald, false), (Rule::PerHerald, true)] {
                let answer = self.plain(move |lists| {
                    vec![plain::herald(&[&lists[1], &lists[2], &lists[3]], window, once)]
                });
                let query = by_rule(&[&[1, 2, 3]], rule, window);
                self.add(
                    &format!("one group of 3, {rule:?}, {name}"),
                    best,
                    &query,
                    answer.as_ref(),
                );
            }
            let answer = self.plain(move |lists| vec![plain::grid(&lists[1], &lists[2], window)]);
            let query = by_rule(&[&[1, 2]], Rule::Grid, window);
            self.add(&format!("one pair, Grid, {name}"), best, &query, answer.as_ref());
            for group in [&[1, 2][..], &[1, 2, 3]] {
                let channels = group.to_vec();
                let answer = self.plain(move |lists| {
                    let lists: Vec<&[i64]> =
                        channels.iter().map(|&c| &lists[usize::from(c)][..]).collect();
                    vec![plain::once(&lists, window)]
                });
                let name = format!("one group of {}, Once, {name}", group.len());
                let query = by_rule(&[group], Rule::Once, window);
                self.add(&name, best, &query, answer.as_ref());
            }
            for channels in [&[1, 2, 3][..], &[1, 2, 3, 4, 5, 6, 7, 8]] {
                let wanted = channels.to_vec();
                let answer =
                    tagq_benches::answer(move || plain::clusters(time, label, &wanted, window));
                let mut query = by_rule(&[], Rule::Cluster, window);
                query.scope.channels = Some(channels.to_vec());
                let name = format!("Cluster of {} channels, {name}", channels.len());
                self.add(&name, best, &query, answer.as_ref());
            }
        }
    }

    fn ranges(&mut self, tags: Tags<'a>) {
        let (first, last) = (tags.time.at(0), tags.time.at(tags.len() - 1));
        let from = last - SECOND;
        let mut query = query(&[&[1, 2]], NARROW, &[]);
        query.scope.range = TimeRange { from: Some(from), to: None };
        let answer = self.plain(move |lists| {
            let before = |list: &Vec<i64>| list.partition_point(|&time| time < from);
            let pairs =
                |to: [usize; 2]| plain::all(&[&lists[1][..to[0]], &lists[2][..to[1]]], NARROW);
            let all = pairs([lists[1].len(), lists[2].len()]);
            vec![all - pairs([before(&lists[1]), before(&lists[2])])]
        });
        self.add("one pair, 2 ns, the last second", Simd::best(), &query, answer.as_ref());
        let answer =
            self.plain(move |lists| plain::trace(&lists[1], &lists[2], NARROW, first, BIN, last));
        let recording = self.recording;
        self.cases.push(Case {
            name: "one pair, 2 ns, asked for each 10 ms in turn".into(),
            run: Box::new(move || {
                let of_bin = |bin: i64| {
                    let from = first + bin * BIN;
                    query.scope.range = TimeRange { from: Some(from), to: Some(from + BIN) };
                    counts(&query, recording, &Execution::best())[0]
                };
                (0..=(last - first) / BIN).map(of_bin).collect()
            }),
            answer,
        });
    }
}

fn every(groups: Groups, window: i64) -> Coincidences {
    Coincidences { groups, ..query(&[], window, &[]) }
}

fn counts(query: &Coincidences, recording: &Recording<'_>, execution: &Execution) -> Vec<u64> {
    let counted = query.run(recording, execution);
    counted.map(|counted| counted.rows.iter().map(|row| row.count).collect()).unwrap_or_default()
}

fn query(groups: &[&[u16]], window: i64, delays: &[(u16, i64)]) -> Coincidences {
    let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
    let groups = Groups::Listed(groups.iter().map(|group| group.to_vec()).collect());
    Coincidences {
        groups,
        rule: Rule::All,
        window,
        veto: None,
        scope: Scope { delays, ..Scope::default() },
    }
}

/// Returns every combination of 2 or 3 of the channels 1 to 8, in ascending order.
fn every_choice(size: usize) -> Vec<Vec<u16>> {
    let pairs = (1..=8).flat_map(|a| (a + 1..=8).map(move |b| vec![a, b]));
    if size == 2 {
        return pairs.collect();
    }
    pairs.flat_map(|pair| (pair[1] + 1..=8).map(move |c| vec![pair[0], pair[1], c])).collect()
}

/// Times the program from start to end, with the store in memory.
fn whole_process(rows: u64) -> Result<(), Box<dyn Error>> {
    let made = made_run(rows)?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/tagq");
    let mut taken = Vec::new();
    let mut first = None;
    for _ in 0..21 {
        let mut command = Command::new(&program);
        command.args(["coincidences", "--window", "2ns", "--group", "1,2", "--format", "csv"]);
        command.arg("--no-cache");
        let start = Instant::now();
        let output = command.arg(&made.folder).output()?;
        taken.push(start.elapsed().as_secs_f64() * 1e3);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(&output.stdout, first.get_or_insert_with(|| output.stdout.clone()));
    }
    let recording = Recording::of(&made.store);
    let expected = counts(&query(&[&[1, 2]], NARROW, &[]), &recording, &Execution::best());
    let text = String::from_utf8(first.unwrap_or_default())?;
    let row = text.lines().last().and_then(|line| line.split(',').nth(2)).unwrap_or_default();
    assert_eq!(row, expected[0].to_string(), "the program and the library agree");
    let warm = &mut taken[1..];
    warm.sort_by(f64::total_cmp);
    println!(
        "\nwhole process, one pair 2 ns over {} rows: median {:.1} ms of {} runs, {:.1} to {:.1}",
        made.store.manifest().rows,
        warm[warm.len() / 2],
        warm.len(),
        warm[0],
        warm[warm.len() - 1]
    );
    Ok(())
}
