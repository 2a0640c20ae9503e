//! Regions of an image on the command line: sums over pixels by label, lifetimes of known truth, files that are no mask.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    image_lifetimes::{PHOTONS, SIDE, scan},
    support::{Output, command, output},
};

fn ask(folder: &Path, words: &str) -> Output {
    output(command().arg("image").args(words.split_whitespace()).current_dir(folder))
}

fn answer(folder: &Path, words: &str) -> Value {
    let asked = ask(folder, &format!("{words} --json"));
    assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
    serde_json::from_slice(&asked.stdout).unwrap()
}

/// An array of NumPy of two bytes an item.
pub(crate) fn npy([lines, pixels]: [u64; 2], labels: impl IntoIterator<Item = u16>) -> Vec<u8> {
    let head =
        format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({lines}, {pixels}), }}");
    let head = format!("{head:<117}\n");
    let items = labels.into_iter().flat_map(u16::to_le_bytes);
    b"\x93NUMPY\x01\x00\x76\x00".iter().copied().chain(head.bytes()).chain(items).collect()
}

/// The label of a pixel: 40 in the right half, 7 in the left half, and 0 in the first line.
fn label(line: u64, pixel: u64) -> u16 {
    match (line, pixel < SIDE / 2) {
        (0, _) => 0,
        (_, true) => 7,
        (_, false) => 40,
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scan.ptu"), scan()).unwrap();
    let labels = (0..SIDE * SIDE).map(|at| label(at / SIDE, at % SIDE));
    fs::write(folder.path().join("mask.npy"), npy([SIDE, SIDE], labels)).unwrap();
    folder
}

#[test]
fn regions_are_the_sums_of_their_pixels() {
    let folder = folder();
    let numbers = |row: &Value| -> Vec<u64> {
        let list = row["micro_counts"].as_array().unwrap();
        list.iter().map(|count| count.as_u64().unwrap()).collect()
    };
    for words in [
        "--micro --bin 1ns",
        "--micro --bin 1ns --lines 4 --frames apart",
        "--micro --bin 1ns --scan two-way-sinusoidal --sine 70 --from 0.5ms --to 1.3ms",
        "--micro --bin 1ns --sum scan.ptu",
        "--micro --bin 1ns --delay 1=-3us --channels 1",
    ] {
        let lines = if words.contains("--lines 4") { 4 } else { SIDE };
        let labels = (0..lines * SIDE).map(|at| label(at / SIDE, at % SIDE));
        fs::write(folder.path().join("mask.npy"), npy([lines, SIDE], labels)).unwrap();
        let pixels = answer(folder.path(), &format!("{words} scan.ptu"));
        let regions = answer(folder.path(), &format!("{words} --mask mask.npy scan.ptu"));
        let mut sums: BTreeMap<(u64, u16), (u64, Vec<u64>)> = BTreeMap::new();
        let mut outside = 0;
        for row in pixels["rows"].as_array().unwrap() {
            let [line, pixel, count] =
                ["line", "pixel", "count"].map(|key| row[key].as_u64().unwrap());
            let label = label(line, pixel);
            if label == 0 {
                outside += count;
                continue;
            }
            let frame = row["frame"].as_u64().unwrap_or_default();
            let (sum, bins) = sums.entry((frame, label)).or_default();
            *sum += count;
            let more = numbers(row);
            bins.resize(more.len(), 0);
            bins.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        let rows = regions["rows"].as_array().unwrap();
        assert_eq!(rows.len(), sums.len(), "{words}");
        for (row, ((frame, label), (count, bins))) in rows.iter().zip(sums) {
            assert_eq!(row["frame"].as_u64().unwrap_or_default(), frame, "{words}");
            assert_eq!(row["label"], label, "{words}");
            assert_eq!(row["pixels"], (lines - 1) * SIDE / 2, "{words}");
            assert_eq!((&row["count"], numbers(row)), (&json!(count), bins), "{words}");
            let value = |key: &str| row[key].as_f64().unwrap();
            let (rate, err) = (value("rate_hz"), value("rate_err_hz"));
            assert!((rate * value("dwell_s") / count as f64 - 1.0).abs() < 1e-12, "{words}");
            assert!((err * value("dwell_s") / value("count_err") - 1.0).abs() < 1e-12, "{words}");
        }
        let [of_pixels, of_regions] = [&pixels, &regions].map(|answer| &answer["query"]["seen"]);
        assert_eq!(of_regions["photons_outside_regions"], outside, "{words}");
        assert_eq!(of_pixels.get("photons_outside_regions"), None);
        let inside = of_regions["photons_in_pixels"].as_u64().unwrap();
        assert_eq!(of_pixels["photons_in_pixels"], inside + outside, "{words}");
        assert_eq!(of_pixels["photons_outside_lines"], of_regions["photons_outside_lines"]);
        let mask = &regions["query"]["mask"];
        assert_eq!(mask["regions"], 2, "{mask}");
        assert_eq!(mask["pixels"], (lines - 1) * SIDE, "{mask}");
    }
}

/// A pixel is 2,000 pulses of 10 ns long.
#[test]
fn dwell_times_are_those_of_the_pixels() {
    let folder = folder();
    let regions = answer(folder.path(), "--mask mask.npy scan.ptu");
    let pixels = (SIDE - 1) * SIDE / 2;
    for row in regions["rows"].as_array().unwrap() {
        let dwell = row["dwell_s"].as_f64().unwrap();
        assert!((dwell / (pixels as f64 * 20e-6) - 1.0).abs() < 1e-9, "{row}");
        let photons = pixels * u64::from(2 * PHOTONS);
        assert_eq!(row["count"], photons);
    }
}

#[test]
fn lifetimes_of_regions_are_the_truth() {
    let folder = folder();
    for words in ["--lifetime", "--lifetime mean", "--lifetime phasor", "--lifetime exp --irf tail"]
    {
        let regions =
            answer(folder.path(), &format!("{words} --channels 1 --mask mask.npy scan.ptu"));
        let rows = regions["rows"].as_array().unwrap();
        assert_eq!(
            regions["query"]["lifetime"]["period_s"].as_f64().map(|of| (of * 1e12).round()),
            Some(1e4)
        );
        for (row, truth) in rows.iter().zip([1.0, 3.0]) {
            let [tau, err] =
                ["lifetime_s", "lifetime_s_err"].map(|key| row[key].as_f64().unwrap() * 1e9);
            // 8,400 photons have 1 to 3 %; of means, the error of the background is more.
            assert!((tau - truth).abs() < 5.0 * err && err < 0.15 * truth, "{words}: {row}");
            assert_eq!(row["micro_mean_s"], Value::Null);
        }
        assert_eq!(rows.len(), 2);
    }
    // 28 pixels of 300 photons have a background of 28 times that of one.
    let counts = answer(
        folder.path(),
        "--lifetime mean --min-photons 8401 --channels 1 --mask mask.npy scan.ptu",
    );
    assert!(counts["rows"].as_array().unwrap().iter().all(|row| row["lifetime_s"].is_null()));
}

#[test]
fn what_is_no_mask_is_refused() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("small.npy"), npy([2, 3], [0, 1, 2, 3, 4, 5])).unwrap();
    fs::write(path.join("none.npy"), npy([SIDE, SIDE], vec![0; 64])).unwrap();
    fs::write(path.join("text.npy"), "label\n").unwrap();
    fs::create_dir(path.join("folder.npy")).unwrap();
    for (words, reason) in [
        (
            "--mask small.npy",
            "--mask small.npy: it has 2 lines of 3 pixels, and the image has 8 lines of 8 pixels",
        ),
        ("--mask none.npy", "1 to 65,535 labels other than 0"),
        ("--mask text.npy", "it is no mask"),
        ("--mask folder.npy", "it is no mask"),
        ("--mask nowhere.npy", "cannot read"),
        ("--mask mask.npy --bin-pixels 2", "excludes"),
        ("--mask mask.npy --pixels 60000 --lines 60000", "pixels of a mask would take"),
    ] {
        let said = ask(path, &format!("{words} scan.ptu"));
        assert!(
            said.code == 2 && said.stderr.contains(reason),
            "{words}: {} {}",
            said.code,
            said.stderr
        );
    }
    let said = ask(path, "--mask mask.npy -o regions.tif scan.ptu");
    assert!(said.code == 1 && said.stderr.contains("a TIFF holds one image"), "{}", said.stderr);
    // To open a pipe without a writer would wait.
    #[cfg(unix)]
    {
        let made = std::process::Command::new("mkfifo").arg(path.join("pipe.npy")).status();
        if made.is_ok_and(|status| status.success()) {
            let said = ask(path, "--mask pipe.npy scan.ptu");
            assert!(said.code == 2 && said.stderr.contains("it is no mask"), "{}", said.stderr);
        }
    }
}

