//! The difference of a value and its prediction, in standard errors.
//!
//! Poisson counts: 4 counts at a prediction of 4 have the residual 0, 0 counts at a prediction of 2 have −√(2·2) =
//! −2. The derivative must be that of the residual, also near a residual of 0, where both terms of the deviance
//! cancel.

use crate::data::{Data, Noise};

/// A prediction of counts below this is taken as this, so that the likelihood is finite.
const COUNT_MIN: f64 = 1e-9;

/// Returns the residual of a value, and its derivative by the prediction. The sum of the squares of all is the
/// deviance: twice the logarithm of the largest possible likelihood over that of the prediction.
pub(crate) fn residual(noise: &Noise, bin: usize, value: f64, prediction: f64) -> (f64, f64) {
    match noise {
        Noise::Poisson => deviance(value, prediction),
        Noise::Covariance(_) => {
            let root = dispersion(noise, bin, value).sqrt();
            let (residual, slope) = deviance(value, prediction);
            (residual / root, slope / root)
        }
        Noise::Normal(errors) => ((value - prediction) / errors[bin], -1.0 / errors[bin]),
        Noise::Pearson => {
            let mean = prediction.max(COUNT_MIN);
            let root = mean.sqrt();
            ((value - mean) / root, -(value + mean) / (2.0 * mean * root))
        }
    }
}

/// Returns the variance of a value for its prediction.
pub(crate) fn variance(data: &Data, bin: usize, prediction: f64) -> f64 {
    match &data.noise {
        Noise::Normal(errors) => errors[bin] * errors[bin],
        Noise::Covariance(_) => {
            dispersion(&data.noise, bin, data.values[bin]) * prediction.max(COUNT_MIN)
        }
        Noise::Poisson | Noise::Pearson => prediction.max(COUNT_MIN),
    }
}

/// Returns the variance of a value over that of a Poisson number.
fn dispersion(noise: &Noise, bin: usize, value: f64) -> f64 {
    noise.err(bin).map_or(1.0, |err| err * err / value.max(1.0))
}

/// Returns the square of the residual that is expected of a value with this mean.
pub(crate) fn expected_deviance(noise: &Noise, mean: f64) -> f64 {
    // 1 + 1/(6 m) + … for many counts (McCullagh and Nelder, Generalized Linear Models, 2nd ed., appendix C).
    const MANY: f64 = 20.0;
    if !matches!(noise, Noise::Poisson) || mean > MANY {
        return if matches!(noise, Noise::Poisson) { 1.0 + 1.0 / (6.0 * mean) } else { 1.0 };
    }
    let mean = mean.max(COUNT_MIN);
    let (mut probability, mut count, mut sum) = (libm::exp(-mean), 0.0, 0.0);
    while count < mean + 10.0 * (mean + 1.0).sqrt() {
        sum += probability * deviance(count, mean).0.powi(2);
        count += 1.0;
        probability *= mean / count;
    }
    sum
}

/// Returns the deviance residual of a count, sign(n − m)·√(2 (m − n + n ln(n/m))), and its derivative by m.
fn deviance(count: f64, mean: f64) -> (f64, f64) {
    let mean = mean.max(COUNT_MIN);
    if count <= 0.0 {
        let root = (2.0 * mean).sqrt();
        return (-root, -1.0 / root);
    }
    let off = (mean - count) / count;
    if off.abs() < 1e-3 {
        // The terms cancel: n (δ − ln(1 + δ)) = n δ² (1/2 − δ/3 + δ²/4 − …).
        let half = off.mul_add(off.mul_add(0.25, -1.0 / 3.0), 0.5);
        let root = (2.0 * half * count).sqrt();
        let size = root * off;
        // d(r²/2)/dm = 1 − n/m = δ/(1 + δ).
        return (-size, -1.0 / ((1.0 + off) * root));
    }
    let half = if off.abs() < 0.5 {
        count * (off - libm::log1p(off))
    } else {
        mean - count + count * libm::log(count / mean)
    };
    let size = (2.0 * half).sqrt();
    let slope = 1.0 - count / mean;
    let residual = size.copysign(-off);
    (residual, slope / residual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviance_residual_is_smooth_and_its_square_is_the_deviance() {
        for count in [0.0, 1.0, 7.0, 1e4, 1e9] {
            for mean in [1e-3, 0.5, 7.0, 7.000_1, 9.9e3, 1e4, 1.0009e4, 1.0011e4, 1.01e9] {
                let (residual, slope) = deviance(count, mean);
                let of = if count > 0.0 { count * libm::log(count / mean) } else { 0.0 };
                let expected = 2.0 * (mean - count + of);
                let rounding = 1e-12 * (mean + count);
                assert!((residual * residual - expected).abs() <= 1e-9 * expected + rounding);
                let step = 1e-5 * mean;
                let up = deviance(count, mean + step).0;
                let down = deviance(count, mean - step).0;
                let numeric = (up - down) / (2.0 * step);
                assert!(
                    (slope - numeric).abs() < 1e-4 * slope.abs(),
                    "{count} {mean}: {slope} {numeric}"
                );
            }
        }
    }
}
