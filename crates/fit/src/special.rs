//! Integrals that several models need.
//!
//! A share of 0.6827 of a Gaussian is within one standard deviation. Tails keep their digits: the share beyond six
//! standard deviations is 9.87·10⁻¹⁰, not a difference of two numbers near 1.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use libm::{erf, erfc};

/// Full width at half maximum of a Gaussian, in standard deviations: 2·√(2 ln 2).
pub(crate) const FULL_WIDTH: f64 = 2.354_820_045_030_949;

/// Returns the share of a Gaussian between two places.
pub(crate) fn gaussian_between(from: f64, to: f64, centre: f64, sigma: f64) -> f64 {
    let z = |at: f64| (at - centre) / sigma * FRAC_1_SQRT_2;
    let (from, to) = (z(from), z(to));
    // On one side of the centre, differences of small numbers keep their digits.
    if from > 0.0 {
        (erfc(from) - erfc(to)) / 2.0
    } else if to < 0.0 {
        (erfc(-to) - erfc(-from)) / 2.0
    } else {
        (erf(to) - erf(from)) / 2.0
    }
}

/// Returns the mean of exp(−|t|/τ) between two places, after a Gaussian of standard deviation σ has smeared it.
pub(crate) fn two_sided_between(from: f64, to: f64, tau: f64, sigma: f64) -> f64 {
    // By symmetry, the side where the numbers are small.
    if from < 0.0 && to > 0.0 {
        let (left, right) = (-from, to);
        let sum = left * two_sided_between(0.0, left, tau, sigma)
            + right * two_sided_between(0.0, right, tau, sigma);
        return sum / (left + right);
    }
    let (near, far) = if to <= 0.0 { (-to, -from) } else { (from, to) };
    let width = far - near;
    if width <= 1e-9 * tau {
        return two_sided_between(near, near + 1e-6 * tau, tau, sigma);
    }
    2.0 * tau / width * (beyond(near, tau, sigma) - beyond(far, tau, sigma))
}

/// Returns the share of a smeared two-sided exponential beyond a place that is not negative.
fn beyond(at: f64, tau: f64, sigma: f64) -> f64 {
    if sigma <= 0.0 {
        return libm::exp(-at / tau) / 2.0;
    }
    let (z, s) = (at / sigma, sigma / tau);
    // exp(s²/2 ∓ t/τ)·erfc((s ∓ z)/√2), by its logarithm, because one factor may overflow.
    let half = s * s / 2.0;
    let falling = libm::exp(half - at / tau + log_erfc((s - z) * FRAC_1_SQRT_2));
    let rising = libm::exp(half + at / tau + log_erfc((s + z) * FRAC_1_SQRT_2));
    0.5 * (erfc(z * FRAC_1_SQRT_2) + 0.5 * (falling - rising))
}

/// Returns the logarithm of the complementary error function.
pub(crate) fn log_erfc(at: f64) -> f64 {
    if at < 20.0 {
        return libm::log(erfc(at));
    }
    let square = at * at;
    -square - libm::log(at * PI.sqrt()) + libm::log((1.0 / (2.0 * square)).mul_add(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of a smeared exponential by plain summation.
    fn summed(from: f64, to: f64, tau: f64, sigma: f64) -> f64 {
        let steps = 200;
        let mut sum = 0.0;
        for i in 0..steps {
            let t = from + (to - from) * (f64::from(i) + 0.5) / f64::from(steps);
            let mut of = 0.0;
            for j in -800..=800 {
                let shift = 8.0 * sigma * f64::from(j) / 800.0;
                let weight = (-shift * shift / (2.0 * sigma * sigma)).exp();
                of += weight * (-(t - shift).abs() / tau).exp() * 0.01 / (2.0 * PI).sqrt();
            }
            sum += of;
        }
        sum / f64::from(steps)
    }

    #[test]
    fn a_smeared_exponential_equals_its_sum() {
        for (from, to, tau, sigma) in [
            (-0.3, 0.7, 1.0, 0.5),
            (2.0, 2.5, 1.0, 0.5),
            (-4.0, -3.0, 0.2, 1.0),
            (0.0, 9.0, 3.0, 0.1),
        ] {
            let (exact, sum) =
                (two_sided_between(from, to, tau, sigma), summed(from, to, tau, sigma));
            assert!((exact - sum).abs() < 2e-4 * sum.max(1e-3), "{exact} {sum}");
        }
        let plain = two_sided_between(1.0, 2.0, 1.0, 0.0);
        assert!((plain - ((-1.0_f64).exp() - (-2.0_f64).exp())).abs() < 1e-15);
        // Jitter of ten thousand lifetimes, where the factors overflow.
        let wide = two_sided_between(-1.0, 1.0, 1e-3, 10.0);
        assert!((wide / (2e-3 * 0.039_827_8) - 1.0).abs() < 1e-4, "{wide}");
    }

    #[test]
    fn shares_of_a_gaussian() {
        // The share within one standard deviation, and beyond six on one side.
        assert!((gaussian_between(-1.0, 1.0, 0.0, 1.0) - 0.682_689_492_137).abs() < 1e-12);
        let tail = gaussian_between(6.0, 40.0, 0.0, 1.0);
        assert!((tail / 9.865_876_450e-10 - 1.0).abs() < 1e-8, "{tail}");
    }
}