#[test]
fn regions_are_tables_files_and_figures() {
    let folder = folder();
    let path = folder.path();
    for name in ["regions.csv", "regions.parquet", "regions.arrow", "regions.json", "regions.svg"] {
        let said = ask(path, &format!("--mask mask.npy -o {name} scan.ptu"));
        assert_eq!(said.code, 0, "{name}: {}", said.stderr);
    }
    let figure = fs::read_to_string(path.join("regions.svg")).unwrap();
    assert!(figure.contains("label 40") && figure.contains("Counts of regions"), "{figure}");
    let lifetimes = ask(path, "--mask mask.npy --lifetime --plot --format table scan.ptu");
    assert!(lifetimes.stderr.contains("label 40 "), "{}", lifetimes.stderr);
    let again = output(command().args(["reproduce", "regions.json"]).current_dir(path));
    assert_eq!(again.code, 0, "{}", again.stderr);
    // Runs are added if they have the same mask; its file may change between two answers.
    let first = answer(path, "--mask mask.npy scan.ptu");
    fs::write(path.join("mask.npy"), npy([SIDE, SIDE], (0..64).map(|at| at % 3))).unwrap();
    let second = answer(path, "--mask mask.npy scan.ptu");
    assert_ne!(first["query"]["mask"]["digest"], second["query"]["mask"]["digest"]);
    assert_eq!(second["rows"].as_array().unwrap().len(), 2);
}

