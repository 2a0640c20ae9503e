//! Tests whether the standard errors cover the truth: repeated simulations of pairs with known delay,
//! width and number.

use rayon::prelude::*;
use tagq_query::{Recording, TimeRange};
use tagq_sampling::some;
use tagq_simulate::{Detector, Light, Simulation};
use tagq_store::{Channels, Tags};

use super::{
    grid::Grid,
    search::{Found, PAIRS_MAX, PeakSearch},
};
use crate::pulses::{Pulses, Resolution};

/// Ticks of 156.25 ps per second.
const SECOND: f64 = 6.4e9;
const REPETITIONS: u64 = 200;

/// Pairs on two detectors, each with its own background.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    /// Mean number of pairs in the run with both photons detected.
    pairs: f64,
    /// The fraction of photons that are detected.
    efficiency: f64,
    /// Background tags per second on each channel.
    background: f64,
    /// Jitter of each detector, in ticks.
    jitter: f64,
    seconds: f64,
    /// Period of pulsed light.
    period: Option<f64>,
}

/// One repetition: deviations from the truth in units of the standard errors, and those without an
/// error.
struct Pulls {
    centre: f64,
    width: f64,
    net: f64,
    /// Ticks between the highest place and the truth.
    top: f64,
    sigmas: f64,
}

impl Case {
    const CASES: [Self; 7] = [
        Self { name: "9 sigmas, few pairs", pairs: 33.0, background: 1e5, ..Self::SHORT },
        Self { name: "9 sigmas, many", pairs: 260.0, background: 1e6, jitter: 6.0, ..Self::SHORT },
        Self { name: "20 sigmas", pairs: 650.0, background: 1e6, jitter: 6.0, ..Self::SHORT },
        Self { name: "100 sigmas", pairs: 4_000.0, ..Self::SHORT },
        Self { name: "narrow", pairs: 2_000.0, jitter: 0.6, ..Self::SHORT },
        Self { name: "pulsed, strong", pairs: 5_000.0, ..Self::PULSED },
        // Half a pair per pulse: 2 MHz of singles.
        Self {
            name: "pulsed, weak",
            pairs: 1_000.0,
            efficiency: 0.05,
            seconds: 0.01,
            ..Self::PULSED
        },
    ];
    const SHORT: Self = Self {
        name: "",
        pairs: 0.0,
        efficiency: 1.0,
        background: 2e5,
        jitter: 2.0,
        seconds: 0.1,
        period: None,
    };
    const PULSED: Self = Self { background: 1e4, period: Some(80.2537), ..Self::SHORT };

    /// Returns a delay that is not a whole number of ticks, different in each repetition.
    fn delay(repetition: u64) -> f64 {
        1_000.0 + 0.01 * (repetition * 37 % 100) as f64
    }

