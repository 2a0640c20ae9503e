//! Coverage: over 200 simulations, the squares of (value − truth) / error have the mean 1.

use tagq_fit::{
    Data, Model, Noise, Settings, fit,
    models::{Correlation, Decay, Dip, DipShape, Emission, Peak, Response, Sine},
};

use super::simulated::{Random, bins, decay_photon, detector, histogram};

/// Number of simulations.
const SEEDS: u64 = 200;
/// Bounds of chi-square per degree of freedom.
const BOUNDS: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// Asserts that the fitted parameters cover these truths.
fn covers(name: &str, truths: &[(&str, f64)], fits: impl Fn(u64) -> tagq_fit::Fitted) {
    let mut squares = vec![0.0; truths.len()];
    let mut offsets = vec![0.0; truths.len()];
    for seed in 0..SEEDS {
        let fitted = fits(seed);
        for (at, (parameter, truth)) in truths.iter().enumerate() {
            let found = fitted.get(parameter).expect("a parameter of the model");
            let err = found
                .err
                .unwrap_or_else(|| panic!("{name}, {seed}: {parameter} has no error: {fitted:?}"));
            let off = (found.value - truth) / err;
            squares[at] += off * off;
            offsets[at] += off;
        }
    }
    for (at, (parameter, _)) in truths.iter().enumerate() {
        let ratio = squares[at] / SEEDS as f64;
        let bias = offsets[at] / SEEDS as f64;
        println!("{name}: {parameter} chi-square {ratio:.2}, bias {bias:+.2} errors");
        assert!(BOUNDS.contains(&ratio), "{name}: {parameter} {ratio}");
        // A bias of half an error is not seen in one fit.
        assert!(bias.abs() < 0.5, "{name}: {parameter} is {bias} errors off");
    }
}

fn fitted(model: &dyn Model, data: &Data) -> tagq_fit::Fitted {
    fit(model, data, &Settings::default()).expect("the fit ends")
}

#[test]
fn decays_without_a_response() {
    // 4,000 photons in bins of 0.05, 5 background counts a bin.
    covers("tail", &[("photons", 4000.0), ("tau", 2.0), ("background", 5.0)], |seed| {
        let mut random = Random(seed);
        let photons = random.poisson(4000.0) as usize;
        let places: Vec<f64> = (0..photons).map(|_| random.exponential(2.0)).collect();
        let mut data = histogram(bins(0.0, 0.05, 240), places.into_iter());
        data.values.iter_mut().for_each(|value| *value += random.poisson(5.0));
        fitted(&Decay::new(1, None, None).unwrap(), &data)
    });
}

#[test]
fn decays_with_few_photons() {
    // 300 photons over 250 bins: least squares with weights by the counts would be far off.
    covers("few photons", &[("tau", 2.0)], |seed| {
        let mut random = Random(1000 + seed);
        let photons = random.poisson(300.0) as usize;
        let places: Vec<f64> = (0..photons).map(|_| random.exponential(2.0)).collect();
        let mut data = histogram(bins(0.0, 0.05, 250), places.into_iter());
        data.values.iter_mut().for_each(|value| *value += random.poisson(0.2));
        fitted(&Decay::new(1, None, None).unwrap(), &data)
    });
}

/// A response measured with a million photons.
fn response(period: f64, count: usize) -> Response {
    let mut random = Random(77);
    let places: Vec<f64> =
        (0..1_000_000).map(|_| detector(&mut random).rem_euclid(period)).collect();
    Response::new(&histogram(bins(0.0, period / count as f64, count), places.into_iter())).unwrap()
}

#[test]
fn decays_with_a_response_folded_by_the_period() {
    let (period, count) = (12.5, 500);
    let response = response(period, count);
    let model = Decay::new(1, Some(response), Some(period)).unwrap();
    // 1.5 % of the photons come after the next pulse.
    let truths = [("photons", 20_000.0), ("tau", 2.5), ("background", 2.5), ("shift", 0.02)];
    covers("response", &truths, |seed| {
        let mut random = Random(2000 + seed);
        let photons = random.poisson(20_000.0) as usize;
        let moved = |random: &mut Random| detector(random) + 0.02;
        let places: Vec<f64> = (0..photons)
            .map(|_| decay_photon(&mut random, &[(1.0, 2.5)], &moved, period))
            .collect();
        let mut data = histogram(bins(0.0, period / count as f64, count), places.into_iter());
        data.values.iter_mut().for_each(|value| *value += random.poisson(2.5));
        fitted(&model, &data)
    });
}

#[test]
fn two_exponentials_with_a_response() {
    let (period, count) = (25.0, 1000);
    let response = response(period, count);
    let model = Decay::new(2, Some(response), Some(period)).unwrap();
    let truths = [
        ("tau_1", 4.0),
        ("tau_2", 0.8),
        ("fraction_1", 0.6),
        ("tau_intensity", 0.6 * 4.0 + 0.4 * 0.8),
        ("tau_amplitude", 1.0 / (0.6 / 4.0 + 0.4 / 0.8)),
    ];
    covers("two exponentials", &truths, |seed| {
        let mut random = Random(3000 + seed);
        let photons = random.poisson(50_000.0) as usize;
        let taus = [(0.6, 4.0), (0.4, 0.8)];
        let places: Vec<f64> =
            (0..photons).map(|_| decay_photon(&mut random, &taus, &detector, period)).collect();
        let mut data = histogram(bins(0.0, period / count as f64, count), places.into_iter());
        data.values.iter_mut().for_each(|value| *value += random.poisson(1.0));
        fitted(&model, &data)
    });
}

