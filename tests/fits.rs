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
        "fcs" => "g2 1,2 --log 5 --range 1ns..1us",
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
        assert!(
            ask(&format!("{fit} --format table")).text().contains("deviance/expected"),
            "{fit}"
        );
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
        let err = |key: &str| {
            let high = || Some(row[format!("{key}_high")].as_f64()? - row[key].as_f64()?);
            row[format!("{key}_err")].as_f64().or_else(high).filter(|err| *err > 0.0)
        };
        let keys = &mut row.as_object().unwrap().keys();
        let of_key = keys.find_map(|key| Some((&**key, err(key)?)));
        // A model that does not describe the counts leaves no errors.
        let (key, err) = of_key.unwrap_or_else(|| ("deviance", row["deviance"].as_f64().unwrap()));
        let value = &row[key];
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

/// The deviance residual of a count (docs/estimates.md, "Fits").
fn deviance_residual(count: f64, mean: f64) -> f64 {
    let of = if count > 0.0 { count * (count / mean).ln() } else { 0.0 };
    (2.0 * (mean - count + of)).max(0.0).sqrt().copysign(count - mean)
}

/// Returns the height of a line at a place.
fn at(line: &[(f64, f64)], place: f64) -> f64 {
    let after = line.partition_point(|of| of.0 < place).clamp(1, line.len() - 1);
    let ((x, y), (x_after, y_after)) = (line[after - 1], line[after]);
    y + (y_after - y) * (place - x) / (x_after - x)
}

