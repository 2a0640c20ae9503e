//! Structure in flat data is not found, and true structure is.

use std::thread;

use super::simulated::{Random, bins, histogram, scanned};
use tagq_fit::{
    Data, FOUND, Fitted, Model, Settings, fit,
    models::{Correlation, Decay, Dip, DipShape, Emission, Peak, Sine},
};
use tagq_sampling::some;

pub(crate) type OfData = dyn Fn(&Data) -> Box<dyn Model> + Sync;
pub(crate) type Draw = dyn Fn(&mut Random, f64) -> Data + Sync;

/// A model with data of it, whose structure has a factor: none, or about five standard deviations with its search.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Box<OfData>,
    pub(crate) data: Box<Draw>,
    pub(crate) five: f64,
}

fn drawn(random: &mut Random, mut data: Data, mean: impl Fn(f64) -> f64) -> Data {
    let means: Vec<f64> = data.bins.iter().map(|bin| mean(bin.middle())).collect();
    data.values = means.into_iter().map(|mean| random.poisson(mean)).collect();
    data
}

fn empty(from: f64, width: f64, count: usize) -> Data {
    histogram(bins(from, width, count), std::iter::empty())
}

fn g2(name: &'static str, emission: Emission, pairs: f64, five: f64) -> Case {
    Case {
        name,
        model: Box::new(move |_| Box::new(Correlation { emission, jitter: 0.0 })),
        data: Box::new(move |random, contrast| {
            let sign = if emission == Emission::Bunching { 1.0 } else { -1.0 };
            let mean = |t: f64| pairs * (sign * contrast).mul_add((-t.abs() / 2.0).exp(), 1.0);
            let mut data = drawn(random, empty(-10.0, 0.2, 100), mean);
            data.exposure = Some(vec![pairs; 100]);
            data
        }),
        five,
    }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        g2("g2 of 240 pairs a bin", Emission::TwoLevel, 240.0, 0.155),
        g2("g2 of 4 pairs a bin", Emission::TwoLevel, 4.0, 0.98),
        g2("g2 of 40 pairs a bin, three levels", Emission::ThreeLevel, 40.0, 0.385),
        g2("g2 of 40 pairs a bin, bunching", Emission::Bunching, 40.0, 0.44),
        Case {
            name: "dip",
            model: Box::new(|_| Box::new(Dip(DipShape::Gaussian))),
            data: Box::new(|random, visibility| {
                let dip = |x: f64| visibility * 0.5f64.powf(4.0 * (x / 10.0).powi(2));
                scanned(random, 61, 1.0, &|x| 300.0 * (1.0 - dip(x)))
            }),
            five: 0.147,
        },
        Case {
            name: "fringe of free period",
            model: Box::new(|_| Box::new(Sine)),
            data: Box::new(|random, visibility| {
                let mean = |x: f64| 200.0 * visibility.mul_add((x / 3.0).cos(), 1.0);
                scanned(random, 61, 1.0, &mean)
            }),
            five: 0.079,
        },
        Case {
            name: "peak over 2 counts a bin",
            model: Box::new(|data| Box::new(Peak::of(data))),
            data: Box::new(|random, net| {
                let share = |x: f64| 0.25 * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
                drawn(random, empty(-10.0, 0.25, 80), |x| net.mul_add(share(x), 2.0))
            }),
            five: 53.0,
        },
        Case {
            name: "decay with a Gaussian response",
            model: Box::new(|_| Box::new(Decay::with_gaussian(1, Some(20.0)).unwrap())),
            data: Box::new(|random, photons| {
                let decay = |x: f64| if x > 3.0 { (-(x - 3.0) / 2.0).exp() / 2.0 } else { 0.0 };
                drawn(random, empty(0.0, 0.2, 100), |x| photons.mul_add(0.2 * decay(x), 4.0))
            }),
            five: 77.0,
        },
        Case {
            name: "two exponentials",
            model: Box::new(|_| Box::new(Decay::new(2, None, None).unwrap())),
            data: Box::new(|random, second| {
                let decay = |x: f64, tau: f64| (-x / tau).exp() / tau;
                let mean = |x: f64| {
                    7e3 * (1.0 - second).mul_add(decay(x, 2.0), second * decay(x, 8.0)) * 0.1 + 2.0
                };
                drawn(random, empty(0.0, 0.1, 200), mean)
            }),
            five: 0.5,
        },
    ]
}

/// Returns the standard deviations of each of several simulations.
fn all(case: &Case, factor: f64, seeds: u64) -> Vec<(Fitted, f64)> {
    let one = |seed: u64| {
        let data = (case.data)(&mut Random(20_000 + seed), factor);
        let model = (case.model)(&data);
        let fitted = fit(&*model, &data, &Settings::default(), &|| false).unwrap();
        let sigmas = fitted.significance.as_ref().unwrap().sigmas;
        (fitted, sigmas)
    };
    // The seeds are fixed, and the percentage gives their number.
    let count = some(some(0..seeds)).count() as u64;
    (0..count).map(one).collect()
}

/// Chance gives 1.35 in a thousand at three standard deviations.
#[test]
fn flat_data_have_no_structure() {
    let check = |case: &Case| {
        let found = all(case, 0.0, 1000);
        let count = found.len() as u64;
        let clear = found.iter().filter(|(_, sigmas)| *sigmas >= FOUND).count() as u64;
        println!("{}: {clear} of {count}", case.name);
        assert!(clear <= (8 * count).div_ceil(1000) + 1, "{}: {clear} of {count}", case.name);
        for (fitted, sigmas) in found {
            let significance = fitted.significance.unwrap();
            let amplitude =
                fitted.parameters.iter().find(|of| of.name == significance.amplitude).unwrap();
            assert_eq!(amplitude.is_absent, sigmas < FOUND);
            assert_eq!(significance.limit.is_some(), sigmas < FOUND, "{}", case.name);
        }
    };
    let cases = cases();
    thread::scope(|scope| cases.iter().for_each(|case| drop(scope.spawn(|| check(case)))));
}

#[test]
fn structure_of_five_standard_deviations_is_found() {
    let check = |case: &Case| {
        let found = all(case, case.five, 400);
        let count = found.len() as u64;
        let mean = found.iter().map(|(_, sigmas)| sigmas).sum::<f64>() / count as f64;
        let clear = found.iter().filter(|(_, sigmas)| *sigmas >= FOUND).count() as u64;
        println!("{}: {clear} of {count}, mean {mean}", case.name);
        assert!(count < 20 || (4.3..5.8).contains(&mean), "{}: {mean}", case.name);
        // Of few, one may be missed.
        let clear = if count < 20 { clear + 1 } else { clear };
        assert!(20 * clear >= 19 * count, "{}: {clear} of {count}", case.name);
    };
    let cases = cases();
    thread::scope(|scope| cases.iter().for_each(|case| drop(scope.spawn(|| check(case)))));
}
