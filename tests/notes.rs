//! Notes on queries whose answer can hardly be what the user wants.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Output, coincidences, command, output};

fn ask(args: &str, runs: &[&Path]) -> Output {
    let asked = output(command().args(args.split_whitespace()).args(runs));
    assert_eq!(asked.code, 0, "{args}: {}", asked.stderr);
    asked
}

/// Writes tags as text, sorted by time, with a tick of 156.25 ps.
fn run_of(folder: &Path, name: &str, mut tags: Vec<(i64, u16)>) -> PathBuf {
    tags.sort_unstable();
    let text = tags.iter().fold(String::new(), |mut text, (time, channel)| {
        let _ = writeln!(text, "{channel}\t{time}");
        text
    });
    fs::write(folder.join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    let run = folder.join(name);
    fs::write(&run, text).unwrap();
    run
}

/// Returns random numbers between 0 and 1.
fn random(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / 2_f64.powi(53)
    }
}

/// Returns tags of channel 1 at least 100 ticks apart, on average 1,000, and of channel 2 `after` ticks after each.
fn pairs(seed: u64, after: i64) -> Vec<(i64, u16)> {
    let mut random = random(seed);
    let mut time = 0;
    let pair = |_| {
        #[expect(clippy::cast_possible_truncation, reason = "below 2^16")]
        let gap = 100 + (-random().ln() * 900.0) as i64;
        time += gap;
        [(time, 1), (time + after, 2)]
    };
    (0..20_000).flat_map(pair).collect()
}

#[test]
fn options_that_leave_the_run_have_a_note() {
    let folder = tempfile::tempdir().unwrap();
    // 6,400,000 ticks of 156.25 ps are 1 ms.
    let tags = (0..=100).flat_map(|n| [(n * 64_000, 1), (n * 63_999 + 1, 2)]).collect();
    let run = run_of(folder.path(), "run.tsv", tags);
    for (args, note) in [
        ("--window 2ns", None),
        // The full width is 2 · 512 µs.
        ("--window 512us", Some("window, 1.024")),
        ("--window 499us", None),
        (
            "--window 2ns --delay 2=5s",
            Some("the delay of channel 2, 32000000000 ticks = 5 s, is longer"),
        ),
        ("--window 2ns --delay 2=-999us", None),
        (
            "--window 2ns --from 10s",
            Some("the selection starts at 10 s, and the run ends 1 ms after"),
        ),
        ("--window 2ns --from 1ms --to 2ms", None),
        ("--window 2ns --to 0s", Some("the selection ends before the first tag")),
        (
            "--window 2ns --from 2us --to 1us",
            Some("the end of the selection is not after its start"),
        ),
        (
            "--window 2ns --live-time 0.5ms",
            Some("--live-time 0.0005s is shorter than the recorded time, 1 ms"),
        ),
        ("--window 2ns --live-time 1ms", None),
    ] {
        let said = ask(&format!("coincidences --group 1,2 {args}"), &[&run]).stderr;
        let about = ["longer", "selected", "shorter"].iter().any(|word| said.contains(word));
        assert_eq!(about, note.is_some(), "{args}: {said}");
        assert!(said.contains(note.unwrap_or("")), "{args}: {said}");
    }
    let said = ask("rates --live-time 0.5ms", &[&run]).stderr;
    assert!(said.contains("--live-time 0.0005s is shorter"), "{said}");
}

#[test]
fn a_sum_that_counts_tags_twice_has_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), "run.tsv", pairs(1, 26));
    let copy = folder.path().join("copy.tsv");
    fs::copy(&run, &copy).unwrap();
    let other = run_of(folder.path(), "other.tsv", pairs(2, 26));
    let said = |second: &Path| ask("rates --sum", &[&run, second]).stderr;
    for twice in [&run, &copy] {
        assert!(said(twice).contains("its tags are counted twice"), "{}", said(twice));
    }
    assert!(!said(&other).contains("twice"), "{}", said(&other));
    // Without a sum each run is counted for itself.
    let each = ask("rates", &[&run, &copy]).stderr;
    assert!(!each.contains("twice"), "{each}");
}

