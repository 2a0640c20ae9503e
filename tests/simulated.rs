//! Simulated light with known truth, from the command line to the count.

use std::fs;

use crate::support::{cat, coincidences, command, counts, output, tagq};

fn simulate(folder: &std::path::Path, args: &str) -> std::path::PathBuf {
    let out = folder.join(if args.contains("--files") { "run" } else { "run.tags.zst" });
    let made = output(command().arg("simulate").args(args.split_whitespace()).arg(&out));
    assert_eq!(made.code, 0, "{}", made.stderr);
    out
}

/// With independent light on every channel all pairs are accidental. Their number agrees with `accidentals`
/// within `count_err`.
#[test]
fn coherent_light_gives_its_accidentals() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulate(
        folder.path(),
        "--coherent --rate 500kHz --channels 1,2,3 --duration 200ms --files 3 --gap 5s --seed 11",
    );
    for window in ["20ns", "1us", "50us"] {
        let answer = coincidences(&format!("--window {window} --delay 3=7us"), &run);
        for row in answer["rows"].as_array().unwrap() {
            let value = |key: &str| row[key].as_f64().unwrap();
            let deviation = (value("count") - value("accidentals")) / value("count_err");
            assert!(deviation.abs() < 4.5, "{window}: {deviation} in {row}");
            assert!(value("accidentals") > 1_000.0, "{row}");
        }
    }
}

#[test]
fn pairs_survive_with_the_product_of_the_efficiencies() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulate(
        folder.path(),
        "--rate 200kHz --duration 500ms --efficiency 0.3 --efficiency 2=0.6 --dark 5kHz \
         --jitter 200ps --delay 2=30ns --seed 4",
    );
    let answer = coincidences("--window 3ns --group 1,2 --delay 2=-30ns", &run);
    let row = &answer["rows"][0];
    // 200 kHz × 0.3 × 0.6 × 0.5 s = 18,000. Heralding gives 0.6 and 0.3 again, reduced by the dark counts:
    // 0.3·60/65 and 0.6·120/125.
    let count = row["count"].as_f64().unwrap() - row["accidentals"].as_f64().unwrap();
    assert!((count - 18_000.0).abs() < 5.0 * 18_000_f64.sqrt(), "{row}");
    let [of_1, of_2] = ["p_a_given_b", "p_b_given_a"].map(|key| row[key].as_f64().unwrap());
    assert!((of_1 - 0.3 * 120.0 / 125.0).abs() < 0.01, "{row}");
    assert!((of_2 - 0.6 * 60.0 / 65.0).abs() < 0.02, "{row}");
}

/// The accidentals of a pulsed source are the pairs of neighbouring pulses, not those of a steady source with
/// the same rates.
#[test]
fn shifted_accidentals_of_pulses_are_the_side_peaks() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulate(
        folder.path(),
        "--pulsed 100ns --rate 1MHz --duration 300ms --efficiency 0.5 --seed 8",
    );
    let answer = coincidences("--window 2ns --group 1,2 --accidentals shifted --shift 100ns", &run);
    let args =
        "histogram --start 1 --stop 2 --bin 1t --range -3300t..3301t".split(' ').map(Into::into);
    let histogram = tagq(args.chain([run.as_os_str().to_owned()])).json();
    // 100 ns are 640 ticks: count in the window around the peak at a multiple of this.
    let peak = |k: i64| -> u64 {
        let is_near =
            |row: &&serde_json::Value| (row["first_tick"].as_i64().unwrap() - 640 * k).abs() <= 12;
        let rows = histogram["rows"].as_array().unwrap().iter().filter(is_near);
        rows.map(|row| row["count"].as_u64().unwrap()).sum()
    };
    // Peaks 1 to 5 on each side.
    let side: u64 = (1..=5).map(|k| peak(k) + peak(-k)).sum();
    let row = &answer["rows"][0];
    let accidentals = row["accidentals"].as_f64().unwrap();
    assert!(side > 1_000 && (accidentals / (side as f64 / 10.0) - 1.0).abs() < 1e-3, "{answer}");
    let (car, car_err) = (row["car"].as_f64().unwrap(), row["car_err"].as_f64().unwrap());
    let of_peaks = (peak(0) as f64 - side as f64 / 10.0) / (side as f64 / 10.0);
    assert!((car / of_peaks - 1.0).abs() < 1e-3, "{car} by shift, {of_peaks} of the peaks");
    // 1 MHz in pulses of 100 ns: 0.1 pairs per pulse, each photon detected with probability one half. A pulse
    // gives 0.1/4 true pairs and 0.1²/4 accidental ones, as many as two different pulses: CAR is 1/0.1.
    assert!((car - 10.0).abs() < 4.5 * car_err && car_err < 0.2, "{car} \u{b1} {car_err}");
    let steady = coincidences("--window 2ns --group 1,2", &run);
    // All pairs of neighbouring pulses are within the window around their peak: 640/25 times the steady
    // value.
    let ratio = accidentals / steady["rows"][0]["accidentals"].as_f64().unwrap();
    assert!((20.0..32.0).contains(&ratio), "{ratio}");
}