    fn repeated(&self, repetition: u64) -> Option<Pulls> {
        let delay = Self::delay(repetition);
        let detector = |channel, delay| Detector {
            channel,
            efficiency: self.efficiency,
            dark_rate: self.background / SECOND,
            jitter: self.jitter,
            delay,
            dead_time: 0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "seconds in ticks")]
        let duration = (self.seconds * SECOND) as i64;
        let rate = self.pairs / self.efficiency.powi(2) / (self.seconds * SECOND);
        let simulation = Simulation {
            light: Light::Pairs { rate, pulse_period: self.period, beam_splitter: false },
            detectors: vec![detector(1, 0.0), detector(2, delay)],
            drift: None,
            clock: None,
            start: 0,
            duration,
            seed: 10_000 + repetition,
        };
        let (mut time, mut label) = (Vec::new(), Vec::new());
        let mut tags = simulation.tags().unwrap();
        while let Some(slab) = tags.next_slab() {
            time.extend(slab.iter().map(|tag| tag.time));
            label.extend(slab.iter().map(|tag| u8::try_from(tag.channel).unwrap()));
        }
        let recording = Recording::from_tags(Tags {
            time: time[..].into(),
            channels: Channels::U8((&label).into()),
        });
        let within = (16_000, TimeRange::default());
        let grid = Grid::of(None, within.0);
        let search =
            PeakSearch::new(&recording, [1, 2], within, (156.25e-12, grid), PAIRS_MAX).unwrap();
        let found = match self.period {
            None => search.steady(),
            // Both channels see a pulse at the same time, apart from the delay.
            Some(period) => {
                let phase = (delay / period).fract();
                search.pulsed(&Pulses { period, period_err: 0.0, phase })
            }
        };
        self.pulls(&found.unwrap(), delay)
    }

    fn pulls(&self, found: &Found, delay: f64) -> Option<Pulls> {
        let peak = found.delay()?;
        let fit = peak.shape.fit?;
        // Jitter of two detectors; 2·√(2 ln 2).
        let (width, width_err) = fit.width?;
        let truth = self.jitter * 2_f64.sqrt() * 2.354_82;
        Some(Pulls {
            centre: (fit.centre - delay) / fit.centre_err,
            width: (width - truth) / width_err,
            net: (fit.net - self.pairs) / fit.net_err,
            top: peak.shape.place - delay,
            sigmas: peak.sigmas,
        })
    }

    /// Whether the mean squared pulls of centre, width and coincidences are close to one.
    fn is_covered(&self) -> bool {
        let all: Vec<Option<Pulls>> =
            (0..REPETITIONS).into_par_iter().map(|repetition| self.repeated(repetition)).collect();
        let pulls: Vec<&Pulls> = all.iter().flatten().collect();
        let n = pulls.len() as f64;
        let mean =
            |value: &dyn Fn(&Pulls) -> f64| pulls.iter().map(|pulls| value(pulls)).sum::<f64>() / n;
        let squares =
            [mean(&|p| p.centre.powi(2)), mean(&|p| p.width.powi(2)), mean(&|p| p.net.powi(2))];
        let [centre, width, net] = squares;
        let (sigmas, top) = (mean(&|p| p.sigmas), mean(&|p| p.top));
        let spread = (mean(&|p| p.top.powi(2)) - top * top).sqrt();
        println!(
            "| {} | {n} | {sigmas:.1} | {centre:.2} | {width:.2} | {net:.2} | {top:.2} of {spread:.2} |",
            self.name
        );
        // The highest place is late as often as it is early.
        let is_even = top.abs() < 4.0 * spread / n.sqrt();
        let is_found = n >= 0.9 * REPETITIONS as f64;
        is_even && is_found && squares.iter().all(|s| (0.8..=1.25).contains(s))
    }
}

