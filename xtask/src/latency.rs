//! Latency of answers during a recording: `cargo xtask latency`.
//!
//! A recorder appends a frame every 250 ms, and a watch counts coincidences with delays at each commit. The
//! measured times are from a frame's last byte on disk to the first answer with its tags, and from the commit
//! to that answer.

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::workspace::target;

const SECONDS: &str = "20";
const RATE: &str = "10MHz";
/// Frames at the beginning that are not measured: the first answer counts the whole store.
const FIRST_FRAMES: usize = 8;
const WORDS: [&str; 8] =
    ["coincidences", "--window", "2ns", "--delay", "2=5ns", "--delay", "4=-3ns", "--format"];

/// Measures, over an empty run or after a copy of the given store.
pub fn run(args: &[String]) -> ExitCode {
    let mut args = args.iter();
    let store = args.next().map(PathBuf::from);
    match measure(store.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A child process that is killed on drop.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(store: Option<&Path>) -> io::Result<()> {
    let target = target();
    let program = target.join("release/tagq");
    let seconds = env::var("TAGQ_LIVE_SECONDS").unwrap_or_else(|_| SECONDS.into());
    let rate = env::var("TAGQ_LIVE_RATE").unwrap_or_else(|_| RATE.into());
    fs::create_dir_all(target.join("bench-runs"))?;
    let folder = tempfile::tempdir_in(target.join("bench-runs"))?;
    let run = folder.path().join("run");
    fs::create_dir(&run)?;
    let (mut start, mut rows) = ("0t".to_owned(), 0);
    if let Some(store) = store {
        let manifest: Value =
            serde_json::from_str(&fs::read_to_string(store.join("manifest.json"))?)?;
        rows = manifest["rows"].as_u64().unwrap_or(0);
        let last = manifest["time_last"].as_i64().unwrap_or(0);
        start = format!("{}t", last + 6_400_000_000);
        fs::create_dir(run.join(".tagq"))?;
        for entry in fs::read_dir(store)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let copy = run.join(".tagq").join(entry.file_name());
                fs::copy(entry.path(), &copy)?;
                // Sync first: writing the copy to the disk must not affect the measurement.
                fs::File::open(copy)?.sync_all()?;
            }
        }
        // Count the whole store first, outside the measurement.
        let first = Command::new(&program).args(WORDS).arg("json").arg(&run).output()?;
        if !first.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&first.stderr)));
        }
    }
    // Eight channels: four pair sources and eight dark counts, each with a part of `rate`.
    let part = sixteenth(&rate)?;
    let mut recorder = Command::new(&program);
    recorder.args(["simulate", "--channels", "1,2,3,4,5,6,7,8", "--start", &start]);
    recorder.args(["--live", &rate, "--rate", &part, "--dark", &part]);
    recorder.args(["--duration", &format!("{seconds}s"), "--late", "3ms"]);
    recorder.arg(run.join("live.tags.zst")).stdin(Stdio::null()).stderr(Stdio::null());
    let mut recorder = Killed(recorder.stdout(Stdio::piped()).spawn()?);
    let frames = lines(recorder.0.stdout.take());
    let mut watch = Command::new(&program);
    watch.arg("watch").args(WORDS).arg("json").arg("--no-setup").arg(&run).stdin(Stdio::null());
    let mut watch = Killed(watch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?);
    let updates = lines(watch.0.stdout.take());
    let memory = memory_of(watch.0.id());
    let frames = frames.join().map_err(|_| io::Error::other("frames"))??;
    std::thread::sleep(Duration::from_secs(4));
    kill_process(Pid::from_child(&watch.0), Signal::TERM)?;
    let updates = updates.join().map_err(|_| io::Error::other("updates"))??;
    report(rows, &rate, &frames, &updates)?;
    // Before that, the watch waits for the first frames and counts the whole store.
    let begun = frames.get(FIRST_FRAMES).and_then(|frame| frame["at_s"].as_f64());
    let memory = memory.join().map_err(|_| io::Error::other("memory"))?;
    let of_frames = memory.iter().filter(|(at_s, _)| begun.is_some_and(|begun| *at_s >= begun));
    let memory: Vec<u64> = of_frames.map(|&(_, kib)| kib).collect();
    let mib = |kib: Option<&u64>| kib.map_or(f64::NAN, |&kib| kib as f64 / 1024.0);
    let half = &memory[memory.len() / 2..];
    println!(
        "  memory of the watch, mapped pages apart: {:.1} MiB at most in the first half of the time, {:.1} \
         MiB in the second",
        mib(memory[..memory.len() / 2].iter().max()),
        mib(half.iter().max()),
    );
    Ok(())
}

