//! Lifetimes of the pixels of a scan on the command line: known truth, responses from all sources, files.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::Value;

use crate::{
    image::{INT, Record, field, ptu_of},
    support::{Output, command, output},
};

/// The side of the image, and the photons of a pixel.
pub(crate) const SIDE: u64 = 8;
pub(crate) const PHOTONS: u32 = 300;
/// The unit of micro times in nanoseconds, and the period of the pulses in it.
const UNIT: f64 = 0.1;
const PERIOD: u32 = 100;

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    /// Between 0 and 1, without both.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A jitter of 0.15 ns around 2 ns.
    fn pulse(&mut self) -> f64 {
        let gaussian =
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
        0.15f64.mul_add(gaussian, 2.0)
    }

    /// The micro time of a photon with this lifetime, in units.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in the period")]
    fn photon(&mut self, tau: f64) -> u32 {
        let place = self.pulse() - tau * self.uniform().ln();
        ((place / UNIT).rem_euclid(f64::from(PERIOD))) as u32
    }
}

/// The lifetime of a pixel in nanoseconds: longer in the right half.
fn truth(pixel: u64) -> f64 {
    if pixel < SIDE / 2 { 1.0 } else { 3.0 }
}

/// A scan with photons of input 1, and the response on input 2.
pub(crate) fn scan() -> Vec<u8> {
    let mut random = Random(11);
    let mut records: Vec<Record> = Vec::new();
    // Pulses of a pixel, and of a line with the way back.
    let (of_pixel, of_line) = (2_000, 20_000);
    for line in 0..SIDE {
        let start = 1 + line * of_line;
        records.push((start, Err(1)));
        let mut photons = Vec::new();
        for pixel in 0..SIDE {
            let from = start + pixel * of_pixel;
            for number in 0..u64::from(PHOTONS) {
                photons.push((from + number * 6, Ok((1, random.photon(truth(pixel))))));
                photons.push((from + number * 6 + 1, Ok((2, random.photon(1e-3)))));
            }
        }
        records.extend(photons);
        records.push((start + SIDE * of_pixel, Err(2)));
    }
    let side = SIDE;
    let scan = [
        field("ImgHdr_PixX", INT, side),
        field("ImgHdr_PixY", INT, side),
        field("ImgHdr_LineStart", INT, 1),
        field("ImgHdr_LineStop", INT, 2),
    ];
    ptu_of(UNIT * 1e-9, &scan, &records)
}

fn ask(folder: &Path, words: &str) -> Output {
    output(command().arg("image").args(words.split_whitespace()).current_dir(folder))
}

/// Asks for the lifetimes of the photons of input 1.
fn lifetimes(folder: &Path, words: &str) -> Value {
    let asked = ask(folder, &format!("--channels 1 {words} scan.ptu --json"));
    assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
    serde_json::from_slice(&asked.stdout).unwrap()
}

/// The pulls of the lifetimes, and the median lifetime of each half.
fn judged(answer: &Value, side: u64) -> (Vec<f64>, [f64; 2]) {
    let (mut pulls, mut halves) = (Vec::new(), [Vec::new(), Vec::new()]);
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(rows.len() as u64, side * side);
    for row in rows {
        let pixel = row["pixel"].as_u64().unwrap() * SIDE / side;
        let value = |key: &str| row[key].as_f64().map(|seconds| seconds * 1e9);
        // At the second harmonic g is near zero, and a pixel with a negative one has no lifetime.
        let (Some(tau), Some(err)) = (value("lifetime_s"), value("lifetime_s_err")) else {
            continue;
        };
        pulls.push((tau - truth(pixel)) / err);
        halves[usize::from(pixel >= SIDE / 2)].push(tau);
    }
    assert!(pulls.len() * 10 >= rows.len() * 9, "{} have a lifetime", pulls.len());
    let median = |mut taus: Vec<f64>| {
        taus.sort_by(f64::total_cmp);
        taus[taus.len() / 2]
    };
    (pulls, halves.map(median))
}

