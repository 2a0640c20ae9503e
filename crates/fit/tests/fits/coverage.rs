//! Coverage: over 200 simulations, the squares of (value − truth) / error have the mean 1.

use std::thread;

use super::{
    cases::{Case, Judged, cases, response},
    simulated::{Random, bins, decay_photon, detector, histogram},
};
use tagq_fit::{
    Data, Estimate, FOUND, Noise, Settings, fit,
    models::{Decay, Peak, Response, Sine},
};
use tagq_sampling::some;

/// Bounds of chi-square per degree of freedom, of all simulations and of a tenth of them.
const BOUNDS: [std::ops::RangeInclusive<f64>; 2] = [0.8..=1.25, 0.65..=1.45];

/// Returns the difference of an estimate and the truth in its error on that side; `None` if it has none.
fn off(found: &Estimate, truth: f64) -> Option<f64> {
    let err = match found.interval {
        Some((low, _)) if found.value > truth => Some(found.value - low),
        Some((_, high)) => Some(high - found.value),
        None => found.err,
    };
    let off = found.value - truth;
    err.map(|err| if off == 0.0 { 0.0 } else { off / err })
}

/// Asserts that the errors of a case cover.
fn covers(case: &Case) {
    let seeds = some(0..1000).count();
    let mut all = vec![Vec::new(); case.truths.len()];
    for seed in 0..seeds as u64 {
        let fitted = (case.fit)(seed);
        if std::env::var("DBG").is_ok_and(|name| case.name.contains(&name)) {
            println!(
                "{seed} {:?} {:.1} {:.1}",
                fitted.significance.as_ref().map(|s| (s.sigmas, s.likelihood_ratio.sqrt())),
                fitted.deviance,
                fitted.deviance_expected
            );
            for of in fitted.parameters.iter().chain(&fitted.derived) {
                println!("   {} {:.4} {:.4?} {:.4?}", of.name, of.value, of.err, of.interval);
            }
        }
        // Without a structure, a level is that of a constant.
        if fitted.significance.as_ref().is_some_and(|of| of.sigmas < FOUND) {
            continue;
        }
        for ((parameter, truth), all) in case.truths.iter().zip(&mut all) {
            let found = fitted.get(parameter).expect("a parameter of the model");
            all.extend(off(found, *truth));
        }
    }
    for ((parameter, _), all) in case.truths.iter().zip(&all) {
        let (name, count) = (case.name, all.len());
        let answered = count as f64 / seeds as f64;
        let bias = all.iter().sum::<f64>() / count as f64;
        let ratio = all.iter().map(|off| off * off).sum::<f64>() / count as f64;
        println!("{name}: {parameter}: {ratio:.2}, {bias:.2}, {answered:.2} answered");
        let least = match case.judged {
            Judged::Found(least) => least,
            Judged::Covers | Judged::AtBound => 0.98,
        };
        assert!(answered >= least, "{name}: {parameter}: {answered} answered");
        if count < 20 {
            continue;
        }
        let bounds = &BOUNDS[usize::from(seeds < 1000)];
        let is_at_bound = case.judged == Judged::AtBound && ratio <= 1.0;
        assert!(is_at_bound || bounds.contains(&ratio), "{name}: {parameter} {ratio}");
        // A bias of half an error is not seen in one fit.
        let is_biased = case.judged == Judged::Covers && bias.abs() >= 0.5;
        assert!(!is_biased, "{name}: {parameter} is {bias} errors off");
    }
}

