//! The printed outputs of every kind of query, rule and family of options on the fixture, frozen in tests/outputs: the
//! table at 80 and 200 columns, JSON, CSV, Arrow (schema and values) and the figure.
//!
//! The counts in there are checked elsewhere, against the oracle; these files show that a change of the code changes no
//! output. With `TAGQ_OUTPUTS=write` they are written again: look at the difference before it is committed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use serde_json::Value;

use crate::{
    support::{command, fixture_copy, output, root, skipped},
    terminal::{self, Screen, Shows},
};

/// The file of a query, and its words. `run` is the fixture; `named` is the same with names, delays and groups.
const QUERIES: [(&str, &str); 51] = [
    ("pairs", "coincidences --window 2ns run"),
    ("pairs-exact", "coincidences --window 2ns --exact run"),
    ("pairs-group", "coincidences --window 10ns --group 1,2 --group 3,4,1 run"),
    ("pairs-full-width", "coincidences --full-width 4ns --channels 1,2,3 run"),
    ("pairs-delay", "coincidences --window 2ns --group 1,2 --delay 2=1.25ns run"),
    ("pairs-range", "coincidences --window 2ns --from 100ms --to 300ms run"),
    ("pairs-last", "coincidences --window 2ns --last 100ms run"),
    ("pairs-live-time", "coincidences --window 2ns --channels 1,2 --live-time 2s run"),
    ("pairs-join", "coincidences --window 2ns --join run"),
    ("pairs-sum", "coincidences --window 2ns --sum run later"),
    ("pairs-names", "coincidences --window 2ns named"),
    ("pairs-names-group", "coincidences --window 2ns --group Alice,4 named"),
    ("pairs-dark", "coincidences --window 2ns --group 1,9 run"),
    ("pairs-bins", "coincidences --window 2ns --group 1,2 --bin 100ms run"),
    ("pairs-bins-sum", "coincidences --window 2ns --group 1,2 --bin 200ms --sum run later"),
    ("pairs-blocks", "coincidences --window 2ns --errors blocks:10 run"),
    ("pairs-shifted", "coincidences --window 2ns --accidentals shifted:4 --shift 100ns run"),
    ("pairs-veto", "coincidences --window 2ns --group 1,2 --veto 3 --guard 1us run"),
    ("threefold", "coincidences --window 1us --choose 3 run"),
    ("herald", "coincidences --window 1us --group 1,2,3 --rule herald run"),
    ("herald-veto", "coincidences --window 1us --group 1,2,3 --rule herald --veto 4 run"),
    ("per-herald", "coincidences --window 1us --group 1,2,3 --rule per-herald run"),
    (
        "herald-blocks",
        "coincidences --window 1us --group 1,2,3 --rule herald --errors blocks:5 run",
    ),
    ("once", "coincidences --window 100ns --rule once run"),
    ("once-bins", "coincidences --window 100ns --rule once --group 1,2 --bin 200ms run"),
    ("cluster", "coincidences --window 1us --rule cluster run"),
    ("cluster-sum", "coincidences --window 1us --rule cluster --sum run later"),
    ("grid", "coincidences --window 10ns --rule grid run"),
    ("list", "coincidences --window 2ns --group 1,2 --list --to 5ms run"),
    ("histogram", "histogram --start 1 --stop 2 --bin 625ps --range 5ns run"),
    ("histogram-chosen", "histogram --start 1 --stop 2 --range 5ns run"),
    (
        "histogram-blocks",
        "histogram --start 1 --stop 2 --bin 625ps --range 5ns --errors blocks run",
    ),
    ("histogram-log", "histogram --start 1 --stop 2 --log 5 --range 1ns..1us run"),
    (
        "histogram-next",
        "histogram --start 1 --stop 2 --mode next --bin 10us --range 0ns..100us run",
    ),
    (
        "histogram-last",
        "histogram --start 1 --stop 2 --mode last --bin 10us --range 0ns..100us run",
    ),
    (
        "histogram-period",
        "histogram --start 1 --stop 2 --mode last --period 12.5ns --bin 625ps --range 0ns..12.5ns run",
    ),
    (
        "histogram-sync",
        "histogram --start 1 --stop 2 --mode last --sync-divider 8 --bin 1us --range 0ns..12us run",
    ),
    ("histogram2d", "histogram2d 1,2,3 --range 1us --bin 500ns run"),
    (
        "histogram2d-g3",
        "histogram2d 1,2,3 --range 1us --bin 500ns --g3 --delay 2=5ns --last 100ms run",
    ),
    ("image", "image --line 3 --pixels 3 --lines 4 --channels 1,2 run"),
    (
        "image-apart",
        "image --line 3 --pixels 2 --lines 3 --scan two-way --frames apart --channels 1 --to 1ms run",
    ),
    ("histogram-grid", "histogram --start 1 --stop 2 --mode grid --bin 625ps --range 5ns run"),
    ("histogram-sum", "histogram --start 1 --stop 2 --bin 625ps --range 5ns --sum run later"),
    ("g2", "g2 Alice,Bob --bin 625ps --range 5ns named"),
    ("g2-log", "g2 1,2 --log 5 --range 1ns..1us run"),
    ("g2-covariance", "g2 1,2 --bin 2.5ns --range 5ns --errors blocks:8 --covariance run"),
    ("rates", "rates run"),
    ("rates-bins", "rates --bin 100ms --channels 1,2 run"),
    ("rates-blocks", "rates --errors blocks:8 named"),
    ("rates-sum", "rates --bin 200ms --sum run later"),
    ("delays", "delays --channels 1,2 --range 1us run"),
];