#[test]
fn a_count_far_below_its_accidentals_says_where_the_peak_is() {
    let folder = tempfile::tempdir().unwrap();
    // No tags of both channels are within 12 ticks: the next tag of channel 1 is at least 74 ticks after one of
    // channel 2. By chance there are 20,000² · 25 ticks over 20,000 · 1,000 ticks, about 500.
    for (after, said) in [
        (26, "2 about 4.0625 ns after 1: try --delay 2=-4.0625ns"),
        (-26, "2 about 4.0625 ns before 1: try --delay 2=4.0625ns"),
    ] {
        let run = run_of(folder.path(), &format!("run{after}.tsv"), pairs(3, after));
        let asked = ask("coincidences --window 12t --group 1,2", &[&run]);
        assert_eq!(asked.json()["rows"][0]["count"], 0);
        assert!(asked.stderr.contains(said), "{}", asked.stderr);
        // The delay counts all pairs.
        let delay = asked.stderr.split("--delay ").nth(1).unwrap().split(',').next().unwrap();
        let found = ask(&format!("coincidences --window 2t --group 1,2 --delay {delay}"), &[&run]);
        assert_eq!(found.json()["rows"][0]["count"], 20_000);
        assert!(!found.stderr.contains("expected by chance"), "{}", found.stderr);
    }
    // A pair without a peak has no delay to try.
    let alone = |seed| pairs(seed, 0).into_iter().filter(|tag| tag.1 == 1).map(|tag| tag.0);
    let tags = alone(4).map(|time| (time, 1)).chain(alone(5).map(|time| (time, 2))).collect();
    let run = run_of(folder.path(), "independent.tsv", tags);
    let asked = ask("coincidences --window 12t --group 1,2", &[&run]);
    assert!(!asked.stderr.contains("expected by chance"), "{}", asked.stderr);
}

#[test]
fn markers_and_sync_are_in_no_pair_unless_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let ptu = |name: &str, tags: Vec<(i64, u16)>| {
        let text = run_of(folder.path(), &format!("{name}.tsv"), tags);
        let path = folder.path().join(format!("{name}.ptu"));
        let made = output(command().arg("convert").args(["--tick", "1ps"]).args([&text, &path]));
        assert_eq!(made.code, 0, "{}", made.stderr);
        path
    };
    // Channel 0 is the sync, 101 is marker1.
    let tags = vec![(1_000, 1), (1_002, 0), (1_005, 101), (1_010, 2), (5_000, 1), (5_013, 2)];
    let run = ptu("three", tags);
    let pairs = |args: &str, run: &Path| {
        let asked = ask(&format!("coincidences --window 20t --no-setup {args}"), &[run]);
        let rows = asked.json()["rows"].as_array().unwrap().clone();
        (rows.iter().map(|row| row["channels"].to_string()).collect::<Vec<_>>(), asked.stderr)
    };
    let (rows, said) = pairs("", &run);
    assert_eq!(rows, ["[1,2]"], "{said}");
    assert!(said.contains("not counted without being named: marker1, sync"), "{said}");
    assert_eq!(pairs("--choose 2", &run).0, ["[1,2]"]);
    assert_eq!(pairs("--delay sync=5t", &run).0, ["[0,1]", "[0,2]", "[1,2]"]);
    for (args, rows) in [
        ("--channels 0,1", &["[0,1]"][..]),
        ("--group 1,101", &["[1,101]"]),
        ("--channels sync,1,marker1", &["[0,1]", "[0,101]", "[1,101]"]),
    ] {
        let (found, said) = pairs(args, &run);
        assert!(found == rows && !said.contains("without being named"), "{args}: {found:?} {said}");
    }
    // A sync input with one other detector is a detector itself.
    let two = ptu("two", vec![(1_000, 1), (1_002, 0), (1_005, 101), (5_000, 1), (5_013, 0)]);
    assert_eq!(pairs("", &two).0, ["[0,1]"]);
}