#[test]
fn errors_of_centre_width_and_coincidences_cover() {
    println!("| case | found | sigmas | centre | width | coincidences | top late by |");
    let wrong: Vec<&Case> = Case::CASES.iter().filter(|case| !case.is_covered()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Pairs with a delay, searched in a range that holds their peak.
struct RandomPairs {
    /// Seconds.
    tick: f64,
    /// Steps in which times are recorded, in seconds; 0 for ticks.
    step: f64,
    delay: f64,
    jitter: f64,
    reach: f64,
    rate: f64,
    pairs: f64,
}

impl RandomPairs {
    const SECONDS: f64 = 0.1;

    fn new(number: u64) -> Self {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut between = |low: f64, high: f64| low * (high / low).powf(uniform());
        let tick: f64 = [1e-12, 156.25e-12, 96.97e-12][usize::try_from(number % 3).unwrap()];
        // Times of other clocks, written in picoseconds.
        let steps: [f64; 5] = [0.0, 0.0, 1e-9, 156.25e-12, 1e-8 / 3.0];
        let step = if number.is_multiple_of(3) {
            steps[usize::try_from(number / 3 % 5).unwrap()]
        } else {
            0.0
        };
        let jitter = between(5e-11, 2e-8);
        let width = 2.8 * f64::hypot(jitter * 2_f64.sqrt(), step.max(tick) / 2.0);
        let delay = between(1e-10, 2e-7) * if number.is_multiple_of(2) { -1.0 } else { 1.0 };
        // The peak, and as much on both sides of it.
        let least = delay.abs() + 2.0 * width;
        let reach = between(least, 1e-3_f64.max(2.0 * least));
        let rate = between(2e5, 1e6);
        let chance = rate * rate * Self::SECONDS * width;
        let sigmas = between(12.0, 60.0);
        // More than the true significance needs, because the background is measured, too.
        let pairs = 1.5 * (sigmas * sigmas / 2.0 + sigmas * chance.sqrt());
        Self { tick, step, delay, jitter, reach, rate, pairs }
    }

    fn found(&self, number: u64) -> Found {
        let second = 1.0 / self.tick;
        let detector = |channel, delay: f64| Detector {
            channel,
            efficiency: 1.0,
            dark_rate: self.rate / second,
            jitter: self.jitter * second,
            delay: delay * second,
            dead_time: 0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "seconds in ticks")]
        let duration = (Self::SECONDS * second) as i64;
        let rate = self.pairs / Self::SECONDS / second;
        let simulation = Simulation {
            light: Light::Pairs { rate, pulse_period: None, beam_splitter: false },
            detectors: vec![detector(1, 0.0), detector(2, self.delay)],
            drift: None,
            clock: None,
            start: 0,
            duration,
            seed: 1_000 + number,
        };
        let mut all = Vec::new();
        let mut tags = simulation.tags().unwrap();
        while let Some(slab) = tags.next_slab() {
            all.extend(slab.iter().map(|tag| (tag.time, u8::try_from(tag.channel).unwrap())));
        }
        if self.step > 0.0 {
            for (time, _) in &mut all {
                let steps = (*time as f64 * self.tick / self.step).floor();
                #[expect(clippy::cast_possible_truncation, reason = "a time of the run")]
                let recorded = (steps * self.step * second).floor() as i64;
                *time = recorded;
            }
        }
        all.sort_unstable();
        let (time, label): (Vec<i64>, Vec<u8>) = all.into_iter().unzip();
        let recording = Recording::from_tags(Tags {
            time: time[..].into(),
            channels: Channels::U8((&label).into()),
        });
        #[expect(clippy::cast_possible_truncation, reason = "a difference of times")]
        let within = ((self.reach * second) as i64, TimeRange::default());
        let grid = Grid::of(Resolution::find(&recording, [1, 2]), within.0);
        let search =
            PeakSearch::new(&recording, [1, 2], within, (self.tick, grid), PAIRS_MAX).unwrap();
        search.run().unwrap()
    }
}

#[test]
fn peaks_are_found_at_any_range_with_errors_that_cover() {
    let numbers: Vec<u64> = some(0..210_u64).collect();
    let pulls: Vec<(u64, Option<f64>)> = numbers
        .par_iter()
        .map(|&number| {
            let light = RandomPairs::new(number);
            let found = light.found(number);
            // Recorded steps are not pulses.
            let found = found.delay().filter(|_| found.comb.is_none());
            let pull = found.map(|found| {
                (found.shape.place - light.delay / light.tick) / found.shape.place_err
            });
            (number, pull)
        })
        .collect();
    let missed: Vec<u64> = pulls.iter().filter(|of| of.1.is_none()).map(|of| of.0).collect();
    let far = pulls.iter().filter(|of| of.1.is_some_and(|pull| pull.abs() > 4.0));
    let far: Vec<_> = far.collect();
    let squares = pulls.iter().filter_map(|of| of.1).map(|pull| pull * pull).sum::<f64>();
    let squares = squares / (pulls.len() - missed.len()) as f64;
    println!("{} peaks: {} missed, mean squared pull {squares:.2}", pulls.len(), missed.len());
    assert!(missed.is_empty() && far.is_empty(), "missed {missed:?}, far {far:?}");
    // Of few cases, three standard deviations.
    let allowed = 3.0 * (2.0 / pulls.len() as f64).sqrt();
    assert!((1.0 - allowed.min(0.2)..1.0 + allowed.max(0.25)).contains(&squares), "{squares}");
}
