//! Light of known truth and the model that is fitted to it, for the checks of coverage.

use tagq_fit::{
    Data, FOUND, Fitted, Model, Settings, fit,
    models::{Correlation, Decay, Dip, DipShape, Emission, Peak, Response, Sine, first_photons},
};

use super::simulated::{Random, bins, decay_photon, detector, histogram, scanned};

/// How the errors of a case are judged.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Judged {
    /// All fits have errors or intervals, which cover.
    Covers,
    /// At least this part of the fits has them. Those that find a structure of less than five standard deviations are chosen
    /// by chance, so that values are off on average.
    Found(f64),
    /// The truth is a bound, which intervals reach.
    AtBound,
}

/// A fit to light of known truth.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Parameters and their true values.
    pub(crate) truths: Vec<(&'static str, f64)>,
    /// How the errors are judged.
    pub(crate) judged: Judged,
    /// Fits the light of a seed.
    pub(crate) fit: Box<dyn Fn(u64) -> Fitted + Sync>,
}

impl Case {
    /// Returns the difference of an estimate and the truth in its error on that side; `None` if it has no error, or if the
    /// structure was not found: a level is that of a constant then.
    pub(crate) fn pull(fitted: &Fitted, parameter: &str, truth: f64) -> Option<f64> {
        if fitted.significance.as_ref().is_some_and(|of| of.sigmas < FOUND) {
            return None;
        }
        let found = fitted.get(parameter).expect("a parameter of the model");
        let off = found.value - truth;
        let err = match found.interval {
            Some((low, _)) if off > 0.0 => found.value - low,
            Some((_, high)) => high - found.value,
            None => found.err?,
        };
        Some(if off == 0.0 { 0.0 } else { off / err })
    }
}

fn fitted(model: &dyn Model, data: &Data) -> Fitted {
    fit(model, data, &Settings::default(), &|| false).expect("the fit ends")
}

/// Returns all cases.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        tail(),
        few_photons(),
        with_response(),
        sparse_response("decay, response of 500 counts", 500, 50_000),
        sparse_response("decay, response of 2,000 counts", 2_000, 60_000),
        sparse_response("decay, response of 10,000 counts", 10_000, 70_000),
        coarse(),
        two_exponentials(),
        gaussian_response(),
        two_exponentials_after_a_gaussian(),
        few_photons_after_a_gaussian(),
        two_level(),
        three_level(),
        bunching(),
        dip("dip, Gaussian", DipShape::Gaussian, 7000),
        dip("dip, triangle", DipShape::Triangle, 8000),
        fringe(),
        peak(),
        weak_peak(),
        long_decay(),
        short_of_photons(),
        three_exponentials(),
        pile_up("decay, 1 % photons a pulse", 0.01, 110_000),
        pile_up("decay, 5 % photons a pulse", 0.05, 120_000),
        pile_up("decay, 10 % photons a pulse", 0.1, 130_000),
        full_visibility(),
        weak_dip(),
        few_pairs(),
    ]
}

/// Adds a Poisson number to each bin.
fn add_background(random: &mut Random, data: &mut Data, mean: f64) {
    data.values.iter_mut().for_each(|value| *value += random.poisson(mean));
}

/// Draws a tail from the start of the first bin.
fn drawn_tail(random: &mut Random, photons: f64, background: f64) -> Data {
    let photons = random.poisson(photons) as usize;
    let places: Vec<f64> = (0..photons).map(|_| random.exponential(2.0)).collect();
    let mut data = histogram(bins(0.0, 0.05, 240), places.into_iter());
    add_background(random, &mut data, background);
    data
}

fn tail() -> Case {
    Case {
        name: "decay, 4,000 photons",
        truths: vec![("photons", 4000.0), ("tau", 2.0), ("background", 5.0)],
        judged: Judged::Covers,
        fit: Box::new(|seed| {
            let data = drawn_tail(&mut Random(seed), 4000.0, 5.0);
            fitted(&Decay::new(1, None, None).unwrap(), &data)
        }),
    }
}