/// Rates that double over the run give 1 + 1/27 times the pairs by chance of steady light: the mean of (2/3 + 2/3·u)²
/// over u from 0 to 1 is 4/9 · 7/3.
#[test]
fn light_that_drifts_has_a_note_beside_accidentals_by_formula() {
    let folder = tempfile::tempdir().unwrap();
    let light = |seed: u64, drifts: bool| {
        let mut random = random(seed);
        let mut tags = Vec::new();
        let mut time = 0.0;
        while time < 2e8 {
            let rate = if drifts { (2.0 + 2.0 * time / 2e8) / 3.0 } else { 1.0 };
            time -= random().ln() * 500.0 / rate;
            #[expect(clippy::cast_possible_truncation, reason = "a time")]
            tags.push((time as i64, if random() < 0.5 { 1 } else { 2 }));
        }
        tags
    };
    for (name, drifts) in [("drift.tsv", true), ("steady.tsv", false)] {
        let run = run_of(folder.path(), name, light(6, drifts));
        let asked = ask("coincidences --window 100t --group 1,2", &[&run]);
        let has_note = asked.stderr.contains("the light is not steady");
        assert_eq!(has_note, drifts, "{name}: {}", asked.stderr);
        if drifts {
            let percent = asked.stderr.split("about ").nth(1).unwrap().split(" %").next().unwrap();
            let percent: f64 = percent.parse().unwrap();
            assert!((percent - 100.0 / 27.0).abs() < 1.0, "{}", asked.stderr);
            assert!(asked.stderr.contains("--accidentals shifted"), "{}", asked.stderr);
            let shifted = coincidences("--window 100t --group 1,2 --accidentals shifted", &run);
            let row = &shifted["rows"][0];
            let [car, err] = ["car", "car_err"].map(|key| row[key].as_f64().unwrap());
            assert!(car.abs() < 4.0 * err, "{row}");
            let shifted =
                ask("coincidences --window 100t --group 1,2 --accidentals shifted", &[&run]);
            assert!(!shifted.stderr.contains("not steady"), "{}", shifted.stderr);
        }
    }
}

/// The options that a note gives, from the first of them to the end of the note.
fn options_of(note: &str, first: &str) -> String {
    let at = note.find(first).unwrap_or_else(|| panic!("{first}: {note}"));
    note[at..].lines().next().unwrap().to_owned()
}

/// A shift by a period would count the true pairs where they are outside of the window.
#[test]
fn pulsed_pairs_are_moved_before_accidentals_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let made = "simulate -q --rate 2MHz --efficiency 0.3 --dark 50kHz --jitter 100ps --pulsed 12.5ns --delay 2=11.9ns \
                --duration 200ms p.tags.zst";
    let made = output(command().args(made.split_whitespace()).current_dir(folder.path()));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let run = folder.path().join("p.tags.zst");
    let query = "coincidences 1,2 --window 2ns --format json";
    let said = ask(query, &[&run]).stderr;
    assert!(said.contains("its pairs are 11.87"), "{said}");
    let answer = ask(&format!("{query} {}", options_of(&said, "--delay 2=")), &[&run]);
    assert_eq!(answer.stderr, "");
    let row = &answer.json()["rows"][0];
    let [count, car] = ["count", "car"].map(|key| row[key].as_f64().unwrap());
    // 0.3² of 400,000 pairs, beside those of 25 ns of singles.
    assert!((count - 36_000.0).abs() < 2_500.0 && car > 3.0, "{row}");
}

