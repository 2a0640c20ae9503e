//! g2 of pulsed light on the command line: the notes, and the errors for wrong options.

use std::{fmt::Write as _, fs, path::Path};

use crate::support::{command, output};

/// Makes a recording of pulses every 12.5 ns; the cable of channel 2 delays its tags by 2 ns.
fn pulses(folder: &Path) {
    let words = "simulate -q --coherent --channels 1,2 --rate 4MHz --pulsed 12.5ns --jitter 100ps --delay 2=2ns \
                 --duration 20ms --tick 1ps p.tags.zst";
    let made = output(command().args(words.split_whitespace()).current_dir(folder));
    assert_eq!(made.code, 0, "{}", made.stderr);
}

#[test]
fn the_delay_that_moves_peaks_is_told() {
    let folder = tempfile::tempdir().unwrap();
    pulses(folder.path());
    let ask = |words: &str| {
        let words =
            format!("g2 1,2 --tick 1ps --pulsed auto --sides 3 --format json {words} p.tags.zst");
        output(command().args(words.split_whitespace()).current_dir(folder.path()))
    };
    for (set, moved) in
        [("", -2.0), ("--delay 2=1ns", -2.0), ("--delay 2=-6ns", -2.0), ("--delay 1=1ns", -1.0)]
    {
        let said = ask(set).stderr;
        let after = said.split("--delay 2=").nth(1).unwrap_or_else(|| panic!("{set}: {said}"));
        let told = after.split("ns ").next().unwrap();
        assert!((told.parse::<f64>().unwrap() - moved).abs() < 0.1, "{set}: {said}");
        let by =
            format!("{} --delay 2={told}ns", if set.starts_with("--delay 1") { set } else { "" });
        let answer = ask(&by);
        assert!(!answer.stderr.contains("--delay"), "{set}: {}", answer.stderr);
        let zero = &answer.json()["rows"][3];
        assert_eq!(zero["peak"], 0);
        assert!(
            (zero["g2"].as_f64().unwrap() - 1.0).abs() < 5.0 * zero["g2_err"].as_f64().unwrap()
        );
    }
}

/// An emitter of one photon in each pulse has no pairs at equal times, wherever a cable moves them.
#[test]
fn the_peak_of_equal_times_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1_u64;
    let mut bit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 63 == 1
    };
    for delay in [0, 25_000, 52_300, -21_900] {
        let mut tags: Vec<(i64, u8)> = Vec::new();
        for pulse in 0..20_000 {
            let time = 1_000_000 + 12_500 * pulse + if bit() { 30 } else { 0 };
            match (bit(), bit()) {
                (true, true) => tags.push((time, 1)),
                (true, false) => tags.push((time + delay, 2)),
                (false, _) => {}
            }
        }
        tags.sort_unstable();
        let lines: String = tags.iter().fold(String::new(), |mut lines, (time, channel)| {
            writeln!(lines, "{channel}\t{time}").unwrap();
            lines
        });
        let file = format!("one{delay}.tsv");
        fs::write(folder.path().join(&file), lines).unwrap();
        let ask = |words: &str| {
            let words = format!("g2 1,2 --tick 1ps --pulsed 12.5ns --format json {words} {file}");
            output(command().args(words.split_whitespace()).current_dir(folder.path()))
        };
        let mut answer = ask("");
        if delay != 0 {
            let said = &answer.stderr;
            assert!(said.contains("is low, with 0 of") && !said.contains("--skip"), "{said}");
            let told = said.split("--delay 2=").nth(1).unwrap_or_else(|| panic!("{said}"));
            answer = ask(&format!("--delay 2={}", told.split(' ').next().unwrap()));
        }
        assert!(!answer.stderr.contains("--delay"), "{delay}: {}", answer.stderr);
        let answer = answer.json();
        let rows = answer["rows"].as_array().unwrap();
        let zero = rows.iter().find(|row| row["peak"] == 0).unwrap();
        assert_eq!(zero["count"], 0, "{delay}: {zero}");
    }
}