#[test]
fn errors_cover() {
    let cases = cases();
    thread::scope(|scope| {
        cases
            .iter()
            .filter(|c| std::env::var("DBG").map_or(true, |name| c.name.contains(&name)))
            .for_each(|case| drop(scope.spawn(|| covers(case))))
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
    let excess = |response: Response| {
        let model = Decay::new(1, Some(response), Some(period)).unwrap();
        let fitted = fit(&model, &data, &Settings::default()).unwrap();
        (fitted.deviance - fitted.deviance_expected) / (2.0 * fitted.degrees as f64).sqrt()
    };
    let (right, wrong) = (excess(response(period, count)), excess(wrong));
    assert!(right.abs() < 5.0, "{right}");
    assert!(wrong > 20.0, "{wrong}");
}

/// A detector that sees the first photon of a pulse alone makes lifetimes too short: 1 % at 5 % photons a pulse.
#[test]
fn pile_up_shortens_lifetimes() {
    let of = |photons_a_pulse: f64| {
        let mut random = Random(6);
        let mut places = Vec::new();
        while places.len() < 400_000 {
            let photons = random.poisson(photons_a_pulse) as usize;
            let first = (0..photons).map(|_| random.exponential(2.0)).reduce(f64::min);
            places.extend(first);
        }
        let data = histogram(bins(0.0, 0.05, 400), places.into_iter());
        let fitted = fit(&Decay::new(1, None, None).unwrap(), &data, &Settings::default());
        fitted.unwrap().get("tau").unwrap().value
    };
    // Of a pulse with one photon or two, the first of two comes after half of the lifetime on average.
    let (few, at_the_limit, many) = (of(0.005), of(0.05), of(0.5));
    assert!((few - 2.0).abs() < 0.02, "{few}");
    assert!((1.93..1.99).contains(&at_the_limit), "{at_the_limit}");
    assert!(many < 1.8, "{many}");
}

/// A line of a spectrum is narrow in a long trace, and a place far from zero is still known to a part of a bin.
#[test]
fn fringes_in_long_traces_and_peaks_far_away() {
    let mut random = Random(8);
    for (bins_, period) in [(150, 7.37), (1_500, 7.37), (20_000, 7.37), (20_000, 9_000.0)] {
        let bins = bins(0.0, 1.0, bins_);
        let mean = |bin: &tagq_fit::Bin| {
            let phase = std::f64::consts::TAU * (bin.middle() - 1.0) / period;
            30.0 * 0.5f64.mul_add(phase.cos(), 1.0)
        };
        let values = bins.iter().map(|bin| random.poisson(mean(bin))).collect();
        let data = Data { bins, values, noise: Noise::Poisson, exposure: None };
        let fitted = fit(&Sine, &data, &Settings::default()).unwrap();
        let found = fitted.get("period").unwrap();
        assert!((found.value - period).abs() < 4.0 * found.err.unwrap(), "{bins_} {found:?}");
        assert!(fitted.get("visibility").unwrap().value > 0.35, "{bins_} {period}");
    }
    let far = 3e7;
    let places: Vec<f64> = (0..2_000).map(|_| 3.0f64.mul_add(random.gaussian(), far)).collect();
    let data = histogram(bins(far - 30.0, 1.0, 60), places.into_iter());
    let fitted = fit(&Peak::of(&data), &data, &Settings::default()).unwrap();
    let centre = fitted.get("centre").unwrap();
    // 3 over the root of 2,000.
    let err = centre.err.unwrap();
    assert!(
        (err / 0.067 - 1.0).abs() < 0.1 && (centre.value - far).abs() < 4.0 * err,
        "{centre:?}"
    );
}

#[test]
fn dbg_one() {
    let name = std::env::var("DBG").unwrap_or_default();
    let seed: u64 = std::env::var("SEED").unwrap_or_default().parse().unwrap_or(0);
    for case in cases().iter().filter(|c| c.name == name) {
        let start = std::time::Instant::now();
        let fitted = (case.fit)(seed);
        println!(
            "{:?} {:?} {:.1} {:.1}",
            start.elapsed(),
            fitted.significance.as_ref().map(|s| (s.sigmas, s.likelihood_ratio.sqrt())),
            fitted.deviance,
            fitted.deviance_expected
        );
        for of in fitted.parameters.iter().chain(&fitted.derived) {
            println!("   {} {:.4} {:.4?} {:.4?}", of.name, of.value, of.err, of.interval);
        }
    }
}

#[test]
fn dbg_peak() {
    let mut random = Random(15_000 + std::env::var("SEED").unwrap().parse::<u64>().unwrap());
    let pairs = random.poisson(60.0) as usize;
    let places: Vec<f64> = (0..pairs).map(|_| 0.8f64.mul_add(random.gaussian(), 1.3)).collect();
    let mut data = histogram(bins(-10.0, 0.25, 80), places.into_iter());
    data.values.iter_mut().for_each(|value| *value += random.poisson(2.0));
    println!("{:?}", data.values);
    let model = Peak::of(&data);
    for start in tagq_fit::Model::starts(&model, &data) {
        let names = ["net", "centre", "fwhm", "background"].map(str::to_owned);
        let f = fit(
            &model,
            &data,
            &Settings {
                start: names.into_iter().zip(start.clone()).collect(),
                ..Settings::default()
            },
        )
        .unwrap();
        println!(
            "{start:?} -> {:?} {}",
            f.parameters.iter().map(|p| p.value).collect::<Vec<_>>(),
            f.deviance
        );
    }
}
