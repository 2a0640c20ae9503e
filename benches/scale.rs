//! Cost of a query by size: 10 M, 100 M and 1,000 M rows, warm and cold, and the memory it takes.
//! `cargo xtask scale` builds the program and runs this. The arguments `warm`, `memory` and `cold` run only
//! that part; `--keep` keeps the store of 9 GB.
//!
//! The larger runs are copies of the smallest, further apart than the reach of any query. Each count must be
//! that of one copy, counted by a plain method, times the number of copies.

use std::{
    env,
    error::Error,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use tagq::{
    query::{
        Bins, Coincidences, Delay, Execution, Groups, Histogram, Kind as _, Mode, Rates, Recording,
        Rule, Scope, Simd, TimeDivision, TimeRange,
    },
    store::Channels,
};
use tagq_benches::{
    Figure, Made, PART_ROWS, made_copies, made_run, plain, record, remove_copies, watch,
};

type Failure = Box<dyn Error>;

const COPIES: [u32; 3] = [1, 10, 100];
const NARROW: i64 = 12;
const WIDE: i64 = 6_400;
const REACH: i64 = 640;
const DELAY: i64 = 640;
const SECOND: i64 = 6_400_000_000;
/// Memory limit of a query, in addition to the mapped files.
const MEMORY_MIB: u32 = 64;

/// A query, for the library and for the program.
struct Asked {
    name: &'static str,
    args: &'static [&'static str],
    counts: fn(&Recording<'_>, &Execution) -> Result<Vec<u64>, tagq::query::Error>,
    /// Whether the query reads every row.
    reads_all: bool,
    /// Whether the answer grows with the run.
    grows: bool,
}

const ASKED: [Asked; 8] = [
    Asked {
        name: "one pair, 2 ns",
        args: &["coincidences", "--group", "1,2", "--window", "2ns"],
        counts: |run, how| one_pair(NARROW, 0, None, run, how),
        reads_all: true,
        grows: true,
    },
    Asked {
        name: "all 28 pairs, 2 ns",
        args: &["coincidences", "--window", "2ns"],
        counts: |run, how| pairs(Groups::EveryPair, NARROW, Scope::default(), run, how),
        reads_all: true,
        grows: true,
    },
    Asked {
        name: "one pair with a delay, 2 ns",
        args: &["coincidences", "--group", "1,2", "--window", "2ns", "--delay", "2=100ns"],
        counts: |run, how| one_pair(NARROW, DELAY, None, run, how),
        reads_all: true,
        grows: true,
    },
    Asked {
        name: "one pair, 1 us",
        args: &["coincidences", "--group", "1,2", "--window", "1us"],
        counts: |run, how| one_pair(WIDE, 0, None, run, how),
        reads_all: true,
        grows: true,
    },
    Asked {
        name: "g2 ±100 ns, bins of 1 tick",
        args: &["g2", "1,2", "--range", "100ns"],
        counts: |run, how| {
            let bins = Bins::centred(REACH, 1)?;
            let (mode, scope) = (Mode::All, Scope::default());
            let query = Histogram { start: 1, stop: 2, bins, mode, fold: None, scope };
            Ok(query.run(run, how)?.counts)
        },
        reads_all: true,
        grows: true,
    },
    Asked {
        name: "rates in 100 ms",
        args: &["rates", "--bin", "100ms"],
        counts: |run, how| rates(Some(SECOND / 10), run, how),
        reads_all: false,
        grows: true,
    },
    Asked {
        name: "rates of the whole run",
        args: &["rates"],
        counts: |run, how| rates(None, run, how),
        reads_all: false,
        grows: true,
    },
    Asked {
        name: "one pair, 2 ns, the last 1 s",
        args: &["coincidences", "--group", "1,2", "--window", "2ns", "--last", "1s"],
        counts: |run, how| {
            let end = run.sources[0].span().map_or(0, |(_, last)| last);
            one_pair(NARROW, 0, Some(end - SECOND), run, how)
        },
        reads_all: false,
        grows: false,
    },
];

fn main() -> Result<(), Failure> {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let keep = args.iter().any(|arg| arg == "--keep");
    let parts: Vec<&str> =
        args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    if let Some(unknown) =
        parts.iter().find(|part| !["make", "warm", "memory", "cold"].contains(part))
    {
        return Err(format!("`{unknown}` is none of make, warm, memory, cold").into());
    }
    let rounds =
        env::var("TAGQ_BENCH_ROUNDS").ok().map(|text| text.parse()).transpose()?.unwrap_or(3);
    let folders = COPIES
        .iter()
        .map(|&copies| Ok(made_copies(copies)?.folder))
        .collect::<Result<Vec<PathBuf>, Failure>>()?;
    let expected = plainly()?;
    if wanted("warm") {
        warm(rounds, &expected)?;
    }
    if wanted("memory") {
        memory(rounds, &folders, &expected)?;
    }
    // Mapped pages would stay in memory, so no store is mapped any more here.
    if wanted("cold") {
        cold(rounds, &folders)?;
    }
    if !keep && !parts.contains(&"make") {
        remove_copies(COPIES[COPIES.len() - 1])?;
    }
    Ok(())
}

/// Returns the total of each query over one copy, by plain methods, except for the last query.
fn plainly() -> Result<Vec<u64>, Failure> {
    let part = made_run(PART_ROWS)?;
    let tags = part.store.tags();
    let Channels::U8(label) = tags.channels else { return Err("a narrow column expected".into()) };
    let times = plain::times_of_channels(part.store.whole_times()?, label.all());
    let list = |channel: usize| &times[channel][..];
    let later = plain::delayed(list(2), DELAY);
    let of_every = (1..=8)
        .flat_map(|a| (a + 1..=8).map(move |b| (a, b)))
        .map(|(a, b)| plain::all(&[list(a), list(b)], NARROW))
        .sum();
    let rows = tags.len() as u64;
    Ok(vec![
        plain::all(&[list(1), list(2)], NARROW),
        of_every,
        plain::all(&[list(1), &later], NARROW),
        plain::all(&[list(1), list(2)], WIDE),
        // A symmetric range contains the same pairs as a window of its reach.
        plain::all(&[list(1), list(2)], REACH),
        rows,
        rows,
    ])
}

/// Times the library on runs in memory: each query at each size in turn, in several rounds.
fn warm(rounds: usize, expected: &[u64]) -> Result<(), Failure> {
    let made: Vec<Made> =
        COPIES.iter().map(|&copies| made_copies(copies)).collect::<Result<_, _>>()?;
    let rows: Vec<usize> = made.iter().map(|made| made.store.tags().len()).collect();
    check_last(&Recording::of(&made[COPIES.len() - 1].store))?;
    let mut seconds = vec![vec![Vec::new(); COPIES.len()]; ASKED.len()];
    // The first round fills the caches and is not recorded.
    for round in 0..=rounds {
        for (query, asked) in ASKED.iter().enumerate() {
            for (size, made) in made.iter().enumerate() {
                let start = Instant::now();
                // A new recording each time, because a recording caches the index.
                let counts = (asked.counts)(&Recording::of(&made.store), &Execution::best())?;
                if round > 0 {
                    seconds[query][size].push(start.elapsed().as_secs_f64());
                }
                check(asked, counts.iter().sum(), expected.get(query), COPIES[size]);
            }
        }
    }
    println!("library, warm, {} threads, {rounds} rounds", rayon::current_num_threads());
    print_sizes(&rows);
    let mut figures = Vec::new();
    for (asked, seconds) in ASKED.iter().zip(&mut seconds) {
        print!("{:<30}", asked.name);
        for (&rows, seconds) in rows.iter().zip(seconds) {
            let seconds = median(seconds);
            print!("{:>10.3} ms", seconds * 1e3);
            if asked.reads_all {
                print!(" {:>8.0} M/s", rows as f64 / seconds / 1e6);
            } else {
                print!("{:>13}", "");
            }
            figures.push(figure(format!("library: {}", asked.name), rows, true, seconds));
        }
        println!();
    }
    Ok(record("scale", &figures)?)
}

/// Times the program from start to end under a memory limit: the system refuses more than [`MEMORY_MIB`] of
/// private memory, which counts all allocations, used or not.
fn memory(rounds: usize, folders: &[PathBuf], expected: &[u64]) -> Result<(), Failure> {
    println!(
        "\nprogram, warm, {rounds} rounds; the most memory of its own, of {MEMORY_MIB} MiB allowed"
    );
    let rows = rows_of(folders)?;
    print_sizes(&rows);
    let mut figures = Vec::new();
    for (query, asked) in ASKED.iter().enumerate() {
        print!("{:<30}", asked.name);
        for ((folder, &copies), &rows) in folders.iter().zip(&COPIES).zip(&rows) {
            let mut seconds = Vec::new();
            for _ in 0..=rounds {
                let start = Instant::now();
                let output = program(asked, folder).output()?;
                seconds.push(start.elapsed().as_secs_f64());
                if !output.status.success() {
                    return Err(format!("{}: {output:?}", asked.name).into());
                }
                let counted = sum_of_counts(&String::from_utf8(output.stdout)?)?;
                check(asked, counted, expected.get(query), copies);
            }
            let used = watch(&mut program(asked, folder))?;
            let seconds = median(&mut seconds[1..]);
            print!("{:>11.1} ms {:>5.1} MiB", seconds * 1e3, used.own_mib);
            figures.push(figure(format!("program: {}", asked.name), rows, true, seconds));
        }
        println!();
    }
    Ok(record("scale", &figures)?)
}

/// Times the program from start to end on columns that were dropped from memory, in turn with `cat`. Caches
/// below this machine, of the disk or of a host, are equally warm for both.
fn cold(rounds: usize, folders: &[PathBuf]) -> Result<(), Failure> {
    println!("\nfrom disk, {rounds} rounds in turn with cat of both columns");
    let rows = rows_of(folders)?;
    let mut figures = Vec::new();
    for (folder, &rows) in folders.iter().zip(&rows).skip(1) {
        let columns = ["time.col", "channel.col"].map(|name| folder.join(name));
        let asked = [&ASKED[0], &ASKED[4], &ASKED[5], &ASKED[7]];
        let mut seconds = vec![Vec::new(); asked.len() + 1];
        // The first round fills the caches of the disk itself.
        for round in 0..=rounds {
            let mut cat = Command::new("cat");
            cat.args(&columns);
            let mut commands = vec![cat];
            commands.extend(asked.iter().map(|asked| program(asked, folder)));
            for (command, seconds) in commands.iter_mut().zip(&mut seconds) {
                forget(folder)?;
                let start = Instant::now();
                let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
                if round > 0 {
                    seconds.push(start.elapsed().as_secs_f64());
                }
                if !status.success() {
                    return Err(format!("{command:?}: {status}").into());
                }
            }
        }
        let medians: Vec<f64> = seconds.iter_mut().map(|seconds| median(seconds)).collect();
        let names = std::iter::once("cat").chain(asked.iter().map(|asked| asked.name));
        for (name, &seconds) in names.zip(&medians) {
            println!(
                "{:>5} M rows  {name:<30}{:>9.2} s {:>6.2} of cat",
                rows / 1_000_000,
                seconds,
                seconds / medians[0]
            );
            figures.push(figure(format!("program: {name}"), rows, false, seconds));
        }
    }
    Ok(record("scale", &figures)?)
}

/// Drops a store's files from the page cache.
#[cfg(target_os = "linux")]
fn forget(folder: &Path) -> Result<(), Failure> {
    for entry in folder.read_dir()? {
        let file = std::fs::File::open(entry?.path())?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(())
}

/// Checks that all levels and numbers of threads give the same answer for the last second.
fn check_last(run: &Recording<'_>) -> Result<(), Failure> {
    let asked = &ASKED[ASKED.len() - 1];
    let best = (asked.counts)(run, &Execution::best())?;
    assert!(best[0] > 0, "a second without a coincidence shows nothing");
    for simd in Simd::available() {
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let execution = Execution { simd, ..Execution::best() };
            assert_eq!(pool.install(|| (asked.counts)(run, &execution))?, best, "{simd:?}");
        }
    }
    Ok(())
}

fn check(asked: &Asked, counted: u64, of_one: Option<&u64>, copies: u32) {
    if let Some(of_one) = of_one.filter(|_| asked.grows) {
        assert_eq!(counted, of_one * u64::from(copies), "{}, {copies} copies", asked.name);
    }
}

fn program(asked: &Asked, folder: &Path) -> Command {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/tagq");
    let limit = format!("ulimit -d {} && exec \"$0\" \"$@\"", MEMORY_MIB * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &limit]).arg(program).args(asked.args);
    command.args(["--format", "csv", "--quiet", "--no-cache"]).arg(folder);
    command
}

