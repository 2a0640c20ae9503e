//! Fits and scans on the command line: every model in every form, from the shared list of models.

use std::{fs, path::Path};

use tagq::FIT_TYPES;

use crate::support::{command, output};

/// Makes a recording of pairs with a jitter of 300 ps on each detector.
fn pairs(folder: &Path) {
    let words = "simulate -q --channels 1,2 --rate 200kHz --efficiency 0.5 --jitter 300ps --duration 200ms --tick 1ps p.tags.zst";
    let made = output(command().args(words.split_whitespace()).current_dir(folder));
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// The query that a model is fitted to.
fn query(model: &str) -> &'static str {
    match model {
        "decay" => "histogram 1,2 --bin 100ps --range 0ns..3ns",
        "g2" => "g2 1,2 --bin 100ps --range 5ns",
        "dip" => "histogram 1,2 --bin 100ps --range -3ns..3ns",
        "sin" => "rates 1 --bin 10ms",
        _ => "scan coincidences 1,2 --window 200ps --delay 2=-3ns..3ns:31",
    }
}

#[test]
fn every_model_has_every_form() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    let ask =
        |words: &str| output(command().args(words.split_whitespace()).current_dir(folder.path()));
    for of in &FIT_TYPES {
        let emission = if of.name == "g2" { "--emission bunching" } else { "" };
        let fit = format!("fit {} {emission} {} --tick 1ps p.tags.zst", of.name, query(of.name));
        let json = ask(&format!("{fit} --format json"));
        assert_eq!(json.code, 0, "{fit}: {}", json.stderr);
        let answer = json.json();
        assert_eq!(answer["query"]["model"], of.name);
        let rows = answer["rows"].as_array().unwrap();
        assert!(rows.len() == 1 && rows[0]["deviance"].is_f64(), "{fit}: {rows:?}");
        let csv = ask(&format!("{fit} --format csv"));
        let keys = csv.text();
        for key in rows[0].as_object().unwrap().keys().filter(|key| *key != "group") {
            assert!(keys.contains(key.as_str()), "{fit}: {key} is not in {keys}");
        }
        assert!(ask(&format!("{fit} --format table")).text().contains("deviance/dof"), "{fit}");
        for end in ["svg", "html", "pdf", "png"] {
            let file = format!("{}.{end}", of.name);
            let drawn = ask(&format!("{fit} --format csv --plot={file}"));
            assert_eq!(drawn.code, 0, "{fit}: {}", drawn.stderr);
            let bytes = fs::read(folder.path().join(&file)).unwrap();
            if end == "svg" || end == "html" {
                let text = String::from_utf8(bytes).unwrap();
                assert!(text.contains(of.title) && text.contains("residuals"), "{file}");
            }
        }
        let shown = ask(&format!("{fit} --plot --size 80x30"));
        assert!(shown.text().contains("residuals"), "{fit}: {}", shown.text());
        let saved = format!("{}.json", of.name);
        assert_eq!(ask(&format!("{fit} -o {saved}")).code, 0);
        let again = ask(&format!("reproduce {saved}"));
        assert_eq!(again.code, 0, "{fit}: {}", again.stderr);
        // Last digits, as of another processor, are equal; half an error is not.
        let text = fs::read_to_string(folder.path().join(&saved)).unwrap();
        let row = &json.json()["rows"][0];
        let is_number = |key: &&String| row[format!("{key}_err")].as_f64().is_some_and(|e| e > 0.0);
        let key = row.as_object().unwrap().keys().find(is_number).unwrap();
        let (value, err) = (&row[key], row[format!("{key}_err")].as_f64().unwrap());
        for (by, code) in [(1e-6, 0), (0.5, 1)] {
            let other = value.as_f64().unwrap() + by * err;
            let changed =
                text.replacen(&format!("\"{key}\": {value}"), &format!("\"{key}\": {other}"), 1);
            assert_ne!(text, changed, "{key}: {value}");
            fs::write(folder.path().join("changed.json"), changed).unwrap();
            assert_eq!(ask("reproduce changed.json").code, code, "{fit}: {key} by {by}");
        }
        // An answer that says something else is told.
        let text = fs::read_to_string(folder.path().join(&saved)).unwrap();
        let changed = text.replacen("\"deviance\": ", "\"deviance\": 1", 1);
        assert_ne!(text, changed);
        fs::write(folder.path().join("changed.json"), changed).unwrap();
        assert_eq!(ask("reproduce changed.json").code, 1, "{fit}");
    }
}

#[test]
fn a_peak_of_pairs_has_its_width_and_place() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    // The difference of two detectors of 300 ps: 424 ps, 999 ps at half of the height.
    let fwhm = 2.354_820 * 300e-12 * 2.0f64.sqrt();
    for query in [
        "histogram 1,2 --bin 50ps --range -5ns..5ns --delay 2=700ps",
        // Windows of 100 ps at distances of 200 ps widen the peak by less than its error.
        "scan coincidences 1,2 --window 100ps --delay 2=-4ns..5ns:46",
    ] {
        let words = format!("fit peak {query} --tick 1ps p.tags.zst --format json");
        let answer =
            output(command().args(words.split_whitespace()).current_dir(folder.path())).json();
        let row = &answer["rows"][0];
        let number = |key: &str| row[key].as_f64().unwrap();
        let centre = if query.starts_with("scan") { 0.0 } else { 700e-12 };
        assert!((number("centre_s") - centre).abs() < 5.0 * number("centre_s_err"), "{row}");
        assert!((number("fwhm_s") - fwhm).abs() < 5.0 * number("fwhm_s_err"), "{row}");
    }
}

