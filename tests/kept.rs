//! Facts about a source that a store has survive `convert`, `export` and back, and `merge`, or a note says that they
//! are lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    formats::{of, time_tags},
    support::{Output, command, output},
};

/// Asserts the live time and the names of the recording of [`time_tags`]: 100 µs without 20 and 10.
fn is_whole(args: &str, path: &Path) {
    assert_eq!(of(&format!("ingest -q {args}"), path).code, 0, "{}", path.display());
    let answer = of(&format!("rates -q {args}"), path).json();
    let live = answer["run"]["live_s"].as_f64().unwrap();
    assert!((live / 70e-6 - 1.0).abs() < 1e-9, "{}: {live}", path.display());
    assert_eq!(answer["run"]["tick"], "1000000/1", "{}", path.display());
    assert_eq!(answer["run"]["tick_assumed"], false);
    // 42 of the even microseconds on channel 1, 40 of the odd ones on the falling edge of input 2.
    for (row, (channel, name, count)) in
        [(1, None, 42), (1_002, Some("falling2"), 40)].into_iter().enumerate()
    {
        let channel_of = &answer["run"]["channels"][row];
        assert_eq!(
            (&channel_of["channel"], &channel_of["count"]),
            (&channel.into(), &count.into())
        );
        assert_eq!(channel_of["name"].as_str(), name, "{answer}");
    }
}

fn recorded(folder: &Path) -> PathBuf {
    let path = folder.join("run.swabian");
    fs::write(&path, time_tags()).unwrap();
    // The names of a format that is named are those of the store.
    assert_eq!(of("ingest -q --source-format swabian", &path).code, 0);
    is_whole("--source-format swabian", &path);
    path
}

fn derive(words: &str, from: &Path, out: &Path) -> Output {
    let made = output(command().args(words.split_whitespace()).arg(from).args(["-o"]).arg(out));
    assert_eq!(made.code, 0, "{}", made.stderr);
    made
}

fn convert(from: &Path, out: &Path, args: &[&str]) -> Output {
    let made = output(command().arg("convert").args(args).arg(from).arg(out));
    assert_eq!(made.code, 0, "{}", made.stderr);
    made
}

#[test]
fn dead_time_tick_and_names_survive_conversion_and_export() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let path = recorded(folder.path());
    let format = ["--source-format", "swabian"];
    convert(&path, &here("a.swabian"), &format);
    is_whole("--source-format swabian", &here("a.swabian"));
    convert(&here("run.swabian.tagq"), &here("b.swabian.gz"), &[]);
    is_whole("--source-format swabian", &here("b.swabian.gz"));
    for (name, run_file) in [("c.tags.zst", "c.json"), ("d.csv", "d.json"), ("e.tsv.gz", "e.json")]
    {
        let made = convert(&path, &here(name), &format);
        assert!(made.stderr.contains(run_file), "{}", made.stderr);
        let held = "holds the tick, the names of channels and the dead time for";
        assert!(made.stderr.contains(held), "{}", made.stderr);
        assert!(made.stderr.contains("--tick 1ps"), "{}", made.stderr);
        assert!(!made.stderr.contains("does not hold"), "{}", made.stderr);
        is_whole("", &here(name));
        // And back.
        let back = here(&format!("{name}.swabian"));
        convert(&here(name), &back, &[]);
        is_whole("--source-format swabian", &back);
    }
    for name in ["f.arrow", "g.parquet", "h.csv"] {
        derive("export", &path, &here(name));
        is_whole("", &here(name));
    }
    let printed = convert(&path, Path::new("-"), &format);
    let lost = "text does not hold the tick, the names of channels and the dead time of";
    assert!(printed.stderr.contains(lost), "{}", printed.stderr);
}

#[test]
fn a_run_file_counts_for_its_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let path = recorded(folder.path());
    fs::write(here("night.json"), r#"{"description": "of a recorder"}"#).unwrap();
    let made = convert(&path, &here("night.tags"), &["--source-format", "swabian"]);
    let lost = "does not hold the tick, the names of channels and the dead time of";
    assert!(made.stderr.contains(lost) && made.stderr.contains("--tick 1ps"), "{}", made.stderr);
    assert_eq!(
        fs::read_to_string(here("night.json")).unwrap(),
        r#"{"description": "of a recorder"}"#
    );
    // A file that took the name of another one is not described by its run file.
    convert(&path, &here("day.tags"), &["--source-format", "swabian"]);
    let bytes = fs::read(here("day.tags")).unwrap();
    fs::write(here("day.tags"), [bytes.clone(), bytes].concat()).unwrap();
    let answer = of("info --fast --format json", &here("day.tags")).json();
    assert_eq!(answer["tick_assumed"], true, "{answer}");
    // One that is written again has nothing more to say.
    fs::write(here("x.tsv"), "1\t5\n").unwrap();
    fs::remove_file(here("day.tags")).unwrap();
    convert(&here("x.tsv"), &here("day.tags"), &[]);
    let answer = of("info --fast --format json --store", &here("y.tagq"));
    assert_ne!(answer.code, 0);
    assert!(!fs::read_to_string(here("day.json")).unwrap().contains("dead"));
}

/// The second recording begins 15 µs after the first. Nothing was recorded by one of them from 10 to 45, 90 to 100
/// and 105 to 115 µs: 60 of 115 µs are left.
#[test]
fn dead_time_survives_a_merge() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("both.tagq");
    recorded(folder.path());
    let store = folder.path().join("run.swabian.tagq");
    let merged = output(
        command()
            .args(["merge", "--offset", "15us", "--channels-b", "+2000", "-o"])
            .arg(&out)
            .args([&store, &store]),
    );
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    // 30 to 44 µs of the first, and 15 to 25 and 91 to 99 µs of the second.
    for words in ["15 tags of run 1 are left out", "20 tags of run 2 are left out"] {
        assert!(merged.stderr.contains(words), "{}", merged.stderr);
    }
    let answer = of("rates -q", &out).json();
    let live = answer["run"]["live_s"].as_f64().unwrap();
    assert!((live / 60e-6 - 1.0).abs() < 1e-9, "{live}");
    assert_eq!(answer["run"]["tags"], 2 * 82 - 35);
    // Both at once: of the tags from 91 to 99 µs, which came after an overflow without an end, none is left.
    let same = folder.path().join("same.tagq");
    let merged = output(
        command().args(["merge", "--channels-b", "+2000", "-o"]).arg(&same).args([&store, &store]),
    );
    assert!(merged.stderr.contains("9 tags of run 1 are left out"), "{}", merged.stderr);
    let answer = of("rates -q", &same).json();
    let live = answer["run"]["live_s"].as_f64().unwrap();
    assert!((live / 70e-6 - 1.0).abs() < 1e-9, "{live}");
}
