//! Damage of a store: nothing counts, keeps or copies it, and `verify` sees all of it.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::support::{Place, store_file};

/// Bytes of a column before its first row.
const HEADER: usize = 4096;

/// Makes a run of about 1,200,000 tags, so many that results are cached; `ingest` are the options of its store.
fn with_store(ingest: &str) -> Place {
    let place = Place::new();
    place.done("simulate run.tags.zst --rate 3MHz --duration 200ms --jitter 300ps -q");
    place.done(&format!("ingest run.tags.zst -q {ingest}"));
    place
}

/// Runs a command that meets damage, and checks that the error names it.
fn refused(place: &Place, line: &str, words: &[&str]) {
    let asked = place.tagq(line);
    assert_eq!(asked.code, 3, "{line}: {}", asked.stderr);
    for word in words {
        assert!(asked.stderr.contains(word), "{line}: no `{word}` in {}", asked.stderr);
    }
}

fn rows(place: &Place, query: &str) -> Value {
    place.done(&format!("{query} --no-ingest --format json run.tags.zst")).json()["rows"].clone()
}

/// Damages a page of zeros into a file of the store; returns its path and intact bytes.
fn damage(place: &Place, store: &str, key: &str, row_byte: usize) -> (PathBuf, Vec<u8>) {
    let path = store_file(&place.path(store), key);
    let whole = fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    let start = HEADER + row_byte;
    bytes[start..start + 4096].fill(1);
    assert_ne!(bytes, whole);
    fs::write(&path, bytes).unwrap();
    (path, whole)
}

const STORE: &str = "run.tags.zst.tagq";
const PAIR: &str = "coincidences 1,2 --window 20t";

/// A column that is damaged, asked, and repaired: the answer is right then, also if it is kept.
#[test]
fn nothing_that_was_counted_in_damaged_rows_outlives_the_repair() {
    for (ingest, key) in [("", "channel"), ("", "gap"), ("--times", "time"), ("--times", "channel")]
    {
        let place = with_store(ingest);
        let derived = format!("rates --derive {}", "P=1|2");
        let rows = |query: &str| rows(&place, query);
        let right = [PAIR, &derived].map(|query| rows(&format!("{query} --no-cache")));
        place.done(&format!("{PAIR} run.tags.zst --no-cache --format json -o answer.json"));
        let (path, whole) = damage(&place, STORE, key, 20 * 4096);
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        refused(&place, "verify run.tags.zst", &[&name]);
        // Gaps beside a column of times say all that the pair needs.
        let reads_pair = key != "time";
        if !reads_pair {
            assert_eq!(rows(PAIR), right[0]);
        }
        let scan = "scan coincidences 1,2 --window 1t..9t:3 --no-ingest run.tags.zst".to_owned();
        let pair = format!("{PAIR} --no-ingest run.tags.zst");
        for line in [pair, scan].into_iter().filter(|_| reads_pair) {
            refused(&place, &line, &[&name, "block"]);
        }
        refused(&place, &format!("{derived} --no-ingest run.tags.zst"), &[&name, "block"]);
        // A look-up reads times.
        if key == "time" {
            refused(&place, "cat --no-ingest run.tags.zst --at @10000t", &[&name, "block 0"]);
        }
        for other in [
            "reproduce answer.json",
            "image --line 1 --pixels 4 --lines 4 --channels 2 --no-ingest run.tags.zst",
            "export --no-ingest run.tags.zst --format arrow -o tags.arrow",
        ] {
            refused(&place, other, &[&name]);
        }
        fs::write(&path, whole).unwrap();
        for (query, right) in [PAIR, &derived].into_iter().zip(right) {
            assert_eq!(rows(query), right, "{key}: {query}");
            // Again, now from the cached result and the view.
            assert_eq!(rows(query), right, "{key}: {query}");
        }
        let verified = place.done("verify run.tags.zst");
        assert!(verified.text().contains("1 view, ") && verified.text().contains(" cached result"));
    }
}