/// Fits the photons of input 1 in regions, all of which are seen.
fn fits(folder: &Path, fit: &str, image: &str) -> Output {
    let words = format!("fit decay {fit} --pile-up ignored image --channels 1 {image} --json");
    output(command().args(words.split_whitespace()).current_dir(folder))
}

fn near(row: &Value, key: &str, truth: f64) {
    let of = |end: &str| row[format!("{key}{end}")].as_f64();
    let value = of("").unwrap();
    // Near a bound there are intervals in place of errors.
    let err = of("_err").or_else(|| Some((of("_high")? - of("_low")?) / 2.0)).unwrap();
    assert!(err > 0.0 && err < 0.25 * value, "{key}: {row}");
    assert!((value - truth).abs() < 4.5 * err, "{key} is not {truth}: {row}");
}

#[test]
fn fits_of_regions_are_the_truth_with_each_response() {
    let folder = folder();
    let path = folder.path();
    fs::copy(path.join("scan.ptu"), path.join("irf.ptu")).unwrap();
    let counted = output(
        command().args(["micro", "2", "scan.ptu", "-o", "irf.csv"]).current_dir(folder.path()),
    );
    assert_eq!(counted.code, 0, "{}", counted.stderr);
    for words in [
        "--irf auto",
        "--irf tail",
        "--irf-channel 2",
        "--irf irf.csv",
        "--irf irf.ptu --irf-channel 2",
        "--irf auto --exponentials auto",
    ] {
        let fitted = fits(path, words, "--mask mask.npy scan.ptu");
        assert_eq!(fitted.code, 0, "{words}: {}", fitted.stderr);
        let answer = fitted.json();
        let rows = answer["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2, "{words}");
        for (row, (label, tau)) in rows.iter().zip([(7, 1e-9), (40, 3e-9)]) {
            assert_eq!(row["label"], label, "{words}");
            near(row, "tau_s", tau);
            assert!(
                (0.7..1.3).contains(&row["deviance_ratio"].as_f64().unwrap()),
                "{words}: {row}"
            );
            if words.starts_with("--irf auto") {
                // A unit k of the micro times is at k, and holds the places from k to k + 1.
                near(row, "centre_s", 1.95e-9);
                near(row, "fwhm_s", 2.354_820 * 0.15e-9);
            }
            // Three standard deviations after the centre.
            let from = row["from_s"].as_f64().map(|from| (from * 1e10).round());
            assert_eq!(from, (words == "--irf tail").then_some(24.0), "{words}: {row}");
        }
        let query = &answer["query"];
        assert_eq!((&query["kind"], &query["fitted"]["kind"]), (&json!("fit"), &json!("image")));
        assert!((query["period_s"].as_f64().unwrap() - 1e-8).abs() < 1e-15, "{query}");
    }
}

/// All pixels have one label: the decay is that of the run.
#[test]
fn a_region_of_all_pixels_is_the_run() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("mask.npy"), npy([SIDE, SIDE], vec![3; 64])).unwrap();
    let of = |words: &str| {
        let asked = output(command().args(words.split_whitespace()).current_dir(path));
        assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
        asked
    };
    for words in ["--irf auto --exponentials 2", "--irf-channel 2 --exponentials 2"] {
        let fit = format!("fit decay {words} --pile-up ignored --json");
        let region =
            of(&format!("{fit} image --range 0ns..10ns --channels 1 --mask mask.npy scan.ptu"))
                .json();
        let run = of(&format!("{fit} micro 1 --range 0ns..10ns scan.ptu")).json();
        let (region, run) = (&region["rows"][0], &run["rows"][0]);
        for (key, value) in run
            .as_object()
            .unwrap()
            .iter()
            .filter(|(key, _)| !["channel", "name"].contains(&&***key))
        {
            assert_eq!(region[key], *value, "{words}: {key}");
        }
        for (key, truth) in [("tau_1_s", 3e-9), ("tau_2_s", 1e-9)] {
            near(region, key, truth);
        }
    }
    // A pixel is 2,000 pulses long, and has 300 photons of input 1 and 300 of input 2.
    for (image, note) in [
        ("--channels 1", "label 3: 15.0 % photons a pulse"),
        // Both detectors see all pulses.
        ("--channels 1,2", "label 3: 15.0 % photons a pulse"),
        ("--detectors apart", "input2, label 3: 15.0 % photons a pulse"),
    ] {
        let said = of(&format!("fit decay --irf auto image {image} --mask mask.npy scan.ptu"));
        assert!(said.stderr.replace("channel 2", "input2").contains(note), "{}", said.stderr);
    }
}

