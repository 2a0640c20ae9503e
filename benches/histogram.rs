//! Histograms and rates over 100 M rows of eight channels, and over 50 M of two. `cargo xtask bench` runs
//! this. `TAGQ_BENCH_ROWS` and `TAGQ_BENCH_ROUNDS` make it shorter, and
//! `cargo bench -p tagq-benches --bench histogram -- WORD…` times only the cases whose names contain a word.

use std::{cell::LazyCell, env, error::Error, rc::Rc};

use tagq::{
    query::{
        Bins, Delay, Execution, Histogram, Kind as _, Mode, Rates, Recording, Scope, Simd,
        TimeDivision,
    },
    store::{Channels, Tags},
};
use tagq_benches::{Answer, Case, Suite, answer, made_run, sum_of_columns};

fn main() -> Result<(), Box<dyn Error>> {
    let number = |name: &str, default: u64| -> Result<u64, Box<dyn Error>> {
        Ok(env::var(name).ok().map(|text| text.parse()).transpose()?.unwrap_or(default))
    };
    let rounds = usize::try_from(number("TAGQ_BENCH_ROUNDS", 5)?)?;
    let made = made_run(number("TAGQ_BENCH_ROWS", 100_000_000)?)?;
    let tags = made.store.tags();
    let Channels::U8(label) = tags.channels else { return Err("a narrow column expected".into()) };
    let label = label.all();
    println!("{} rows, {} threads\n", tags.len(), rayon::current_num_threads());
    let (with_gaps, times) = (Recording::of(&made.store), Recording::from_tags(tags));
    suite(tags, label, [&with_gaps, &times], "8 channels")?.run(rounds);

    // The same times with two main labels: every row is a start or a stop, except one in 64 of another
    // channel.
    let rows = tags.len() / 2;
    let time = &made.store.whole_times()?[..rows];
    let two: Vec<u8> = (label[..rows].iter().zip(time))
        .map(|(&label, &time)| if time % 64 == 0 { 3 } else { label % 2 + 1 })
        .collect();
    let tags = Tags { time: time.into(), channels: Channels::U8((&two).into()) };
    println!();
    let times = Recording::from_tags(tags);
    suite(tags, &two, [&times; 2], "2 channels")?.run(rounds);
    Ok(())
}

