//! The fixture run of the README. Its expected counts follow from its parameters (data/fixtures/README.md).

use crate::support::{cat, coincidences, command, counts, fixture_copy, output, root, tagq};

/// Counts pairs one by one, source by source, from the text of the files.
fn counted_by_hand(run: &std::path::Path, a: u64, b: u64, window: i64, delay_of_b: i64) -> u64 {
    let mut count = 0;
    for name in ["1.tags.zst", "2.tags.zst"] {
        let tags = cat(&run.join(name));
        let of_a: Vec<i64> = tags.iter().filter(|tag| tag.1 == a).map(|tag| tag.0).collect();
        for tag in tags.iter().filter(|tag| tag.1 == b) {
            let time = tag.0 + delay_of_b;
            count += of_a.iter().filter(|&&other| (other - time).abs() <= window).count() as u64;
        }
    }
    count
}

#[test]
fn pairs_are_where_they_were_put() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let answer = coincidences("--window 2ns", &run);
    assert_eq!(answer["run"]["sources"], 2);
    // 2 × 200 ms recorded, with 1 s between.
    assert!((answer["run"]["live_s"].as_f64().unwrap() - 0.4).abs() < 1e-3);
    assert!((answer["run"]["elapsed_s"].as_f64().unwrap() - 1.4).abs() < 1e-3);
    let plain = counts(&answer);
    assert_eq!(plain.len(), 6);
    let with_delay = counts(&coincidences("--window 2ns --delay 4=-10ns", &run));
    // 20 kHz × 0.5 × 0.5 × 0.4 s = 2000 true pairs each, within five standard deviations. The pairs of 3 and
    // 4 are 10 ns apart, and no other pair has more than a few accidentals.
    for (pairs, shifted) in [(&plain, false), (&with_delay, true)] {
        for &(a, b, count) in pairs {
            let is_true = (a, b) == (1, 2) || (a, b) == (3, 4) && shifted;
            let expected = if is_true { 1_776..2_224 } else { 0..6 };
            assert!(expected.contains(&count), "{a},{b}: {count}");
        }
    }
    assert_eq!(plain[0].2, counted_by_hand(&run, 1, 2, 12, 0));
    assert_eq!(with_delay[5].2, counted_by_hand(&run, 3, 4, 12, -64));
    let wide = counts(&coincidences("--window 20us --group 4,1", &run));
    assert_eq!(wide, [(4, 1, counted_by_hand(&run, 1, 4, 128_000, 0))]);
}

#[test]
fn the_fixture_is_what_its_command_makes() {
    let readme = std::fs::read_to_string(root().join("data/fixtures/README.md")).unwrap();
    let command_line = readme
        .lines()
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .map(|line| line.trim_end_matches('\\'))
        .collect::<String>();
    let folder = tempfile::tempdir().unwrap();
    let args = command_line.split_whitespace().skip(1).map(|arg| {
        arg.replace("data/fixtures/pairs", folder.path().join("pairs").to_str().unwrap())
    });
    let made = tagq(args);
    assert_eq!(made.code, 0, "{}", made.stderr);
    for name in ["1.tags.zst", "2.tags.zst"] {
        let kept = cat(&root().join("data/fixtures/pairs").join(name));
        assert!(kept.len() > 9_000);
        assert!(cat(&folder.path().join("pairs").join(name)) == kept, "{name}");
    }
}

#[test]
fn tables_csv_and_json_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let answer = |format: &str| {
        let args = ["coincidences", "--window", "2ns", "--format", format];
        output(command().args(args).arg(&run))
    };
    let json = answer("json").json();
    let table = answer("table");
    assert!(
        table.text().starts_with(
            "rule all: |Δt| ≤ 12 ticks = 1.875 ns (asked 2 ns); full width 25 ticks = 3.90625 ns; \
             T = "
        ),
        "{}",
        table.text()
    );
    assert!(table.text().contains("tick 156.25 ps (assumed)"));
    assert!(!table.text().contains('\u{1b}'), "no colour without a terminal");
    let csv = answer("csv");
    let lines: Vec<&str> = csv.text().lines().collect();
    let (comments, lines) = lines.split_at(2);
    assert!(
        comments[1].starts_with("# car: (count - accidentals) / accidentals"),
        "{}",
        comments[1]
    );
    assert!(comments[0].starts_with("# ") && comments[0].contains("rule all"), "{}", comments[0]);
    let names: Vec<&str> = lines[0].split(',').collect();
    for (line, row) in lines[1..].iter().zip(json["rows"].as_array().unwrap()) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), names.len());
        let field = |name: &str| fields[names.iter().position(|n| *n == name).unwrap()];
        assert_eq!(field("count"), row["count"].to_string());
        assert_eq!(field("singles_b"), row["singles"][1].to_string());
        assert_eq!(field("car").parse::<f64>().ok(), row["car"].as_f64());
    }
    // Two runs in one call: one row per pair and run, and still one JSON object.
    let both = output(command().args(["coincidences", "--window", "2ns"]).args([&run, &run]));
    let both = both.json();
    assert_eq!(both["rows"].as_array().unwrap().len(), 12);
    assert_eq!(both["runs"].as_array().unwrap().len(), 2);
    assert_eq!(both["rows"][0]["run"], run.to_str().unwrap());
    assert_eq!(both["rows"][0]["count"], json["rows"][0]["count"]);
}
