//! `tagq.toml`: options of queries, its first version by `tagq init`, and delays that are found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{command, fixture_copy, output, tagq};

fn ask(words: &str, run: &Path) -> Value {
    let words = words.split_whitespace().map(Into::into);
    tagq(words.chain(["--no-cache".into(), run.as_os_str().to_owned()])).json()
}

fn refused(words: &str, run: &Path, code: i32) -> String {
    let refused = output(command().args(words.split_whitespace()).arg(run));
    assert_eq!(refused.code, code, "{words}: {}", refused.stderr);
    refused.stderr
}

/// Simulates pairs whose second photon is 5 ns later.
fn delayed(folder: &Path) -> PathBuf {
    let run = folder.join("run.tags.zst");
    let light = "--duration 1s --rate 20kHz --dark 1kHz --jitter 300ps --delay 2=5ns";
    let made = output(command().arg("simulate").args(light.split_whitespace()).arg(&run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    run
}

#[test]
fn a_name_for_a_channel_without_tags_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let name = |words: &str| {
        let named = output(command().arg("name").arg(&run).args(words.split_whitespace()));
        assert_eq!(named.code, 0, "{}", named.stderr);
        named.stderr
    };
    // Without a store the channels are not known.
    assert!(!name("99=Foo").contains("no tags"));
    assert_eq!(tagq(["ingest".as_ref(), run.as_os_str()]).code, 0);
    let noted = name("1=Alice 98=Bar 99=");
    assert!(noted.contains("names written"), "{noted}");
    assert_eq!(noted.matches("no tags").count(), 1, "{noted}");
    assert!(noted.contains("channel Bar has no tags in "), "{noted}");
    assert!(noted.contains("those that have, the nearest first: "), "{noted}");
}

#[test]
fn options_of_the_setup_apply_where_none_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let written = "[coincidences]\nwindow = '2ns'\nveto = [3]\nguard = '1us'\n\
                   [g2]\nbin = '1ns'\nrange = '20ns'\n[rates]\nbin = '200ms'\n";
    fs::write(run.join("tagq.toml"), written).unwrap();
    // The words that are typed, and those that they stand for.
    for (typed, meant) in [
        ("coincidences 1,2", "coincidences 1,2 --window 2ns --veto 3 --guard 1us"),
        ("coincidences 1,2 --window 10ns", "coincidences 1,2 --window 10ns --veto 3 --guard 1us"),
        (
            "coincidences 1,2 --full-width 9ns --veto 4",
            "coincidences 1,2 --full-width 9ns --veto 4 --guard 1us",
        ),
        ("g2 1,2", "g2 1,2 --bin 1ns --range 20ns"),
        ("g2 1,2 --range 5ns", "g2 1,2 --bin 1ns --range 5ns"),
        ("rates", "rates --bin 200ms"),
        ("histogram 1,2 --range 9ns", "histogram 1,2 --range 9ns"),
    ] {
        let answer = ask(typed, &run);
        let same = ask(&format!("{meant} --no-setup"), &run);
        assert_eq!(answer["rows"], same["rows"], "{typed}");
        assert_eq!(answer["query"], same["query"], "{typed}");
        assert_eq!(answer["provenance"]["options"], same["provenance"]["options"], "{typed}");
        let read = |words: &str| ask(&format!("{words} --explain"), &run)["plan"].clone();
        assert_eq!(read(typed), read(&format!("{meant} --no-setup")), "{typed}");
    }
    let listed =
        |words: &str| output(command().args(words.split_whitespace()).arg(&run)).text().to_owned();
    let list = "coincidences 1,2 --list --format csv";
    assert_eq!(
        listed(list),
        listed(&format!("{list} --window 2ns --veto 3 --guard 1us --no-setup"))
    );
    // A plan has the options, too.
    let plan = folder.path().join("plan.json");
    let made = output(
        command().args(["plan", "coincidences", "1,2", "--parts", "2", "-o"]).args([&plan, &run]),
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let plan: Value = serde_json::from_slice(&fs::read(plan).unwrap()).unwrap();
    assert_eq!(plan["options"]["window"], "2ns", "{plan}");
}

#[test]
fn options_of_a_setup_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    for (text, part) in [
        ("[coincidense]\nwindow = '2ns'", "[coincidense] is no query; expected one of `tick`"),
        ("[g2]\nwindow = '2ns'", "[g2]: g2 has no option `window`"),
        ("[coincidences]\nwindow = 2", "[coincidences]: "),
        ("[coincidences]\nwindow = '2'", "[coincidences]: "),
        ("[coincidences]\nwindow = '2ns'\nfull_width = '4ns'", "excludes"),
        ("\nticks = '4ps'", "line 2: unknown field `ticks`"),
    ] {
        fs::write(run.join("tagq.toml"), text).unwrap();
        let said = refused("rates", &run, 2);
        assert!(said.contains("tagq.toml") && said.contains(part), "{text}: {said}");
    }
}