/// Returns the sum of the column `count`, without the rows of all channels in rates.
fn sum_of_counts(csv: &str) -> Result<u64, Failure> {
    let mut lines = csv.lines().skip_while(|line| line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let place = |name| names.iter().position(|&other| other == name);
    let count = place("count").ok_or("no column `count`")?;
    let channel = place("channel");
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| channel.is_none_or(|channel| !row[channel].is_empty()));
    rows.map(|row| Ok(row[count].parse::<u64>()?)).sum()
}

fn rows_of(folders: &[PathBuf]) -> Result<Vec<usize>, Failure> {
    use tagq::store::{Access, Store};
    folders.iter().map(|folder| Ok(Store::open(folder, Access::Mapped)?.tags().len())).collect()
}

fn print_sizes(rows: &[usize]) {
    print!("{:<30}", "");
    for rows in rows {
        print!("{:>18} M rows", rows / 1_000_000);
    }
    println!();
}

fn figure(case: String, rows: usize, warm: bool, seconds: f64) -> Figure {
    Figure { case, rows: rows as u64, warm, seconds }
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn one_pair(
    window: i64,
    delay: i64,
    from: Option<i64>,
    run: &Recording<'_>,
    execution: &Execution,
) -> Result<Vec<u64>, tagq::query::Error> {
    let delays = vec![Delay { channel: 2, ticks: delay }];
    let range = TimeRange { from, to: None };
    let scope = Scope { channels: None, delays, range };
    pairs(Groups::Listed(vec![vec![1, 2]]), window, scope, run, execution)
}

fn pairs(
    groups: Groups,
    window: i64,
    scope: Scope,
    run: &Recording<'_>,
    execution: &Execution,
) -> Result<Vec<u64>, tagq::query::Error> {
    let query = Coincidences { groups, rule: Rule::All, window, veto: None, scope };
    Ok(query.run(run, execution)?.rows.iter().map(|row| row.count).collect())
}

fn rates(
    bin: Option<i64>,
    run: &Recording<'_>,
    execution: &Execution,
) -> Result<Vec<u64>, tagq::query::Error> {
    let trace = bin.map(TimeDivision::Width);
    let rated = Rates { scope: Scope::default(), trace }.run(run, execution)?;
    Ok(rated.trace.map_or_else(|| rated.sources[0].counts.clone(), |trace| trace.counts))
}

/// Only Linux lets a program do that.
#[cfg(not(target_os = "linux"))]
fn forget(_: &Path) -> Result<(), Failure> {
    Err("files cannot be dropped from memory on this system".into())
}
