//! The record of measurements: `benches/record/<cpu>/<date>.csv`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    process::Command,
};

/// A figure of the record.
pub struct Figure {
    /// Name of the timed case.
    pub case: String,
    /// Number of rows read.
    pub rows: u64,
    /// Whether the files were in memory before.
    pub warm: bool,
    /// Median seconds.
    pub seconds: f64,
}

/// Appends figures of one bench, with the processor, the commit and the compiler, to the record of today.
/// Does nothing unless `TAGQ_BENCH_RECORD` is set, because most runs are trials.
pub fn record(bench: &str, figures: &[Figure]) -> io::Result<()> {
    if std::env::var_os("TAGQ_BENCH_RECORD").is_none() {
        return Ok(());
    }
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cpu = model.map_or("unknown", |(_, model)| model.trim());
    let commit = answer_of("git", &["describe", "--always", "--dirty", "--exclude", "*"]);
    let rustc = answer_of("rustc", &["--version"]);
    let slug = cpu.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "-");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(slug);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}.csv", answer_of("date", &["-u", "+%F"])));
    let mut file = if path.exists() {
        OpenOptions::new().append(true).open(path)?
    } else {
        let mut file = File::create(path)?;
        writeln!(file, "bench,case,rows,cache,seconds,cpu,commit,rustc")?;
        file
    };
    for Figure { case, rows, warm, seconds } in figures {
        let cache = if *warm { "warm" } else { "cold" };
        let case = case.replace(',', "");
        writeln!(file, "{bench},{case},{rows},{cache},{seconds:.6},{cpu},{commit},{rustc}")?;
    }
    Ok(())
}

fn answer_of(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".into())
}
