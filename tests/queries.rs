//! Queries of the command line on the fixture run, compared with counts from its text.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    cat, coincidences, command, counts, fixture_copy, output, tagq, without_names,
};

/// Delayed times of the channels, for each source.
struct Counted {
    sources: Vec<Vec<(i64, u64)>>,
}

impl Counted {
    fn of(run: &Path) -> Self {
        let names = ["1.tags.zst", "2.tags.zst"];
        Self { sources: names.iter().map(|name| cat(&run.join(name))).collect() }
    }

    fn times(source: &[(i64, u64)], channel: u64) -> Vec<i64> {
        source.iter().filter(|tag| tag.1 == channel).map(|tag| tag.0).collect()
    }

    /// Returns every difference from a tag of `start` to one of `stop`.
    fn differences(&self, start: u64, stop: u64) -> Vec<i64> {
        let mut differences = Vec::new();
        for source in &self.sources {
            let stops = Self::times(source, stop);
            for from in Self::times(source, start) {
                // Only differences within a limit that is larger than any range of the tests.
                let low = stops.partition_point(|&to| to < from - 100_000);
                let near = stops[low..].iter().take_while(|&&to| to <= from + 100_000);
                differences.extend(near.map(|to| to - from));
            }
        }
        differences
    }
}

fn json(args: &str, run: &Path) -> Value {
    let args = args.split_whitespace().map(Into::into);
    tagq(args.chain([run.as_os_str().to_owned()])).json()
}

fn column(answer: &Value, key: &str) -> Vec<i64> {
    answer["rows"].as_array().unwrap().iter().map(|row| row[key].as_i64().unwrap()).collect()
}

#[test]
fn a_histogram_holds_every_difference_in_its_bin() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let differences = Counted::of(&run).differences(3, 4);
    let answer = json("histogram --start 3 --stop 4 --bin 10t --range -20t..130t", &run);
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 15);
    for row in rows {
        let low = row["first_tick"].as_i64().unwrap();
        let held = differences.iter().filter(|&&d| d >= low && d < low + 10).count();
        assert_eq!(row["count"].as_u64().unwrap(), held as u64, "{row}");
        // Middle of the ticks in the bin: low … low + 9.
        let middle = (low as f64 + 4.5) * 156.25e-12;
        assert!((row["delay_s"].as_f64().unwrap() - middle).abs() < 1e-15, "{row}");
    }
    // The partners on channel 4 are 64 ticks later.
    let peak = rows.iter().max_by_key(|row| row["count"].as_u64()).unwrap();
    assert_eq!(peak["first_tick"], 60);
    // A symmetric range has an odd number of bins; the middle one is centred on zero.
    let around = json("histogram --start 3 --stop 4 --bin 10t --range 50t", &run);
    let lows = column(&around, "first_tick");
    assert_eq!((lows.len() % 2, lows[lows.len() / 2]), (1, -5));
}

#[test]
fn a_trace_is_what_each_of_its_bins_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    for kind in ["rates", "coincidences --window 1us --group 1,2 --group 3,1,2"] {
        let trace = json(&format!("{kind} --bin 50ms"), &run);
        let rows = trace["rows"].as_array().unwrap();
        // Two sources of 200 ms, a second apart: 1.4 s in bins of 50 ms, some of them empty.
        let starts = column(&trace, "start_ticks");
        assert_eq!(starts[0], 0);
        let bins = starts.iter().filter(|&&start| start == starts[0]).count();
        assert_eq!(rows.len() / bins, 28);
        let whole = json(kind, &run);
        for row in [0, 1, 10, 25, 27] {
            let start = row * 50;
            let alone = json(&format!("{kind} --from {start}ms --to {}ms", start + 50), &run);
            for (i, alone) in alone["rows"].as_array().unwrap().iter().enumerate() {
                let in_trace = &rows[row * bins + i];
                assert_eq!(in_trace["count"], alone["count"], "{kind}, bin {row}");
                assert_eq!(in_trace["rate_hz"], alone["rate_hz"], "{kind}, bin {row}");
            }
        }
        for i in 0..bins {
            let sum: u64 =
                rows.iter().skip(i).step_by(bins).map(|r| r["count"].as_u64().unwrap()).sum();
            assert_eq!(sum, whole["rows"][i]["count"].as_u64().unwrap(), "{kind}: bins add up");
        }
    }
}

#[test]
fn the_last_stretch_and_a_full_width() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let tags = Counted::of(&run).sources.concat();
    let last = tags.last().unwrap().0;
    let rates = json("rates --last 1000000t", &run);
    let held = tags.iter().filter(|tag| tag.0 >= last - 1_000_000).count();
    assert_eq!(rates["total"][0]["count"], held as u64);
    let rows = rates["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["count"].as_u64().unwrap()).sum::<u64>(), held as u64);
    // 25 ticks of 156.25 ps are 3.90625 ns.
    let full = json("coincidences --full-width 3.90625ns", &run);
    assert_eq!(full["query"]["window_ticks"], 12);
    assert_eq!(counts(&full), counts(&coincidences("--window 12t", &run)));
}

