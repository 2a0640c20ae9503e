//! `tagq reproduce`: answers are counted again from the same tags, and what differs is found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tagq::cases;
use tagq_sampling::some_requests;

use crate::{
    cases::{make, words},
    support::{Place, root},
};

/// Writes the answer to a query into `answer.json`, and returns it.
fn asked(place: &Place, query: &str) -> Value {
    answer_of(place, &query.split_whitespace().collect::<Vec<&str>>())
}

fn answer_of(place: &Place, query: &[&str]) -> Value {
    let answer = place.tagq_of(&[query, &["--format", "json"]].concat());
    assert_eq!(answer.code, 0, "{query:?}: {}", answer.stderr);
    fs::write(place.path("answer.json"), &answer.stdout).unwrap();
    answer.json()
}

fn change(place: &Place, change: impl FnOnce(&mut Value)) {
    let path = place.path("answer.json");
    let mut answer: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut answer);
    fs::write(path, answer.to_string()).unwrap();
}

/// Reproduces `answer.json`, and returns what is said.
fn reproduced(place: &Place, runs: &str) -> String {
    let done = place.done(&format!("reproduce -q answer.json {runs}"));
    assert_eq!(done.stderr, "");
    done.text().to_owned()
}

fn refused(place: &Place, runs: &str, code: i32, words: &str) -> String {
    let refused = place.tagq(&format!("reproduce -q answer.json {runs}"));
    assert_eq!(refused.code, code, "{}", refused.stderr);
    assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    refused.text().to_owned()
}

fn said(rows: usize, tags: &str) -> String {
    let rows = if rows == 1 { "1 row".into() } else { format!("{rows} rows") };
    let version = env!("CARGO_PKG_VERSION");
    format!("reproduced: {rows} equal, counted by tagq {version} on {tags} tags\n")
}

/// Adds one to the first whole number with this key.
fn add_one(value: &mut Value, key: &str) -> bool {
    match value {
        Value::Object(map) => {
            if let Some(count) = map.get(key).and_then(Value::as_u64) {
                map.insert(key.into(), (count + 1).into());
                return true;
            }
            map.values_mut().any(|value| add_one(value, key))
        }
        Value::Array(values) => values.iter_mut().any(|value| add_one(value, key)),
        _ => false,
    }
}

#[test]
fn every_case_is_reproduced_and_a_changed_count_is_found() {
    let place = Place::new();
    make(&place.path(""));
    let cases = some_requests(cases());
    assert!(cases.len() > 10);
    for (name, options) in cases {
        let query = words(name, &options);
        let query: Vec<&str> = query.iter().map(String::as_str).chain(["run.tagq"]).collect();
        let answer = answer_of(&place, &query);
        let query = query.join(" ");
        assert_eq!(answer["provenance"]["query"], name, "{query}");
        let rows = answer["rows"].as_array().unwrap().len();
        let again = reproduced(&place, "");
        assert!(
            again.replace(',', "").starts_with(&format!("reproduced: {rows} row")),
            "{query}: {again}"
        );
        if !answer["rows"]
            .as_array()
            .is_some_and(|rows| rows.iter().any(|row| row["count"].is_u64()))
        {
            continue;
        }
        change(&place, |answer| assert!(add_one(&mut answer["rows"], "count"), "{query}"));
        let differences = refused(&place, "", 1, "1 value differ");
        assert!(differences.contains("count"), "{query}: {differences}");
    }
}

