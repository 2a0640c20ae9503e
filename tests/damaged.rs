//! Rows of a store that damage has put out of order: every query reports an error with the place.

use std::{fmt::Write as _, fs, path::Path};

use crate::support::{command, output, tagq};

/// Bytes of a column before its first row.
const HEADER: usize = 4096;

/// Queries of every kind that scans times. Rates read few of them.
const QUERIES: [&str; 16] = [
    "coincidences --window 12t",
    "coincidences --window 60t",
    "coincidences --window 1us --group 1,2,3",
    "coincidences --window 12t --group 1,2,3,4",
    "coincidences --window 12t --group 1,2 --delay 2=-25t",
    "coincidences --window 100t --group 1,2 --rule once",
    "coincidences --window 100t --rule cluster",
    "coincidences --window 13t --rule grid",
    "coincidences --window 60t --rule herald --group 1,2,3",
    "coincidences --window 60t --group 1,2 --veto 3 --guard 2t",
    "coincidences --window 60t --bin 1000000t",
    "histogram --start 1 --stop 2 --bin 8t --range 100t --g2",
    "histogram --start 1 --stop 2 --bin 5t --range 100000t",
    "histogram --start 1 --stop 2 --range 1t..1000000t --log 10 --g2",
    "histogram --start 1 --stop 2 --mode next --range 0t..100t",
    "coincidences --window 30t --group 1,2 --list",
];

/// Creates a store of 140,000 tags: tag i has time 25·i and channel i mod 4 + 1. It has no gaps, so that every query
/// reads times.
fn store(folder: &Path) -> std::path::PathBuf {
    let mut text = String::new();
    for i in 0..140_000 {
        writeln!(text, "{}\t{}", i % 4 + 1, i * 25).unwrap();
    }
    fs::write(folder.join("run.tsv"), text).unwrap();
    let store = folder.join("store");
    let run = folder.join("run.tsv");
    let args = ["ingest", "-q", "--no-gaps", "--tick", "156.25ps", "--store"];
    let made = output(command().args(args).arg(&store).arg(run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    store
}

/// Queries a store with one flipped bit in its times. The error must name detected damage.
fn ask(store: &Path, query: &str, named: &str) -> i32 {
    let args = query.split(' ').chain(["--no-ingest", "--no-cache"]).map(AsRef::as_ref);
    let asked = tagq(args.chain([store.as_os_str()]));
    assert!([0, 3].contains(&asked.code), "{query}: {} {}", asked.code, asked.stderr);
    assert!(!asked.stderr.contains("panicked"), "{query}: {}", asked.stderr);
    if asked.code == 3 {
        for word in ["time.col", named, "tagq verify"] {
            assert!(asked.stderr.contains(word), "{query}: no `{word}` in {}", asked.stderr);
        }
    }
    asked.code
}

/// Bits from 23 on put row 0 after the last row, at 3,499,975.
#[test]
fn a_first_row_behind_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let column = store.join("time.col");
    let whole = fs::read(&column).unwrap();
    for bit in [0].into_iter().chain(36..=62) {
        let mut bytes = whole.clone();
        bytes[HEADER + bit / 8] ^= 1 << (bit % 8);
        fs::write(&column, bytes).unwrap();
        let query = QUERIES[bit % QUERIES.len()];
        for query in [QUERIES[0], query] {
            let code = ask(&store, query, "block 0");
            assert_eq!(code, if bit < 23 { 0 } else { 3 }, "bit {bit}: {query}");
        }
    }
    fs::write(&column, whole).unwrap();
    // 140,000 tags, each 25 ticks before the next.
    let counted = tagq([
        "coincidences".as_ref(),
        "--window=25t".as_ref(),
        "--group=1,2".as_ref(),
        store.as_os_str(),
    ]);
    assert_eq!(counted.json()["rows"][0]["count"], 35_000);
}

/// Every scan detects a row in the middle of a block that is too early or too late.
#[test]
fn a_row_out_of_order_is_named_with_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let column = store.join("time.col");
    let whole = fs::read(&column).unwrap();
    // Bit 10 of 25·70,001 = 0b1_1010_1011_0100_0001_1001 is 1, bit 43 is 0; row 65,536 begins block 1.
    for (row, bit, block) in [(70_001, 10, 1), (70_001, 43, 1), (65_536, 63, 1), (139_999, 21, 2)] {
        let mut bytes = whole.clone();
        bytes[HEADER + 8 * row + bit / 8] ^= 1 << (bit % 8);
        fs::write(&column, bytes).unwrap();
        for query in QUERIES {
            assert_eq!(ask(&store, query, &format!("block {block}")), 3, "{row}, {bit}: {query}");
        }
    }
}