#[test]
fn rules_differ_as_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let count =
        |args: &str| -> u64 { coincidences(args, &run)["rows"][0]["count"].as_u64().unwrap() };
    let all = count("--window 1ms --group 1,2");
    let once = count("--window 1ms --group 1,2 --rule once");
    let singles = coincidences("--window 1ms --group 1,2", &run)["rows"][0]["singles"].clone();
    // In a window of many spacings a tag has many partners, but is matched with only one.
    assert!(all > 20 * once, "{all} {once}");
    assert!(once <= singles[0].as_u64().unwrap().min(singles[1].as_u64().unwrap()));
    let per_herald = count("--window 1ms --group 1,2 --rule per-herald");
    assert!(per_herald <= singles[0].as_u64().unwrap() && per_herald >= once);
    // Every tag belongs to one cluster of some set, so the singles of a set each count at least once.
    let clusters = coincidences("--window 2ns --rule cluster", &run);
    let events: u64 =
        clusters["rows"].as_array().unwrap().iter().map(|r| r["count"].as_u64().unwrap()).sum();
    let tags = clusters["run"]["tags"].as_u64().unwrap();
    assert!(events <= tags && events > tags - 3_000, "{events} of {tags}");
    // True pairs are vetoed only by chance; with their own partner as the veto none are left.
    let free = count("--window 2ns --group 1,2 --veto 3 --guard 1t");
    let plain = count("--window 2ns --group 1,2");
    assert!(free <= plain && free + 5 > plain, "{free} of {plain}");
    assert_eq!(count("--window 1us --group 3,4 --veto 1,2 --guard 1s"), 0);
}

#[test]
fn a_setup_gives_names_delays_and_groups() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = coincidences("--window 2ns --delay 4=-10ns --group 3,4", &run);
    let setup = "groups = [['Alice', 'Bob']]\n[channels]\n3 = 'Alice'\n4 = 'Bob'\n\
                 [delays]\nBob = '-10ns'\n";
    fs::write(run.join("tagq.toml"), setup).unwrap();
    let used = output(command().args(["coincidences", "--window", "2ns"]).arg(&run));
    assert_eq!(used.stderr, "", "a setup needs no note");
    assert_eq!(used.json()["rows"][0]["names"], json!(["Alice", "Bob"]));
    assert_eq!(without_names(&used.json()["rows"]), expected["rows"]);
    let named = coincidences("--window 2ns --group Alice,Bob", &run);
    assert_eq!(without_names(&named["rows"]), expected["rows"]);
    // An explicit option overrides it.
    let over = coincidences("--window 2ns --group Alice,Bob --delay Bob=0t", &run);
    assert!(over["rows"][0]["count"].as_u64() < expected["rows"][0]["count"].as_u64());
    assert_eq!(coincidences("--window 2ns --no-setup", &run)["rows"].as_array().unwrap().len(), 6);
    let unknown = output(command().args(["g2", "Alice,Bab"]).arg(&run));
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean Bob"), "{}", unknown.stderr);
}

#[test]
fn questions_that_mean_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    for (args, words) in [
        ("histogram --start 1 --stop 2 --bin 1ns --exact-bins", "937.5ps (6t) or 1.09375ns (7t)"),
        ("histogram --start 1 --stop 2 --range 1s..-1s", ""),
        ("histogram --start 1 --stop 2 --bin 1t --range 1h", "bins"),
        ("histogram --start 1 --stop 2 --log 20", "--range 1ns..1ms"),
        ("histogram --start 1 --stop 2 --mode next --g2", "all pairs"),
        ("coincidences --window 2ns --guard 2ns", "--veto"),
        ("coincidences --window 2ns --group 1,2 --veto 2", "veto"),
        ("coincidences --window 2ns --rule grid --delay 1=5t", "multiple"),
        ("coincidences --window 2ns --rule grid --group 1,2,3", "pairs"),
        ("coincidences --window 2ns --rule cluster --group 1,2", "--channels"),
        ("coincidences --window 2ns --shift 3us", "shifted"),
        ("coincidences --window 2ns --accidentals shifted:0", "at least one"),
        ("coincidences --window 2ns --choose 1", "2 to 16"),
        ("coincidences --window 2ns --rule cluster --accidentals shifted", "no accidentals"),
        ("coincidences --window 2ns --bin 1ms --live-time 1s", "--live-time"),
        ("rates --bin 1ms --live-time 1s", "--live-time"),
        ("g2 1,2 --live-time 1s", "--live-time"),
        ("histogram --start 1 --stop 2 --range -5ns", "negative"),
        ("rates --bin 0.1t", ""),
        ("histogram --start 1", "--stop"),
        ("histogram 1,2 --start 1 --stop 2", "leave one out"),
        ("g2 1,2,3", "write them as A,B"),
        ("rates --from 1", "unit"),
    ] {
        let args = args.split(' ');
        let refused = output(command().args(args.clone()).arg(&run));
        let asked: Vec<&str> = args.collect();
        assert_eq!(refused.code, 2, "{asked:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{asked:?}: {}", refused.stderr);
    }
}

