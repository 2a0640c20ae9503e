//! `tagq export`, and answers written to files.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::support::{Output, cat, command, fixture_copy, full_disk, output};

fn export(run: &Path, args: &[&str]) -> Output {
    output(command().arg("export").arg(run).args(args))
}

/// Returns the lines of an exported text, without its header.
fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn tags_are_exported_as_they_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = cat(&run);
    let first = expected[0].0;
    let out = folder.path().join("all.csv");
    let made = export(&run, &["-o", shown(&out)]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(
        made.stderr.contains("tags of") && made.stderr.contains("tick 156.25 ps"),
        "{}",
        made.stderr
    );
    let all: Vec<String> = expected.iter().map(|(t, c)| format!("{t},{c}")).collect();
    assert!(lines(&out) == all);
    // An exported file is a source like any other.
    assert!(cat(&out) == expected);

    // 1 ms are 6,400,000 ticks.
    let part = folder.path().join("part.tsv");
    let words =
        ["--channels", "2", "--from", "1ms", "--to", "3ms", "--time-unit", "ns", "-q", "-o"];
    assert_eq!(export(&run, &[&words[..], &[shown(&part)]].concat()).code, 0);
    let within = |t: i64| (6_400_000..19_200_000).contains(&(t - first));
    let picked: Vec<String> = expected
        .iter()
        .filter(|&&(t, c)| c == 2 && within(t))
        .map(|(t, c)| format!("{t}\t{c}\t{}", (t - first) as f64 * 0.156_25))
        .collect();
    assert!(picked.len() > 10 && lines(&part) == picked);
    assert!(fs::read_to_string(&part).unwrap().starts_with("time\tchannel\ttime_ns\n"));

    let printed = export(&run, &["--format", "csv", "--last", "1ms"]);
    let last = expected[expected.len() - 1].0;
    let count = expected.iter().filter(|(t, _)| last - t <= 6_400_000).count();
    assert_eq!(printed.text().lines().count(), count + 1);
    // Also from a pipe, whose store is removed before its tags are written.
    let mut cat = command().arg("cat").arg(&run).stdout(Stdio::piped()).spawn().unwrap();
    let piped = command()
        .args(["export", "-", "-q", "--format", "csv", "--tick", "156.25ps"])
        .stdin(cat.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(cat.wait().unwrap().success());
    assert!(piped.stdout == fs::read(&out).unwrap());
}

/// The first and last bytes of each format. The content is read by the tests of the crate, and by other
/// programs in the tests of the Python package.
#[test]
fn the_name_of_a_file_says_its_form() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let here = |name: &str| folder.path().join(name);
    let forms: [(&str, &[u8], &[u8]); 2] =
        [("a.arrow", b"ARROW1", b"ARROW1"), ("a.parquet", b"PAR1", b"PAR1")];
    for (name, begins, ends) in forms {
        let list = ["coincidences", "--list", "--window", "2ns"];
        for args in [&["export"][..], &["rates"], &list, &["coincidences", "--window", "2ns"]] {
            let made =
                output(command().args(args).arg(&run).args(["--force", "-o"]).arg(here(name)));
            assert_eq!(made.code, 0, "{}", made.stderr);
            assert!(made.stdout.is_empty());
            let bytes = fs::read(here(name)).unwrap();
            assert!(bytes.starts_with(begins) && bytes.ends_with(ends), "{name} {args:?}");
        }
    }
    let stream = export(&run, &["-q"]).stdout;
    assert!(stream.starts_with(&[0xff; 4]) && stream.len() > 9 * 18_000);
    for (name, format) in [("a.txt", "table"), ("a.json", "json"), ("a.csv", "csv")] {
        let made = output(command().arg("rates").arg(&run).arg("-o").arg(here(name)));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let printed = output(command().arg("rates").arg(&run).args(["--format", format]));
        assert!(fs::read(here(name)).unwrap() == printed.stdout, "{name}");
        let info = output(command().arg("info").arg(&run).args(["--force", "-o"]).arg(here(name)));
        assert_eq!(info.code, 0, "{}", info.stderr);
    }
}

