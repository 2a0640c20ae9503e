//! `tagq derive`: channels made from channels, and gates.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{command, output};

/// Makes a run of two pairs of channels with dark counts, in two files.
fn recorded(folder: &Path) -> PathBuf {
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    for (seed, start) in [("1", "0s"), ("2", "1s")] {
        let made = output(
            command()
                .args(["simulate", "-q", "--rate", "50kHz", "--channels", "1,2,3,4"])
                .args(["--efficiency", "0.6", "--dark", "2kHz", "--duration", "400ms"])
                .args(["--seed", seed, "--start", start])
                .arg(run.join(format!("{seed}.tags"))),
        );
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    run
}

fn derive(run: &Path, to: &str, args: &[&str]) -> PathBuf {
    let out = run.parent().unwrap().join(to);
    let made = output(command().args(["derive", "-q", "-o"]).arg(&out).arg(run).args(args));
    assert_eq!(made.code, 0, "{}", made.stderr);
    out
}

fn ask(args: &str, run: &Path) -> Value {
    let args = args.split_whitespace();
    output(command().args(args).arg(run).args(["-q", "--format", "json"])).json()
}

/// Returns the counts of channels, by name or number.
fn singles(run: &Path) -> Vec<(String, u64)> {
    let answer = ask("rates", run);
    let of = |row: &Value| {
        let name = row["name"].as_str().map_or_else(|| row["channel"].to_string(), str::to_owned);
        (name, row["count"].as_u64().unwrap())
    };
    answer["rows"].as_array().unwrap().iter().map(of).collect()
}

fn count_of(singles: &[(String, u64)], name: &str) -> u64 {
    singles.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count)
}

fn live(run: &Path) -> f64 {
    ask("rates", run)["run"]["live_s"].as_f64().unwrap()
}

#[test]
fn derived_channels_have_the_counts_that_queries_say() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path());
    let setup = r#"
[channels]
1 = "Alice"
[delays]
2 = "1ns"
[derived]
Pair = "Alice & 2 within 2ns"
Any = "Alice | 3"
"#;
    fs::write(run.join("tagq.toml"), setup).unwrap();
    let more = ["Tenth = 3 / 10", "Pairs = Pair | Any"];
    let out = derive(&run, "derived.tagq", &more);
    let (before, after) = (singles(&run), singles(&out));
    for channel in ["Alice", "2", "3", "4"] {
        assert_eq!(count_of(&before, channel), count_of(&after, channel), "{channel}");
    }
    let once = ask("coincidences 1,2 --window 2ns --rule once", &run)["rows"][0]["count"].as_u64();
    assert!(once.unwrap() > 10_000, "{once:?}");
    assert_eq!(Some(count_of(&after, "Pair")), once);
    assert_eq!(count_of(&after, "Any"), count_of(&before, "Alice") + count_of(&before, "3"));
    // Tags of the last 5 ns of each file are not decided.
    let near = ["With = 3 if 4 within 5ns", "Without = 3 unless 4 within 5ns"];
    let near = derive(&run, "near.tagq", &near);
    let [with, without, all] = ["With", "Without", "3"].map(|of| count_of(&singles(&near), of));
    assert!(with > 5_000 && without > 5_000 && with + without == all);
    assert!((count_of(&before, "3") - 2..=count_of(&before, "3")).contains(&all), "{all}");
    assert!((live(&run) - live(&near) - 2.0 * 5e-9).abs() < 1e-9, "{}", live(&near));
    assert_eq!(count_of(&after, "Pairs"), count_of(&after, "Pair") + count_of(&after, "Any"));
    // The divider begins to count in each file.
    assert_eq!(ask("rates", &out)["run"]["sources"], 2);
    let tenth = count_of(&before, "3").div_ceil(10);
    assert!((tenth..=tenth + 1).contains(&count_of(&after, "Tenth")), "{after:?}");
    assert_eq!(live(&run).to_bits(), live(&out).to_bits());
    // A histogram of a merged channel is the sum of those of its parts.
    let histogram = |start: &str, run: &Path| -> Vec<u64> {
        let answer = ask(&format!("histogram {start},4 --range 20ns --bin 1ns"), run);
        let rows = answer["rows"].as_array().unwrap().iter();
        rows.map(|row| row["count"].as_u64().unwrap()).collect()
    };
    let any = histogram("Any", &out);
    let sum = histogram("1", &run).into_iter().zip(histogram("3", &run)).map(|(a, b)| a + b);
    assert!(any.iter().sum::<u64>() > 5_000);
    assert_eq!(any, sum.collect::<Vec<_>>());
    // Channels that are left out are not there; the others have the same labels.
    let few = derive(&run, "few.tagq", &[&more[..], &["--channels", "4,Pair"]].concat());
    let labels = |run: &Path| -> Vec<(String, u64)> {
        let answer = ask("rates", run);
        let rows = answer["rows"].as_array().unwrap().iter();
        rows.map(|row| (row["name"].to_string(), row["channel"].as_u64().unwrap())).collect()
    };
    assert_eq!(singles(&few).len(), 2);
    // In the order of the setup, and then of the command.
    for (name, label) in [("Pair", 255), ("Any", 254), ("Tenth", 253), ("Pairs", 252)] {
        assert!(labels(&out).contains(&(format!("\"{name}\""), label)), "{:?}", labels(&out));
    }
    assert!(labels(&few).iter().all(|label| labels(&out).contains(label)), "{:?}", labels(&few));
}