/// The cases over a recording, and those that gaps can count also over the same tags without gaps.
fn suite<'a>(
    tags: Tags<'a>,
    label: &'a [u8],
    [recording, times]: [&'a Recording<'a>; 2],
    what: &'a str,
) -> Result<Suite<'a>, Box<dyn Error>> {
    let Some(time) = tags.time.column() else { return Err("a column of times expected".into()) };
    let time = time.all();
    let floor = Case {
        name: format!("floor: sum of both columns, {what}"),
        run: Box::new(move || vec![sum_of_columns(time, label)]),
        answer: None,
    };
    let mut cases = vec![floor];
    for (name, bin) in [("rates of the whole run", None), ("rates in 100 ms", Some(640_000_000))] {
        let trace = bin.map(TimeDivision::Width);
        let query = Rates { scope: Scope::default(), trace };
        cases.push(Case {
            name: name.into(),
            run: Box::new(move || {
                let rated = query.run(recording, &Execution::best());
                rated
                    .map(|rated| rated.trace.map_or(rated.sources[0].counts.clone(), |t| t.counts))
                    .unwrap_or_default()
            }),
            answer: answer(move || rates_plainly(time, label, bin)),
        });
    }
    let starts_stops =
        Rc::new(LazyCell::new(move || [1, 2].map(|channel| times_of(time, label, channel))));
    let mut add = |name: &str, simd: Simd, bins: Bins, delay: i64, answer: Option<Answer<'a>>| {
        let delays = vec![Delay { channel: 2, ticks: delay }];
        let scope = Scope { delays, ..Scope::default() };
        let query = Histogram { start: 1, stop: 2, bins, mode: Mode::All, fold: None, scope };
        let execution = Execution { simd, ..Execution::best() };
        let mut case = |name: String, recording: &'a Recording<'a>| {
            let query = query.clone();
            let run = move || {
                query.run(recording, &execution).map(|binned| binned.counts).unwrap_or_default()
            };
            cases.push(Case { name, run: Box::new(run), answer: answer.clone() });
        };
        case(format!("{name}, {}", simd.name()), recording);
        if !std::ptr::eq(recording, times) {
            case(format!("{name}, {}, from times", simd.name()), times);
        }
    };
    let narrow = Bins::centred(640, 1)?;
    let plain = |bins: &Bins, delay| {
        let (lists, bins) = (Rc::clone(&starts_stops), bins.clone());
        answer(move || pairs_plainly(&lists, &bins, delay))
    };
    let answer = plain(&narrow, 0);
    for simd in Simd::available() {
        add("g2 ±100 ns, bins of 1 tick", simd, narrow.clone(), 0, answer.clone());
    }
    let best = Simd::best();
    add("the same with a delay", best, narrow.clone(), 640, plain(&narrow, 640));
    let one_us = Bins::centred(6_400, 1)?;
    let of_one_us = plain(&one_us, 0);
    for simd in Simd::available() {
        add("±1 us, bins of 1 tick", simd, one_us.clone(), 0, of_one_us.clone());
    }
    let wide = Bins::centred(64_000, 8)?;
    let of_wide = plain(&wide, 0);
    add("±10 us, bins of 8 ticks", best, wide.clone(), 0, of_wide.clone());
    add("±1 ms, bins of 20 us", best, Bins::centred(6_400_000, 128_000)?, 0, None);
    let log = Bins::logarithmic(8, 640_000_000, 20)?;
    add("log, 8 ticks to 100 ms, 20 a decade", best, log.clone(), 0, None);
    // Rival of the pairs: one thread extracts both channels and scans them with pointers.
    cases.push(Case {
        name: "a plain loop for ±10 us, channels taken out".into(),
        run: Box::new(move || {
            pairs_plainly(&[1, 2].map(|channel| times_of(time, label, channel)), &wide, 0)
        }),
        answer: of_wide,
    });
    // Rival of the merges: a plain two-pointer merge for each edge, on the same lists.
    let lists = Rc::clone(&starts_stops);
    cases.push(Case {
        name: "a plain merge for each of 16 of its edges".into(),
        run: Box::new(move || {
            (0..16).map(|k| reaching_plainly(&lists, log.edge(k * 10))).collect()
        }),
        answer: None,
    });
    for (name, mode) in [("next", Mode::Next), ("last", Mode::Last)] {
        let bins = Bins::linear(0, 64_000, 8)?;
        let query =
            Histogram { start: 1, stop: 2, bins, mode, fold: None, scope: Scope::default() };
        cases.push(Case {
            name: format!("mode {name}, 10 us, bins of 8 ticks"),
            run: Box::new(move || {
                let binned = query.run(recording, &Execution::best());
                binned.map(|binned| binned.counts).unwrap_or_default()
            }),
            answer: None,
        });
    }
    Ok(Suite { rows: tags.len() as u64, row_bytes: 9, cases })
}

fn times_of(time: &[i64], label: &[u8], channel: u8) -> Vec<i64> {
    let tags = time.iter().zip(label);
    tags.filter(|&(_, &label)| label == channel).map(|(&time, _)| time).collect()
}

/// Counts one tag after another, without index and vectors.
fn rates_plainly(time: &[i64], label: &[u8], bin: Option<i64>) -> Vec<u64> {
    let origin = time[0];
    let last = time[time.len() - 1];
    let number =
        |time: i64| usize::try_from(bin.map_or(0, |bin| (time - origin) / bin)).unwrap_or(0);
    let mut counts = vec![[0_u64; 256]; number(last) + 1];
    for (&time, &label) in time.iter().zip(label) {
        counts[number(time)][usize::from(label)] += 1;
    }
    let used = (0..256).filter(|&label| counts.iter().any(|bin| bin[label] > 0));
    let used: Vec<usize> = used.collect();
    counts.iter().flat_map(|bin| used.iter().map(|&label| bin[label])).collect()
}

/// Moves a pointer into the stops for each start, and counts every pair after it.
fn pairs_plainly([starts, stops]: &[Vec<i64>; 2], bins: &Bins, delay: i64) -> Vec<u64> {
    let mut counts = vec![0; bins.count()];
    let (low, high) = (bins.edge(0), bins.edge(bins.count()));
    let width = bins.edge(1) - low;
    let mut first = 0;
    for &start in starts {
        while first < stops.len() && stops[first] + delay - start < low {
            first += 1;
        }
        for &stop in &stops[first..] {
            let difference = stop + delay - start;
            if difference >= high {
                break;
            }
            counts[usize::try_from((difference - low) / width).unwrap_or(0)] += 1;
        }
    }
    counts
}

/// Returns the number of pairs with Δ of at least `edge`, found with two pointers.
fn reaching_plainly([starts, stops]: &[Vec<i64>; 2], edge: i64) -> u64 {
    let (mut first, mut count) = (0, 0);
    for &stop in stops {
        while first < starts.len() && stop - starts[first] >= edge {
            first += 1;
        }
        count += first as u64;
    }
    count
}