#[test]
fn regions_without_photons_have_no_fit() {
    let folder = folder();
    let path = folder.path();
    // The label of the last line is 9.
    let labels = (0..64).map(|at| if at < 56 { 1 } else { 9 });
    fs::write(path.join("mask.npy"), npy([SIDE, SIDE], labels)).unwrap();
    // A line begins each 200 us.
    let first = "--to 1.2ms --mask mask.npy scan.ptu";
    let fitted = fits(path, "--irf auto --exponentials 2", first);
    assert_eq!(fitted.code, 0, "{}", fitted.stderr);
    assert!(fitted.stderr.contains("label 9: no fit: no counts to fit"), "{}", fitted.stderr);
    let rows = fitted.json()["rows"].clone();
    assert!(rows[0]["tau_1_s"].is_f64() && rows[0]["degrees"].is_u64(), "{rows}");
    assert!(rows[1]["label"] == 9 && rows[1]["tau_1_s"].is_null() && rows[1]["degrees"].is_null());
    // Of one region that has none, there is nothing to say.
    fs::write(path.join("mask.npy"), npy([SIDE, SIDE], (0..64).map(|at| u16::from(at > 55))))
        .unwrap();
    let none = fits(path, "--irf auto", first);
    assert!(none.code == 1 && none.stderr.contains("no counts to fit"), "{}", none.stderr);
}