#[test]
fn frames_and_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let one = simulate(folder.path(), "--rate 100kHz --duration 50ms --seed 5");
    let expected = counts(&coincidences("--window 1us", &one));
    let other = tempfile::tempdir().unwrap();
    let many = simulate(other.path(), "--rate 100kHz --duration 50ms --seed 5 --frames 300");
    assert_eq!(counts(&coincidences("--window 1us", &many)), expected);
    let third = tempfile::tempdir().unwrap();
    let seed = simulate(third.path(), "--rate 100kHz --duration 50ms --seed 6");
    assert_ne!(counts(&coincidences("--window 1us", &seed)), expected);
}

#[test]
fn simulations_that_mean_nothing_are_refused() {
    for args in [
        "--efficiency 1.5",
        "--channels 1,1",
        "--channels 1,2,3",
        "--duration 0s",
        "--duration=-1s",
        "--rate 100THz",
        "--rate 100",
        "--beam-splitter",
        "--jitter=-1ns",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("x.tags.zst");
        let made = output(command().arg("simulate").args(args.split_whitespace()).arg(&out));
        assert_eq!(made.code, 2, "{args}: {}", made.stderr);
        assert!(!out.exists(), "{args}");
    }
}

#[test]
fn a_file_that_is_there_is_not_simulated_away() {
    let folder = tempfile::tempdir().unwrap();
    let measured = folder.path().join("2.tags.zst");
    fs::write(&measured, "measured").unwrap();
    let simulate = |args: &str| {
        let mut command = command();
        output(command.arg("simulate").args(args.split_whitespace()).current_dir(folder.path()))
    };
    // The second of three files would be refused, so no file is created.
    for args in ["2.tags.zst", "--live 1kHz 2.tags.zst", "--files 3 ."] {
        let refused = simulate(args);
        assert_eq!(refused.code, 1, "{args}: {}", refused.stderr);
        assert!(refused.stderr.contains("2.tags.zst: is there already; --force"), "{args}");
        assert_eq!(fs::read(&measured).unwrap(), b"measured", "{args}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{args}");
    }
    let made = simulate("--quiet --force --duration 1ms 2.tags.zst");
    assert_eq!((made.code, made.stderr.as_str()), (0, ""));
    let tags = tagq(["cat".as_ref(), measured.as_os_str()]);
    assert!(tags.code == 0 && tags.stdout.len() > 100, "{}", tags.stderr);
}

/// The name of the file selects the format, as for `tagq convert`, and the tags are the same in each.
#[test]
fn a_simulation_is_written_in_the_form_that_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let simulate = |name: &str, args: &[&str]| {
        let path = folder.path().join(name);
        let all = ["simulate", "-q", "--rate", "20kHz", "--duration", "100ms"];
        (output(command().args(all).args(args).arg(&path)), path)
    };
    let (made, path) = simulate("a.tags.zst", &[]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let expected = cat(&path);
    assert!(expected.len() > 3_000);
    for (name, start) in [
        ("a.csv", &b"channel,time\n"[..]),
        ("a.tsv", b"1\t"),
        // Number of segments (two) minus one.
        ("a.tags", b"\x01\0\0\0"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd"),
    ] {
        let (made, path) = simulate(name, &[]);
        assert_eq!(made.code, 0, "{name}: {}", made.stderr);
        assert!(fs::read(&path).unwrap().starts_with(start), "{name}");
        assert!(cat(&path) == expected, "{name}");
        // Readers of messages assume the usual tick; text needs a run file that states it.
        let run_file = folder.path().join("a.json");
        assert_eq!(run_file.exists(), name != "a.tags", "{name}");
        let (made, path) = simulate(name, &["--force", "--tick", "1ps"]);
        assert_eq!(made.code, 0, "{name}: {}", made.stderr);
        assert!(
            fs::read_to_string(&run_file).unwrap().contains(r#""tick": "1000000/1""#),
            "{name}"
        );
        let info = tagq(["info".as_ref(), "--json".as_ref(), path.as_os_str()]);
        let shown = String::from_utf8(info.stdout).unwrap();
        assert!(shown.contains(r#""tick": "1000000/1""#), "{name}: {shown}{}", info.stderr);
        fs::remove_file(run_file).unwrap();
    }
    for args in [&["--checksum"][..], &["--frames", "2"], &["--live", "1MHz"]] {
        let (refused, path) = simulate("b.csv", args);
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(".tags.zst") && !path.exists(), "{}", refused.stderr);
    }
}