/// Draws the counts of a g2: pairs by chance with exposures per bin, thinned by acceptance of each difference after jitter.
fn antibunched(random: &mut Random, g2: &dyn Fn(f64) -> f64, jitter: f64) -> Data {
    let bins = bins(-50.0, 0.5, 200);
    let mut data = histogram(bins, std::iter::empty());
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

#[test]
fn a_g2_of_two_levels_with_jitter() {
    let model = Correlation { emission: Emission::TwoLevel, jitter: 1.0 };
    let truths = [("level", 1.0), ("tau", 4.0), ("centre", 0.5), ("g2_0", 0.2)];
    covers("two levels", &truths, |seed| {
        let mut random = Random(4000 + seed);
        let g2 = |t: f64| 0.8f64.mul_add(-(-(t - 0.5).abs() / 4.0).exp(), 1.0);
        fitted(&model, &antibunched(&mut random, &g2, 1.0))
    });
}

#[test]
fn a_g2_of_three_levels() {
    let model = Correlation { emission: Emission::ThreeLevel, jitter: 0.0 };
    let truths = [("level", 1.0), ("tau", 2.0), ("g2_0", 0.3)];
    covers("three levels", &truths, |seed| {
        let mut random = Random(5000 + seed);
        let g2 = |t: f64| {
            let t = t.abs();
            0.7f64.mul_add(-(1.8 * (-t / 2.0).exp() - 0.8 * (-t / 12.0).exp()), 1.0)
        };
        fitted(&model, &antibunched(&mut random, &g2, 0.0))
    });
}

#[test]
fn a_g2_that_bunches() {
    let model = Correlation { emission: Emission::Bunching, jitter: 0.0 };
    let truths = [("level", 1.0), ("tau", 6.0), ("g2_0", 1.6)];
    covers("bunching", &truths, |seed| {
        let mut random = Random(6000 + seed);
        let g2 = |t: f64| 0.6f64.mul_add((-t.abs() / 6.0).exp(), 1.0);
        fitted(&model, &antibunched(&mut random, &g2, 0.0))
    });
}

/// Draws a Poisson number at each place of a scan.
fn scanned(random: &mut Random, count: usize, step: f64, mean: &dyn Fn(f64) -> f64) -> Data {
    let places: Vec<f64> = (0..count).map(|k| step * (k as f64 - (count / 2) as f64)).collect();
    let values = places.iter().map(|&place| random.poisson(mean(place))).collect();
    let bins = places.iter().map(|&place| tagq_fit::Bin { from: place, to: place }).collect();
    Data { bins, values, noise: Noise::Poisson, exposure: None }
}

#[test]
fn dips() {
    let truths = [("level", 300.0), ("visibility", 0.85), ("centre", 2.0), ("fwhm", 10.0)];
    covers("gaussian dip", &truths, |seed| {
        let mut random = Random(7000 + seed);
        let mean = |x: f64| 300.0 * (1.0 - 0.85 * 0.5f64.powf(((x - 2.0) / 5.0).powi(2)));
        fitted(&Dip(DipShape::Gaussian), &scanned(&mut random, 61, 1.0, &mean))
    });
    covers("triangular dip", &truths, |seed| {
        let mut random = Random(8000 + seed);
        let mean = |x: f64| 300.0 * (1.0 - 0.85 * (1.0 - ((x - 2.0) / 10.0).abs()).max(0.0));
        fitted(&Dip(DipShape::Triangle), &scanned(&mut random, 61, 1.0, &mean))
    });
}

#[test]
fn fringes() {
    let truths = [("level", 200.0), ("visibility", 0.9), ("period", 360.0), ("maximum", 40.0)];
    covers("fringe", &truths, |seed| {
        let mut random = Random(9000 + seed);
        let mean = |x: f64| 200.0 * 0.9f64.mul_add(((x - 40.0).to_radians()).cos(), 1.0);
        fitted(&Sine, &scanned(&mut random, 41, 20.0, &mean))
    });
}

#[test]
fn peaks() {
    let truths = [("net", 800.0), ("centre", 1.3), ("fwhm", 2.354_82 * 0.8), ("background", 20.0)];
    covers("peak", &truths, |seed| {
        let mut random = Random(10_000 + seed);
        let pairs = random.poisson(800.0) as usize;
        let places: Vec<f64> = (0..pairs).map(|_| 0.8f64.mul_add(random.gaussian(), 1.3)).collect();
        let mut data = histogram(bins(-10.0, 0.25, 80), places.into_iter());
        data.values.iter_mut().for_each(|value| *value += random.poisson(20.0));
        fitted(&Peak, &data)
    });
}

#[test]
fn a_wrong_response_is_told_by_the_deviance() {
    let (period, count) = (12.5, 250);
    // The response that was measured is 0.3 wide in place of 0.08.
    let mut random = Random(5);
    let places: Vec<f64> = (0..1_000_000).map(|_| 0.3f64.mul_add(random.gaussian(), 2.0)).collect();
    let grid = || bins(0.0, period / count as f64, count);
    let wrong = Response::new(&histogram(grid(), places.into_iter())).unwrap();
    let places: Vec<f64> =
        (0..100_000).map(|_| decay_photon(&mut random, &[(1.0, 2.0)], &detector, period)).collect();
    let data = histogram(grid(), places.into_iter());
    let per_degree = |response: Response| {
        let fitted = fitted(&Decay::new(1, Some(response), Some(period)).unwrap(), &data);
        fitted.deviance / fitted.degrees as f64
    };
    let right = per_degree(response(period, count));
    let wrong = per_degree(wrong);
    assert!((0.7..1.4).contains(&right), "{right}");
    assert!(wrong > 2.0, "{wrong}");
}