#[test]
fn fits_of_regions_are_tables_files_and_figures() {
    let folder = folder();
    let path = folder.path();
    let apart = fits(path, "--irf auto", "--lines 4 --frames apart --mask apart.npy scan.ptu");
    assert_eq!(apart.code, 2, "{}", apart.stderr);
    let labels = (0..32).map(|at| 1 + at % 2);
    fs::write(path.join("apart.npy"), npy([4, SIDE], labels)).unwrap();
    let of = |words: &str| {
        let asked = fits(path, words, "--lines 4 --frames apart --mask apart.npy scan.ptu");
        assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
        asked
    };
    let answer = of("--irf auto --exponentials 2").json();
    let places: Vec<_> = (answer["rows"].as_array().unwrap().iter())
        .map(|row| (row["frame"].as_u64().unwrap(), row["label"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [(0, 1), (0, 2), (1, 1), (1, 2)]);
    // Each pixel has a label of its own.
    fs::write(path.join("mask.npy"), npy([SIDE, SIDE], 1..=64)).unwrap();
    let words =
        "fit decay --irf auto --pile-up ignored image --channels 1 --mask mask.npy scan.ptu";
    for name in ["fits.csv", "fits.parquet", "fits.arrow", "fits.json", "fits.svg", "fits.html"] {
        let said =
            output(command().args(format!("{words} -o {name}").split(' ')).current_dir(path));
        assert_eq!(said.code, 0, "{name}: {}", said.stderr);
    }
    let figure = fs::read_to_string(path.join("fits.svg")).unwrap();
    assert!(figure.contains("label ") && figure.contains("the 7 of 64 fits with the most counts"));
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert!(read("fits.csv").contains("\nlabel,photons,"), "{}", read("fits.csv"));
    assert!(read("fits.csv").contains("fit of decay: 64 fits, deviance/expected 0."));
    let again = output(command().args(["reproduce", "fits.json"]).current_dir(path));
    assert_eq!(again.code, 0, "{}", again.stderr);
    let notes =
        again.stderr + &fits(path, "--irf auto --methods", "--mask mask.npy scan.ptu").stderr;
    assert!(notes.contains("more of other channels or regions"), "{notes}");
}

#[test]
fn mistakes_of_fits_of_regions_say_what_to_write() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("small.npy"), npy([2, 3], [0, 1, 2, 3, 4, 5])).unwrap();
    for (fit, image, reason) in [
        ("", "scan.ptu", "--mask is missing"),
        ("", "--mask small.npy scan.ptu", "it has 2 lines of 3 pixels, and the image has 8"),
        ("", "--mask nowhere.npy scan.ptu", "cannot read"),
        ("--irf auto --irf-channel 2", "--mask mask.npy scan.ptu", "leave --irf out"),
        ("--irf tail --irf-channel 2", "--mask mask.npy scan.ptu", "leave --irf out"),
        (
            "--irf scan.ptu",
            "--mask mask.npy --channels 1,2 scan.ptu",
            "name one with --irf-channel",
        ),
    ] {
        let said = fits(path, fit, image);
        assert!(said.code == 2 && said.stderr.contains(reason), "{fit} {image}: {}", said.stderr);
    }
}