#[test]
fn delays_are_found_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = delayed(folder.path());
    let ticks = tagq(["delays".as_ref(), "1,2".as_ref(), run.as_os_str()]).json();
    let ticks = ticks["query"]["delays"][1]["ticks"].as_i64().unwrap();
    assert!((-34..=-30).contains(&ticks), "5 ns are 32 ticks: {ticks}");
    for words in
        ["coincidences 1,2 --window 2ns", "g2 1,2 --range 10ns", "histogram 1,2 --range 3ns"]
    {
        let found = ask(&format!("{words} --delay auto"), &run);
        let given = ask(&format!("{words} --delay 2={ticks}t"), &run);
        assert_eq!(found["rows"], given["rows"], "{words}");
        assert_eq!(found["header"], given["header"], "{words}");
        assert_eq!(found["provenance"]["options"]["delays"][0][0], 2, "{found}");
    }
    let said = output(command().args(["g2", "1,2", "--delay", "auto"]).arg(&run)).stderr;
    assert!(said.contains(&format!("delays found: 2 by {ticks} ticks = -")), "{said}");
    // Of every pair of the channels, only 1 and 2 have common photons, and 3 and 4, the second 64 ticks later.
    let pairs = fixture_copy(folder.path());
    let every = |words: &str| {
        let words = format!("coincidences --window 2ns --delay auto {words}");
        output(command().args(words.split_whitespace()).arg(&pairs))
    };
    let all = every("");
    assert!(all.stderr.contains("delays found: 4 by -64 ticks = -10 ns\n"), "{}", all.stderr);
    let given = ask("coincidences --window 2ns --delay 4=-64t", &pairs);
    assert_eq!(all.json()["rows"], given["rows"]);
    let three = every("--channels 1,2,3");
    assert!(three.stderr.contains("delays found: no clear peak of 3\n"), "{}", three.stderr);
    // A channel that the selection names is moved as any other.
    let of_selection = every("--channels 3,4");
    assert_eq!(
        of_selection.json()["rows"],
        ask("coincidences 3,4 --window 2ns --delay 4=-64t", &pairs)["rows"]
    );
    let alone = every("--channels 1,3");
    assert!(alone.code == 2 && alone.stderr.contains("no clear peak connects"), "{}", alone.stderr);
    // A given delay stays, and a run without a peak has none.
    let both = ask("coincidences 1,2 --window 2ns --delay auto --delay 2=0t", &run);
    assert_eq!(both["rows"], ask("coincidences 1,2 --window 2ns", &run)["rows"]);
    let rates = refused("rates --delay auto", &run, 2);
    assert!(rates.contains("coincidences, histograms and g2"), "{rates}");
    let dark = folder.path().join("dark.tags.zst");
    let words = "simulate --coherent --rate 100kHz --duration 1s";
    assert_eq!(output(command().args(words.split_whitespace()).arg(&dark)).code, 0);
    let none = refused("g2 1,2 --delay auto", &dark, 2);
    assert!(none.contains("no clear peak connects the channels 1 and 2"), "{none}");
}

#[test]
fn a_first_setup_has_what_the_run_contains() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    assert_eq!(output(command().arg("init").arg(&run)).code, 0);
    let path = run.join("tagq.toml");
    let text = fs::read_to_string(&path).unwrap();
    for line in ["tick = \"156.25ps\" # assumed: check it", "[channels]", "# 1 = \"Detector-1\" # "]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    // Every line is one that a setup can have.
    assert!(ask("rates", &run)["rows"].as_array().is_some_and(|rows| rows.len() == 4));
    let is_key = |line: &str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let active = |line| match str::strip_prefix(line, "# ") {
        Some(example) if example.starts_with('[') || is_key(example) => example,
        _ => line,
    };
    let active = text.lines().map(active).collect::<Vec<_>>().join("\n");
    fs::write(&path, &active).unwrap();
    let answer = ask("coincidences", &run);
    assert_eq!(answer["query"]["window_asked"], "2ns", "{active}");
    assert_eq!(answer["rows"][0]["names"][0], "Detector-1", "{active}");
    let said = refused("init", &run, 1);
    assert!(said.contains("tagq.toml") && said.contains("--force"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), active);
    assert_eq!(output(command().args(["init", "--force"]).arg(&run)).code, 0);
    // The tick is given now.
    let given = text.replace("tick = \"156.25ps\" # assumed: check it", "# tick = \"156.25ps\"");
    assert_eq!(fs::read_to_string(&path).unwrap(), given);
}