/// A view that is damaged is made again by the query that meets it, and `verify` names what is damaged.
#[test]
fn kept_results_that_are_damaged_are_made_again() {
    let place = with_store("");
    let query = "rates --bin 50ms --derive P=1|2";
    let right = rows(&place, query);
    rows(&place, PAIR);
    let inside = |folder: &str| -> PathBuf {
        let mut entries = fs::read_dir(place.path(STORE).join(folder)).unwrap();
        entries.next().unwrap().unwrap().path()
    };
    let view = inside("views");
    let name = view.file_name().unwrap().to_str().unwrap().to_owned();
    for key in ["channel", "gap", "steps"] {
        let column = store_file(&view, key);
        let mut bytes = fs::read(&column).unwrap();
        bytes[HEADER + 40] ^= 1;
        fs::write(&column, bytes).unwrap();
        refused(&place, "verify run.tags.zst", &["views", &name, "made again"]);
        assert_eq!(rows(&place, &format!("{query} --no-cache")), right);
        assert_eq!(rows(&place, query), right, "{key}");
        place.done("verify run.tags.zst");
    }
    let cached = inside("cache");
    let mut bytes = fs::read(&cached).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&cached, bytes).unwrap();
    refused(&place, "verify run.tags.zst", &["cache", "made again"]);
    // Partial results that are kept.
    place.done("plan rates --bin 50ms run.tags.zst --parts 2 -o plan");
    for part in ["0", "1"] {
        place.done(&format!("partial plan --index {part} --cache kept -o part.{part}"));
    }
    assert!(place.done("verify kept").text().contains("kept: intact: 2 partial results"));
    let kept = fs::read_dir(place.path("kept")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&kept).unwrap();
    bytes[20] ^= 1;
    fs::write(&kept, bytes).unwrap();
    refused(&place, "verify kept", &["kept", "made again"]);
}

/// No copy carries damage; with `--salvage` it leaves the block out and says so.
#[test]
fn copies_are_refused_at_a_damaged_block_or_leave_it_out() {
    let place = with_store("");
    place.done("simulate other.tags.zst --channels 3,4 --rate 1MHz --duration 200ms --seed 2 -q");
    place.done("ingest other.tags.zst -q");
    let tags = rows(&place, "rates")
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["count"].as_u64().unwrap())
        .sum::<u64>();
    damage(&place, STORE, "channel", 2 * 65_536 + 8192);
    let name = "channel.col";
    for line in [
        "convert run.tags.zst.tagq copy.tags.zst",
        "convert run.tags.zst.tagq -",
        "export run.tags.zst --no-ingest -o copy.parquet",
        "export run.tags.zst --no-ingest -o copy.csv",
        "export run.tags.zst --no-ingest --format csv",
        "derive run.tags.zst -o copy.tagq P=1|2",
        "merge run.tags.zst.tagq other.tags.zst.tagq -o copy.tagq",
        "cat run.tags.zst.tagq",
    ] {
        refused(&place, line, &[name, "block 2 (rows 131072 to 196607)"]);
    }
    for copy in ["copy.tags.zst", "copy.parquet", "copy.csv", "copy.tagq"] {
        assert!(!place.path(copy).exists(), "{copy}");
    }
    let left_out = "1 damaged block is left out: 65,536 tags, and a dead time of";
    let converted = place.done("convert --salvage run.tags.zst.tagq copy.tagbin.h5");
    assert!(converted.stderr.contains(left_out), "{}", converted.stderr);
    for out in ["copy.csv", "copy.parquet"] {
        let exported = place.done(&format!("export --salvage run.tags.zst --no-ingest -o {out}"));
        assert!(exported.stderr.contains(left_out), "{}", exported.stderr);
    }
    let lines = fs::read_to_string(place.path("copy.csv")).unwrap().lines().count() as u64;
    assert_eq!(lines, 1 + tags - 65_536);
    let rows = place.done("rates copy.parquet --format json").json()["rows"].clone();
    let left =
        rows.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(left, tags - 65_536);
    // The dead time stands in the run file of the text.
    let dead = place.done("rates copy.csv --tick 156.25ps --format json").json();
    let of_run = |key: &str| dead["run"][key].as_f64().unwrap();
    assert!(of_run("live_s") < 0.97 * of_run("elapsed_s"), "{dead}");
}

/// No command writes over a file that a store lists as its source.
#[test]
fn a_source_of_another_run_is_never_replaced() {
    let place = with_store("");
    place.done("simulate other.tags.zst --rate 1kHz --duration 10ms -q");
    fs::create_dir(place.path("night")).unwrap();
    fs::copy(place.path("other.tags.zst"), place.path("night/1.tags.zst")).unwrap();
    place.done("ingest night -q");
    for out in ["run.tags.zst", "night/1.tags.zst"] {
        let before = fs::read(place.path(out)).unwrap();
        for line in [
            "simulate --force OUT --rate 1kHz --duration 10ms",
            "convert --force other.tags.zst OUT",
            "rates --force --format csv -o OUT other.tags.zst",
            "histogram 1,2 --range 1us --force --format csv -o OUT other.tags.zst",
            "export --force --format csv -o OUT other.tags.zst",
            "plan rates --force -o OUT other.tags.zst",
        ] {
            let line = line.replace("OUT", out);
            let refused = place.tagq(&line);
            assert_eq!(refused.code, 1, "{line}: {}", refused.stderr);
            assert!(
                refused.stderr.contains("is a source of the store"),
                "{line}: {}",
                refused.stderr
            );
        }
        assert!(fs::read(place.path(out)).unwrap() == before, "{out}");
    }
}
