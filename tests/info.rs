//! `tagq info`, and tables with all their digits.

use std::{fs, path::Path};

use crate::support::{command, fixture_copy, output, tagq};

/// Creates two sources of a few tags with a tick of 1 ns; the second tag of channel 2 is late.
fn run(folder: &Path) -> std::path::PathBuf {
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("1.tsv"), "1\t100\n1\t130\n2\t110\n2\t110\n1\t200\n").unwrap();
    fs::write(run.join("2.tsv"), "1\t1000\n5\t1200\n2\t1300\n1\t1500\n").unwrap();
    fs::write(run.join("tagq.toml"), "tick = '1ns'\n[channels]\n5 = 'Eve'\n").unwrap();
    run
}

#[test]
fn it_says_what_to_look_at_first() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path());
    let info = output(command().args(["info", "-q"]).arg(&run)).json();
    // 100 ns and 500 ns.
    assert!((info["live_s"].as_f64().unwrap() - 600e-9).abs() < 1e-15);
    assert!((info["elapsed_s"].as_f64().unwrap() - 1_400e-9).abs() < 1e-15);
    // Channel 1 has intervals of 30, 70 and 500 ns inside one source; the 800 ns between the sources do not
    // count.
    let of = |at: usize, key: &str| info["channels"][at][key].clone();
    assert_eq!((of(0, "shortest_ticks"), of(0, "count")), (30.into(), 5.into()));
    assert!((of(0, "shortest_s").as_f64().unwrap() - 30e-9).abs() < 1e-18);
    assert!((of(0, "rate_hz").as_f64().unwrap() - 5.0 / 600e-9).abs() < 1e-3);
    assert_eq!(of(1, "shortest_ticks"), 0);
    assert_eq!((of(2, "shortest_ticks"), of(2, "name")), (().into(), "Eve".into()));
    assert_eq!(info["gaps"]["count"], 1);
    assert!((info["gaps"]["longest_s"].as_f64().unwrap() - 800e-9).abs() < 1e-15);
    assert_eq!(info["sources"][0]["gap_s"], serde_json::Value::Null);
    assert!((info["sources"][1]["gap_s"].as_f64().unwrap() - 800e-9).abs() < 1e-15);
    assert_eq!((&info["reordered"], &info["checksummed_sources"]), (&2.into(), &0.into()));
    let size = |name: &str| fs::metadata(run.join(name)).unwrap().len();
    assert_eq!(info["sources_bytes"], size("1.tsv") + size("2.tsv"));
    // At least four files and a lock, each of whole file system blocks.
    assert!(info["store_bytes"].as_u64().unwrap() >= 4 * 512);

    let table = output(command().args(["info", "-q", "--format", "table"]).arg(&run));
    for said in [
        "live       600 ns, 42.86 % of elapsed\n",
        "gaps       800 ns between sources; nothing is counted across it without --join\n",
        "order      2 tags came late and were put in order\n",
        "checksums  0 of 2 sources have some; those of the store: tagq verify ",
        "shortest interval\n",
        "      1        5  8.333 MHz              30 ns\n",
        "    Eve        1  1.667 MHz                  \u{2013}\n",
    ] {
        assert!(table.text().contains(said), "{said}: {}", table.text());
    }
    assert!(table.text().lines().all(|line| !line.ends_with("  ")), "{}", table.text());
}

#[test]
fn fast_leaves_out_what_reads_every_tag() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path());
    let info = output(command().args(["info", "-q", "--fast"]).arg(&run)).json();
    let channel = info["channels"][0].as_object().unwrap();
    assert!(channel.contains_key("rate_hz") && !channel.contains_key("shortest_ticks"));
    let table = output(command().args(["info", "-q", "--fast", "--format", "table"]).arg(&run));
    assert!(!table.text().contains("shortest"), "{}", table.text());
    let piped =
        tagq(["simulate", "--duration", "1ms", folder.path().join("x.tags.zst").to_str().unwrap()]);
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    let stdin = fs::File::open(folder.path().join("x.tags.zst")).unwrap();
    let info = command().args(["info", "-q", "-"]).stdin(stdin).output().unwrap();
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert!(info["store_bytes"].is_null() && info["tags"].as_u64() > Some(10), "{info}");
}

#[test]
fn exact_tables_have_all_digits() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let asked = |more: &[&str]| {
        let args = ["coincidences", "--window", "2ns", "--group", "1,2", "-q"];
        output(command().args(args).args(more).arg(&run))
    };
    let json = asked(&[]).json();
    let row = &json["rows"][0];
    let exact = asked(&["--format", "table", "--exact"]);
    let exact = exact.text();
    let [rate, err] = ["rate_hz", "rate_err_hz"].map(|key| row[key].as_f64().unwrap());
    let [of_a, err_of_a] = ["p_a_given_b", "p_a_given_b_err"].map(|key| row[key].as_f64().unwrap());
    for said in [
        "rate (Hz)".to_owned(),
        format!("1976 \u{b1} {}", row["count_err"]),
        "P(1|2)".to_owned(),
        "P(2|1)".to_owned(),
        "4797".to_owned(),
    ] {
        assert!(exact.contains(&said), "{said}: {exact}");
    }
    // A JSON parser may round the last digit.
    for (value, err) in [(rate, err), (of_a, err_of_a)] {
        let numbers = exact.split_whitespace().map(|word| word.parse::<f64>().unwrap_or(f64::NAN));
        let numbers: Vec<f64> = numbers.collect();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-15 * b;
        let stands = numbers.windows(3).any(|of| near(of[0], value) && near(of[2], err));
        assert!(stands, "{value} {err}: {exact}");
    }
    let readable = asked(&["--format", "table"]);
    assert!(readable.text().contains("1,976 \u{b1} 44"), "{}", readable.text());
    assert!(!readable.text().contains('\u{1b}'));
    // The first is (C - A) / N of the second.
    let share =
        (1976.0 - row["accidentals"].as_f64().unwrap()) / row["singles"][1].as_f64().unwrap();
    assert!((of_a - share).abs() < 1e-12);
}
