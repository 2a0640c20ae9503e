//! Simulated light with known truth, from the command line to the count.

use crate::support::{coincidences, command, counts, output};

fn simulate(folder: &std::path::Path, args: &str) -> std::path::PathBuf {
    let out = folder.join(if args.contains("--files") { "run" } else { "run.tags.zst" });
    let made = output(command().arg("simulate").args(args.split_whitespace()).arg(&out));
    assert_eq!(made.code, 0, "{}", made.stderr);
    out
}

/// Independent light on every channel: all pairs are accidental, and their number is what
/// `accidentals` says, within what `count_err` says.
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
    // 200 kHz × 0.3 × 0.6 × 0.5 s = 18,000; heralding gives back 0.6 and 0.3, less the dark counts'
    // share: 0.3·60/65 and 0.6·120/125.
    let count = row["count"].as_f64().unwrap() - row["accidentals"].as_f64().unwrap();
    assert!((count - 18_000.0).abs() < 5.0 * 18_000_f64.sqrt(), "{row}");
    let [of_1, of_2] = [0, 1].map(|i| row["heralding"][i].as_f64().unwrap());
    assert!((of_1 - 0.3 * 120.0 / 125.0).abs() < 0.01, "{row}");
    assert!((of_2 - 0.6 * 60.0 / 65.0).abs() < 0.02, "{row}");
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
