//! Omitted options and the defaults that replace them.

use std::{fmt::Write as _, fs, path::Path, path::PathBuf};

use serde_json::Value;

use crate::support::{Output, command, output, tagq};

fn ask(args: &str, run: &Path) -> Output {
    output(command().args(args.split_whitespace()).arg(run))
}

/// Writes 20,000 random tags of each of two channels, on average 5,000 ticks apart. With `pairs` each tag of
/// the second channel is 20 ticks after one of the first.
fn two_channels(folder: &Path, pairs: bool) -> PathBuf {
    let mut state = 1_u64;
    let mut gap = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) as f64 + 0.5) / 2_f64.powi(53);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^18")]
        let gap = (-uniform.ln() * 5_000.0).ceil() as u64;
        gap
    };
    let (mut first, mut second) = (0, 0);
    let mut tags = Vec::new();
    for _ in 0..20_000 {
        first += gap();
        second += gap();
        tags.extend([(first, 1), (if pairs { first + 20 } else { second }, 2)]);
    }
    tags.sort_unstable();
    let text = tags.iter().fold(String::new(), |mut text, (time, channel)| {
        let _ = writeln!(text, "{channel}\t{time}");
        text
    });
    let run = folder.join("tags.tsv");
    fs::write(folder.join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    fs::write(&run, text).unwrap();
    run
}

fn bin_and_range(answer: &Value) -> (i64, [i64; 2]) {
    let query = &answer["query"];
    let edge = |at: usize| query["range_ticks"][at].as_i64().unwrap();
    (query["bin_ticks"].as_i64().unwrap(), [edge(0), edge(1)])
}

#[test]
fn bins_are_chosen_by_what_the_channels_hold() {
    let folder = tempfile::tempdir().unwrap();
    let run = two_channels(folder.path(), false);
    // 20,000² pairs over 20,000 · 5,000 ticks are 4 per tick of difference: 100 in 25 ticks, and the next
    // power of two is 32. The range is 64 bins on each side and half of the middle bin.
    let wide = (32, [-64 * 32 - 16, 64 * 32 + 16]);
    let answer = ask("g2 1,2", &run);
    assert_eq!(bin_and_range(&answer.json()), wide);
    assert_eq!(answer.json()["query"]["chosen"], serde_json::json!(["bin", "range"]));
    assert!(answer.stderr.contains("are chosen by what the channels hold"), "{}", answer.stderr);
    let table = ask("histogram --start 1 --stop 2 --format table", &run);
    assert!(table.text().contains("in bins of 32 ticks = 5 ns (chosen)"), "{}", table.text());
    assert_eq!(bin_and_range(&ask("g2 1,2 --bin 16t", &run).json()), (16, [-1032, 1032]));
    // 2,000 ticks in a hundred bins; the middle bin is centred on zero.
    assert_eq!(bin_and_range(&ask("g2 1,2 --range 1000t", &run).json()), (20, [-1010, 1010]));
    let part = ask("g2 1,2 --range 0t..1000t", &run).json();
    assert_eq!(bin_and_range(&part), (10, [0, 1000]));
    assert_eq!(part["query"]["chosen"], serde_json::json!(["bin"]));
    // Of gaps of 5,000 ticks on average 96 % are below 2^14, and 81 % below 2^13: 128 bins of 128 ticks.
    let next = ask("histogram --start 1 --stop 1 --mode next", &run).json();
    assert_eq!(bin_and_range(&next), (128, [0, 16_384]));
}

#[test]
fn bins_show_the_peak_of_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let run = two_channels(folder.path(), true);
    // All pairs are at 20 ticks, so that the finest bins are chosen.
    assert_eq!(bin_and_range(&ask("g2 1,2", &run).json()), (1, [-64, 65]));
    // Several runs use the bins of the first one.
    let copy = folder.path().join("copy.tsv");
    fs::copy(&run, &copy).unwrap();
    let sum = output(command().args(["g2", "1,2", "--sum"]).args([&run, &copy])).json();
    assert_eq!(bin_and_range(&sum), (1, [-64, 65]));
}

#[test]
fn a_bin_is_the_nearest_number_of_ticks_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let run = two_channels(folder.path(), false);
    // 1 ns is 6.4 ticks.
    let rounded = "bins of 6 ticks = 937.5 ps (asked 1 ns)";
    for words in [
        "g2 1,2 --bin 1ns --range 100ns",
        "rates --bin 1ns --last 10ns",
        "coincidences --window 2ns --bin 1ns --last 10ns",
    ] {
        let near = ask(words, &run);
        assert_eq!(near.json()["query"]["bin_ticks"], 6, "{words}");
        let table = ask(&format!("{words} --format table"), &run);
        assert!(table.text().contains(rounded), "{words}: {}", table.text());
        let refused = ask(&format!("{words} --exact-bins"), &run);
        assert_eq!(refused.code, 2, "{words}");
        let nearest = "`1ns` is 6.4 ticks of 156.25 ps; use 937.5ps (6t) or 1.09375ns (7t)";
        assert!(refused.stderr.contains(nearest), "{}", refused.stderr);
    }
    let whole = ask("rates --bin 1ms --exact-bins", &run).json();
    assert_eq!(whole["query"]["bin_ticks"], 6_400_000);
    let short = ask("rates --bin 78ps", &run);
    assert!(short.code == 2 && short.stderr.contains("use 156.25ps (1t)"), "{}", short.stderr);
}

