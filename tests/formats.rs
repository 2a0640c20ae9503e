//! The formats of files: how they are listed, and named where the content of a file does not tell them.

use std::{fs, path::Path};

use crate::support::{Output, cat, tagq};

/// Records of a quTAG without a header: 40 tags of channels 1 and 2, 1 µs apart.
fn records(from: i64) -> Vec<u8> {
    let record = |i: i64| {
        let channel = if i % 2 == 0 { 1_i16 } else { 2 };
        (i * 1_000_000).to_le_bytes().into_iter().chain(channel.to_le_bytes())
    };
    (from..from + 40).flat_map(record).collect()
}

fn of(args: &str, path: &Path) -> Output {
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
    assert_eq!(of("tags")["written"], serde_json::json!([".tags", ".tags.zst"]));
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
