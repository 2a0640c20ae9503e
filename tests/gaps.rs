//! The column of gaps: made and dropped by `tagq set`, kept up to date by `tagq ingest`, and no answer depends on it.

use std::fs;

use crate::support::{command, fixture_copy, output, store_file};

#[test]
fn the_column_of_gaps_is_made_kept_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let ask = |words: &[&str]| {
        let asked = output(command().args(words).arg(&run));
        assert_eq!(asked.code, 0, "{words:?}: {}", asked.stderr);
        asked
    };
    let pairs = || {
        let windows = ["0t", "2ns", "100ns", "10us"];
        windows.map(|window| {
            let words = ["coincidences", "--group", "3,15", "--no-cache", "--window", window];
            ask(&words).json()["rows"].clone()
        })
    };
    let info = || ask(&["info", "--fast", "--format", "json"]).json();
    let kernel = || {
        let words = ["coincidences", "--group", "3,15", "--window", "2ns", "--explain"];
        ask(&words).stdout.windows(12).any(|part| part == b"sums of gaps")
    };
    ask(&["ingest", "--times"]);
    let before = pairs();
    assert!(info()["gap_column"] == true && kernel());
    let bytes = info()["store_bytes"].as_u64().unwrap();
    ask(&["set", "--gaps", "off"]);
    assert!(info()["gap_column"].is_null() && !kernel());
    assert!(info()["store_bytes"].as_u64().unwrap() < bytes);
    assert_eq!(pairs(), before);
    // A store that is made again is as it was.
    ask(&["ingest", "--rebuild"]);
    assert!(info()["gap_column"].is_null());
    ask(&["set", "--gaps", "on"]);
    ask(&["ingest", "--rebuild"]);
    assert!(info()["gap_column"] == true && kernel());
    assert_eq!(pairs(), before);
    ask(&["verify"]);
    // More is ingested: its gaps are there, too.
    let tags = info()["tags"].as_u64().unwrap();
    let lines: Vec<String> = (0..100).map(|row| format!("3\t{row}\n15\t{row}\n")).collect();
    fs::write(run.join("0.tsv"), lines.concat()).unwrap();
    ask(&["ingest", "--rebase"]);
    assert_eq!(info()["tags"], tags + 200);
    ask(&["verify"]);
    let with_gaps = pairs();
    assert_ne!(with_gaps, before);
    ask(&["set", "--gaps", "off"]);
    assert!(info()["gap_column"].is_null() && !kernel());
    assert_eq!(pairs(), with_gaps);
    fs::remove_dir_all(run.join(".tagq")).unwrap();
    ask(&["ingest", "--no-gaps", "--rebase"]);
    assert!(info()["gap_column"].is_null() && !kernel());
    assert_eq!(pairs(), with_gaps);
    // Nothing to change is a mistake.
    let nothing = output(command().arg("set").arg(&run));
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
}

/// Every query that reads damaged gaps is refused, and the error says how to make them again.
#[test]
fn damaged_gaps_are_refused_and_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let store = run.join(".tagq");
    let ask = |args: &str| output(command().args(args.split(' ')).arg(&run));
    assert_eq!(ask("ingest -q --times").code, 0);
    let column = store_file(&store, "gap");
    let whole = fs::read(&column).unwrap();
    let queries = [
        "coincidences --window 2ns --no-cache",
        "coincidences --window 5us --group 1,2 --no-cache",
        "coincidences --window 2ns --choose 3 --no-cache",
        "coincidences --window 2ns --group 1,2 --delay 2=100ns --no-cache",
        "coincidences --window 2ns --rule once --no-cache",
        "coincidences --window 2ns --rule cluster --no-cache",
        "coincidences --window 2ns --rule herald --group 1,2,3 --no-cache",
        "coincidences --window 2ns --group 1,2 --veto 3 --no-cache",
        "histogram --start 1 --stop 2 --range 100ns --no-cache",
    ];
    let rows = |query: &str| ask(&format!("{query} --format json")).json()["rows"].clone();
    let right = queries.map(rows);
    // One flipped bit, and a page of zeros, of the one block.
    let (mut flipped, mut lost) = (whole.clone(), whole);
    flipped[4096 + 2 * 700] ^= 1;
    lost[2 * 4096..3 * 4096].fill(0);
    for bytes in [flipped, lost] {
        fs::write(&column, bytes).unwrap();
        for query in queries {
            let asked = ask(query);
            assert_eq!(asked.code, 3, "{query}: {}", asked.stderr);
            let name = column.file_name().unwrap().to_str().unwrap();
            for word in [name, "block 0", "tagq set --gaps off", "tagq set --gaps on"] {
                assert!(asked.stderr.contains(word), "{query}: no `{word}` in {}", asked.stderr);
            }
        }
        let verified = ask("verify");
        assert_eq!(verified.code, 3, "{}", verified.stderr);
    }
    assert_eq!((ask("set --gaps off").code, ask("set --gaps on").code), (0, 0));
    assert_eq!(queries.map(rows), right);
}

/// Without a column of times every query reads gaps, far distances or steps, and is refused if they are damaged.
#[test]
fn damaged_distances_are_refused_and_made_again_from_the_sources() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let ask = |args: &str| output(command().args(args.split(' ')).arg(&run));
    assert_eq!(ask("ingest -q").code, 0);
    for key in ["gap", "far", "steps"] {
        let file = store_file(&run.join(".tagq"), key);
        let mut bytes = fs::read(&file).unwrap();
        bytes[4096 + 16] ^= 1;
        fs::write(&file, bytes).unwrap();
        for query in [
            "coincidences --window 1ms --no-cache",
            "histogram --start 1 --stop 2 --range 1ms --bin 1us --no-cache",
            "rates --bin 10ms --no-cache",
            "cat",
            "verify",
        ] {
            let asked = ask(query);
            assert_eq!(asked.code, 3, "{key}: {query}: {}", asked.stderr);
            let name = file.file_name().unwrap().to_str().unwrap();
            for word in [name, "block 0", "ingest its sources again"] {
                assert!(asked.stderr.contains(word), "{query}: no `{word}` in {}", asked.stderr);
            }
        }
        assert_eq!(ask("ingest -q --rebuild").code, 0);
        assert_eq!(ask("verify").code, 0);
    }
}

#[test]
fn a_store_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    assert_eq!(output(command().arg("ingest").arg(&run)).code, 0);
    let manifest = run.join(".tagq/manifest.json");
    fs::remove_file(&manifest).unwrap();
    fs::create_dir(&manifest).unwrap();
    let refused = output(command().args(["set", "--times", "on"]).arg(&run));
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("manifest.json"), "{}", refused.stderr);
}