#[test]
fn mistakes_say_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    for (name, text) in [
        ("irf.txt", "no numbers\n"),
        ("two.csv", "1,2\n3,4\n"),
        ("bad.dat", "5\nnan\n"),
        ("settings.csv", "run,count,x\np.tags.zst,3,4\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for (words, code, reason) in [
        ("fit", 2, "Models"),
        ("fit line micro 1 p.tags.zst", 2, "line"),
        ("fit peak", 2, "QUERY"),
        ("fit peak info p.tags.zst", 2, "micro, histogram, g2"),
        ("fit peak coincidences 1,2 --window 1ns p.tags.zst", 2, "one value for each bin"),
        ("fit peak histogram 1,2 --bin 1ns --range 9ns p.tags.zst --explain", 2, "--explain"),
        ("fit peak --fix x=1 histogram 1,2 --bin 1ns --range 9ns p.tags.zst", 1, "no parameter"),
        ("fit peak --fix net histogram 1,2 --range 9ns p.tags.zst", 2, "NAME=V"),
        ("fit peak --between 5ns histogram 1,2 --range 9ns p.tags.zst", 2, "A..B"),
        ("fit peak --between 1us..2us histogram 1,2 --range 9ns p.tags.zst", 1, "widen the range"),
        (
            "fit decay --irf irf.txt histogram 1,2 --bin 1ns --range 9ns p.tags.zst",
            2,
            "no column `count`",
        ),
        ("fit decay --irf none.txt histogram 1,2 --bin 1ns --range 9ns p.tags.zst", 1, "none.txt"),
        ("fit decay histogram 1,2 --log 10 --range 1ns..1us p.tags.zst", 1, "one width"),
        ("fit peak --fix net=1 --fix net=2 histogram 1,2 --range 9ns p.tags.zst", 2, "twice"),
        ("fit peak --guess centre=1s histogram 1,2 --bin 1ns --range 9ns p.tags.zst", 1, "centre"),
        ("fit g2 --jitter=-1ns g2 1,2 --bin 1ns --range 9ns p.tags.zst", 2, "zero or more"),
        ("fit decay --exponentials 4 histogram 1,2 --range 9ns p.tags.zst", 2, "1, 2 or 3"),
        ("fit decay --irf two.csv histogram 1,2 --bin 1ns --range 9ns p.tags.zst", 2, "line 1 has"),
        (
            "fit decay --irf bad.dat histogram 1,2 --bin 1ns --range 9ns p.tags.zst",
            2,
            "line 2 is no",
        ),
        ("scan histogram 1,2 --bin 1ns..2ns:3 p.tags.zst", 2, "histogram"),
        ("scan rates 1 --x p.tags=(.) p.tags.zst", 2, "does not match"),
        ("scan rates 1 --x count p.tags.zst", 2, "another name"),
        ("scan coincidences 1,2 --window 1ns p.tags.zst", 2, "FIRST..LAST:N"),
        ("scan coincidences 1,2 --window 1ns..3ns:x p.tags.zst", 2, "number of values"),
        ("scan coincidences 1,2 --window 1ns --x 'a(' p.tags.zst", 2, "open group without closing"),
        ("scan coincidences 1,2 --window 1ns --x a(b) p.tags.zst", 2, "does not match"),
        ("scan coincidences 1,2 --window 1ns --x phase p.tags.zst", 2, "no column `phase`"),
    ] {
        let words = format!("{words} --tick 1ps");
        let words = if words.starts_with("fit --tick") || words.starts_with("fit peak --tick") {
            words.replace(" --tick 1ps", "")
        } else {
            words
        };
        let said = output(command().args(words.split_whitespace()).current_dir(folder.path()));
        assert!(
            said.code == code && said.stderr.contains(reason),
            "{words}: {} {}",
            said.code,
            said.stderr
        );
    }
}

#[test]
fn a_response_is_a_file_a_channel_or_a_table() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    let ask = |words: &str| {
        let words = format!("{words} --tick 1ps p.tags.zst");
        output(command().args(words.split_whitespace()).current_dir(folder.path()))
    };
    let query = "histogram 1,2 --bin 50ps --range -5ns..5ns";
    // The table of an answer has the counts in one of its columns; the same counts alone are the same response.
    assert_eq!(ask(&format!("{query} -o irf.csv")).code, 0);
    let rows = ask(&format!("{query} --format json")).json();
    let counts = rows["rows"].as_array().unwrap().iter().map(|row| row["count"].to_string());
    fs::write(folder.path().join("irf.txt"), counts.collect::<Vec<_>>().join("\n")).unwrap();
    let fits =
        ["--irf irf.csv", "--irf irf.txt", "--irf-channel 2", "--irf p.tags.zst"].map(|irf| {
            let fitted = ask(&format!("fit decay {irf} --fix tau=1ns {query} --format json"));
            assert_eq!(fitted.code, 0, "{irf}: {}", fitted.stderr);
            fitted.json()["rows"].clone()
        });
    assert!(fits.iter().all(|rows| *rows == fits[0]), "{fits:?}");
}

#[test]
fn values_of_a_scan_are_those_that_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    let words = "scan coincidences 1,2 --window 1ns..1.2ns:5 --tick 156ps --format json p.tags.zst";
    let answer = output(command().args(words.split_whitespace()).current_dir(folder.path()));
    let rows = answer.json()["rows"].clone();
    let places: Vec<f64> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["window_s"].as_f64().unwrap() * 1e12)
        .collect();
    // 6 ticks up to 1.05 ns, and 7 from 1.1 ns.
    for (place, ticks) in places.iter().zip([6.0, 6.0, 7.0, 7.0, 7.0]) {
        assert!((place - 156.0 * ticks).abs() < 1e-6, "{places:?}");
    }
    assert!(answer.stderr.contains("closer than a tick"), "{}", answer.stderr);
}