/// Less than two photons in a bin: least squares with weights by the counts would be far off.
fn few_photons() -> Case {
    Case {
        name: "decay, 300 photons in 240 bins",
        truths: vec![("tau", 2.0)],
        judged: Judged::Covers,
        fit: Box::new(|seed| {
            let data = drawn_tail(&mut Random(1000 + seed), 300.0, 0.2);
            fitted(&Decay::new(1, None, None).unwrap(), &data)
        }),
    }
}

/// Returns a response measured with a million photons.
pub(crate) fn response(period: f64, count: usize) -> Response {
    drawn_response(&mut Random(77), 1_000_000, (period, count))
}

fn drawn_response(random: &mut Random, counts: usize, (period, count): (f64, usize)) -> Response {
    let places: Vec<f64> = (0..counts).map(|_| detector(random).rem_euclid(period)).collect();
    Response::new(&histogram(bins(0.0, period / count as f64, count), places.into_iter())).unwrap()
}

/// Draws decays after the detector, folded by the period, over a background.
fn drawn_decay(
    random: &mut Random,
    taus: &[(f64, f64)],
    (photons, shift, background): (f64, f64, f64),
    (period, count): (f64, usize),
) -> Data {
    let photons = random.poisson(photons) as usize;
    let moved = |random: &mut Random| detector(random) + shift;
    let places: Vec<f64> =
        (0..photons).map(|_| decay_photon(random, taus, &moved, period)).collect();
    let mut data = histogram(bins(0.0, period / count as f64, count), places.into_iter());
    add_background(random, &mut data, background);
    data
}

/// 1.5 % of the photons come after the next pulse.
fn with_response() -> Case {
    let grid = (12.5, 500);
    let model = Decay::new(1, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name: "decay with a response, folded",
        truths: vec![("photons", 20_000.0), ("tau", 2.5), ("background", 2.5), ("shift", 0.02)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let light = (20_000.0, 0.02, 2.5);
            fitted(&model, &drawn_decay(&mut Random(2000 + seed), &[(1.0, 2.5)], light, grid))
        }),
    }
}

/// The counting error of the response is most of the errors.
fn sparse_response(name: &'static str, counts: usize, seeds: u64) -> Case {
    let grid = (12.5, 390);
    Case {
        name,
        truths: vec![("tau", 1.0), ("shift", 0.02)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(seeds + seed);
            let response = drawn_response(&mut random, counts, grid);
            let data = drawn_decay(&mut random, &[(1.0, 1.0)], (20_000.0, 0.02, 0.2), grid);
            fitted(&Decay::new(1, Some(response), Some(grid.0)).unwrap(), &data)
        }),
    }
}

/// Bins as wide as the jitter.
fn coarse() -> Case {
    let grid = (12.5, 160);
    let model = Decay::new(1, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name: "decay in bins as wide as the jitter",
        truths: vec![("tau", 1.0), ("shift", 0.02)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(80_000 + seed);
            let data = drawn_decay(&mut random, &[(1.0, 1.0)], (20_000.0, 0.02, 0.2), grid);
            fitted(&model, &data)
        }),
    }
}

fn two_exponentials() -> Case {
    let grid = (25.0, 1000);
    let model = Decay::new(2, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name: "decay, two exponentials with a response",
        truths: vec![
            ("tau_1", 4.0),
            ("tau_2", 0.8),
            ("fraction_1", 0.6),
            ("tau_intensity", 0.6 * 4.0 + 0.4 * 0.8),
            ("tau_amplitude", 1.0 / (0.6 / 4.0 + 0.4 / 0.8)),
        ],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let taus = [(0.6, 4.0), (0.4, 0.8)];
            let data = drawn_decay(&mut Random(3000 + seed), &taus, (50_000.0, 0.0, 1.0), grid);
            fitted(&model, &data)
        }),
    }
}

/// A response that is a Gaussian.
fn sharp(random: &mut Random) -> f64 {
    0.08f64.mul_add(random.gaussian(), 2.0)
}

/// The full width of that at half its height.
const SHARP: f64 = 2.354_820 * 0.08;

/// Draws decays after a Gaussian response, folded by the period, over a background.
fn drawn_sharp(
    random: &mut Random,
    taus: &[(f64, f64)],
    (photons, background): (f64, f64),
    (period, count): (f64, usize),
) -> Data {
    let photons = random.poisson(photons) as usize;
    let places: Vec<f64> =
        (0..photons).map(|_| decay_photon(random, taus, &sharp, period)).collect();
    let mut data = histogram(bins(0.0, period / count as f64, count), places.into_iter());
    add_background(random, &mut data, background);
    data
}

