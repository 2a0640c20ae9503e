//! Coincidences over 100 M rows: the floor, each level, delays, windows of all widths, larger groups,
//! each rule; then the whole process over 35 M rows. `cargo xtask bench` builds the program and runs this.
//!
//! `TAGQ_BENCH_ROWS` and `TAGQ_BENCH_ROUNDS` make it shorter.

use std::{env, error::Error, path::Path, process::Command, time::Instant};

use tagq::{
    query::{Coincidences, Delay, Execution, Groups, Recording, Rule, Scope, Simd},
    store::Channels,
};
use tagq_benches::{Case, Suite, made_run, plain, sum_of_columns};

const NARROW: i64 = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |name: &str, default: u64| -> Result<u64, Box<dyn Error>> {
        Ok(env::var(name).ok().map(|text| text.parse()).transpose()?.unwrap_or(default))
    };
    let rows = number("TAGQ_BENCH_ROWS", 100_000_000)?;
    let rounds = usize::try_from(number("TAGQ_BENCH_ROUNDS", 9)?)?;
    let made = made_run(rows)?;
    let tags = made.store.tags();
    let Channels::U8(label) = tags.channels else { return Err("a narrow column expected".into()) };
    let recording = Recording::of(&made.store);
    println!(
        "{} rows, {} threads, best level {}\n",
        tags.len(),
        rayon::current_num_threads(),
        Simd::best().name()
    );

    let floor = Case {
        name: "floor: sum of both columns".into(),
        run: Box::new(move || vec![sum_of_columns(tags.time, label)]),
        answer: None,
    };
    let mut cases = vec![floor];
    let mut add = |name: &str, simd: Simd, query: Coincidences, answer: Vec<u64>| {
        let execution = Execution { simd, ..Execution::best() };
        let recording = &recording;
        cases.push(Case {
            name: format!("{name}, {}", simd.name()),
            run: Box::new(move || counts(&query, recording, &execution)),
            answer: Some(answer),
        });
    };
    let times = plain::times_of_channels(tags.time, label);
    let list = |channel: u16| &times[usize::from(channel)][..];
    let one = |window| query(&[&[1, 2]], window, &[]);
    let plain_of = |group: &[u16], window| {
        plain::all(&group.iter().map(|&channel| list(channel)).collect::<Vec<_>>(), window)
    };
    let plain_of_every = |size: usize, window| -> Vec<u64> {
        every_choice(size).iter().map(|group| plain_of(group, window)).collect()
    };
    let every = |groups: Groups, window| Coincidences { groups, ..one(window) };
    let by_rule =
        |groups: &[&[u16]], rule, window| Coincidences { rule, ..query(groups, window, &[]) };
    let (later, four_delays) = (plain::delayed(list(2), 640), [(2, 640), (3, -5_000), (4, 81)]);
    let of_four: Vec<Vec<i64>> =
        [0, 640, -5_000, 81].iter().zip(&times[1..]).map(|(&d, t)| plain::delayed(t, d)).collect();
    let four: [&[u16]; 6] = [&[1, 2], &[1, 3], &[1, 4], &[2, 3], &[2, 4], &[3, 4]];
    let of_pair = |pair: &&[u16]| {
        let [a, b] = [0, 1].map(|i| &of_four[usize::from(pair[i]) - 1][..]);
        plain::all(&[a, b], NARROW)
    };
    let of_four: Vec<u64> = four.iter().map(of_pair).collect();

    let answer = vec![plain_of(&[1, 2], NARROW)];
    let of_every = plain_of_every(2, NARROW);
    let of_later = vec![plain::all(&[list(1), &later], NARROW)];
    for simd in Simd::available() {
        add("one pair, 2 ns", simd, one(NARROW), answer.clone());
    }
    for simd in Simd::available() {
        add("all 28 pairs, 2 ns", simd, every(Groups::EveryPair, NARROW), of_every.clone());
    }
    for simd in Simd::available() {
        let delayed = query(&[&[1, 2]], NARROW, &[(2, 640)]);
        add("one pair with a delay, 2 ns", simd, delayed, of_later.clone());
    }
    for simd in Simd::available() {
        let delayed = query(&four, NARROW, &four_delays);
        add("6 pairs of 4 channels, 4 delays, 2 ns", simd, delayed, of_four.clone());
    }
    let best = Simd::best();
    for (name, window) in [("1 us", 6_400), ("1 ms", 6_400_000)] {
        let answer = vec![plain_of(&[1, 2], window)];
        add(&format!("one pair, {name}"), best, one(window), answer);
        let answer = plain_of_every(2, window);
        let every = every(Groups::EveryPair, window);
        add(&format!("all 28 pairs, {name}"), best, every, answer);
    }
    for (name, window) in [("2 ns", NARROW), ("1 us", 6_400)] {
        for group in [&[1, 2, 3][..], &[1, 2, 3, 4]] {
            let answer = vec![plain_of(group, window)];
            let name = format!("one group of {}, {name}", group.len());
            add(&name, best, query(&[group], window, &[]), answer);
        }
        let answer = plain_of_every(3, window);
        let every = every(Groups::EveryFold(3), window);
        add(&format!("all 56 groups of 3, {name}"), best, every, answer);
        let lists = [list(1), list(2), list(3)];
        for (rule, once) in [(Rule::Herald, false), (Rule::PerHerald, true)] {
            let answer = vec![plain::herald(&lists, window, once)];
            let query = by_rule(&[&[1, 2, 3]], rule, window);
            add(&format!("one group of 3, {rule:?}, {name}"), best, query, answer);
        }
        let answer = vec![plain::grid(list(1), list(2), window)];
        let query = by_rule(&[&[1, 2]], Rule::Grid, window);
        add(&format!("one pair, Grid, {name}"), best, query, answer);
    }
    Suite { rows: tags.len() as u64, row_bytes: 9, cases }.run(rounds);

    whole_process(number("TAGQ_BENCH_PROCESS_ROWS", 35_000_000)?)
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

/// Every choice of 2 or 3 of the channels 1 to 8, in ascending order.
fn every_choice(size: usize) -> Vec<Vec<u16>> {
    let pairs = (1..=8).flat_map(|a| (a + 1..=8).map(move |b| vec![a, b]));
    if size == 2 {
        return pairs.collect();
    }
    pairs.flat_map(|pair| (pair[1] + 1..=8).map(move |c| vec![pair[0], pair[1], c])).collect()
}

/// From the start of the program to its end, the store warm in memory.
fn whole_process(rows: u64) -> Result<(), Box<dyn Error>> {
    let made = made_run(rows)?;
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/tagq");
    let mut taken = Vec::new();
    let mut first = None;
    for _ in 0..21 {
        let mut command = Command::new(&program);
        command.args(["coincidences", "--window", "2ns", "--group", "1,2", "--format", "csv"]);
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