/// Returns all places in the path or the circles of a line of an SVG.
fn places(text: &str) -> Vec<(f64, f64)> {
    let numbers: Vec<f64> = text
        .split(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .filter_map(|part| part.parse().ok())
        .collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

#[test]
fn a_figure_has_residuals_that_are_data_minus_curve() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    let scan = query("");
    let mut drawn = 0;
    for (of, query) in FIT_TYPES.iter().flat_map(|of| [(of, query(of.name)), (of, scan)]) {
        let emission = if of.name == "g2" { "--emission bunching" } else { "" };
        let fit = format!("fit {} {emission} {query} --tick 1ps p.tags.zst", of.name);
        let ask = |plot: &str| {
            let words = format!("{fit} --format csv --force --plot={plot}");
            output(command().args(words.split_whitespace()).current_dir(folder.path()))
        };
        let html = ask("f.html");
        // A decay needs bins of one width, and other shapes can miss the points of a scan.
        if html.code != 0 && of.name == "decay" && query == scan {
            continue;
        }
        assert_eq!(html.code, 0, "{fit}: {}", html.stderr);
        let html = fs::read_to_string(folder.path().join("f.html")).unwrap();
        let (_, data) = html.split_once("id=\"figure\">").unwrap();
        let figure: serde_json::Value =
            serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let chart = &figure["plot"]["chart"];
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let points = |series: &serde_json::Value| -> Vec<(f64, f64, f64)> {
            let all = series["points"].as_array().unwrap();
            let defined = all.iter().filter(|point| !point["value"].is_null());
            let middle =
                |of: &serde_json::Value| f64::midpoint(number(&of["from"]), number(&of["to"]));
            defined.map(|of| (middle(of), number(&of["value"]), number(&of["err"]))).collect()
        };
        let line = |series: &serde_json::Value| -> Vec<(f64, f64)> {
            points(series).into_iter().map(|(x, y, _)| (x, y)).collect()
        };
        let data = points(&chart["series"][0]);
        let curve = line(&chart["series"][1]);
        let residuals = line(&chart["below"]["series"][0]);
        assert!(data.len() == residuals.len() && data.len() > 10, "{fit}");
        let agree = |value: f64, err: f64, fitted: f64, residual: f64, most: f64, what: &str| {
            // Of a ratio, the error says how many counts a ratio of 1 is.
            let one = if value > 0.0 { value / (err * err) } else { 1.0 / err };
            let expected = deviance_residual(value * one, fitted * one);
            assert!(
                (expected - residual).abs() < most * (1.0 + residual.abs()),
                "{fit}, {what}: {value} on a curve of {fitted}: {residual}, not {expected}"
            );
        };
        for ((place, value, err), (_, residual)) in data.iter().zip(&residuals) {
            agree(*value, *err, at(&curve, *place), *residual, 1e-6, "page");
        }
        // The same of what is drawn, to a hundredth of a point: circles of data and residuals, and the line of the curve.
        assert_eq!(ask("f.svg").code, 0);
        let svg = fs::read_to_string(folder.path().join("f.svg")).unwrap();
        let line = svg.lines().find(|line| line.contains("stroke-width=\"1.8\"")).unwrap();
        let curve = places(line.split_once(" d=\"").unwrap().1.split('"').next().unwrap());
        let circles: Vec<(f64, f64)> = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<circle "))
            .map(|line| places(line.split(" r=").next().unwrap())[0])
            .collect();
        assert_eq!(circles.len(), 2 * data.len(), "{fit}");
        let (of_data, of_residuals) = circles.split_at(data.len());
        // The values of the highest and the lowest circle say how values are drawn.
        let scale = |drawn: &[(f64, f64)], values: &[f64]| {
            let most = (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
            let least = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
            let by = (values[most] - values[least]) / (drawn[most].1 - drawn[least].1);
            let (from, first) = (values[least], drawn[least].1);
            move |y: f64| from + by * (y - first)
        };
        let values: Vec<f64> = data.iter().map(|of| of.1).collect();
        let value = scale(of_data, &values);
        let values: Vec<f64> = residuals.iter().map(|of| of.1).collect();
        let residual = scale(of_residuals, &values);
        for ((place, below), (_, _, err)) in of_data.iter().zip(of_residuals).zip(&data) {
            let fitted = value(at(&curve, place.0));
            agree(value(place.1).max(0.0), *err, fitted, residual(below.1), 0.2, "drawing");
        }
        drawn += 1;
    }
    assert_eq!(drawn, 2 * FIT_TYPES.len() - 1);
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

/// Light that is not correlated: the truth is a g2 of 1, and no fringe in its rate.
#[test]
fn flat_data_have_a_limit_in_place_of_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |words: &str| output(command().args(words.split(' ')).current_dir(folder.path()));
    let made = "simulate -q --channels 1,2 --rate 2MHz --efficiency 0.02 --dark 3MHz --duration 50ms --tick 1ps p.tags.zst";
    assert_eq!(ask(made).code, 0);
    let mut flat = 0;
    for (fit, amplitude, name) in [
        ("fit g2 g2 1,2 --from 10ms --range 40ns --bin 1ns", "contrast", "antibunching"),
        ("fit dip histogram 1,2 --from 10ms --range 40ns --bin 1ns", "visibility", "dip"),
        ("fit sin rates 1 --bin 500us", "visibility", "fringe"),
    ] {
        let answer = ask(&format!("{fit} --tick 1ps p.tags.zst --format json"));
        assert_eq!(answer.code, 0, "{fit}: {}", answer.stderr);
        let row = answer.json()["rows"][0].clone();
        let sigmas = row["sigmas"].as_f64().unwrap();
        assert!(sigmas < 5.0, "{fit}: {row}");
        if sigmas >= 3.0 {
            continue;
        }
        flat += 1;
        let limit = row[format!("{amplitude}_limit")].as_f64().unwrap();
        assert!(row[amplitude].is_null() && limit > 0.0 && limit <= 1.0, "{fit}: {row}");
        let note = format!("no {name}: its significance");
        assert!(answer.stderr.contains(&note), "{fit}: {}", answer.stderr);
        // A place that is fixed leaves no search, and a fixed amplitude no test.
        let fixed =
            ask(&format!("{fit} --fix {amplitude}=0.1 --tick 1ps p.tags.zst --format json"));
        assert_eq!(fixed.json()["rows"][0]["sigmas"], serde_json::Value::Null, "{fit}");
    }
    // Chance has 3 sigmas in one of 740 fits.
    assert!(flat >= 2, "{flat} of three fits have no structure");
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
        (
            "fit decay --irf auto --irf-channel 2 histogram 1,2 --bin 1ns --range 9ns p.tags.zst",
            2,
            "--irf-channel is a response that is measured; leave --irf out",
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
fn a_poor_fit_of_a_decay_names_the_response_and_the_rise() {
    let folder = tempfile::tempdir().unwrap();
    pairs(folder.path());
    // A peak in the middle is no exponential.
    let words = "fit decay histogram 1,2 --bin 100ps --range -3ns..3ns --tick 1ps p.tags.zst";
    let fitted = output(command().args(words.split_whitespace()).current_dir(folder.path()));
    let note = fitted.stderr;
    assert!(note.contains("the model does not describe the counts"), "{note}");
    assert!(note.contains("with --between") && note.contains("--irf or --irf-channel"), "{note}");
    assert!(note.contains("--irf tail") && note.contains("--irf auto is a Gaussian"), "{note}");
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

/// Fluorescence of known lifetimes after pulses that a detector of known jitter sees.
#[test]
fn the_response_is_found_at_the_rise() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |words: &str| {
        let asked = output(command().args(words.split_whitespace()).current_dir(folder.path()));
        assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
        asked
    };
    let light = "--pulsed 25ns --channels 1 --rate 1MHz --jitter 1=80ps --delay 1=2ns --dark 1=20kHz --tick 1ps -q";
    // The latest of 16 pulses is recorded, or the last one in the micro time.
    let clock = "--clock 0 --clock-divider 16 --duration 200ms clock.tags.zst";
    let scan = "--scan 16x16 --dwell 1ms scan.ptu";
    let histogram = "--pulse-period 25ns histogram 0,1 --mode last --sync-divider 16 --range 0ns..25ns --bin 50ps";
    let micro = "micro 1 --bin 50ps";
    for (light, truths) in [
        ("--fluorescence 3ns", &[("tau_s", 3e-9)][..]),
        (
            "--fluorescence 3ns=0.6,0.6ns=0.4",
            &[("tau_1_s", 3e-9), ("tau_2_s", 0.6e-9), ("fraction_1", 0.6)],
        ),
    ]
    .map(|(words, truths)| (format!("{words} {light}"), truths))
    {
        let number = truths.len();
        for (query, made, run) in [(histogram, clock, "clock.tags.zst"), (micro, scan, "scan.ptu")]
        {
            let name = format!("{number}.{run}");
            ask(&format!("simulate {light} {}", made.replace(run, &name)));
            for irf in ["auto", "tail"] {
                // A simulated detector sees all photons of a pulse.
                let fit = format!(
                    "fit decay --irf {irf} --exponentials {} --pile-up ignored",
                    truths.len().min(2)
                );
                let answer = ask(&format!("{fit} {query} --tick 1ps {name} --json")).json();
                let row = &answer["rows"][0];
                let of_response = [("centre_s", 2e-9), ("fwhm_s", 2.354_820 * 80e-12)];
                let all = truths.iter().copied().chain(of_response);
                // What comes after the response alone has other fractions, and no response.
                let is_found = |key: &str| irf == "auto" || key.starts_with("tau");
                for (key, truth) in all.filter(|(key, _)| is_found(key)) {
                    let value = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
                    let half = (value(&format!("{key}_high")) - value(&format!("{key}_low"))) / 2.0;
                    let err = row[format!("{key}_err")].as_f64().unwrap_or(half);
                    // Both ends of a time are rounded to ticks.
                    let rounded = if key == "centre_s" { 1e-12 } else { 0.0 };
                    let off = (value(key) - truth).abs() - rounded;
                    assert!(off < 4.0 * err && err < 0.03 * truth, "{fit} {query}: {key}: {row}");
                }
                assert!((0.85..1.15).contains(&row["deviance_ratio"].as_f64().unwrap()), "{row}");
            }
            if number > 1 {
                let one = ask(&format!("fit decay --irf auto {query} --tick 1ps {name} --json"));
                assert!(
                    one.stderr.contains("A Gaussian may not be the response"),
                    "{}",
                    one.stderr
                );
            }
        }
    }
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