#[test]
fn lifetimes_of_pixels_are_the_truth_by_all_methods_and_responses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("scan.ptu"), scan()).unwrap();
    // A response in a text: one count for each unit of micro times.
    let mut random = Random(5);
    let mut counts = [0; PERIOD as usize];
    (0..100_000).for_each(|_| counts[random.photon(1e-3) as usize] += 1);
    let mut text = String::new();
    for count in counts {
        writeln!(text, "{count}").unwrap();
    }
    fs::write(path.join("irf.txt"), text).unwrap();
    fs::copy(path.join("scan.ptu"), path.join("irf.ptu")).unwrap();
    for (words, method, response) in [
        ("--lifetime", "exp", "gaussian"),
        ("--lifetime mean", "mean", "gaussian"),
        ("--lifetime phasor", "phasor", "gaussian"),
        ("--lifetime phasor --harmonic 2", "phasor", "gaussian"),
        ("--lifetime exp --irf tail", "exp", "tail"),
        ("--lifetime exp --irf irf.txt", "exp", "measured"),
        ("--lifetime mean --irf-channel 2", "mean", "measured"),
        ("--lifetime phasor --irf irf.ptu --irf-channel 2", "phasor", "measured"),
        // The response itself is a dye with a very short lifetime.
        (
            "--lifetime phasor --irf irf.ptu --irf-channel 2 --reference-lifetime 1ps",
            "phasor",
            "reference",
        ),
        ("--lifetime phasor --irf irf.txt --reference-lifetime 1ps", "phasor", "reference"),
        ("--lifetime phasor --irf-channel 2 --reference-lifetime 1ps", "phasor", "reference"),
        ("--lifetime exp --bin 300ps", "exp", "gaussian"),
        ("--lifetime exp --bin-pixels 2", "exp", "gaussian"),
    ] {
        let answer = lifetimes(path, words);
        let used = &answer["query"]["lifetime"];
        assert_eq!(used["method"], method, "{words}");
        assert_eq!(used["response"]["kind"], response, "{words}");
        assert!((used["period_s"].as_f64().unwrap() - 1e-8).abs() < 1e-13, "{words}");
        if response == "gaussian" {
            // A unit k is at k, and lasts to k + 1.
            let centre = used["response"]["centre_s"].as_f64().unwrap() * 1e9 + UNIT / 2.0;
            let fwhm = used["response"]["fwhm_s"].as_f64().unwrap() * 1e9;
            assert!((centre - 2.0).abs() < 0.02, "{words}: {centre}");
            assert!((fwhm - 0.353).abs() < 0.1, "{words}: {fwhm}");
        }
        let side = if words.contains("bin-pixels") { SIDE / 2 } else { SIDE };
        let (pulls, [short, long]) = judged(&answer, side);
        let ratio = pulls.iter().map(|of| of * of).sum::<f64>() / pulls.len() as f64;
        let most = pulls.iter().map(|of| of.abs()).fold(0.0, f64::max);
        assert!(
            (0.4..1.8).contains(&ratio) && most < if response == "tail" { 7.0 } else { 5.0 },
            "{words}: {ratio} {most}, {used}"
        );
        // A background that cannot be negative makes long lifetimes a little too short, and angles beyond 200° determine
        // little.
        let is_near = (short - 1.0).abs() < 0.1 && (long - 3.0).abs() < 0.35;
        assert!(is_near || words.contains("harmonic"), "{words}: {short} {long}");
    }
    let phasors = lifetimes(path, "--lifetime phasor");
    for row in phasors["rows"].as_array().unwrap() {
        let value = |key: &str| row[key].as_f64().unwrap();
        // 2π/(10 ns) times the lifetime.
        let angle = truth(row["pixel"].as_u64().unwrap()) * 0.628_318_53;
        let expected = [1.0, angle].map(|part| part / angle.mul_add(angle, 1.0));
        for (key, expected) in ["phasor_g", "phasor_s"].into_iter().zip(expected) {
            let err = value(&format!("{key}_err"));
            assert!((value(key) - expected).abs() < 5.0 * err && err < 0.05, "{row}");
        }
        let covariance = value("phasor_covariance") / value("phasor_g_err") / value("phasor_s_err");
        assert!(covariance.abs() <= 1.0, "{row}");
    }
}