fn gaussian_response() -> Case {
    let grid = (12.5, 500);
    Case {
        name: "decay with a Gaussian response, folded",
        truths: vec![
            ("photons", 20_000.0),
            ("tau", 2.5),
            ("background", 2.5),
            ("centre", 2.0),
            ("fwhm", SHARP),
        ],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(190_000 + seed);
            let data = drawn_sharp(&mut random, &[(1.0, 2.5)], (20_000.0, 2.5), grid);
            fitted(&Decay::with_gaussian(1, Some(grid.0)).unwrap(), &data)
        }),
    }
}

fn two_exponentials_after_a_gaussian() -> Case {
    let grid = (25.0, 500);
    Case {
        name: "decay, two exponentials with a Gaussian response",
        truths: vec![
            ("tau_1", 4.0),
            ("tau_2", 0.8),
            ("fraction_1", 0.6),
            ("tau_intensity", 0.6 * 4.0 + 0.4 * 0.8),
            ("centre", 2.0),
            ("fwhm", SHARP),
        ],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(200_000 + seed);
            let taus = [(0.6, 4.0), (0.4, 0.8)];
            let data = drawn_sharp(&mut random, &taus, (50_000.0, 1.0), grid);
            fitted(&Decay::with_gaussian(2, Some(grid.0)).unwrap(), &data)
        }),
    }
}

/// Some 60 photons come while the response rises.
fn few_photons_after_a_gaussian() -> Case {
    let grid = (12.5, 125);
    Case {
        name: "decay of 1,000 photons with a Gaussian response",
        truths: vec![("photons", 1_000.0), ("tau", 2.5), ("centre", 2.0), ("fwhm", SHARP)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(210_000 + seed);
            let data = drawn_sharp(&mut random, &[(1.0, 2.5)], (1_000.0, 0.4), grid);
            fitted(&Decay::with_gaussian(1, Some(grid.0)).unwrap(), &data)
        }),
    }
}

/// Draws the counts of a g2: pairs by chance with exposures per bin, thinned by acceptance of each difference after jitter.
fn correlated(random: &mut Random, g2: &dyn Fn(f64) -> f64, jitter: f64) -> Data {
    let mut data = histogram(bins(-50.0, 0.5, 200), std::iter::empty());
    // 240 pairs by chance in each bin; true differences from a wider range, because jitter moves them into it.
    let most = 1.7;
    for _ in 0..random.poisson(240.0 * 240.0 * most) as usize {
        let place = random.uniform().mul_add(120.0, -60.0);
        if random.uniform() * most < g2(place) {
            let seen = jitter.mul_add(random.gaussian(), place);
            let at = ((seen + 50.0) / 0.5).floor();
            if (0.0..200.0).contains(&at) {
                data.values[at as usize] += 1.0;
            }
        }
    }
    data.exposure = Some(vec![240.0; 200]);
    data
}

fn two_level() -> Case {
    let model = Correlation { emission: Emission::TwoLevel, jitter: 1.0 };
    Case {
        name: "g2, two levels with jitter",
        truths: vec![("level", 1.0), ("tau", 4.0), ("centre", 0.5), ("g2_0", 0.2)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let g2 = |t: f64| 0.8f64.mul_add(-(-(t - 0.5).abs() / 4.0).exp(), 1.0);
            fitted(&model, &correlated(&mut Random(4000 + seed), &g2, 1.0))
        }),
    }
}

fn three_level() -> Case {
    let model = Correlation { emission: Emission::ThreeLevel, jitter: 0.0 };
    Case {
        name: "g2, three levels",
        truths: vec![("level", 1.0), ("tau", 2.0), ("g2_0", 0.3)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let g2 = |t: f64| {
                let t = t.abs();
                0.7f64.mul_add(-(1.8 * (-t / 2.0).exp() - 0.8 * (-t / 12.0).exp()), 1.0)
            };
            fitted(&model, &correlated(&mut Random(5000 + seed), &g2, 0.0))
        }),
    }
}

