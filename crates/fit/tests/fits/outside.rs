//! Likelihood compared with least squares on a measured decay. Lifetimes of other programs are in data/validation.json.

use std::{env, fs, path::PathBuf};

use tagq_fit::{Data, Noise, Settings, fit, models::Decay};

use super::simulated::bins;

/// The decay of flimlib's tests from bin 49 to 229, in bins; `None` without the file.
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
    // The first number is that of the others.
    let values: Vec<f64> =
        text.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect();
    let data = Data { bins: bins(0.0, 1.0, values.len()), values, noise, exposure: None };
    Some(data.between(49.0, 230.0).unwrap())
}

#[test]
fn likelihood_and_least_squares_agree_for_many_counts() {
    let (Some(counted), Some(squared)) = (decay(Noise::Poisson), decay(Noise::Pearson)) else {
        return;
    };
    let model = Decay::new(2, None, None).unwrap();
    let of = |data: &Data| fit(&model, data, &Settings::default(), &|| false).unwrap();
    let (likely, squared) = (of(&counted), of(&squared));
    for name in ["tau_1", "tau_2"] {
        let (one, other) = (likely.get(name).unwrap(), squared.get(name).unwrap());
        assert!((one.value - other.value).abs() < one.err.unwrap(), "{name}");
    }
}
