//! Bins chosen for simulated light of known truth.

use std::f64::consts::{LN_2, TAU};

use rayon::prelude::*;
use tagq_sampling::some;
use tagq_store::{Channels, Tags};

use tagq_query::{Execution, Histogram, Kind as _, Mode, Recording, Scope};

use super::{choose::*, scan::*};
use crate::pulses::Resolution;

const CASES: u64 = 225;

/// Random numbers by `SplitMix64`.
struct Random(u64);

impl Random {
    /// Returns a number from 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform())
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    /// Adds the times, in seconds, of steady light.
    fn steady(&mut self, rate: f64, seconds: f64, channel: u8, tags: &mut Vec<(f64, u8)>) {
        let mut time = self.exponential(1.0 / rate);
        while time < seconds {
            tags.push((time, channel));
            time += self.exponential(1.0 / rate);
        }
    }
}

/// Where the correlation differs from chance, in seconds: middle and full width at half maximum.
type Truth = Option<(f64, f64)>;

/// The kinds of light.
const KINDS: [&str; 9] = [
    "none",
    "drift",
    "peak",
    "peak at a delay",
    "weak peak far away",
    "peaks",
    "dip",
    "bunching",
    "short run",
];

/// Returns tags of a kind of light in seconds, with the truth.
#[expect(clippy::too_many_lines, reason = "a list")]
fn light(kind: &str, random: &mut Random) -> (Vec<(f64, u8)>, Truth) {
    let rate = random.between(if kind == "dip" { 5e5 } else { 5e4 }, 1e6);
    let seconds = match kind {
        "short run" => 0.01,
        // A dip needs pairs by chance.
        "dip" => 0.5,
        _ => random.between(2e5, 2e6) / rate / 2.0,
    };
    let mut tags = Vec::new();
    let background = |random: &mut Random, tags: &mut Vec<(f64, u8)>| {
        random.steady(rate, seconds, 1, tags);
        random.steady(rate, seconds, 2, tags);
    };
    let pairs =
        |random: &mut Random, tags: &mut Vec<(f64, u8)>, number: f64, at: f64, sigma: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pairs")]
            for _ in 0..number as usize {
                let time = random.uniform() * seconds;
                tags.push((time, 1));
                tags.push((time + at + sigma * random.normal(), 2));
            }
        };
    let full_width = 2.0 * (2.0 * LN_2).sqrt();
    // Pairs by chance within the peak, of the tags that are scanned.
    let scanned = (LOOK_ROWS as f64 / (2.0 * rate * seconds)).min(1.0);
    let enough = |sigmas: f64, width: f64| {
        let chance = rate * rate * seconds * scanned * width;
        (sigmas * sigmas + sigmas * chance.sqrt()) / scanned
    };
    let truth = match kind {
        "none" => {
            background(random, &mut tags);
            None
        }
        "drift" => {
            // From nothing to twice the rate.
            for channel in [1, 2] {
                let mut steady = Vec::new();
                random.steady(2.0 * rate, seconds, channel, &mut steady);
                tags.extend(steady.into_iter().filter(|tag| random.uniform() * seconds < tag.0));
            }
            None
        }
        "peak" | "short run" => {
            let sigma = random.between(1e-10, 2e-7);
            background(random, &mut tags);
            let number =
                enough(random.between(12.0, 100.0), 4.0 * sigma).max(0.02 * rate * seconds);
            pairs(random, &mut tags, number, 0.0, sigma);
            Some((0.0, full_width * sigma))
        }
        "peak at a delay" => {
            let sigma = random.between(1e-10, 1e-8);
            let at = random.between(1.0, 2_000.0)
                * sigma
                * if random.uniform() < 0.5 { -1.0 } else { 1.0 };
            background(random, &mut tags);
            pairs(random, &mut tags, 0.05 * rate * seconds, at, sigma);
            Some((at, full_width * sigma))
        }
        "weak peak far away" => {
            let sigma = random.between(2e-10, 1e-8);
            let at = random.between(1e-5, 9e-4).min(seconds / 20.0)
                * if random.uniform() < 0.5 { -1.0 } else { 1.0 };
            background(random, &mut tags);
            // A third of the tags is scanned for such peaks.
            pairs(random, &mut tags, enough(30.0, 4.0 * sigma), at, sigma);
            Some((at, full_width * sigma))
        }
        "peaks" => {
            let sigma = random.between(1e-10, 1e-8);
            background(random, &mut tags);
            let at = random.between(20.0, 60.0) * sigma;
            for (number, at) in [(0.06, 0.0), (0.02, at), (0.01, -2.0 * at)] {
                pairs(random, &mut tags, number * rate * seconds, at, sigma);
            }
            Some((0.0, full_width * sigma))
        }
        "dip" => {
            // An emitter is excited again after each photon; each detector takes half of the photons.
            let (excited, emits) = (random.between(2e-9, 2e-8), random.between(2e-9, 2e-8));
            let detected = (2.0 * rate * (excited + emits)).min(0.2);
            let mut time = 0.0;
            while time < seconds {
                let mut cycles = random.exponential(1.0 / detected).ceil();
                if cycles > 64.0 {
                    // Many cycles have a normal sum.
                    let spread = (cycles * (excited * excited + emits * emits)).sqrt();
                    time += (cycles * (excited + emits) + spread * random.normal()).max(0.0);
                    cycles = 1.0;
                }
                while cycles > 0.0 {
                    time += random.exponential(excited) + random.exponential(emits);
                    cycles -= 1.0;
                }
                tags.push((time, 1 + u8::from(random.uniform() < 0.5)));
            }
            // About 1 − e^−|Δ|/τ.
            Some((0.0, 2.0 * LN_2 * excited * emits / (excited + emits)))
        }
        "bunching" => {
            // The light is on half of the time.
            let (mut time, mut is_on) = (0.0, true);
            let each = random.between(2e-6, 2e-4).min(seconds / 4e3);
            while time < seconds {
                let length = random.exponential(each);
                if is_on {
                    let mut part = Vec::new();
                    random.steady(2.0 * rate, length, 1, &mut part);
                    random.steady(2.0 * rate, length, 2, &mut part);
                    tags.extend(part.into_iter().map(|(at, channel)| (time + at, channel)));
                }
                (time, is_on) = (time + length, !is_on);
            }
            // 1 + e^−2|Δ|/each.
            Some((0.0, LN_2 * each))
        }
        _ => unreachable!(),
    };
    (tags, truth)
}