#[test]
fn answers_of_several_runs_lists_sums_delays_and_merges_are_reproduced() {
    let place = Place::with_runs();
    place.done("rates run later");
    for (query, rows, tags) in [
        ("coincidences --window 2ns run", 6, "19,350"),
        ("coincidences --window 2ns run later", 12, "29,157"),
        ("coincidences --window 2ns run later --sum", 6, "29,157"),
        ("rates --channels 1,2 --bin 100ms run later", 32, "29,157"),
        ("rates run", 4, "19,350"),
        ("coincidences --window 2ns --group 1,2 --list --to 5ms run", 27, "19,350"),
        ("delays --channels 1,2 --range 1us run", 1, "19,350"),
        ("g2 1,2 --last 100ms --bin 2.5ns --range 10ns --join run", 9, "19,350"),
    ] {
        let answer = asked(&place, query);
        let found = answer["rows"].as_array().unwrap().len();
        assert_eq!((reproduced(&place, ""), found), (said(rows, tags), rows), "{query}");
        change(&place, |answer| {
            let last = answer["rows"].as_array_mut().unwrap().pop().unwrap();
            assert!(last.is_object());
        });
        let differences = refused(&place, "", 1, "1 value differ");
        assert!(differences.contains(&format!("row {rows}")), "{query}: {differences}");
    }
    for each in ["", " --each"] {
        place.done(
            "plan coincidences --window 1us --rule cluster run later --parts 3 -o plan --force",
        );
        let part = |number: u32| {
            let to = format!("p.{number}");
            let counted = place.tagq(&format!("partial plan --index {number} -o {to} --force"));
            (counted.code == 0).then_some(to)
        };
        let parts: Vec<String> = (0..).map_while(part).collect();
        assert!(parts.len() > 1);
        let merged = asked(&place, &format!("merge plan {}{each}", parts.join(" ")));
        let together = if each.is_empty() { "sum" } else { "same_groups" };
        assert_eq!(merged["provenance"]["together"], together);
        reproduced(&place, "");
        change(&place, |answer| assert!(add_one(&mut answer["rows"], "count")));
        refused(&place, "", 1, "1 value differ");
    }
}

/// Another version may choose other bins.
#[test]
fn bins_that_were_chosen_are_those_of_the_answer() {
    let place = Place::new();
    fs::copy(root().join("data/fixtures/pairs/1.tags.zst"), place.path("run.tags.zst")).unwrap();
    let answer = asked(&place, "g2 1,2 run.tags.zst --bin 7t --range 70t");
    change(&place, |answer| {
        answer["query"]["chosen"] = json!(["bin", "range"]);
        let options = answer["provenance"]["options"].as_object_mut().unwrap();
        assert!(options.remove("bin").is_some() && options.remove("range").is_some());
    });
    let rows = answer["rows"].as_array().unwrap().len();
    let text = reproduced(&place, "");
    assert!(text.starts_with(&format!("reproduced: {rows} rows equal")), "{text}");
}

#[test]
fn the_lines_of_a_watch_are_reproduced() {
    let place = Place::with_runs();
    place.done("rates run");
    let whole = asked(&place, "rates --last 100ms run");
    change(&place, |answer| {
        let mut one = answer.take();
        let version = one.as_object_mut().unwrap().remove("schema_version").unwrap();
        *answer = json!({"schema_version": version, "update": 1, "answers": [one.clone(), one]});
    });
    assert_eq!(reproduced(&place, ""), said(4, "19,350").repeat(2));
    assert_eq!(whole["provenance"]["options"], json!({"last": "100ms"}));
    // Beside the whole run, as watch counts it.
    let watch = crate::support::interruptible()
        .args(["watch", "rates", "--last", "100ms", "run"])
        .current_dir(place.path(""))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut watch = crate::support::Killed(watch.unwrap());
    let mut line = String::new();
    let out = watch.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    drop(watch);
    assert!(line.contains("last_count") && line.contains("\"beside_last\":\"100ms\""), "{line}");
    fs::write(place.path("answer.json"), line).unwrap();
    assert_eq!(reproduced(&place, ""), said(4, "19,350"));
}

#[test]
fn a_run_that_has_grown_is_reproduced_from_its_first_tags() {
    let place = Place::with_runs();
    let second = place.path("run/2.tags.zst");
    fs::rename(&second, place.path("aside")).unwrap();
    let answers =
        ["coincidences --window 2ns run", "g2 1,2 run", "rates --bin 50ms --last 120ms run"];
    let answers = answers.map(|query| asked(&place, query));
    fs::rename(place.path("aside"), &second).unwrap();
    place.done("rates run");
    for answer in answers {
        fs::write(place.path("answer.json"), answer.to_string()).unwrap();
        reproduced(&place, "");
    }
    // A source that grows, with a mark in the middle of a block.
    let lines = |tags: std::ops::Range<u64>| -> String {
        let lines: Vec<String> = tags.map(|i| format!("{}\t{}\n", i % 3, 7 * i + i % 5)).collect();
        lines.concat()
    };
    fs::write(place.path("t.tsv"), lines(0..70_000)).unwrap();
    place.done("ingest --tick 1ps t.tsv");
    let before = asked(&place, "coincidences --window 20t t.tsv");
    fs::write(place.path("t.tsv"), lines(0..150_000)).unwrap();
    let after = place.done("coincidences --window 20t t.tsv --json").json();
    assert_eq!(before["run"]["tags"], 70_000);
    assert_eq!(after["run"]["tags"], 150_000);
    assert_ne!(before["rows"], after["rows"]);
    assert_eq!(reproduced(&place, ""), said(3, "70,000"));
    assert_eq!(reproduced(&place, "t.tsv"), said(3, "70,000"));
}