#[test]
fn what_cannot_be_a_peak_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    // Two pairs of one pulse, and one a period later.
    let lines = "1\t0\n2\t10\n1\t40000\n2\t40010\n1\t100000\n2\t112500\n";
    fs::write(folder.path().join("few.tsv"), lines).unwrap();
    let ask = |words: &str| {
        let words = format!("g2 1,2 --tick 1ps {words} few.tsv");
        output(command().args(words.split_whitespace()).current_dir(folder.path()))
    };
    for (words, reason) in [
        ("--pulsed=0ns", "a period above 0"),
        ("--pulsed 12.5ns --peak 0.4ps", "at least one tick"),
        ("--pulsed 15t", "8 ticks at least"),
        ("--pulsed 12.5ns --sides 0", "at least 1"),
        ("--pulsed 12.5ns --sides 100000 --skip 1", "at most"),
        ("--pulsed 9000000s", "2^62"),
        ("--pulsed auto", "no period is found"),
    ] {
        let refused = ask(words);
        assert!(
            refused.code != 0 && refused.stderr.contains(reason),
            "{words}: {}",
            refused.stderr
        );
    }
    // A side peak with all counts is compared with itself; a block without it has no value.
    for errors in ["formula", "blocks:5"] {
        let answer =
            ask(&format!("--pulsed 12.5ns --peak 6ns --sides 1 --format json --errors {errors}"));
        let rows = &answer.json()["rows"];
        assert_eq!((&rows[2]["count"], &rows[1]["count"]), (&1.into(), &2.into()), "{rows}");
        assert!(rows[2]["g2_err"].is_null() && rows[1]["g2_err"].is_f64(), "{errors}: {rows}");
        let shown =
            ask(&format!("--pulsed 12.5ns --peak 6ns --sides 1 --format table --errors {errors}"));
        assert!(shown.text().contains("g2(0) = "), "{}", shown.text());
    }
    let nothing = ask("--pulsed 12.5ns --sides 1 --from 1s --format table");
    assert!(nothing.text().contains("no pairs are expected there"), "{}", nothing.text());
}

/// Writes tags of a laser with pulses every 12.5 ns: channel 0 at each 16th pulse, photons on channels 1 and 2.
fn with_sync(folder: &Path) {
    let mut lines = String::new();
    for pulse in 0_i64..64_000 {
        let time = pulse * 12_500;
        if pulse % 16 == 0 {
            writeln!(lines, "0\t{time}").unwrap();
        }
        // Multiples of primes: no pattern with the sync.
        if pulse % 7 < 2 {
            writeln!(lines, "1\t{}", time + 3_000 + pulse * 37 % 200).unwrap();
        }
        if pulse % 11 < 3 {
            writeln!(lines, "2\t{}", time + 5_000 + pulse * 53 % 200).unwrap();
        }
    }
    fs::write(folder.join("s.tsv"), lines).unwrap();
}

#[test]
fn the_period_of_a_sync_channel() {
    let folder = tempfile::tempdir().unwrap();
    with_sync(folder.path());
    let ask = |words: &str| {
        let words = format!("g2 1,2 --tick 1ps --sides 3 --format json {words} s.tsv");
        output(command().args(words.split_whitespace()).current_dir(folder.path()))
    };
    let stated = ask("--pulsed 12.5ns");
    for words in ["--pulsed sync=0/16", "--pulsed=sync=0/16"] {
        let of_sync = ask(words);
        assert_eq!(of_sync.code, 0, "{}", of_sync.stderr);
        let (answer, stated) = (of_sync.json(), stated.json());
        assert_eq!(answer["rows"], stated["rows"], "{words}");
        assert_eq!(answer["query"]["pulsed"]["period_ticks"], 12_500.0);
        // 4,000 sync tags are 3,999 distances of 16 periods.
        let err = answer["query"]["pulsed"]["period_err_ticks"].as_f64().unwrap();
        assert!((err * 3_999.0 * 16.0 * 6.0f64.sqrt() - 1.0).abs() < 1e-9, "{err}");
    }
    // Peaks lie 2 ns after multiples of the period, from whichever source the period comes.
    for words in ["--pulsed 12.5ns", "--pulsed sync=0/16", "--pulsed auto"] {
        let said = ask(words).stderr;
        let told = said.split("--delay 2=").nth(1).unwrap_or_else(|| panic!("{words}: {said}"));
        let told: f64 = told.split("ns ").next().unwrap().parse().unwrap();
        assert!((told + 2.0).abs() < 0.1, "{words}: {said}");
        let moved = ask(&format!("{words} --delay 2=-2ns"));
        assert!(!moved.stderr.contains("--delay"), "{words}: {}", moved.stderr);
    }
    for (words, reason) in [
        ("--pulsed sync=9", "no sync"),
        ("--pulsed sync=0/0", "sync=CH/16"),
        ("--pulsed sync=laser", "laser"),
    ] {
        let refused = ask(words);
        assert!(
            refused.code != 0 && refused.stderr.contains(reason),
            "{words}: {}",
            refused.stderr
        );
    }
}