fn bunching() -> Case {
    let model = Correlation { emission: Emission::Bunching, jitter: 0.0 };
    Case {
        name: "g2, bunching",
        truths: vec![("level", 1.0), ("tau", 6.0), ("g2_0", 1.6)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let g2 = |t: f64| 0.6f64.mul_add((-t.abs() / 6.0).exp(), 1.0);
            fitted(&model, &correlated(&mut Random(6000 + seed), &g2, 0.0))
        }),
    }
}

fn dip(name: &'static str, shape: DipShape, seeds: u64) -> Case {
    Case {
        name,
        truths: vec![("level", 300.0), ("visibility", 0.85), ("centre", 2.0), ("fwhm", 10.0)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mean = |x: f64| {
                let off = (x - 2.0) / 10.0;
                let depth = match shape {
                    DipShape::Gaussian => 0.5f64.powf(4.0 * off * off),
                    DipShape::Triangle => (1.0 - off.abs()).max(0.0),
                };
                300.0 * 0.85f64.mul_add(-depth, 1.0)
            };
            fitted(&Dip(shape), &scanned(&mut Random(seeds + seed), 61, 1.0, &mean))
        }),
    }
}

fn fringe() -> Case {
    Case {
        name: "fringe",
        truths: vec![("level", 200.0), ("visibility", 0.9), ("period", 360.0), ("maximum", 40.0)],
        judged: Judged::Covers,
        fit: Box::new(|seed| {
            let mean = |x: f64| 200.0 * 0.9f64.mul_add((x - 40.0).to_radians().cos(), 1.0);
            fitted(&Sine, &scanned(&mut Random(9000 + seed), 41, 20.0, &mean))
        }),
    }
}

fn peak() -> Case {
    Case {
        name: "peak",
        truths: vec![
            ("net", 800.0),
            ("centre", 1.3),
            ("fwhm", 2.354_82 * 0.8),
            ("background", 20.0),
        ],
        judged: Judged::Covers,
        fit: Box::new(|seed| {
            let mut random = Random(10_000 + seed);
            let pairs = random.poisson(800.0) as usize;
            let places: Vec<f64> =
                (0..pairs).map(|_| 0.8f64.mul_add(random.gaussian(), 1.3)).collect();
            let mut data = histogram(bins(-10.0, 0.25, 80), places.into_iter());
            add_background(&mut random, &mut data, 20.0);
            fitted(&Peak::of(&data), &data)
        }),
    }
}

/// A peak of 60 counts over few.
fn weak_peak() -> Case {
    Case {
        name: "peak of 60 counts",
        truths: vec![("net", 60.0), ("centre", 1.3), ("fwhm", 2.354_82 * 0.8)],
        judged: Judged::Covers,
        fit: Box::new(|seed| {
            let mut random = Random(15_000 + seed);
            let pairs = random.poisson(60.0) as usize;
            let places: Vec<f64> =
                (0..pairs).map(|_| 0.8f64.mul_add(random.gaussian(), 1.3)).collect();
            let mut data = histogram(bins(-10.0, 0.25, 80), places.into_iter());
            add_background(&mut random, &mut data, 2.0);
            fitted(&Peak::of(&data), &data)
        }),
    }
}

/// The background can take the place of the end of the decay, down to its bound.
fn long_decay() -> Case {
    let grid = (12.5, 390);
    let model = Decay::new(1, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name: "decay of 0.8 periods, background near its bound",
        truths: vec![("tau", 10.0), ("photons", 20_000.0), ("background", 4.0)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(90_000 + seed);
            let data = drawn_decay(&mut random, &[(1.0, 10.0)], (20_000.0, 0.0, 4.0), grid);
            fitted(&model, &data)
        }),
    }
}

fn short_of_photons() -> Case {
    let grid = (25.0, 500);
    let model = Decay::new(2, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name: "decay, two exponentials of 1,000 photons",
        truths: vec![("tau_intensity", 0.6 * 4.0 + 0.4 * 0.8)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let taus = [(0.6, 4.0), (0.4, 0.8)];
            let data = drawn_decay(&mut Random(140_000 + seed), &taus, (1_000.0, 0.0, 0.1), grid);
            fitted(&model, &data)
        }),
    }
}