#[test]
fn other_tags_are_refused() {
    let place = Place::with_runs();
    asked(&place, "coincidences --window 2ns run");
    refused(&place, "later", 1, "later: the answer is of 19350 tags, and 9807 are there");
    refused(&place, "run later", 2, "it is of 1 runs, and 2 are named");
    // The same tags in one file: a pair could span what were two files.
    place.done("convert run one.tags.zst");
    refused(&place, "one.tags.zst", 1, "the same tags are divided into other files");
    // Another order of the same files, and other tags.
    let simulated =
        "simulate --seed 3 --duration 900ms --channels 1,2,3,4 --rate 20kHz other.tags.zst";
    place.done(simulated);
    refused(
        &place,
        "other.tags.zst",
        1,
        "its first 19350 tags are not those that were counted: their checksum is",
    );
    // A file that comes in between: the run has to be made again, and its first tags are others.
    let first = place.path("run/1.tags.zst");
    fs::rename(&first, place.path("aside")).unwrap();
    place.done("ingest --store late run");
    asked(&place, "rates --store late run");
    fs::rename(place.path("aside"), &first).unwrap();
    place.done("ingest --rebuild --store late run");
    refused(&place, "", 1, "files were changed or came in between");
    // A column that somebody changed: the checksums of its block are others.
    asked(&place, "rates run");
    let column = place.path("run/.tagq/channel.col");
    let mut bytes = fs::read(&column).unwrap();
    bytes[5_000] = bytes[5_000] % 4 + 1;
    fs::write(&column, bytes).unwrap();
    refused(&place, "", 3, "channel.col");
}

#[test]
fn the_setup_and_the_options_of_the_answer_are_used() {
    let place = Place::with_runs();
    let setup = place.path("run/tagq.toml");
    fs::write(
        &setup,
        "tick = '4ps'\ngroups = [['Alice', 'Bob']]\n[channels]\n1 = 'Alice'\n2 = 'Bob'\n[delays]\nBob = '1ns'\n",
    )
    .unwrap();
    let answer = asked(&place, "coincidences --window 2ns run");
    let expected =
        json!({"names": [[1, "Alice"], [2, "Bob"]], "delays": [[2, "1ns"]], "groups": [[1, 2]]});
    assert_eq!(answer["provenance"]["runs"][0]["setup"], expected);
    assert_eq!(answer["provenance"]["runs"][0]["tick"], "4000000/1");
    // The text of today does not matter.
    fs::write(&setup, "[channels]\n1 = 'Eve'\n[delays]\n2 = '1s'\n").unwrap();
    assert_eq!(reproduced(&place, ""), said(1, "19,350"));
    assert_eq!(reproduced(&place, "run"), said(1, "19,350"));
    asked(
        &place,
        "coincidences --window 2ns --tick 1ns --delay 2=3t --setup run/tagq.toml --group Eve,4 run",
    );
    fs::remove_file(&setup).unwrap();
    assert_eq!(reproduced(&place, ""), said(1, "19,350"));
    // A store elsewhere, and sources in nested folders.
    asked(&place, "rates --store elsewhere run");
    fs::remove_dir_all(place.path("run/.tagq")).unwrap();
    assert_eq!(reproduced(&place, ""), said(4, "19,350"));
    fs::create_dir_all(place.path("nested/day")).unwrap();
    fs::rename(place.path("later/2.tags.zst"), place.path("nested/day/2.tags.zst")).unwrap();
    asked(&place, "rates --recursive nested");
    assert_eq!(reproduced(&place, ""), said(4, "9,807"));
    // The tick of a text, which has none.
    fs::write(place.path("t.tsv"), "1\t5\n2\t9\n1\t30\n").unwrap();
    asked(&place, "coincidences --window 5t --tick 4ps t.tsv");
    fs::remove_dir_all(place.path("t.tsv.tagq")).unwrap();
    assert_eq!(reproduced(&place, "t.tsv"), said(1, "3"));
}

/// Changes an answer.
type Change = fn(&mut Value);

/// Returns the names and sizes of all files below a folder.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path(), entry.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}

