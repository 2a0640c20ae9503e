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

/// Damaged gaps give wrong counts, which `tagq verify` finds, but no query stops working.
#[test]
fn damaged_gaps_are_found_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let ask = |args: &str| output(command().args(args.split(' ')).arg(&run));
    assert_eq!(ask("ingest -q").code, 0);
    let column = fs::read_dir(run.join(".tagq")).unwrap().map(|entry| entry.unwrap().path());
    let column = column.into_iter().find(|path| path.to_str().unwrap().contains("/gap.")).unwrap();
    let whole = fs::read(&column).unwrap();
    for value in [0_u16, 5, u16::MAX] {
        let mut bytes = whole.clone();
        for row in (0..(whole.len() - 4096) / 2).filter(|row| row % 3 > 0 || value != 5) {
            bytes[4096 + 2 * row..][..2].copy_from_slice(&value.to_le_bytes());
        }
        fs::write(&column, bytes).unwrap();
        for query in [
            "coincidences --window 2ns --no-cache",
            "coincidences --window 5us --group 1,2 --no-cache",
            "coincidences --window 2ns --choose 3 --no-cache",
            "coincidences --window 2ns --group 1,2 --delay 2=100ns --no-cache",
            "coincidences --window 2ns --rule once --no-cache",
            "coincidences --window 2ns --rule cluster --no-cache",
            "coincidences --window 2ns --rule herald --group 1,2,3 --no-cache",
            "histogram --start 1 --stop 2 --range 100ns --no-cache",
        ] {
            let asked = ask(query);
            assert_eq!(asked.code, 0, "{value}: {query}: {}", asked.stderr);
        }
        let verified = ask("verify");
        assert_eq!(verified.code, 3, "{}", verified.stderr);
    }
}