/// Records the anonymous memory of a process in KiB every 100 ms until it exits, with the seconds since 1970.
fn memory_of(process: u32) -> std::thread::JoinHandle<Vec<(f64, u64)>> {
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        let path = format!("/proc/{process}/status");
        while let Ok(status) = fs::read_to_string(&path) {
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            // A process that has exited but was not waited for has none.
            let Some(kib) = line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            else {
                break;
            };
            seen.push((now_s(), kib));
            std::thread::sleep(Duration::from_millis(100));
        }
        seen
    })
}

/// Reads lines of JSON on a separate thread.
fn lines(
    out: Option<impl io::Read + Send + 'static>,
) -> std::thread::JoinHandle<io::Result<Vec<Value>>> {
    std::thread::spawn(move || {
        let Some(out) = out else { return Ok(Vec::new()) };
        let parse = |line: io::Result<String>| Ok(serde_json::from_str(&line?)?);
        BufReader::new(out).lines().map(parse).collect()
    })
}

fn report(rows: u64, rate: &str, frames: &[Value], updates: &[Value]) -> io::Result<()> {
    let seen: Vec<(f64, u64, f64)> = updates
        .iter()
        .map(|update| {
            let tags = update["answers"][0]["run"]["tags"].as_u64().unwrap_or(0);
            let of = |key: &str| update[key].as_f64().unwrap_or(f64::NAN);
            (of("at_s"), tags, of("took_s"))
        })
        .collect();
    // A frame is in the first answer with more tags than before it, except for held-back tags.
    let (mut waited, mut before) = (Vec::new(), rows);
    for frame in frames {
        let (at, tags) = (frame["at_s"].as_f64().unwrap_or(f64::NAN), &frame["tags"]);
        if let Some((answered, ..)) = seen.iter().find(|(_, tags, _)| *tags > before) {
            waited.push(answered - at);
        }
        before = rows + tags.as_u64().unwrap_or(0);
    }
    let mut waited = waited.split_off(FIRST_FRAMES.min(waited.len()));
    // Skip the last frame: its held-back tags are ingested only when the source has been idle for a while.
    waited.pop();
    let took: Vec<f64> = seen.iter().skip(FIRST_FRAMES).map(|(.., took)| *took).collect();
    let last = seen.last().map_or(0, |(_, tags, _)| *tags);
    let now = now_s();
    println!(
        "{rows} rows, then {} tags in {} frames at {rate}; {} answers, the last over {last} tags \
         {:.1} s before the end",
        before - rows,
        frames.len(),
        seen.len(),
        seen.last().map_or(f64::NAN, |(at, ..)| now - at),
    );
    if last != before {
        return Err(io::Error::other(format!("{last} tags answered, {before} recorded")));
    }
    let tenths = waited.chunks(waited.len().div_ceil(10).max(1)).map(|part| {
        let mut part = part.to_vec();
        part.sort_by(f64::total_cmp);
        format!("{:.0}", part[part.len() / 2] * 1e3)
    });
    let tenths: Vec<String> = tenths.collect();
    spread("from a frame's last byte on disk to its answer", waited);
    println!("    medians of each tenth of the time: {} ms", tenths.join(", "));
    spread("from the commit to the answer", took);
    Ok(())
}

/// Returns the seconds since 1970.
fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64())
}

fn spread(what: &str, mut seconds: Vec<f64>) {
    seconds.sort_by(f64::total_cmp);
    let at = |percent: usize| seconds.get(seconds.len() * percent / 100).copied();
    let at = |percent: usize| at(percent).unwrap_or(f64::NAN) * 1e3;
    println!(
        "  {what}: median {:.1} ms, p99 {:.1} ms, most {:.1} ms of {}",
        at(50),
        at(99),
        seconds.last().copied().unwrap_or(f64::NAN) * 1e3,
        seconds.len()
    );
}

/// Returns a sixteenth of a rate in MHz or kHz: four pair sources and eight dark counts give 16 parts.
fn sixteenth(rate: &str) -> io::Result<String> {
    let digits = rate.find(|c: char| !c.is_ascii_digit()).unwrap_or(rate.len());
    let (number, unit) = rate.split_at(digits);
    let number: f64 = number.parse().map_err(io::Error::other)?;
    Ok(format!("{}{unit}", number / 16.0))
}