/// Those that are drawn, too.
const FIGURES: [&str; 13] = [
    "image",
    "histogram2d",
    "pairs",
    "pairs-bins",
    "threefold",
    "cluster",
    "histogram",
    "histogram-log",
    "histogram-blocks",
    "g2",
    "rates",
    "rates-bins",
    "pairs-names",
];

const SETUP: &str = "groups = [[\"Alice\", \"Bob\"], [\"Bob\", 3]]\n[channels]\n1 = \"Alice\"\n2 = \"Bob\"\n\
                     [delays]\nBob = \"312.5ps\"\n";

#[test]
fn every_output_is_as_it_was() {
    let has_tables = terminal::open(screen(80)).is_ok();
    if !has_tables {
        skipped("tables of outputs: no terminal");
    }
    let write = has_tables && env::var_os("TAGQ_OUTPUTS").is_some_and(|word| word == "write");
    let queue = Mutex::new(QUERIES.iter());
    let changed = Mutex::new(Vec::new());
    let work = || {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        while let Some((name, words)) =
            { queue.lock().unwrap_or_else(PoisonError::into_inner).next() }
        {
            let now = outputs(folder.path(), name, words, has_tables);
            let path = root().join("tests/outputs").join(format!("{name}.txt"));
            if write {
                fs::write(path, now).unwrap();
                continue;
            }
            let mut before = fs::read_to_string(path).unwrap();
            if !has_tables {
                before = without_tables(&before);
            }
            if let Some(change) = first_change(&before, &now) {
                let mut changed = changed.lock().unwrap_or_else(PoisonError::into_inner);
                changed.push(format!("{name}: {change}"));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let changed = changed.into_inner().unwrap();
    assert!(changed.is_empty(), "{}\nTAGQ_OUTPUTS=write writes them again", changed.join("\n"));
}

/// Returns the frozen outputs without what is written to a terminal.
fn without_tables(outputs: &str) -> String {
    let is_file = |part: &&str| !part.starts_with("table,") && !part.starts_with("notes");
    outputs.split("\n--- ").filter(is_file).collect::<Vec<_>>().join("\n--- ")
}

fn screen(columns: u16) -> Screen {
    Screen { rows: 500, columns, shows: Shows::Stdout }
}

/// The runs that the queries name, ingested.
fn prepare(folder: &Path) {
    let run = fixture_copy(folder);
    for other in ["later", "named"] {
        let copy = folder.join(other);
        fs::create_dir(&copy).unwrap();
        for name in ["1.tags.zst", "2.tags.zst"] {
            fs::copy(run.join(name), copy.join(name)).unwrap();
        }
    }
    fs::write(folder.join("named/tagq.toml"), SETUP).unwrap();
    for run in ["run", "later", "named"] {
        let ingested =
            output(command().current_dir(folder).args(["ingest", "-q", "--tick", "156.25ps", run]));
        assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    }
}

/// All outputs of a query, one after the other.
fn outputs(folder: &Path, name: &str, words: &str, has_tables: bool) -> String {
    let mut all = vec![format!("$ tagq {words}\n")];
    let words: Vec<&str> = words.split_whitespace().collect();
    for columns in [80, 200].into_iter().filter(|_| has_tables) {
        let mut tagq = command();
        tagq.current_dir(folder).args(&words);
        let ran = terminal::run(tagq, folder, screen(columns)).unwrap();
        assert!(ran.success, "{name}: {}", ran.apart);
        all.push(format!("\n--- table, {columns} columns\n{}\n", ran.lines.join("\n")));
        if columns == 80 && !ran.apart.is_empty() {
            all.push(format!("\n--- notes\n{}", ran.apart));
        }
    }
    let text = |more: &[&str]| {
        let output = output(command().current_dir(folder).args(&words).args(more));
        assert_eq!(output.code, 0, "{name}: {}", output.stderr);
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&text(&["--format", "json"])).unwrap();
    all.push(format!("\n--- JSON\n{}\n", serde_json::to_string_pretty(&json).unwrap()));
    all.push(format!("\n--- CSV\n{}", text(&["--format", "csv"])));
    let file = folder.join("answer.arrow");
    text(&["--force", "-o", "answer.arrow"]);
    all.push(format!("\n--- Arrow\n{}", arrow(&file)));
    if FIGURES.contains(&name) {
        text(&["--force", "--plot=figure.svg"]);
        all.push(format!(
            "\n--- figure\n{}",
            fs::read_to_string(folder.join("figure.svg")).unwrap()
        ));
    }
    let version = env!("CARGO_PKG_VERSION");
    [": ", ":"].iter().fold(all.concat(), |all, colon| {
        all.replace(
            &format!("\"tagq\"{colon}\"{version}\""),
            &format!("\"tagq\"{colon}\"(version)\""),
        )
    })
}

/// Schema and values of an Arrow file; of long columns the first and last ten.
fn arrow(file: &PathBuf) -> String {
    let reader = FileReader::try_new(fs::File::open(file).unwrap(), None).unwrap();
    let schema = reader.schema();
    let mut all = Vec::new();
    for field in schema.fields() {
        all.push(format!(
            "{}: {}{}\n",
            field.name(),
            field.data_type(),
            if field.is_nullable() { ", nullable" } else { "" }
        ));
    }
    let mut metadata: Vec<_> = schema.metadata().iter().collect();
    metadata.sort();
    for (key, value) in metadata {
        all.push(format!("metadata {key}: {value}\n"));
    }
    for batch in reader {
        let batch: RecordBatch = batch.unwrap();
        all.push(format!("batch of {} rows\n", batch.num_rows()));
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            all.push(format!("{} = {column:?}\n", field.name()));
        }
    }
    all.concat()
}

/// The first line that is not as it was.
fn first_change(before: &str, now: &str) -> Option<String> {
    let (mut before, mut now) = (before.lines(), now.lines());
    for line in 1.. {
        match (before.next(), now.next()) {
            (None, None) => break,
            (before, now) if before == now => {}
            (before, now) => {
                return Some(format!(
                    "line {line}:\n- {}\n+ {}",
                    before.unwrap_or("(end)"),
                    now.unwrap_or("(end)")
                ));
            }
        }
    }
    None
}
