//! Time bins: which of them are final, and which are shown.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{Output, command, output};

fn ask(folder: &Path, words: &str) -> Output {
    output(command().current_dir(folder).args(words.split_whitespace()))
}

/// Returns the rows that are not partial.
fn final_rows(answer: &Value) -> Vec<Value> {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["partial"] == false).cloned().collect()
}

/// Returns tags of channel 1 every 10 ticks from `start` on, each followed by one of channel 2 a tick later.
fn pairs(each: std::ops::Range<u32>, start: u32) -> String {
    let lines = each.map(|k| (start + 10 * k, start + 10 * k + 1));
    let lines: Vec<String> = lines.map(|(a, b)| format!("1\t{a}\n2\t{b}\n")).collect();
    lines.concat()
}

/// Returns tags up to 401.
fn written() -> String {
    pairs(0..41, 0)
}

#[test]
fn what_is_called_final_stays_when_channels_come() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    let path = folder.path().join("a.tsv");
    for words in [
        "rates --bin 10t --delay 1=60t --delay 2=60t",
        "rates --bin 10t --channels 1,2 --delay 1=60t --delay 2=60t",
        "rates --bin 10t --delay 5=-40t",
        "coincidences --window 4t --bin 10t --delay 1=60t --delay 2=60t",
        "coincidences --window 4t --bin 10t --group 1,2 --delay 1=60t --delay 2=60t",
        "coincidences --window 4t --bin 10t --delay 5=-40t",
        "coincidences --window 4t --bin 10t --rule cluster --delay 1=60t --delay 2=60t",
        "coincidences --window 4t --bin 10t --veto 5 --group 1,2 --guard 30t --delay 5=-40t",
        "coincidences --window 4t --bin 10t --group 1,2 --accidentals shifted:4 --shift 20t",
    ] {
        let words = format!("{words} --format json a.tsv");
        drop(fs::remove_dir_all(folder.path().join("a.tsv.tagq")));
        fs::write(&path, written()).unwrap();
        let before = ask(folder.path(), &words);
        assert_eq!(before.code, 0, "{}", before.stderr);
        let before = final_rows(&before.json());
        // 400 ticks are 40 bins; the longest look-ahead here is 70 ticks.
        assert!(before.len() >= 33, "{words}: {}", before.len());
        // A new channel at the last time and after it, and more tags of the others.
        fs::write(&path, format!("{}5\t401\n5\t402\n1\t402\n2\t405\n1\t900\n", written())).unwrap();
        let after = ask(folder.path(), &words).json();
        let after = after["rows"].as_array().unwrap();
        let key = |row: &Value| {
            (row["start_ticks"].clone(), row["channel"].clone(), row["channels"].clone())
        };
        for row in before {
            let now = after.iter().find(|now| key(now) == key(&row));
            // The sum over all channels is a separate row, and the new channel does not change it here.
            assert_eq!(now, Some(&row), "{words}");
        }
    }
}

#[test]
fn the_last_of_a_trace_begins_at_the_edge_of_a_bin() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    // Tags every 10 ticks from 1000 on, the last at 1405; bins of 100 begin at 1000.
    let tags = pairs(0..40, 1000);
    fs::write(folder.path().join("a.tsv"), tags + "1\t1405\n").unwrap();
    let starts = |answer: &Value| -> Vec<i64> {
        let rows = answer["rows"].as_array().unwrap().iter();
        let mut starts: Vec<i64> = rows.map(|row| row["start_ticks"].as_i64().unwrap()).collect();
        starts.dedup();
        starts
    };
    for query in ["rates", "coincidences --window 4t --group 1,2"] {
        let words = format!("{query} --bin 100t --last 150t a.tsv");
        let answer = ask(folder.path(), &format!("{words} --format json")).json();
        // 1405 − 150 = 1255 is in the bin from 1200 on.
        assert_eq!(starts(&answer), [200, 300, 400], "{query}");
        assert_eq!(answer["query"]["from_ticks"], 1200, "{query}");
        assert_eq!(answer["query"]["to_ticks"], 1406, "{query}");
        assert!(final_rows(&answer).iter().any(|row| row["start_ticks"] == 200), "{query}");
        let table = ask(folder.path(), &format!("{words} --format table"));
        let said = "; last 150 t widened to whole bins; times 1200t..1406t";
        assert!(table.text().contains(said), "{}", table.text());
        // On an edge the range is not extended: 1405 − 105 = 1300.
        let exact =
            ask(folder.path(), &format!("{query} --bin 100t --last 105t a.tsv --format json"));
        assert_eq!(exact.json()["query"]["from_ticks"], 1300, "{query}");
    }
    // Without bins `--last` is exact.
    let plain = ask(folder.path(), "rates --last 150t a.tsv --format json").json();
    assert_eq!(plain["query"]["from_ticks"], 1255);
}

#[test]
fn delays_make_no_rows_without_recorded_time() {
    let folder = tempfile::tempdir().unwrap();
    // Channel 2 at -3, 7, 17 …: less than a bin before the first tag. Channel 3 is far away, and in no group.
    fs::write(folder.path().join("a.tsv"), format!("3\t0\n{}", written())).unwrap();
    let setup = "tick = \"156.25ps\"\n[delays]\n2 = \"-4t\"\n3 = \"-250t\"\n";
    fs::write(folder.path().join("tagq.toml"), setup).unwrap();
    for (words, whole) in [
        ("rates 1,2 --bin 100t", "rates 1,2"),
        ("rates 2 --bin 100t --errors blocks:4", "rates 2"),
        ("coincidences 1,2 --window 4t --bin 100t", "coincidences 1,2 --window 4t"),
        (
            "coincidences 2,1 --window 4t --bin 100t --veto 3",
            "coincidences 2,1 --window 4t --veto 3",
        ),
    ] {
        let of = |words: &str| ask(folder.path(), &format!("{words} --format json a.tsv")).json();
        let (trace, whole) = (of(words), of(whole));
        let rows = trace["rows"].as_array().unwrap();
        assert_eq!((&rows[0]["start_ticks"], &rows[0]["partial"]), (&0.into(), &false.into()));
        // The last bin holds one tag, 401 ticks after the first.
        let mut whole_bins = rows.iter().filter(|row| row["start_ticks"] != 400);
        assert!(whole_bins.all(|row| row["rate_hz"].is_f64()), "{words}: {rows:?}");
        let sum = |rows: &Value| -> u64 {
            rows.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum()
        };
        assert_eq!(sum(&trace["rows"]), sum(&whole["rows"]), "{words}");
    }
    // A tag each 10 ticks in all bins, and of channel 2 so moved that it is one of the bin before.
    let rates = |words: &str| -> Vec<f64> {
        let words = format!("rates 2 --bin 100t {words} --format json a.tsv");
        let rows = ask(folder.path(), &words).json()["rows"].as_array().unwrap().clone();
        let tags_per_tick = |row: &Value| row["rate_hz"].as_f64().map(|hz| hz * 156.25e-12);
        rows.iter().filter_map(tags_per_tick).collect()
    };
    for words in ["", "--delay 2=-54t", "--delay 2=54t", "--delay 2=-254t"] {
        assert!(rates(words).iter().all(|rate| (rate - 0.1).abs() < 0.03), "{:?}", rates(words));
    }
}
