//! The sum of several runs.
//!
//! The sources of a folder are also counted one by one and added up. The two files of the fixture, as two
//! runs, must therefore give the same as the folder.

use std::{ffi::OsString, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{fixture_copy, tagq};

struct Runs {
    _folder: tempfile::TempDir,
    folder: PathBuf,
    files: [PathBuf; 2],
}

fn ask(query: &str, of: &[&PathBuf]) -> Value {
    let words = query.split_whitespace().map(OsString::from);
    tagq(words.chain(of.iter().map(|path| path.as_os_str().to_owned()))).json()
}

impl Runs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = fixture_copy(folder.path());
        let files = ["1.tags.zst", "2.tags.zst"].map(|name| run.join(name));
        Self { folder: run, files, _folder: folder }
    }

    fn sum(&self, query: &str) -> Value {
        let [a, b] = &self.files;
        ask(&format!("{query} --sum"), &[a, b])
    }
}

#[test]
fn two_files_add_up_to_their_folder() {
    let runs = Runs::new();
    for query in [
        "coincidences --window 2ns",
        "coincidences --window 100ns --rule herald --group 1,2,3 --group 3,4",
        "coincidences --window 1us --rule once --choose 3",
        "coincidences --window 50ns --rule cluster",
        "coincidences --window 1ns --rule grid --delay 2=-48t",
        "coincidences --window 2us --accidentals shifted:4 --group 1,2 --group 1,2,3",
        "coincidences --window 1us --veto 4 --guard 3us",
        "histogram --start 1 --stop 2 --range 20ns",
        "histogram --start 1 --stop 2 --mode last --range 0ns..10us --bin 64t",
        "g2 1,2 --range 100ns --bin 16t",
        "rates",
        "rates --channels 4,9,1",
        "rates --errors blocks:7",
        "coincidences --window 1us --group 1,2 --accidentals shifted:2 --errors blocks:5",
        "coincidences --window 50ns --rule cluster --errors blocks:5",
        "g2 1,2 --range 100ns --bin 16t --errors blocks:5 --covariance",
        "histogram --start 1 --stop 2 --mode last --range 0ns..10us --bin 64t --errors blocks:3",
    ] {
        let (sum, whole) = (runs.sum(query), ask(query, &[&runs.folder]));
        assert!(!whole["rows"].as_array().unwrap().is_empty(), "{query}");
        assert_eq!(sum["rows"], whole["rows"], "{query}");
        assert_eq!(sum["query"]["runs_summed"], 2);
        for key in ["tags", "sources", "channels"] {
            assert_eq!(sum["run"][key], whole["run"][key], "{query}: {key}");
        }
    }
}

/// Adds the `count` of rows with the same start and channels, as other programs would.
fn added(answers: &[Value], keys: &[&str]) -> Vec<(Value, u64, bool)> {
    let mut rows: Vec<(Value, u64, bool)> = Vec::new();
    for row in answers.iter().flat_map(|answer| answer["rows"].as_array().unwrap()) {
        let key = Value::from(keys.iter().map(|key| row[key].clone()).collect::<Vec<_>>());
        let (count, partial) = (row["count"].as_u64().unwrap(), row["partial"] == true);
        match rows.iter_mut().find(|known| known.0 == key) {
            Some(known) => {
                known.1 += count;
                known.2 |= partial;
            }
            None => rows.push((key, count, partial)),
        }
    }
    let start = |row: &(Value, u64, bool)| row.0[0].as_i64();
    rows.sort_by_key(start);
    rows
}

#[test]
fn traces_and_selections_add_up_from_the_first_tag_of_each_run() {
    let runs = Runs::new();
    let [a, b] = &runs.files;
    for (query, keys) in [
        ("coincidences --window 100ns --bin 30ms --to 110ms", &["start_ticks", "channels"][..]),
        ("coincidences --window 50ns --rule cluster --bin 70ms", &["start_ticks", "channels"]),
        ("rates --bin 30ms --from 20ms", &["start_ticks", "channel"]),
        ("coincidences --window 100ns --from 50ms --to 100ms", &["none", "channels"]),
        ("rates --last 40ms", &["none", "channel"]),
    ] {
        let each = [ask(query, &[a]), ask(query, &[b])];
        let sum = runs.sum(query);
        let expected = added(&each, keys);
        let found = added(std::slice::from_ref(&sum), keys);
        assert_eq!(sum["rows"].as_array().unwrap().len(), found.len(), "{query}: no row twice");
        let sorted = |mut rows: Vec<(Value, u64, bool)>| {
            rows.sort_by_key(|row| row.0.to_string());
            rows
        };
        assert_eq!(sorted(found), sorted(expected), "{query}");
        assert_eq!(sum["query"]["from_ticks"], Value::Null, "times of none of them");
    }
    // For a set that only one of the runs has, singles and live time include both runs.
    let sum = runs.sum("coincidences --window 50ns --rule cluster");
    let live: f64 = ask("rates", &[&runs.folder])["run"]["live_s"].as_f64().unwrap();
    for row in sum["rows"].as_array().unwrap() {
        let rate = row["count"].as_u64().unwrap() as f64 / live;
        assert!((row["rate_hz"].as_f64().unwrap() - rate).abs() <= rate * 1e-12, "{row}");
    }
}

#[test]
fn what_differs_is_not_added() {
    let runs = Runs::new();
    let [a, b] = &runs.files;
    assert_eq!(
        tagq(["set".as_ref(), "--tick".as_ref(), "1ns".as_ref(), {
            tagq(["ingest".as_ref(), a.as_os_str()]);
            a.as_os_str()
        }])
        .code,
        0
    );
    let differ = tagq(["rates".as_ref(), "--sum".as_ref(), a.as_os_str(), b.as_os_str()]);
    assert_eq!(
        (differ.code, differ.stderr.contains("differ in tick")),
        (2, true),
        "{}",
        differ.stderr
    );
    let list = ["coincidences", "--window", "1us", "--list", "--sum"].map(OsString::from);
    let list = tagq(list.into_iter().chain([b.into()]));
    assert_eq!((list.code, list.stderr.contains("leave --sum out")), (2, true), "{}", list.stderr);
    let one = ask("rates --sum", &[b]);
    assert_eq!((&one["run"]["path"], &one["query"]["runs_summed"]), (&json!(b), &Value::Null));
}
