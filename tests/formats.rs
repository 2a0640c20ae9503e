//! The formats of files: how they are listed, and named where the content of a file does not tell them.

use std::{fs, path::Path};

use crate::support::{Output, cat, tagq};

/// Tags of a Time Tagger, 1 µs apart, with an overflow from 10 µs to 30 µs and one without an end from 90 µs on.
pub(crate) fn time_tags() -> Vec<u8> {
    let record = |kind: u8, channel: i32, microseconds: i64| {
        let head = [kind, 0, 0, 0].into_iter().chain(channel.to_le_bytes());
        head.chain((microseconds * 1_000_000).to_le_bytes())
    };
    let tags = (0..=100).filter(|i| !(11..30).contains(i)).flat_map(|i| {
        let edge = match i {
            10 => Some(record(2, 0, 10)),
            30 => Some(record(3, 0, 30)),
            90 => Some(record(2, 0, 90)),
            _ => None,
        };
        let channel = if i % 2 == 0 { 1 } else { -2 };
        edge.into_iter().flatten().chain(record(0, channel, i)).collect::<Vec<u8>>()
    });
    tags.collect()
}

/// Records of a quTAG without a header: 40 tags of channels 1 and 2, 1 µs apart.
fn records(from: i64) -> Vec<u8> {
    let record = |i: i64| {
        let channel = if i % 2 == 0 { 1_i16 } else { 2 };
        (i * 1_000_000).to_le_bytes().into_iter().chain(channel.to_le_bytes())
    };
    (from..from + 40).flat_map(record).collect()
}

pub(crate) fn of(args: &str, path: &Path) -> Output {
    tagq(args.split_whitespace().map(Into::into).chain([path.as_os_str().to_owned()]))
}

#[test]
fn a_format_is_named_once_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.bin");
    fs::write(&path, records(0)).unwrap();
    let rates = |args: &str| {
        let answer = of(&format!("rates {args}"), &path).json();
        let count = |row: usize| answer["rows"][row]["count"].as_u64().unwrap();
        assert_eq!(answer["run"]["tick"], "1000000/1");
        (count(0), count(1))
    };
    let tags = |answer: Output| answer.text().lines().count();
    assert_eq!(tags(of("cat --source-format qutag", &path)), 40);
    assert_eq!(rates("--source-format qutag"), (20, 20));
    assert_eq!(rates(""), (20, 20));
    let more = [records(0), records(40)].concat();
    fs::write(&path, &more).unwrap();
    assert_eq!(rates(""), (40, 40));
    let other = of("rates --source-format text", &path);
    assert_eq!(other.code, 1);
    assert!(
        other.stderr.contains("was ingested as qutag, and --source-format says text"),
        "{}",
        other.stderr
    );
    assert_eq!(of("ingest --rebuild", &path).code, 0);
    assert_eq!(rates("--source-format qutag"), (40, 40));
    let out = folder.path().join("night.tsv");
    let converted = tagq([
        "convert".as_ref(),
        "--source-format".as_ref(),
        "qutag".as_ref(),
        path.as_os_str(),
        out.as_os_str(),
    ]);
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    assert_eq!(cat(&out).len(), 80);
}

#[test]
fn an_unknown_format_is_refused_with_the_list() {
    let refused = of("rates --source-format ttbin", Path::new("x"));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("`ttbin` is no input format; there are"), "{}", refused.stderr);
}

#[test]
fn the_list_has_each_format_and_what_is_written() {
    let list = tagq(["formats", "--format", "json"]).json();
    let formats = list["formats"].as_array().unwrap();
    let of = |name: &str| formats.iter().find(|format| format["names"][0] == name).unwrap();
    assert_eq!(of("qutag")["suffixes"][0], ".qutag");
    assert_eq!(of("qutag")["written"].as_array().unwrap().len(), 0);
    assert_eq!(of("tags")["written"], serde_json::json!([".tags", ".tags.zst", ".tags.gz"]));
    let table = tagq(["formats", "--format", "table"]);
    for format in formats {
        assert!(table.text().contains(format["recognised"].as_str().unwrap()), "{}", table.text());
        // Each suffix is documented.
        for suffix in format["suffixes"].as_array().unwrap() {
            let suffix = format!("`*{}`", suffix.as_str().unwrap());
            assert!(include_str!("../docs/sources.md").contains(&suffix), "{suffix}");
        }
    }
}

#[test]
fn dead_time_is_not_in_the_live_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.swabian");
    fs::write(&path, time_tags()).unwrap();
    let answer = of("rates --source-format swabian", &path).json();
    // 100 µs without 20 and 10.
    let close = |value: &serde_json::Value, expected: f64| {
        (value.as_f64().unwrap() / expected - 1.0).abs() < 1e-9
    };
    let is_live =
        |answer: &serde_json::Value, seconds: f64| close(&answer["run"]["live_s"], seconds);
    assert!(is_live(&answer, 70e-6), "{answer}");
    // Even microseconds are on channel 1: 51 less 12, 14, … 28.
    assert_eq!(answer["rows"][0]["count"], 42);
    assert!(close(&answer["rows"][0]["rate_hz"], 42.0 / 70e-6), "{answer}");
    assert_eq!(answer["rows"][1]["channel"], 1_002);
    let part = of("rates --from 20us --to 50us", &path).json();
    // 20 to 50 µs without those up to 30.
    let of_one = |answer: &serde_json::Value| answer["rows"][0]["count"].as_f64().unwrap();
    assert!(close(&part["rows"][0]["rate_hz"], of_one(&part) / 20e-6), "{part}");
    let trace = of("rates --bin 25us --channels 1", &path).json();
    let rows = trace["rows"].as_array().unwrap();
    let rates: Vec<_> =
        rows.iter().filter(|row| row["channel"] == 1).map(|row| &row["rate_hz"]).collect();
    // Six tags in 0 to 10 µs, ten in 30 to 50 µs.
    assert!(close(rates[0], 6.0 / 10e-6) && close(rates[1], 10.0 / 20e-6), "{trace}");
    let pairs = of("coincidences --window 100ns", &path).json();
    let singles = &pairs["rows"][0]["singles"];
    let [a, b] = [0, 1].map(|at| singles[at].as_f64().unwrap());
    // 2 · 100 ns and the one tick in the middle; at both ends of each of two intervals, a half of it is missing.
    let (w, live) = (100_000.0, 70e6);
    let expected = a * b * ((2.0 * w + 1.0) * live - 2.0 * w * (w + 1.0)) / (live * live);
    assert!(close(&pairs["rows"][0]["accidentals"], expected), "{pairs}");
    let info = of("info --fast --format table", &path);
    assert!(info.text().contains("not recorded       2 spans, 30 µs"), "{}", info.text());
    let json = of("info --fast --format json", &path).json();
    assert!(close(&json["sources"][0]["live_s"], 70e-6), "{json}");
}