/// Afterpulses of one detector have their size in a note; tags of both detectors that follow each other more often do not.
#[test]
fn afterpulses_have_a_note_with_their_size() {
    let mut uniform = uniform(11);
    for (probability, blinks) in [(0.05, false), (0.0, false), (0.05, true), (0.0, true)] {
        let mut tags: Vec<(i64, u8)> = Vec::new();
        let (mut rate, mut originals) = (if blinks { 0.2 } else { 0.1 }, 0);
        for pulse in 0..1_000_000_i64 {
            if blinks && uniform() < 0.05 {
                rate = 0.2 - rate;
            }
            for channel in [1, 2] {
                if uniform() < rate / 2.0 {
                    let time = 12_500 * pulse;
                    tags.push((time, channel));
                    originals += i32::from(channel == 1);
                    // After 2 to 6 periods.
                    if channel == 1 && uniform() < probability {
                        #[expect(clippy::cast_possible_truncation, reason = "a few periods")]
                        tags.push((time + (25_000.0 + 50_000.0 * uniform()) as i64, 1));
                    }
                }
            }
        }
        let of_one = tags.iter().filter(|(_, channel)| *channel == 1).count();
        let truth = 100.0 * (of_one as f64 / f64::from(originals) - 1.0);
        let truth = truth * f64::from(originals) / of_one as f64;
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), tags);
        let said = |channels: &str| {
            let words = format!("g2 {channels} --tick 1ps --pulsed 12.5ns --errors formula p.tsv");
            output(command().args(words.split_whitespace()).current_dir(folder.path())).stderr
        };
        let both = said("1,2");
        assert_eq!(both.matches("beyond chance").count(), usize::from(probability > 0.0), "{both}");
        if probability > 0.0 {
            let numbers = both.split("note: ").find(|note| note.contains("beyond")).unwrap();
            let numbers = numbers.split(" % ").next().unwrap().split(" \u{b1} ");
            let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
            assert!((numbers[0] - truth).abs() < 4.0 * numbers[1], "{truth}: {both}");
        }
        let with_itself = said("1,1");
        assert_eq!(
            with_itself.contains("beyond chance"),
            probability > 0.0 || blinks,
            "{with_itself}"
        );
    }
}

/// Returns random numbers between 0 and 1.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

/// Writes a recording.
fn write(folder: &Path, mut tags: Vec<(i64, u8)>) {
    tags.sort_unstable();
    let mut lines = String::new();
    for (time, channel) in tags {
        let _ = writeln!(lines, "{channel}\t{time}");
    }
    fs::write(folder.join("p.tsv"), lines).unwrap();
}

/// The photons of a single emitter have g2(0) = 0 also where peaks overlap, at every tick; areas take tails for background.
#[test]
fn overlapping_peaks_of_an_emitter_are_fitted() {
    let mut uniform = uniform(7);
    for (tick_ps, lifetime_ps, pulses, method) in [
        (1.0, 3_125.0, 150_000, "fit"),
        (156.25, 3_125.0, 150_000, "fit"),
        (96.97, 3_125.0, 150_000, "fit"),
        (1.0, 300.0, 150_000, "areas"),
        // Too few to tell tails from background.
        (1.0, 6_250.0, 5_000, "none"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut tags: Vec<(i64, u8)> = Vec::new();
        for pulse in 0..pulses {
            if uniform() < 0.2 {
                let time = 12_500.0f64.mul_add(f64::from(pulse), -lifetime_ps * uniform().ln());
                #[expect(clippy::cast_possible_truncation, reason = "ticks of a short run")]
                tags.push(((time / tick_ps) as i64, if uniform() < 0.5 { 1 } else { 2 }));
            }
        }
        write(folder.path(), tags);
        let words = format!("g2 1,2 --tick {tick_ps}ps --pulsed 12.5ns --format json p.tsv");
        let answer = output(command().args(words.split_whitespace()).current_dir(folder.path()));
        let (answer, notes) = (answer.json(), answer.stderr);
        let pulsed = &answer["query"]["pulsed"];
        assert_eq!(pulsed["method"], method, "{tick_ps} {lifetime_ps}: {pulsed} {notes}");
        let zero = &answer["rows"][10];
        assert_eq!(zero["peak"], 0);
        if method == "none" {
            assert!(zero["g2"].is_null() && notes.contains("is not determined"), "{zero} {notes}");
            continue;
        }
        let [g2, err] = ["g2", "g2_err"].map(|name| zero[name].as_f64().unwrap());
        assert!(g2.abs() < 4.5 * err && err < 0.06, "{tick_ps} {lifetime_ps}: {g2} ± {err}");
        if method == "fit" {
            let shape = &pulsed["shape"];
            let [tau, err] = ["tau_s", "tau_err_s"].map(|name| shape[name].as_f64().unwrap());
            assert!((tau - 1e-12 * lifetime_ps).abs() < 4.5 * err, "{shape}");
        }
        let words = format!("{words} --errors formula");
        let formula = output(command().args(words.split_whitespace()).current_dir(folder.path()));
        let by_formula = formula.json()["rows"][10]["g2_err"].as_f64().unwrap();
        assert!((0.4..2.5).contains(&(by_formula / err)), "{by_formula} {err}");
    }
}