#[test]
fn time_outside_of_gates_is_dead() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path());
    let setup = r#"
[gates]
near = "4 for 10us"
far = "not near"
never = "9 for 1ns"
always = "not never"
"#;
    fs::write(run.join("tagq.toml"), setup).unwrap();
    let gated = |gates: &[&str]| {
        let args: Vec<&str> = gates.iter().flat_map(|gate| ["--gate", gate]).collect();
        derive(&run, &format!("{}.tagq", gates.join("")), &args)
    };
    let [near, far, always, never, both] =
        [&["near"][..], &["far"], &["always"], &["never"], &["near", "far"]].map(gated);
    let all = singles(&run);
    for (channel, count) in &all {
        let of = |run: &Path| count_of(&singles(run), channel);
        assert_eq!(of(&near) + of(&far), *count, "{channel}");
        assert!(of(&near) > 1_000 && (of(&far) > 1_000 || channel == "4"), "{channel}");
        assert_eq!((of(&always), of(&never), of(&both)), (*count, 0, 0));
    }
    let sum = live(&near) + live(&far);
    assert!((sum / live(&run) - 1.0).abs() < 1e-12, "{sum}");
    assert_eq!((live(&never).to_bits(), live(&always).to_bits()), (0, live(&run).to_bits()));
    let unknown = output(
        command()
            .args(["derive", "-o"])
            .arg(folder.path().join("x"))
            .arg(&run)
            .args(["--gate", "nar"]),
    );
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("gates of the setup: near, far"), "{}", unknown.stderr);
    // Channel 1 does not depend on the gate: its rate is the same inside and outside.
    let rate = |run: &Path| ask("rates --channels 1", run)["rows"][0]["rate_hz"].as_f64().unwrap();
    let (inside, outside) = (rate(&near), rate(&far));
    let sigma = inside / (count_of(&singles(&near), "1") as f64).sqrt() * 2.0_f64.sqrt();
    assert!((inside - outside).abs() < 5.0 * sigma, "{inside} {outside} {sigma}");
    // A gate that is always open changes no answer.
    for query in [
        "coincidences 1,2 3,4 --window 2ns",
        "g2 1,2 --range 50us --bin 1us",
        "coincidences --choose 3 --window 1us --rule herald",
        "rates --bin 10ms",
    ] {
        let rows = |run: &Path| ask(query, run)["rows"].clone();
        assert_eq!(rows(&always), rows(&run), "{query}");
    }
}

#[test]
fn tags_and_gates_are_shown_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path());
    // The lane of a gate is full where it is open.
    let shown = |args: &[&str]| {
        let shown = output(command().args(["derive", "-q", "--plot"]).arg(&run).args(args));
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let text = shown.text();
        let lanes = text.lines().filter_map(|line| line.split_once(" \u{2502}"));
        let lane = |(name, lane): (&str, &str)| (name.trim().to_owned(), lane.to_owned());
        lanes.map(lane).collect::<Vec<(String, String)>>()
    };
    let full = |lane: &str| lane.chars().filter(|&of| of == '\u{2588}').count();
    let lanes = shown(&["Pair = 1 & 2 within 2ns", "--gate", "4 for 10us"]);
    let names: Vec<&str> = lanes.iter().map(|of| of.0.as_str()).collect();
    assert_eq!(names, ["1", "2", "4", "Pair", "4 for 10us"]);
    // Four intervals of 10 us or more, from the first to the last of them, and no gate at all.
    assert!(full(&lanes[4].1) > full(&lanes[2].1) && full(&lanes[4].1) < 70, "{lanes:?}");
    let lanes = shown(&["--gate", "4 for 10us", "--from", "2us", "--to", "3us", "--channels", "1"]);
    let names: Vec<&str> = lanes.iter().map(|of| of.0.as_str()).collect();
    assert_eq!(names, ["1", "4", "4 for 10us"]);
    // Without definitions, the tags of all channels.
    assert_eq!(shown(&[]).len(), 4);

    let figure = folder.path().join("gates.svg");
    let to = format!("--plot={}", figure.display());
    let drawn = output(command().args(["derive", "-q", &to, "--gate", "4 for 10us"]).arg(&run));
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    assert!(fs::read_to_string(figure).unwrap().contains("4 for 10us"));
    let both = output(command().args(["derive", "--plot", "-o", "x.tagq"]).arg(&run));
    assert!(both.code == 2 && both.stderr.contains("--output"), "{}", both.stderr);
}

#[test]
fn a_channel_that_only_a_definition_needs_is_not_called_dark() {
    let place = crate::support::Place::new();
    place.done("simulate --rate 20kHz --duration 50ms --delay 2=5ns a.tags.zst");
    let asked = [
        "coincidences",
        "P,1",
        "--window",
        "2ns",
        "--derive",
        "P = 1 & 2 within 2ns",
        "--delay",
        "2=-5ns",
        "a.tags.zst",
    ];
    let said = place.tagq_of(&asked).stderr;
    assert!(!said.contains("has no tags"), "{said}");
    let dark = place.tagq_of(&[
        "coincidences",
        "1,2",
        "--window",
        "2ns",
        "--delay",
        "9=5ns",
        "a.tags.zst",
    ]);
    assert!(dark.stderr.contains("channel 9 has no tags"), "{}", dark.stderr);
}