/// Returns a message if the bins that are chosen for a case are wrong.
fn fault(number: u64) -> Option<String> {
    let kind = KINDS[usize::try_from(number).unwrap() % KINDS.len()];
    let mut random = Random(number + 1);
    let (tags, truth) = light(kind, &mut random);
    let tick_s = [1e-12, 156.25e-12, 96.97e-12][usize::try_from(number / 9 % 3).unwrap()];
    // Times in whole nanoseconds, and in steps that are not whole ticks.
    let step = [0.0, 0.0, 0.0, 1e-9, 156.25e-12][usize::try_from(number / 27 % 5).unwrap()];
    let is_coarse = tick_s < 2e-12 && truth.is_none_or(|(_, width)| width > 4.0 * step);
    let step = if is_coarse { step } else { 0.0 };
    let recorded = |time: f64| {
        let time = if step > 0.0 { (time / step).floor() * step } else { time };
        #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
        let ticks = (time / tick_s).floor() as i64;
        ticks
    };
    let mut tags: Vec<(i64, u8)> =
        tags.into_iter().map(|(time, channel)| (recorded(time), channel)).collect();
    tags.sort_unstable();
    let (time, label): (Vec<i64>, Vec<u8>) = tags.into_iter().unzip();
    let tags = Tags { time: time[..].into(), channels: Channels::U8((&label).into()) };
    let recording = Recording::from_tags(tags);
    let resolution = Resolution::find(&recording, [1, 2]);
    let chosen = choose(&recording, [1, 2], &Scope::default(), tick_s, resolution);
    let Chosen { bins, .. } = chosen.unwrap();
    let edge = |at: usize| bins.edge(at) as f64 * tick_s;
    let (low, high) = (edge(0), edge(bins.count()));
    let width = edge(1) - low;
    let is_right = if let Some((at, full)) = truth {
        // The peak is divided into several bins, but for those of a few ticks.
        let finest = 4.01 * tick_s.max(step);
        low <= at - full / 2.0
            && high >= at + full / 2.0
            && width <= (full / 2.0).max(finest)
            && (high - low) < 2_000.0 * full.max(finest)
    } else {
        // About a hundred pairs, if the run is long enough.
        let binned = Histogram {
            start: 1,
            stop: 2,
            bins: bins.clone(),
            mode: Mode::All,
            fold: None,
            scope: Scope::default(),
        };
        let counts = binned.run(&recording, &Execution::best()).unwrap().counts;
        let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        (25.0..800.0).contains(&mean) || width <= 2.0 * tick_s.max(step)
    };
    let text = || {
        format!(
            "{number} {kind}: {truth:?}, bins of {width:e} from {low:e} to {high:e}, step {step:e}"
        )
    };
    (!is_right).then(text)
}

#[test]
fn bins_show_the_structure_of_the_light() {
    let cases: Vec<u64> = some(0..CASES).collect();
    let wrong: Vec<String> = cases.par_iter().filter_map(|&number| fault(number)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn without_structure_bins_hold_a_hundred_pairs() {
    let coarse = |by_chance: f64| Coarse {
        lowest: 0,
        octaves: Vec::new(),
        rate: 0.0,
        length: 2_f64.powi(40),
        by_chance,
    };
    // 100 pairs by chance in 1 tick, in 25.6 and in 64 ticks.
    for (by_chance, width) in [(100.0, 1), (3.9, 32), (1.5625, 64), (0.0, 1)] {
        assert_eq!(coarse(by_chance).filled(64), width);
    }
}