#[test]
fn blocks_of_pixels_have_all_their_photons() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scan.ptu"), scan()).unwrap();
    // Blocks of 3 x 3 of 8 x 8 pixels: those at the end have fewer.
    let answer = lifetimes(folder.path(), "--bin-pixels 3");
    let counts: Vec<u64> = answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["count"].as_u64().unwrap())
        .collect();
    let of = u64::from(PHOTONS);
    assert_eq!(counts, [9, 9, 6, 9, 9, 6, 6, 6, 4].map(|pixels| pixels * of));
    // Pixels below the minimum have no lifetime, and neither has a selection without photons.
    for words in ["--lifetime exp --min-photons 301", "--lifetime mean --to 1us"] {
        let answer = lifetimes(folder.path(), words);
        let rows = answer["rows"].as_array().unwrap();
        assert!(rows.len() == 64 && rows.iter().all(|row| row["lifetime_s"].is_null()), "{words}");
    }
    let few = ask(folder.path(), "--channels 1 --lifetime scan.ptu --range 0ns..300ps");
    assert!(few.code == 0 && few.stderr.contains("is not fitted"), "{}", few.stderr);
}

#[test]
fn a_sum_is_of_runs_whose_pulses_have_one_period() {
    let folder = tempfile::tempdir().unwrap();
    for (name, period) in [("a.ptu", "25ns"), ("b.ptu", "12.5ns")] {
        let words = "simulate --fluorescence 3ns --scan 8x8 --dwell 40us --rate 2MHz --delay 1=2ns --channels 1 \
                     --tick 50ps --quiet --pulsed";
        let made = command()
            .args(words.split_whitespace())
            .args([period, name])
            .current_dir(&folder)
            .status();
        assert!(made.unwrap().success());
    }
    let refused = ask(folder.path(), "--sum --lifetime mean a.ptu b.ptu");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("different periods; --pulse-period"), "{}", refused.stderr);
    for words in ["--sum --lifetime mean --pulse-period 25ns a.ptu b.ptu", "--sum a.ptu b.ptu"] {
        assert_eq!(ask(folder.path(), words).code, 0, "{words}");
    }
}

#[test]
fn a_map_of_lifetimes_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scan.ptu"), scan()).unwrap();
    let drawn = ask(folder.path(), "--channels 1 scan.ptu --lifetime -o map.png");
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    assert!(fs::read(folder.path().join("map.png")).unwrap().starts_with(b"\x89PNG"));
    let drawn = ask(folder.path(), "--channels 1 scan.ptu --lifetime --output map.svg");
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    let figure = fs::read_to_string(folder.path().join("map.svg")).unwrap();
    assert!(figure.contains("Lifetimes, scan.ptu") && figure.contains("lifetimes by likelihood"));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scan.ptu"), scan()).unwrap();
    fs::write(folder.path().join("empty.txt"), "0\n0\n").unwrap();
    for (words, expected) in [
        ("--lifetime=likelihood", "one of auto, mean, phasor, exp"),
        ("--irf tail", "--lifetime"),
        ("--lifetime --harmonic 2", "--lifetime phasor"),
        ("--lifetime phasor --harmonic 0", "from 1 on"),
        ("--lifetime phasor --irf tail", "whole period"),
        ("--lifetime --irf-channel 2 --irf tail", "leave --irf out"),
        ("--lifetime --irf empty.txt", "no counts"),
        ("--lifetime exp --irf scan.ptu --reference-lifetime 2ns", "--lifetime phasor"),
        ("--lifetime phasor --reference-lifetime 2ns", "name its run with --irf"),
        ("--lifetime phasor --irf auto --reference-lifetime 2ns", "name its run with --irf"),
        (
            "--lifetime phasor --irf empty.txt --reference-lifetime 2ns",
            "of the reference is not fitted",
        ),
        ("--lifetime phasor --irf scan.ptu --reference-lifetime 0ns", "longer than zero"),
        ("--reference-lifetime 2ns", "--lifetime"),
        ("--lifetime --irf nowhere.ptu", "nowhere.ptu"),
        ("--lifetime --irf scan.ptu", "name one with --irf-channel"),
        ("--lifetime --pulse-period 0ns", "longer than zero"),
        ("--bin 2ns", "--micro"),
        ("--bin-pixels 0", "from 1 to 1024"),
    ] {
        let refused = ask(folder.path(), &format!("--channels 1 scan.ptu {words}"));
        assert!(refused.code == 2 || words.contains("nowhere"), "{words}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{words}: {}", refused.stderr);
    }
    // A plan is answered without the tags.
    let words =
        "plan image --lifetime --irf-channel=2 --channels=1 scan.ptu --parts=2 -o plan.json";
    let refused = output(command().args(words.split_whitespace()).current_dir(folder.path()));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("name a run with --irf"), "{}", refused.stderr);
}
