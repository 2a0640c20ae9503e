//! The column of gaps: made and dropped by `tagq set`, kept up to date by `tagq ingest`, and no answer depends on it.

use std::fs;

use crate::support::{command, fixture_copy, output};

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
    let before = pairs();
    assert!(info()["gap_column"].is_null() && !kernel());
    let bytes = info()["store_bytes"].as_u64().unwrap();
    ask(&["set", "--gaps", "on"]);
    assert!(info()["gap_column"] == true && kernel());
    assert!(info()["store_bytes"].as_u64().unwrap() > bytes);
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
    // Nothing to change is a mistake.
    let nothing = output(command().arg("set").arg(&run));
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
}
