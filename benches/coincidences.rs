//! Pairs over 100 M rows: the floor, each level, all pairs, delays; then the whole process over
//! 35 M rows. `cargo xtask bench` builds the program and runs this.
//!
//! `TAGQ_BENCH_ROWS` and `TAGQ_BENCH_ROUNDS` make it shorter.

use std::{env, error::Error, path::Path, process::Command, time::Instant};

use tagq::{
    query::{Coincidences, Delay, Execution, Groups, Recording, Rule, Simd},
    store::{Channels, Tags},
};
use tagq_benches::{Case, Suite, made_run, sum_of_columns};

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
    let mut add = |name: &str, simd: Simd, query: Coincidences, answer: Option<Vec<u64>>| {
        let execution = Execution { simd, ..Execution::best() };
        let recording = &recording;
        cases.push(Case {
            name: format!("{name}, {}", simd.name()),
            run: Box::new(move || counts(&query, recording, &execution)),
            answer,
        });
    };
    let one = |window| pairs(vec![[1, 2]], window, &[]);
    let expected = Some(vec![counted_plainly(tags, label, [1, 2], NARROW)]);
    for simd in Simd::available() {
        add("one pair, 2 ns", simd, one(NARROW), expected.clone());
    }
    for simd in Simd::available() {
        let every = Coincidences { groups: Groups::EveryPair, ..one(NARROW) };
        add("all 28 pairs, 2 ns", simd, every, None);
    }
    let best = Simd::best();
    let delayed = pairs(vec![[1, 2]], NARROW, &[(2, 640)]);
    add("one pair with a delay, 2 ns", best, delayed, None);
    add(
        "one pair, 1 us",
        best,
        one(6_400),
        Some(vec![counted_plainly(tags, label, [1, 2], 6_400)]),
    );
    add("one pair, 1 ms", best, one(6_400_000), None);
    Suite { rows: tags.len() as u64, row_bytes: 9, cases }.run(rounds);

    whole_process(number("TAGQ_BENCH_PROCESS_ROWS", 35_000_000)?)
}

fn counts(query: &Coincidences, recording: &Recording<'_>, execution: &Execution) -> Vec<u64> {
    let counted = query.run(recording, execution);
    counted.map(|counted| counted.rows.iter().map(|row| row.count).collect()).unwrap_or_default()
}

fn pairs(groups: Vec<[u16; 2]>, window: i64, delays: &[(u16, i64)]) -> Coincidences {
    let delays = delays.iter().map(|&(channel, ticks)| Delay { channel, ticks }).collect();
    Coincidences { groups: Groups::Listed(groups), rule: Rule::All, window, delays }
}

/// Two pointers over the two channels: another algorithm than that of the queries.
fn counted_plainly(tags: Tags<'_>, label: &[u8], [a, b]: [u8; 2], window: i64) -> u64 {
    let times_of = |channel: u8| -> Vec<i64> {
        let tags = tags.time.iter().zip(label);
        tags.filter(|&(_, &label)| label == channel).map(|(&time, _)| time).collect()
    };
    let (a, b) = (times_of(a), times_of(b));
    let (mut from, mut to, mut count) = (0, 0, 0);
    for time in b {
        while from < a.len() && a[from] < time - window {
            from += 1;
        }
        while to < a.len() && a[to] <= time + window {
            to += 1;
        }
        count += (to - from) as u64;
    }
    count
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
    let expected = counts(&pairs(vec![[1, 2]], NARROW, &[]), &recording, &Execution::best());
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
