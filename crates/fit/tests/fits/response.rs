//! A response of the instrument that is found: anywhere in the period, in wide and in narrow bins.

use tagq_fit::{
    Data, Fitted, Settings, fit,
    lifetimes::{Lifetimes, ResponseOf, after_response},
    models::Decay,
};

use super::simulated::{Random, bins, decay_photon, histogram};

const PERIOD: f64 = 12.5;
const SIGMA: f64 = 0.08;
const FWHM: f64 = 2.354_820 * SIGMA;
const CENTRES: [f64; 6] = [0.02, 0.3, 6.0, 9.9, PERIOD - 0.3, PERIOD - 0.02];

fn drawn(random: &mut Random, (photons, tau): (usize, f64), centre: f64, count: usize) -> Data {
    let pulse = |random: &mut Random| SIGMA.mul_add(random.gaussian(), centre);
    let mut place = || {
        if random.uniform() < 0.02 {
            random.uniform() * PERIOD
        } else {
            decay_photon(random, &[(1.0, tau)], &pulse, PERIOD)
        }
    };
    let places: Vec<f64> = (0..photons).map(|_| place()).collect();
    histogram(bins(0.0, PERIOD / count as f64, count), places.into_iter())
}

/// Returns a value, and half of its interval where it has no error.
fn value(fitted: &Fitted, name: &str) -> (f64, f64) {
    let of = fitted.get(name).unwrap();
    let half = || of.interval.map(|(low, high)| (high - low) / 2.0);
    (of.value, of.err.or_else(half).unwrap())
}

#[test]
fn a_response_is_found_anywhere_in_the_period() {
    for (at, centre) in (0..).zip(CENTRES) {
        for count in [125, 500, 2_500] {
            let data = drawn(&mut Random(31 + at), (20_000, 2.5), centre, count);
            let model = Decay::with_gaussian(1, Some(PERIOD)).unwrap();
            for fixed in [vec![], vec![("fwhm".to_owned(), FWHM)]] {
                let settings = Settings { fixed, ..Settings::default() };
                let fitted = fit(&model, &data, &settings, &|| false).unwrap();
                for (name, truth) in [("tau", 2.5), ("fwhm", FWHM), ("centre", centre)] {
                    let of = fitted.get(name).unwrap();
                    if of.is_fixed {
                        continue;
                    }
                    let (found, err) = value(&fitted, name);
                    let off = if name == "centre" {
                        assert!((0.0..PERIOD).contains(&found), "{centre} in {count}: {found}");
                        (found - truth + PERIOD / 2.0).rem_euclid(PERIOD) - PERIOD / 2.0
                    } else {
                        found - truth
                    };
                    assert!(off.abs() < 4.5 * err, "{centre} in {count}: {name} {found} {err}");
                    assert!(err < 0.3 * truth.max(0.02), "{centre} in {count}: {name} {err}");
                }
            }
        }
    }
}

/// 3 standard deviations on either side of the response are left out, wherever it is.
#[test]
fn bins_after_a_response_are_one_period_without_it() {
    for (at, centre) in (0..).zip(CENTRES) {
        let data = drawn(&mut Random(41 + at), (50_000, 2.5), centre, 500);
        let (after, from) = after_response(&data, Some(PERIOD), &|| false).unwrap();
        let expected = 3.0f64.mul_add(SIGMA, centre);
        assert!((from - expected).abs() < 0.02, "{centre}: {from}");
        let (first, last) = (after.bins[0], after.bins[after.bins.len() - 1]);
        assert!(first.from >= from && first.from < from + 0.03, "{centre}: {first:?} {from}");
        let end = last.to - first.from;
        assert!((end - (PERIOD - 6.0 * SIGMA)).abs() < 0.08, "{centre}: {end}");
        let follows = after.bins.windows(2).all(|of| (of[1].from - of[0].to).abs() < 1e-9);
        assert!(follows, "{centre}");
        let fitted =
            fit(&Decay::new(1, None, None).unwrap(), &after, &Settings::default(), &|| false);
        let (tau, err) = value(&fitted.unwrap(), "tau");
        assert!((tau - 2.5).abs() < 4.5 * err && err < 0.06, "{centre}: {tau} {err}");
        // The same bins give lifetimes of pixels.
        let all = Lifetimes::new(&data, 1.0, &ResponseOf::Tail, Some(PERIOD), &|| false).unwrap();
        let of_pixel = all.exponential(&data.values).unwrap().0;
        assert!((of_pixel.tau - tau).abs() < 0.5 * err, "{centre}: {of_pixel:?} {tau}");
    }
}

/// Few photons in many bins: the likelihood ratio is some thousands, and the probability of chance is below the least number.
#[test]
fn a_clear_decay_of_few_photons_in_many_bins_is_found() {
    for count in [400, 1_000, 3_000] {
        let data = drawn(&mut Random(51), (2_000, 1.0), 2.0, count);
        let after = data.between(2.5, PERIOD).unwrap();
        for (model, data) in [
            (Decay::with_gaussian(1, Some(PERIOD)).unwrap(), &data),
            (Decay::new(1, None, None).unwrap(), &after),
        ] {
            let fitted = fit(&model, data, &Settings::default(), &|| false).unwrap();
            let significance = fitted.significance.clone().unwrap();
            assert!(significance.sigmas > 20.0, "{count}: {significance:?}");
            let (tau, err) = value(&fitted, "tau");
            assert!((tau - 1.0).abs() < 4.5 * err, "{count}: {tau} {err}");
        }
    }
}