#[test]
fn a_window_is_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let run = two_channels(folder.path(), true);
    let missing = ask("coincidences", &run);
    assert_eq!(missing.code, 2);
    // The peak at 20 ticks is in 16 to 31; 32 ticks are 5 ns.
    assert!(missing.stderr.contains("Tags of 1 and 2"), "{}", missing.stderr);
    assert!(missing.stderr.contains("try --window 5ns;"), "{}", missing.stderr);
    let found = ask("coincidences --window 5ns", &run).json();
    assert!(found["rows"][0]["count"].as_u64().unwrap() >= 20_000);
    let run = two_channels(&folder.path().join("."), false);
    fs::remove_dir_all(folder.path().join("tags.tsv.tagq")).unwrap();
    let missing = ask("coincidences", &run);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("No pair of channels stands out"), "{}", missing.stderr);
}

#[test]
fn a_full_width_is_from_the_earliest_to_the_latest_tag() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("triple.tsv");
    fs::write(folder.path().join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    // 4 ns are 25.6 ticks: the triple spans 25 ticks, and its cell of 25 ticks is 1000 to 1024.
    fs::write(&run, "1\t1000\n2\t1012\n3\t1025\n1\t5000\n2\t5013\n").unwrap();
    let count = |args: &str| {
        let answer = ask(&format!("coincidences --full-width 4ns {args}"), &run).json();
        let sum = answer["rows"].as_array().unwrap().iter();
        let sum: u64 = sum.map(|row| row["count"].as_u64().unwrap()).sum();
        (sum, answer["query"]["window_ticks"].clone(), answer["query"]["full_width_ticks"].clone())
    };
    assert_eq!(count("--group 1,2,3"), (1, 25.into(), 25.into()));
    assert_eq!(count("--group 1,2,3 --rule once"), (1, 25.into(), 25.into()));
    assert_eq!(count("--rule cluster"), (2, 25.into(), 25.into()));
    assert_eq!(count("--group 1,2 --rule grid"), (2, 25.into(), 25.into()));
    // The tags of 1 and 2 are 12 and 13 ticks apart: the full width of a pair is 2 · 12 + 1 ticks.
    assert_eq!(count("--group 1,2"), (1, 12.into(), 25.into()));
    assert_eq!(count("--group 1,2,3 --rule herald"), (0, 12.into(), 25.into()));
    let mixed = ask("coincidences --full-width 4ns --group 1,2 --group 1,2,3", &run);
    assert_eq!(mixed.code, 2);
    assert!(mixed.stderr.contains("give --window"), "{}", mixed.stderr);
    let header = |args: &str| {
        ask(&format!("coincidences {args} --format csv"), &run)
            .text()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let triple = header("--full-width 4ns --group 1,2,3");
    assert!(triple.contains("latest \u{2212} earliest \u{2264} 25 ticks"), "{triple}");
    assert!(!triple.contains("full width"), "{triple}");
    let pair = header("--full-width 4ns --group 1,2");
    assert!(
        pair.contains("|\u{394}t| \u{2264} 12 ticks") && pair.contains("full width 25"),
        "{pair}"
    );
}

#[test]
fn options_stand_in_groups_the_common_ones_first() {
    let text = tagq(["coincidences", "--help"]);
    let text = text.text();
    let heads = [
        "What is counted:",
        "Accidentals:",
        "Selection:",
        "Plots and output:",
        "Files and threads:",
    ];
    let places: Vec<_> = heads.iter().map(|head| text.find(head)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
    let at = |option: &str| text.find(&format!("--{option}")).unwrap();
    let order =
        ["window", "full-width", "group", "choose", "rule", "accidentals", "channels", "plot"];
    assert!(order.map(at).is_sorted(), "{text}");
    assert!(!text.contains("--fold"), "{text}");
    // All options have a heading; only --help has none.
    let others = text.split("\nOptions:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(others.contains("--help") && others.matches(" --").count() == 1, "{others}");
}

/// In bins wider than a pulse, the number of pulses differs from bin to bin, which looks like dips.
#[test]
fn chosen_bins_are_narrow_against_the_period_of_pulsed_light() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.tags.zst");
    let pulses = "--pulsed 12.539ns --jitter 300ps --coherent --rate 300kHz --duration 1s";
    let made = output(command().arg("simulate").args(pulses.split_whitespace()).arg(&run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    // The period is 80.25 ticks: a twentieth is 4 ticks.
    for args in
        ["g2 1,2", "g2 1,2 --range 100ns", "histogram --start 1 --stop 2 --range 0ns..200ns"]
    {
        let asked = ask(args, &run);
        let (bin, [low, high]) = bin_and_range(&asked.json());
        assert!(bin <= 4, "{args}: {bin}");
        assert!(asked.stderr.contains("period 12.539"), "{args}: {}", asked.stderr);
        if args == "g2 1,2" {
            // Whole periods on either side of zero, to a bin.
            for reach in [-low, high] {
                let periods = reach as f64 / 80.2496;
                let off = (periods - periods.round()).abs() * 80.2496;
                assert!(periods > 0.9 && off <= bin as f64, "{low} to {high} in {bin}");
            }
        }
    }
    // Options that are given stay, and a range of very many periods has about a hundred bins.
    assert_eq!(bin_and_range(&ask("g2 1,2 --bin 10t --range 100ns", &run).json()).0, 10);
    assert_eq!(bin_and_range(&ask("g2 1,2 --range 100us", &run).json()).0, 12_800);
    // A period that is given is the range.
    let folded = "histogram --start 1 --stop 2 --mode last --period 12.539ns";
    assert_eq!(bin_and_range(&ask(folded, &run).json()), (1, [0, 81]));
}