#[test]
fn a_window_of_times_in_steps_is_as_wide_as_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    // Steps of 8 ticks. A window of 2 of them holds 5, but is 4 wide.
    let mut random = random(5);
    #[expect(clippy::cast_possible_truncation, reason = "a time")]
    let tags = (0..200_000)
        .map(|_| ((random() * 4e7) as i64 * 8, 1 + u16::from(random() < 0.5)))
        .collect();
    let run = run_of(folder.path(), "steps.tsv", tags);
    let said = ask("coincidences 1,2 --window 16t", &[&run]).stderr;
    assert!(said.contains("in steps of 1.25 ns, and the window holds 5"), "{said}");
    let told = said.split("--window ").nth(1).unwrap().split(' ').next().unwrap();
    let before = coincidences("--group 1,2 --window 16t", &run)["rows"][0].clone();
    let answer = ask(&format!("coincidences 1,2 --format json --window {told}"), &[&run]);
    assert_eq!(answer.stderr, "", "{told}");
    let row = &answer.json()["rows"][0];
    assert_eq!(row["count"], before["count"], "{told}");
    let pull =
        |row: &serde_json::Value| row["car"].as_f64().unwrap() / row["car_err"].as_f64().unwrap();
    assert!(pull(row).abs() < 4.0 && pull(&before) > 6.0, "{row} {before}");
    // They are no pulses, either.
    let said = ask("delays 1,2", &[&run]);
    assert!(said.stderr.contains("in steps of 1.25 ns"), "{}", said.stderr);
    assert!(said.json()["rows"][0]["comb_s"].is_null(), "{}", said.text());
    let bins = ask("g2 1,2", &[&run]).json()["query"]["bin_ticks"].as_i64().unwrap();
    assert_eq!(bins % 8, 0, "{bins}");
}

#[test]
fn one_thing_is_not_said_in_the_plural() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), "run.tsv", vec![(5, 1)]);
    let said = ask("ingest", &[&run]).stderr;
    assert!(said.contains("1 tag of 1 source in"), "{said}");
    let cut = folder.path().join("cut.tags.zst");
    let made = output(command().arg("convert").args(["--tick", "1ps"]).args([&run, &cut]));
    assert!(made.stderr.contains("1 tag of"), "{}", made.stderr);
}

#[test]
fn a_reader_gets_few_digits_of_a_tick() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), "run.tsv", pairs(7, 3));
    fs::remove_file(folder.path().join("tagq.toml")).unwrap();
    let asked =
        |format: &str| ask(&format!("rates --tick 9696969697/100as --format {format}"), &[&run]);
    let (table, csv, json) = (asked("table"), asked("csv"), asked("json"));
    for text in [table.text(), csv.text()] {
        assert!(text.contains("tick 96.97 ps") && !text.contains("/100"), "{text}");
    }
    assert_eq!(json.json()["run"]["tick"], "9696969697/100");
    // A command to paste has all digits.
    let other = ask("rates --tick 9696969698/100as", &[&run]).stderr;
    assert!(other.contains("4848484849/50 as in place of 9696969697/100 as"), "{other}");
    assert!(other.contains("tagq set --tick 4848484849/50as"), "{other}");
}

/// `first_tick` and `delay_s` of a bin are not the same delay.
#[test]
fn names_of_columns_that_can_be_misread_are_explained_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_of(folder.path(), "run.tsv", pairs(8, 3));
    for (args, said) in [
        ("histogram 1,2 --bin 4t --range 20t", "# delay_s: middle of the bin\n"),
        ("g2 1,2 --bin 4t --range 20t", "# delay_s: middle of the bin\n"),
        (
            "coincidences 1,2 --window 4t",
            "# car: (count - accidentals) / accidentals; below zero if",
        ),
        ("coincidences 1,2 --window 4t --list", "# time_1: time as recorded, in ticks\n"),
    ] {
        let asked = ask(&format!("{args} --format csv"), &[&run]);
        assert!(asked.text().contains(said), "{}", &asked.text()[..500]);
    }
}
