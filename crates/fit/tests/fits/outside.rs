//! Answers of other programs.

use std::{env, fs, path::PathBuf};

use tagq_fit::{Data, Noise, Settings, fit, models::Decay};

use super::simulated::bins;

/// Width of the bins of the decay in nanoseconds.
const WIDTH: f64 = 0.058_628_749;

/// The decay of flimlib's tests between the ends of its fits; `None` without the file.
fn decay(noise: Noise) -> Option<Data> {
    let Some(folder) = env::var_os("TAGQ_REAL_DATA") else {
        println!("skipped: TAGQ_REAL_DATA names no folder of real data");
        return None;
    };
    let path = PathBuf::from(folder).join("validation/flim_decay.dat");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let (count, values) = numbers.split_first().unwrap();
    assert_eq!(*count, 256.0);
    let bins = bins(0.0, WIDTH, values.len());
    let data = Data { bins, values: values.to_vec(), noise, exposure: None };
    // From 2.8728 to 13.4846 ns: bins 49 to 229.
    Some(data.between(49.0 * WIDTH, 230.0 * WIDTH).unwrap())
}

/// flimlib at ec3dc95: χ² with the variance of the model, minimised; τ in ns.
const FLIMLIB: [(&[(&str, f64)], f64, f64); 3] = [
    (&[("tau", 2.2685)], 7.3231, 0.005),
    (&[("tau_1", 2.841_77), ("tau_2", 0.779_75)], 1.210, 0.005),
    (&[("tau_1", 3.02), ("tau_2", 1.02), ("tau_3", 0.16)], 1.133, 0.02),
];

#[test]
fn lifetimes_of_flimlib() {
    let Some(data) = decay(Noise::Pearson) else { return };
    for (exponentials, (expected, chi_square, tolerance)) in FLIMLIB.into_iter().enumerate() {
        let model = Decay::new(exponentials + 1, None, None).unwrap();
        let fitted = fit(&model, &data, &Settings::default()).unwrap();
        let found_chi_square = fitted.deviance / fitted.degrees as f64;
        for (name, expected) in expected {
            let found = fitted.get(name).unwrap().value;
            println!(
                "{name}: flimlib {expected}, here {found}; χ² {chi_square}, here {found_chi_square}"
            );
            assert!((found / expected - 1.0).abs() < tolerance, "{name}: {found}, {expected}");
        }
        assert!((found_chi_square / chi_square - 1.0).abs() < 0.02);
    }
}

#[test]
fn likelihood_and_least_squares_agree_for_many_counts() {
    let (Some(counted), Some(squared)) = (decay(Noise::Poisson), decay(Noise::Pearson)) else {
        return;
    };
    let model = Decay::new(2, None, None).unwrap();
    let of = |data: &Data| fit(&model, data, &Settings::default()).unwrap();
    let (likely, squared) = (of(&counted), of(&squared));
    for name in ["tau_1", "tau_2"] {
        let (one, other) = (likely.get(name).unwrap(), squared.get(name).unwrap());
        assert!((one.value - other.value).abs() < one.err.unwrap(), "{name}");
    }
}
