//! User errors: the exit code, the message, and that no files are left.

use std::{fs, path::Path};

use crate::support::{command, fixture_copy, output, root, store_file, tagq};

/// Runs `coincidences ARGS RUN`, which must fail with this code and these words, and create nothing.
fn refused(args: &[&str], run: &Path, code: i32, words: &[&str]) {
    let before = names_around(run);
    let refused = output(command().arg("coincidences").args(args).arg(run));
    assert_eq!(refused.code, code, "{args:?} {}: {}", run.display(), refused.stderr);
    assert!(refused.stdout.is_empty());
    for word in words {
        assert!(refused.stderr.contains(word), "{args:?}: no `{word}` in: {}", refused.stderr);
    }
    assert_eq!(names_around(run), before, "{args:?} left files");
}

fn names_around(path: &Path) -> Vec<String> {
    let folder = path.parent().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn command_lines_that_mean_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    refused(&["--window", "2"], &run, 2, &["no unit", "2ns", "2t"]);
    refused(&["--window", "2 parsecs"], &run, 2, &["parsecs", "ns us"]);
    refused(&["--window", "-2ns"], &run, 2, &["-2ns", "negative"]);
    refused(&["--window", "100ps"], &run, 2, &["156.25 ps", "156.25ps (1t)"]);
    refused(&["--window", "2ns", "--group", "3,3"], &run, 2, &["names channel 3 twice"]);
    refused(&["--window", "2ns", "--group", "3"], &run, 2, &["2 to 16"]);
    refused(
        &["--window", "2ns", "--group", "3,x"],
        &run,
        2,
        &["no channel is called `x`", "tagq.toml"],
    );
    refused(&["--window", "2ns", "--group", "3,65536"], &run, 2, &["65535"]);
    refused(&["--window", "2ns", "--delay", "3"], &run, 2, &["15=-4.0625ns"]);
    refused(&["--window", "2ns", "--delay", "1=1ns", "--delay", "1=2ns"], &run, 2, &["two delays"]);
    refused(&["--window", "2ns", "--delay", "1=9e9h"], &run, 2, &["9e9h"]);
    refused(&["--window", "2ns", "--delay", "1=-9223372036854775807t"], &run, 2, &["64-bit"]);
    refused(&["--window", "2ns", "--tick", "0ps"], &run, 2, &["longer than zero"]);
    refused(&[], &run, 2, &["--window"]);
}

#[test]
fn a_channel_without_tags_is_a_row_of_zeros_and_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let args = ["coincidences", "--window", "2ns", "--group", "3,99"];
    let answer = output(command().args(args).arg(&run));
    let json = answer.json();
    assert_eq!(json["rows"][0]["count"], 0);
    assert_eq!(json["rows"][0]["singles"][1], 0);
    assert!(json["rows"][0]["car"].is_null());
    assert!(answer.stderr.contains("channel 99 has no tags"), "{}", answer.stderr);
    assert!(answer.stderr.contains("nearest first: 4, 3, 2, 1"), "{}", answer.stderr);
    let quiet = output(command().args(args).arg("--quiet").arg(&run));
    assert_eq!(quiet.stderr, "");
}

#[test]
fn paths_that_are_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let window = &["--window", "2ns"][..];
    refused(window, &here("none"), 1, &["none", "no such file"]);
    fs::create_dir(here("empty")).unwrap();
    refused(window, &here("empty"), 1, &["no tags in this folder", "tagq formats"]);
    fs::write(here("zip.tags.zst"), b"PK\x03\x04....").unwrap();
    refused(window, &here("zip.tags.zst"), 1, &["a ZIP archive", "unzip -p"]);
    let compressed = zstd::encode_all(&b"PK\x03\x04...."[..], 3).unwrap();
    fs::write(here("zip.zst"), compressed).unwrap();
    refused(window, &here("zip.zst"), 1, &["a ZIP archive in Zstandard frames"]);
    fs::write(here("short.tags"), [0, 0]).unwrap();
    let fixture = fs::read(root().join("data/fixtures/pairs/1.tags.zst")).unwrap();
    let mut garbage = fixture.clone();
    garbage.extend_from_slice(b"garbage");
    fs::write(here("garbage.tags.zst"), &garbage).unwrap();
    let place = format!("byte {}", fixture.len());
    refused(window, &here("garbage.tags.zst"), 3, &[&place, "head -c"]);
    refused(&["--window", "2ns", "--no-ingest"], &here("garbage.tags.zst"), 1, &["--no-ingest"]);
    #[cfg(unix)]
    refused(window, Path::new("/dev/null"), 1, &["a device or pipe"]);
}

#[test]
fn damage_in_the_middle_leaves_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.tags.zst");
    // A changed value can be detected only in a frame with a checksum.
    let made = tagq(["simulate", "--checksum", "--duration", "100ms", path.to_str().unwrap()]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 40] {
        *byte = !*byte;
    }
    fs::write(&path, &bytes).unwrap();
    for _ in 0..2 {
        let refused = tagq(["coincidences", "--window", "2ns", path.to_str().unwrap()]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("damaged.tags.zst"), "{}", refused.stderr);
        assert!(!folder.path().join("damaged.tags.zst.tagq").exists());
    }
}

#[test]
fn a_damaged_store_is_exit_3_and_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    assert_eq!(output(command().arg("ingest").arg(&run)).code, 0);
    for key in ["gap", "far", "steps", "channel"] {
        let file = store_file(&run.join(".tagq"), key);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 8]).unwrap();
        let refused = output(command().args(["coincidences", "--window", "2ns"]).arg(&run));
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(refused.stderr.contains(name), "{}", refused.stderr);
        fs::write(&file, &bytes).unwrap();
    }
}

#[test]
fn words_of_files_are_not_taken_for_options() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::write(run.join("tagq.toml"), "[delay]\n1 = '1ns'\n").unwrap();
    let said = output(command().args(["rates", "--no-cache"]).arg(&run)).stderr;
    for word in ["unknown field `delay`", "`tick`, `channels`, `delays`, `groups`"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    fs::remove_file(run.join("tagq.toml")).unwrap();
    let table = folder.path().join("table.csv");
    fs::write(&table, "range,channels\n1,1\n").unwrap();
    let said = output(command().args(["rates", "--columns", "time=t"]).arg(&table)).stderr;
    assert!(said.contains("`range`") && said.contains("`channels`"), "{said}");
    refused(&["--window", "2ns", "--group", "1,range"], &run, 2, &["is called `range`"]);
    // Texts of requests name options as arguments.
    refused(&["--window", "2ns", "--full-width", "2ns"], &run, 2, &["--full-width"]);
    refused(&["--window", "2ns", "--guard", "2ns"], &run, 2, &["--guard"]);
}
