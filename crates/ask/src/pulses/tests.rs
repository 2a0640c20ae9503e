//! Tests with simulated light of known truth.

use std::f64::consts::TAU;

use rayon::prelude::*;
use tagq_query::Recording;
use tagq_simulate::{Detector, Light, Simulation};
use tagq_store::{Channels, Tags};

use super::{find::*, sample::Effort};

/// Ticks of 156.25 ps per second.
const SECOND: f64 = 6.4e9;
const TICK_S: f64 = 156.25e-12;

fn detector(channel: u64) -> Detector {
    Detector { channel, efficiency: 1.0, dark_rate: 0.0, jitter: 2.0, delay: 0.0, dead_time: 0 }
}

/// Returns light on channels 1 and 2, with `rate` tags per second on each.
fn coherent(rate: f64, pulse_period: Option<f64>, seconds: f64, seed: u64) -> Simulation {
    #[expect(clippy::cast_possible_truncation, reason = "seconds in ticks")]
    let duration = (seconds * SECOND) as i64;
    Simulation {
        light: Light::Coherent { rate: rate / SECOND, pulse_period, beam_splitter: false },
        detectors: vec![detector(1), detector(2)],
        drift: None,
        clock: None,
        start: 0,
        duration,
        seed,
    }
}

fn recording(mut tags: Vec<(i64, u8)>) -> Recording<'static> {
    tags.sort_unstable();
    let (time, label): (Vec<i64>, Vec<u8>) = tags.into_iter().unzip();
    // The leak is acceptable because a test is short.
    Recording::from_tags(Tags {
        time: (&*time.leak()).into(),
        channels: Channels::U8((&*label.leak()).into()),
    })
}

fn tags(simulation: &Simulation) -> Vec<(i64, u8)> {
    let mut tags = simulation.tags().unwrap();
    let mut all = Vec::new();
    while let Some(slab) = tags.next_slab() {
        all.extend(slab.iter().map(|tag| (tag.time, u8::try_from(tag.channel).unwrap())));
    }
    all
}

fn found(simulation: &Simulation, reach: i64) -> Option<Pulses> {
    Pulses::find(&recording(tags(simulation)), [1, 2], TICK_S, (reach, f64::INFINITY), Effort::Full)
}

#[test]
fn pulses_have_their_period_from_a_nanosecond_to_a_millisecond() {
    // In ticks: 1 ns to 4 ms, whole and fractional.
    for (period, rate) in [
        (6.4, 2e6),
        (80.0, 2e5),
        (80.2537, 2e5),
        (83.333_333, 2e4),
        (640.17, 2e5),
        (6_400.3, 2e5),
        (64_001.7, 2e5),
        (640_017.7, 1e5),
        (6_400_170.3, 5e4),
    ] {
        let jitter = if period < 10.0 { 0.5 } else { 2.0 };
        let mut light = coherent(rate, Some(period), 2.0, 1);
        light.detectors.iter_mut().for_each(|detector| detector.jitter = jitter);
        light.detectors[1].delay = 1_234.0;
        let found = found(&light, 0).unwrap_or_else(|| panic!("no period of {period}"));
        let off = found.period - period;
        assert!(off.abs() < 5.0 * found.period_err, "{period}: {found:?}");
        assert!(found.period_err < 1e-3 * period, "{period}: {found:?}");
    }
}

#[test]
fn a_period_is_refined_by_longer_differences() {
    let period = 80.253_7;
    let light = coherent(2e5, Some(period), 2.0, 3);
    let [near, far] = [0, 64_000_000].map(|reach| found(&light, reach).unwrap());
    assert!(far.period_err < near.period_err / 100.0, "{near:?} {far:?}");
    assert!((far.period - period).abs() < 5.0 * far.period_err, "{far:?}");
    // Both channels see the same pulses at the same time.
    assert!(far.phase < 0.02 || far.phase > 0.98, "{far:?}");
}

#[test]
fn weak_pulses_on_a_background_are_found_and_worthless_ones_are_not() {
    // A fraction p² of the differences is between two pulse tags: 25 %, and 0.25 %.
    for (dark, is_found) in [(1e5, true), (2e6, false)] {
        let mut light = coherent(1e5, Some(80.2537), 1.0, 4);
        light.detectors.iter_mut().for_each(|detector| detector.dark_rate = dark / SECOND);
        let found = found(&light, 0);
        assert_eq!(found.is_some(), is_found, "{found:?}");
    }
}

/// Returns random numbers of the simulation: the times of a steady channel.
fn uniform(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / 2_f64.powi(64)
    })
}

/// Returns light in `bursts` of `photons` each, on average, over `length` ticks.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test's numbers")]
fn bursts(bursts: usize, photons: f64, length: f64, seed: u64) -> Vec<(i64, u8)> {
    let mut random = uniform(seed);
    let mut next = move || random.next().unwrap();
    let mut tags = Vec::new();
    for _ in 0..bursts {
        let (begin, number) = (next() * SECOND, -photons * (1.0 - next()).ln());
        for _ in 0..number as usize {
            tags.push(((begin + next() * length) as i64, 1 + (next() * 2.0) as u8));
        }
    }
    tags
}