/// Two sources of 200 ms: a shift of 150 ms leaves 50 ms of each, and one of 300 ms leaves nothing.
#[test]
fn what_a_shift_leaves_of_each_source_counts() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let accidentals = |shift: &str| {
        let args = format!(
            "--window 20us --group 1,3 --accidentals shifted:2 --shift {shift} --channels 1,3"
        );
        coincidences(&args, &run)["rows"][0]["accidentals"].as_f64()
    };
    // Independent channels: any shift agrees with the formula within errors.
    let formula = coincidences("--window 20us --group 1,3", &run);
    let expected = formula["rows"][0]["accidentals"].as_f64().unwrap();
    for shift in ["1ms", "50ms", "150ms"] {
        let measured = accidentals(shift).unwrap();
        assert!((measured / expected - 1.0).abs() < 0.12, "{shift}: {measured} of {expected}");
    }
    assert_eq!(accidentals("300ms"), None);
}

#[test]
fn a_heralded_g2_is_of_counts_by_its_own_rule() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let mut g2s = Vec::new();
    for rule in ["herald", "per-herald"] {
        let row = |group: &str| {
            let words = format!("--window 20us --rule {rule} --group {group}");
            coincidences(&words, &run)["rows"][0].clone()
        };
        let triples = row("2,1,4");
        let [n, n_1, n_12, n_13] =
            [&triples["count"], &triples["singles"][0], &row("2,1")["count"], &row("2,4")["count"]]
                .map(|value| value.as_f64().unwrap());
        let g2 = triples["g2_heralded"].as_f64().unwrap();
        let expected = n * n_1 / (n_12 * n_13);
        assert!((g2 - expected).abs() < 1e-12 * expected, "{rule}: {triples}");
        g2s.push(g2);
    }
    assert!((g2s[0] - g2s[1]).abs() > 1e-3, "heralds with several partners: {g2s:?}");
}

#[test]
fn an_empty_selection_is_said_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let said = |span: [&str; 2]| {
        let words = ["coincidences", "--window", "2ns", "--from", span[0], "--to", span[1]];
        let answer = output(command().args(words).arg(&run));
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stderr.contains("nothing is selected")
    };
    assert!(said(["10us", "5us"]) && said(["5us", "5us"]) && !said(["5us", "10us"]));
}

#[test]
fn csv_of_runs_with_other_groups_has_each_value_below_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, groups: &str| {
        let home = folder.path().join(name);
        fs::create_dir(&home).unwrap();
        let run = fixture_copy(&home);
        fs::write(run.join("tagq.toml"), format!("groups = {groups}\n")).unwrap();
        run
    };
    // Only groups of three have columns for the heralded g2 and independent accidentals.
    let runs = [of("pair", "[[1, 2]]"), of("three", "[[1, 2, 3]]")];
    let ask = |format: &str| {
        let words = "coincidences --window 2us --rule herald --format".split(' ');
        output(command().args(words).arg(format).args(&runs))
    };
    let (json, csv) = (ask("json").json(), ask("csv"));
    let mut lines = csv.text().lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!((lines.clone().count(), rows.len()), (2, 2));
    for (line, row) in lines.zip(rows) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), names.len(), "{line}");
        assert!(names.contains(&"g2_heralded"), "{names:?}");
        let is_pair = row["channels"].as_array().unwrap().len() == 2;
        for (name, field) in names.iter().zip(fields) {
            let expected = match name.rsplit_once('_') {
                Some((list, letter)) if letter.len() == 1 && row.get(*name).is_none() => {
                    let list = if list == "channel" { "channels" } else { list };
                    &row[list][usize::from(letter.as_bytes()[0] - b'a')]
                }
                _ => &row[*name],
            };
            assert_eq!(field.is_empty(), expected.is_null(), "{name}: {row}");
            if name.starts_with("g2_heralded") {
                assert_eq!(field.is_empty(), is_pair, "{name}");
            }
            match (expected.as_str(), expected.as_f64()) {
                (Some(text), _) => assert_eq!(field, text, "{name}"),
                (None, Some(value)) => {
                    let found: f64 = field.parse().unwrap();
                    assert!((found - value).abs() <= 1e-12 * value.abs(), "{name}: {field}");
                }
                (None, None) => {}
            }
        }
    }
}