#[test]
#[cfg_attr(windows, ignore = "a device")]
fn what_is_no_answer_is_refused_and_nothing_is_written() {
    let place = Place::with_runs();
    let good = asked(&place, "coincidences --window 2ns run");
    let write = |text: &str| fs::write(place.path("answer.json"), text).unwrap();
    for (text, words) in [
        ("", "no answer of tagq"),
        ("hello", "no answer of tagq in JSON"),
        ("[1]", "no answer of tagq"),
        ("{\"answers\": [3]}", "no answer of tagq"),
        ("PAR1", "answers are reproduced from JSON"),
        (&"[".repeat(100_000), "recursion limit"),
        (
            &format!("{{\"schema_version\": {}}}", u64::MAX),
            "has version 18446744073709551615 of the keys",
        ),
        ("{\"schema_version\": 3}", "it has no `provenance`"),
        ("{\"schema_version\": 3, \"provenance\": {}}", "its provenance cannot be read"),
    ] {
        write(text);
        refused(&place, "", 2, words);
    }
    write(&fs::read_to_string(root().join("tests/outputs/pairs.txt")).unwrap());
    refused(&place, "", 2, "no answer of tagq in JSON");
    let changes: [(Change, i32, &str); 16] = [
        (|a| a["schema_version"] = 5.into(), 2, "it was made by tagq"),
        (|a| a["provenance"]["runs"] = json!([]), 2, "it is of 0 runs"),
        (|a| a["provenance"]["query"] = "destroy".into(), 2, "`destroy` is none of coincidences"),
        (|a| a["provenance"]["options"]["output"] = "/tmp/x".into(), 2, "has no option `output`"),
        (|a| a["provenance"]["options"]["window"] = "2".into(), 2, "window"),
        (|a| a["provenance"]["options"]["window"] = json!({"a": 1}), 2, "window"),
        (|a| a["provenance"]["options"]["groups"] = json!([["Eve", 1]]), 2, "Eve"),
        (|a| a["provenance"]["options"]["accidentals"] = "shifted:4000000000".into(), 2, "10000"),
        (|a| a["provenance"]["runs"][0]["tick"] = "0/1".into(), 2, "its provenance cannot be read"),
        (|a| a["provenance"]["runs"][0]["rows"] = u64::MAX.into(), 1, "18446744073709551615 tags"),
        (|a| a["provenance"]["runs"][0]["chain"] = "0000000g".into(), 2, "eight hexadecimal"),
        (|a| a["provenance"]["runs"][0]["path"] = "-".into(), 2, "standard input"),
        (|a| a["provenance"]["runs"][0]["path"] = "/dev/zero".into(), 2, "/dev/zero"),
        (
            |a| a["provenance"]["runs"][0]["path"] = "later".into(),
            2,
            "later has no store yet; `tagq reproduce answer.json later` makes it",
        ),
        (|a| a["provenance"]["runs"][0]["path"] = "a\u{1b}[31m".into(), 1, "a\\u{1b}[31m"),
        (|a| a["rows"] = json!({}), 2, "no answer of tagq"),
    ];
    let before = files(&place.path(""));
    let is_other = |(path, _): &&(PathBuf, u64)| !path.ends_with("answer.json");
    for (number, (change, code, words)) in changes.into_iter().enumerate() {
        let mut answer = good.clone();
        change(&mut answer);
        write(&answer.to_string());
        let refused = place.tagq("reproduce -q answer.json");
        assert_eq!(refused.code, code, "{number}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{number}, {words}: {}", refused.stderr);
        let now = files(&place.path(""));
        assert!(before.iter().filter(is_other).eq(now.iter().filter(is_other)), "{number}");
    }
    // Values that are compared and nothing else.
    for (change, words) in [
        ((|a: &mut Value| a["rows"][0] = Value::Null) as Change, "row 1"),
        (|a| a["rows"][0] = json!({}), "count"),
        (|a| a["rows"] = json!([]), "row 6"),
        (|a| a["query"]["window_ticks"] = 13.into(), "query"),
        (|a| a["run"]["channels"][0]["count"] = 1.into(), "run"),
        (|a| a["rows"][0]["count_err"] = 1e300.into(), "1e+300"),
        (|a| a["rows"][0]["car"] = "\u{202e}".into(), "\\u202e"),
    ] {
        let mut answer = good.clone();
        change(&mut answer);
        write(&answer.to_string());
        let found = refused(&place, "", 1, "not reproduced");
        assert!(found.contains(words), "{words}: {found}");
    }
}
