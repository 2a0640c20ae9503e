//! Simulated scans, from the command line to the lifetime of each pixel.

use std::{collections::HashMap, path::Path};

use serde_json::Value;
use tagq_simulate::{Area, Detector, Light, Markers, Scan, Simulation, Species, Tag};

use crate::support::{cat, command, output};

/// The command of a scan: a disc of 1 ns on a background of 3 ns.
const WORDS: &str = "simulate -q --fluorescence 3ns --rate 2MHz --disc 1ns --disc-rate 4MHz --scan 20x16x4 --dwell 20us \
                     --pulsed 25ns --jitter 80ps --delay 1=2ns --dark 2kHz --channels 1 --tick 50ps --seed 7";

/// The same scan, in ticks of 50 ps.
fn truth(two_way: bool) -> Simulation {
    let tick = 50e-12;
    let species = |rate: f64, lifetime, area| Species { rate: rate * tick, lifetime, area };
    let markers = Markers { line: 101, line_end: 102, frame: 103 };
    let (pixels, lines, frames) = (20, 16, 4);
    let scan = Scan { pixels, lines, frames, dwell: 800, two_way, sine: None, markers };
    let mut simulation = Simulation {
        light: Light::Fluorescence {
            species: vec![species(2e6, 60.0, Area::Background), species(4e6, 20.0, Area::Disc)],
            pulse_period: 500.0,
            scan: Some(scan),
        },
        detectors: vec![Detector {
            channel: 1,
            efficiency: 1.0,
            dark_rate: 2e3 * tick,
            jitter: 1.6,
            delay: 40.0,
            dead_time: 0,
        }],
        drift: None,
        clock: None,
        start: 0,
        duration: 1,
        seed: 7,
    };
    simulation.duration = simulation.scan_duration().unwrap();
    simulation
}

fn tags(simulation: &Simulation) -> Vec<Tag> {
    let mut tags = simulation.tags().unwrap();
    let mut all = Vec::new();
    while let Some(slab) = tags.next_slab() {
        all.extend_from_slice(slab);
    }
    all
}

fn simulate(path: &Path, words: &str) {
    let made = output(command().args(format!("{WORDS} {words}").split_whitespace()).arg(path));
    assert_eq!(made.code, 0, "{}", made.stderr);
}

fn image(path: &Path, words: &str) -> Value {
    let words = format!("image {words} --json");
    let asked = output(command().args(words.split_whitespace()).arg(path));
    assert_eq!(asked.code, 0, "{words}: {}", asked.stderr);
    serde_json::from_slice(&asked.stdout).unwrap()
}

/// The tags of a file, as the command prints them, in order.
fn printed(path: &Path) -> Vec<(i64, u64)> {
    let mut all = cat(path);
    all.sort_unstable();
    all
}

#[test]
fn the_tags_and_the_pixels_of_a_file_are_those_that_were_simulated() {
    let folder = tempfile::tempdir().unwrap();
    for (two_way, words) in [(false, ""), (true, "--two-way")] {
        let simulation = truth(two_way);
        let tags = tags(&simulation);
        let mut expected: Vec<(i64, u64)> = tags.iter().map(|of| (of.time, of.channel)).collect();
        expected.sort_unstable();
        let mut counts = HashMap::new();
        for tag in tags.iter().filter(|tag| tag.channel == 1) {
            if let Some(at) = simulation.pixel_at(tag.time) {
                *counts.entry((at.frame, at.line, at.pixel)).or_insert(0_u64) += 1;
            }
        }
        for ending in ["ptu", "tags.zst", "parquet", "tsv"] {
            let path = folder.path().join(format!("{two_way}.{ending}"));
            simulate(&path, words);
            if ending != "parquet" {
                assert!(printed(&path) == expected, "{ending}");
            }
            let answer = image(&path, "--frames apart");
            let rows = answer["rows"].as_array().unwrap();
            assert_eq!(rows.len(), 4 * 16 * 20, "{ending}");
            for row in rows {
                let at = ["frame", "line", "pixel"]
                    .map(|key| u32::try_from(row[key].as_u64().unwrap()).unwrap());
                let known = counts.get(&(at[0], at[1], at[2])).copied().unwrap_or(0);
                assert_eq!(row["count"], known, "{ending}: {row}");
            }
        }
    }
}

#[test]
fn lifetimes_of_pixels_are_those_of_the_sample() {
    let folder = tempfile::tempdir().unwrap();
    let simulation = truth(false);
    let scan = simulation.light.scan().unwrap();
    for (name, words) in
        [("scan.ptu", ""), ("sine.ptu", "--two-way --sine 80"), ("scan.parquet", "")]
    {
        let path = folder.path().join(name);
        simulate(&path, words);
        for method in ["exp", "phasor"] {
            let period = if name.ends_with("ptu") { "" } else { "--pulse-period 25ns" };
            let answer = image(&path, &format!("--lifetime {method} {period}"));
            let (mut pulls, mut disc) = (0.0, 0);
            let rows = answer["rows"].as_array().unwrap();
            for row in rows {
                let at =
                    ["line", "pixel"].map(|key| u32::try_from(row[key].as_u64().unwrap()).unwrap());
                let is_in_disc = scan.is_in_disc(at[0], at[1]);
                disc += usize::from(is_in_disc);
                let tau = if is_in_disc { 1e-9 } else { 3e-9 };
                let [found, err] =
                    ["lifetime_s", "lifetime_s_err"].map(|key| row[key].as_f64().unwrap());
                pulls += ((found - tau) / err).powi(2);
            }
            // 320 pixels of 160 and 320 photons: the error of the mean square is 0.08. The photons of the next pixel's species
            // that come after the edge move it, too.
            let mean = pulls / rows.len() as f64;
            assert!((0.75..1.3).contains(&mean), "{name}, {method}: {mean}");
            // A radius of 4.8 pixels: pi * 23 = 72.
            assert!((60..85).contains(&disc), "{disc}");
        }
    }
}

#[test]
fn a_header_keeps_the_scan_when_a_file_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a.ptu"), folder.path().join("b.ptu"));
    simulate(&first, "--two-way --sine 80");
    let converted = output(command().arg("convert").args([&first, &second]));
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    let counts = |path: &Path| image(path, "")["rows"].clone();
    assert_eq!(counts(&first), counts(&second));
}

#[test]
fn options_of_a_scan_need_one() {
    for (words, named) in [
        ("--fluorescence 1ns", "--pulsed"),
        ("--scan 8x8", "--fluorescence"),
        ("--fluorescence 1ns --pulsed 25ns --disc 1ns", "--scan"),
        ("--fluorescence 1ns --pulsed 25ns --scan 8", "64x64x5"),
        ("--fluorescence 1ns=0 --pulsed 25ns", "3ns=0.7"),
        ("--fluorescence 1ns --pulsed 25ns --scan 8x8 --duration 1s", "--duration"),
        ("--fluorescence 1ns --pulsed 25ns --coherent", "--coherent"),
        ("--fluorescence 1ns --pulsed 25ns --scan 8x8 --dwell 1ns", "pulse of the laser"),
        ("--clock 0", "--pulsed"),
        ("--pulsed 25ns --clock 1", "channel 1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("x.tags.zst");
        let made = output(command().arg("simulate").args(words.split_whitespace()).arg(&out));
        assert_eq!(made.code, 2, "{words}: {}", made.stderr);
        assert!(made.stderr.contains(named) && !out.exists(), "{words}: {}", made.stderr);
    }
}