#[test]
#[cfg_attr(windows, ignore = "a device")]
fn what_cannot_be_written_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let here = |name: &str| folder.path().join(name);
    fs::write(here("there.arrow"), "mine").unwrap();
    fs::create_dir(here("folder.csv")).unwrap();
    let inside = run.join("rates.csv");
    let refused = |args: &[&str], out: &PathBuf, code: i32, word: &str| {
        let refused = output(command().args(args).arg(&run).arg("-o").arg(out));
        assert_eq!(refused.code, code, "{}", refused.stderr);
        assert!(refused.stderr.contains(word), "no `{word}` in {}", refused.stderr);
        assert!(!run.join(".tagq").exists(), "{args:?}");
    };
    for command in ["export", "rates", "info"] {
        refused(&[command], &here("there.arrow"), 1, "--force");
        refused(&[command, "--force"], &here("folder.csv"), 1, "is there already");
        refused(&[command], &here("out.xyz"), 2, "--format");
        refused(&[command], &inside, 1, "would be one of its sources");
    }
    refused(&["export", "--channels", "nobody"], &here("out.csv"), 2, "no channel is called");
    refused(&["export", "--time-unit", "min"], &here("out.csv"), 2, "ps, ns, us, ms, s");
    let info = output(command().arg("info").arg(&run).arg("-o").arg(here("info.arrow")));
    assert_eq!((info.code, here("info.arrow").exists()), (2, false), "{}", info.stderr);
    if let Some(full) = full_disk() {
        let refused = command().arg("export").arg(&run).stdout(full).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(String::from_utf8(refused.stderr).unwrap().contains("No space left"));
    }
    // A closed pipe is not an error.
    let mut child = command().arg("export").arg(&run).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(here("there.arrow")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    // A file inside the run's folder is allowed if it is not a source.
    assert_eq!(export(&run, &["-q", "-o", shown(&run.join("all.parquet"))]).code, 0);
}

#[test]
fn floats_that_lose_a_tick_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    // Tags 2^60 ticks of 1 ps apart: in nanoseconds 2^60 + 1 and 2^60 + 2 are the same float.
    let text = format!("1\t0\n1\t{}\n1\t{}\n", (1_i64 << 60) + 1, (1_i64 << 60) + 2);
    let run = folder.path().join("long.tsv");
    fs::write(&run, text).unwrap();
    let made = export(&run, &["--tick", "1ps", "--time-unit", "ns", "--format", "csv"]);
    assert_eq!(made.code, 0);
    assert!(
        made.stderr.contains("of 3 floats in time_ns do not say which tick"),
        "{}",
        made.stderr
    );
    assert!(made.text().contains(&format!("\n{},1,", (1_i64 << 60) + 1)));
    let short = export(&run, &["--time-unit", "ns", "--format", "csv", "--to", "1ns"]);
    assert!(!short.stderr.contains("do not say"), "{}", short.stderr);
}

#[test]
fn a_text_of_tags_is_read_again_with_its_tick() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let out = folder.path().join("part.csv");
    let said = export(&run, &["--channels", "1", "-o", shown(&out)]);
    assert!(said.stderr.contains("part.json holds the tick"), "{}", said.stderr);
    let rates = |run: &Path| {
        let words = ["rates", "--channels", "1", "--format", "json"];
        output(command().args(words).arg(run)).json()["rows"][0]["count"].clone()
    };
    assert_eq!(rates(&out), rates(&run));
}

#[test]
fn channels_have_the_names_of_the_setup() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::write(folder.path().join("named.toml"), "[channels]\n1 = 'Alice'\n3 = 'Bob'\n").unwrap();
    let setup = folder.path().join("named.toml");
    let out = folder.path().join("part.tags.zst");
    let made = export(&run, &["--setup", shown(&setup), "-o", shown(&out)]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stderr.contains("the names of channels"), "{}", made.stderr);
    let asked = output(command().args(["rates", "--no-setup", "--format", "csv"]).arg(&out));
    assert!(asked.text().contains("Alice") && asked.text().contains("Bob"), "{}", asked.text());
}