/// Returns thermal light: its intensity is the square of a Gaussian field with coherence time
/// `coherence`, in ticks.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test's numbers")]
fn thermal(rate: f64, coherence: f64, seed: u64) -> Vec<(i64, u8)> {
    let mut random = uniform(seed);
    let mut next = move || random.next().unwrap();
    let step = coherence / 4.0;
    let keeps = (-0.25_f64).exp();
    let mut field = [0.0, 0.0];
    let (mut tags, mut begin, mut left) = (Vec::new(), 0.0, 0.0);
    while begin < SECOND / 4.0 {
        for part in &mut field {
            let normal = (-2.0 * (1.0 - next()).ln()).sqrt() * (TAU * next()).cos();
            *part = keeps * *part + (1.0 - keeps * keeps).sqrt() * normal;
        }
        let mean = 2.0 * rate / SECOND * step * (field[0].powi(2) + field[1].powi(2)) / 2.0;
        // A Poisson process is uniform in the integral of its rate.
        while left < mean {
            let time = begin + left / mean * step;
            tags.push((time as i64, 1 + (next() * 2.0) as u8));
            left -= (1.0 - next()).ln();
        }
        left -= mean;
        begin += step;
    }
    tags
}

/// Returns light without a period, cycling through several kinds.
fn without_period(number: u64) -> (&'static str, Vec<(i64, u8)>) {
    let seed = 1_000 + number;
    match number % 8 {
        0 => ("steady, few", tags(&coherent(2e4, None, 0.5, seed))),
        1 => ("steady, many", tags(&coherent(2e6, None, 0.05, seed))),
        2 => ("thermal, fast", thermal(1e5, 2_000.0, seed)),
        3 => ("thermal, slow", thermal(1e5, 2e6, seed)),
        4 => ("short bursts", bursts(400, 50.0, 6_400.0, seed)),
        5 => ("long bursts", bursts(40, 1_000.0, 640_000.0, seed)),
        6 => {
            let mut light = coherent(2e5, None, 0.2, seed);
            light.detectors.iter_mut().for_each(|detector| detector.dead_time = 500);
            ("dead time", tags(&light))
        }
        _ => {
            // A tenth of all tags have an afterpulse some hundred nanoseconds later.
            let light = tags(&coherent(1e5, None, 0.2, seed));
            let mut random = uniform(seed);
            let mut next = move || random.next().unwrap();
            #[expect(clippy::cast_possible_truncation, reason = "a test's numbers")]
            let after = light.iter().filter_map(|&(time, channel)| {
                let wait = 300.0 - 1_000.0 * (1.0 - next()).ln();
                (next() < 0.1).then_some((time + wait as i64, channel))
            });
            let after: Vec<(i64, u8)> = after.collect();
            ("afterpulses", [light, after].concat())
        }
    }
}

/// Checks also single channels, which have dead time and afterpulses.
fn alarms(numbers: std::ops::Range<u64>) -> Vec<(u64, &'static str, Pulses)> {
    let alarm = |number: u64| {
        let (kind, tags) = without_period(number);
        let recording = recording(tags);
        let of = |channels| {
            Pulses::find(&recording, channels, TICK_S, (0, f64::INFINITY), Effort::Small)
        };
        of([1, 2]).or_else(|| of([1, 1])).map(|pulses| (number, kind, pulses))
    };
    numbers.into_par_iter().filter_map(alarm).collect()
}

/// `TAGQ_REPEAT=4000` runs more repetitions than the default.
#[test]
fn light_without_a_period_has_none() {
    let more = std::env::var("TAGQ_REPEAT").ok().and_then(|runs| runs.parse().ok());
    assert_eq!(alarms(0..more.unwrap_or(64)), []);
}

/// A coarser clock causes whole multiples, which are not pulses, even if its step is not a whole number
/// of ticks, and if the clock of the other channel has a longer step, or is a part of a step apart.
#[test]
fn times_of_a_coarser_clock_are_no_pulses() {
    for (step, times, apart) in [
        (16.0, 1.0, 0.0),
        (32.0, 1.0, 0.0),
        (17.3, 1.0, 0.0),
        (32.0, 2.0, 0.0),
        (32.0, 1.0, 11.0),
        (17.3, 1.0, 7.0),
    ] {
        let mut light = tags(&coherent(2e5, None, 0.5, 7));
        for (time, channel) in &mut light {
            let (step, apart) = if *channel == 2 { (step * times, apart) } else { (step, 0.0) };
            #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
            let coarse = ((*time as f64 / step).floor() * step + apart) as i64;
            *time = coarse;
        }
        assert_eq!(
            Pulses::find(&recording(light), [1, 2], TICK_S, (0, f64::INFINITY), Effort::Full),
            None,
            "{step} {times} {apart}"
        );
    }
}