fn three_exponentials() -> Case {
    let grid = (25.0, 500);
    let model = Decay::new(3, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name: "decay, three exponentials of 200,000 photons",
        truths: vec![("tau_intensity", 0.5 * 4.0 + 0.3 * 1.2 + 0.2 * 0.3)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let taus = [(0.5, 4.0), (0.3, 1.2), (0.2, 0.3)];
            let light = (200_000.0, 0.0, 1.0);
            fitted(&model, &drawn_decay(&mut Random(150_000 + seed), &taus, light, grid))
        }),
    }
}

fn full_visibility() -> Case {
    Case {
        name: "fringe of visibility 1",
        truths: vec![("visibility", 1.0)],
        judged: Judged::AtBound,
        fit: Box::new(|seed| {
            let mean = |x: f64| 200.0 * (1.0 + (x - 40.0).to_radians().cos());
            let data = scanned(&mut Random(160_000 + seed), 41, 20.0, &mean);
            let settings =
                Settings { fixed: vec![("period".into(), 360.0)], ..Settings::default() };
            fit(&Sine, &data, &settings, &|| false).unwrap()
        }),
    }
}

fn weak_dip() -> Case {
    Case {
        name: "dip of visibility 0.05",
        truths: vec![("visibility", 0.05)],
        judged: Judged::Found(0.0),
        fit: Box::new(|seed| {
            let mean =
                |x: f64| 300.0 * 0.05f64.mul_add(-(0.5f64.powf(4.0 * (x / 10.0).powi(2))), 1.0);
            fitted(&Dip(DipShape::Gaussian), &scanned(&mut Random(170_000 + seed), 61, 1.0, &mean))
        }),
    }
}

/// Three pairs by chance in each bin.
fn few_pairs() -> Case {
    Case {
        name: "g2 of 3 pairs a bin",
        truths: vec![("level", 1.0), ("tau", 4.0), ("g2_0", 0.2)],
        judged: Judged::Found(0.3),
        fit: Box::new(|seed| {
            let mut random = Random(180_000 + seed);
            let mut data = histogram(bins(-50.0, 0.5, 200), std::iter::empty());
            for at in 0..200 {
                let t: f64 = data.bins[at].middle();
                data.values[at] =
                    random.poisson(3.0 * 0.8f64.mul_add(-(-t.abs() / 4.0).exp(), 1.0));
            }
            data.exposure = Some(vec![3.0; 200]);
            let model = Correlation { emission: Emission::TwoLevel, jitter: 0.0 };
            fitted(&model, &data)
        }),
    }
}

/// The detector sees the first photon of a pulse alone.
fn pile_up(name: &'static str, per_pulse: f64, seeds: u64) -> Case {
    let grid = (12.5, 390);
    let model = Decay::new(1, Some(response(grid.0, grid.1)), Some(grid.0)).unwrap();
    Case {
        name,
        truths: vec![("tau", 1.0), ("shift", 0.0)],
        judged: Judged::Covers,
        fit: Box::new(move |seed| {
            let mut random = Random(seeds + seed);
            let pulses = (1e5 / per_pulse) as usize;
            let mut places = Vec::new();
            // Most pulses have no photon; the distance to the next one with a photon is exponential.
            let empty = (-per_pulse).exp();
            let mut pulse = 0.0;
            loop {
                pulse += 1.0 + (random.uniform().ln() / empty.ln()).floor();
                if pulse > pulses as f64 {
                    break;
                }
                // One photon or more: the first comes before the end of the mean.
                let mut sum = -(random.uniform() * (1.0 - empty)).mul_add(-1.0, 1.0).ln();
                let (mut first, mut count) = (f64::INFINITY, 0);
                while sum < per_pulse {
                    sum += random.exponential(1.0);
                    count += 1;
                }
                for _ in 0..count {
                    let photon = decay_photon(&mut random, &[(1.0, 1.0)], &detector, grid.0);
                    first = first.min(photon);
                }
                places.push(first);
            }
            let mut data = histogram(bins(0.0, grid.0 / 390.0, grid.1), places.into_iter());
            let (seen, _) = first_photons(&data, pulses as f64, grid.0).unwrap();
            data.exposure = Some(seen);
            fitted(&model, &data)
        }),
    }
}
