//! Lifetimes of a decay in a text file, as flimlib fits them: least squares with the variances of the model.

use std::{fs, path::Path};

use tagq::fit::{Bin, Data, Noise, Settings, fit, models::Decay};

/// Width of a bin of the decay in ns.
const WIDTH: f64 = 0.058_628_749;
/// The fitted bins, from 2.8728 to 13.4846 ns.
const FITTED: [f64; 2] = [49.0, 230.0];

/// Returns the answer to `lifetime 1 of 2` in ns, and to `reduced chi-square of 2`, where 2 is the number of exponentials; `None` for
/// other names.
pub(super) fn answer(name: &str, file: &Path) -> Option<f64> {
    let (what, exponentials) = name.split_once(" of ")?;
    let exponentials: usize = exponentials.parse().ok()?;
    let text = fs::read_to_string(file).unwrap();
    // The first number is that of the others.
    let values: Vec<f64> =
        text.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect();
    let edge = |bin: usize| WIDTH * bin as f64;
    let bins = (0..values.len()).map(|bin| Bin { from: edge(bin), to: edge(bin + 1) }).collect();
    let data = Data { bins, values, noise: Noise::Pearson, exposure: None };
    let data = data.between(FITTED[0] * WIDTH, FITTED[1] * WIDTH).unwrap();
    let model = Decay::new(exponentials, None, None).unwrap();
    let fitted = fit(&model, &data, &Settings::default(), &|| false).unwrap();
    let value = if what == "reduced chi-square" {
        fitted.deviance / fitted.degrees as f64
    } else {
        let number = what.strip_prefix("lifetime ")?;
        let parameter = if exponentials == 1 { "tau".to_owned() } else { format!("tau_{number}") };
        fitted.get(&parameter).unwrap().value
    };
    // The last digits depend on the processor.
    Some((value * 1e4).round() / 1e4)
}
