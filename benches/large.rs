//! Large files, from simulation to answer: 35 M tags as one frame and as 2,000.
//!
//! Measures ingest in bounded memory, in turn with `zstd -dc` on the same file. The answers of every level
//! and number of threads must equal a NumPy count of the whole run (if NumPy is installed), and the oracle on
//! samples. `TAGQ_LARGE_SECONDS` sets the size: 3.5 s are 35 M tags.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tagq::{
    query::{
        Coincidences, Delay, Execution, Groups, Kind as _, Recording, Rule, Scope, Simd, oracle,
    },
    store::{Access, Store, Tags},
};
use tagq_benches::watch;

fn main() -> Result<(), Box<dyn Error>> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let program = target.join("release/tagq");
    let folder = target.join("large");
    fs::create_dir_all(&folder)?;
    let seconds = env::var("TAGQ_LARGE_SECONDS").unwrap_or_else(|_| "3.5".into());
    for frames in ["1", "2000"] {
        let source = folder.join(format!("{seconds}s-{frames}.tags.zst"));
        if !source.exists() {
            simulate(&program, &seconds, frames, &source)?;
        }
        println!("{seconds} s at 10 M tags/s, frames: {frames}");
        let store = ingest(&program, &source)?;
        answers(&store)?;
        fs::remove_dir_all(&store)?;
    }
    Ok(())
}

fn simulate(
    program: &Path,
    seconds: &str,
    frames: &str,
    source: &Path,
) -> Result<(), Box<dyn Error>> {
    let part = source.with_extension("part");
    let used = watch(
        Command::new(program)
            .args(["simulate", "--duration", &format!("{seconds}s"), "--frames", frames])
            .args(["--channels", "1,2,3,4,5,6,7,8", "--rate", "125kHz", "--dark", "1125kHz"])
            .args(["--jitter", "300ps", "--delay", "4=100ns", "--force"])
            .arg(&part),
    )?;
    fs::rename(&part, source)?;
    println!("simulated in {:.1} s, {:.0} MiB at most", used.seconds, used.peak_mib);
    Ok(())
}

/// Ingests `source` from scratch, in turn with decompressing it. Returns its store.
fn ingest(program: &Path, source: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let store = source.with_extension("tagq");
    let mut ratios = Vec::new();
    let mut peak = 0.0_f64;
    let (mut ingests, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        if store.exists() {
            fs::remove_dir_all(&store)?;
        }
        let used =
            watch(Command::new(program).arg("ingest").arg(source).arg("--store").arg(&store))?;
        let floor = watch(Command::new("zstd").arg("-dc").arg(source))?;
        peak = peak.max(used.peak_mib);
        ratios.push(used.seconds / floor.seconds);
        ingests.push(used.seconds);
        floors.push(floor.seconds);
    }
    println!(
        "ingest {:.2} s, zstd -dc {:.2} s, ratio {:.2} (medians of 5); {peak:.0} MiB at most",
        median(&mut ingests),
        median(&mut floors),
        median(&mut ratios)
    );
    Ok(store)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn answers(folder: &Path) -> Result<(), Box<dyn Error>> {
    let store = Store::open(folder, Access::Mapped)?;
    let recording = Recording::of(&store);
    for (window, delay) in [(12, 0), (12, -640), (6_400, 0)] {
        let query = Coincidences {
            groups: Groups::EveryPair,
            rule: Rule::All,
            window,
            veto: None,
            scope: Scope { delays: vec![Delay { channel: 4, ticks: delay }], ..Scope::default() },
        };
        let one = Coincidences { groups: Groups::Listed(vec![vec![3, 4]]), ..query.clone() };
        let mut all = Vec::new();
        for simd in Simd::available() {
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
                let execution = Execution { simd, ..Execution::best() };
                let counts = |query: &Coincidences| -> Result<Vec<u64>, tagq::query::Error> {
                    let counted = pool.install(|| query.run(&recording, &execution))?;
                    Ok(counted.rows.iter().map(|row| row.count).collect())
                };
                let of_every = counts(&query)?;
                // Pair 3,4 is the fourteenth of 28.
                assert_eq!(counts(&one)?, [of_every[13]]);
                all.push(of_every);
            }
        }
        assert!(all.iter().all(|counts| *counts == all[0]), "{all:?}");
        let by_numpy = numpy_count(folder, window, delay)?;
        if let Some(count) = by_numpy {
            assert_eq!(count, all[0][13], "NumPy");
        }
        println!(
            "window {window}, delay {delay}: {} levels and 3 numbers of threads agree, 3,4: {}{}",
            Simd::available().len(),
            all[0][13],
            if by_numpy.is_some() { ", as counted by NumPy" } else { " (NumPy not installed)" }
        );
        samples(store.tags(), &query)?;
    }
    Ok(())
}

/// Compares samples of 1,000 rows, spread over the run, with the oracle.
fn samples(tags: Tags<'_>, query: &Coincidences) -> Result<(), Box<dyn Error>> {
    let mut total = 0;
    for start in (0..tags.len() - 1_000).step_by(tags.len() / 40) {
        let part = tags.rows(start..start + 1_000);
        let list: Vec<(i64, u16)> =
            (0..part.len()).map(|row| (part.time.at(row), part.channels.label(row))).collect();
        let delays: Vec<(u16, i64)> =
            query.scope.delays.iter().map(|d| (d.channel, d.ticks)).collect();
        for simd in Simd::available() {
            let execution = Execution { simd, ..Execution::best() };
            for row in query.run(&Recording::from_tags(part), &execution)?.rows {
                let (a, b) = (row.channels[0], row.channels[1]);
                let expected =
                    oracle::pairs(std::slice::from_ref(&list), a, b, query.window, &delays);
                assert_eq!(row.count, expected, "{a},{b} from row {start}, {simd:?}");
                total += expected;
            }
        }
    }
    assert!(total > 0, "samples without a coincidence show nothing");
    Ok(())
}

/// Counts pairs of 3 and 4 with NumPy from the column files, read as docs/format.md describes.
fn numpy_count(store: &Path, window: i64, delay: i64) -> Result<Option<u64>, Box<dyn Error>> {
    let installed = Command::new("python3")
        .args(["-c", "import numpy"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        return Ok(None);
    }
    let format =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/format.md"))?;
    let reader = format.split("```python\n").nth(1).and_then(|text| text.split("```").next());
    let script = format!(
        "{}
import sys
time, channel = tags(sys.argv[1])
a = np.asarray(time[channel == 3])
b = time[channel == 4] + {delay}
w = {window}
first, last = np.searchsorted(a, b - w, 'left'), np.searchsorted(a, b + w, 'right')
print(int((last - first).sum()))
",
        reader.ok_or("no reader in docs/format.md")?
    );
    let output = Command::new("python3").args(["-c", &script]).arg(store).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(Some(String::from_utf8(output.stdout)?.trim().parse()?))
}
