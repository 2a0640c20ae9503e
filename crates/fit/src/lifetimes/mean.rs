//! Lifetimes from the mean arrival time.
//!
//! All photons have the mean 2.1. A tenth is background, with the mean 6. So the decay has the mean 1.67. The table has
//! the mean of each lifetime; the folded exponential of a short response has τ − P/(exp(P/τ) − 1).

use super::estimator::{FEW, Lifetime, Lifetimes};

impl Lifetimes {
    /// Returns the lifetime with the mean arrival time of a decay, without the background, which is this part of that of a
    /// whole decay; `None` if no lifetime has it.
    ///
    /// The error follows from the error of the background, and from how far the arrival times of the lifetime and of the
    /// background scatter. Of fewer than [`FEW`] photons, the lifetime of all decays together is taken for the scatter if
    /// it is longer.
    #[must_use]
    pub fn mean(&self, counts: &[f64], part: f64) -> Option<Lifetime> {
        let Self { shapes, all, .. } = self;
        let (background, background_err) = (self.background * part, self.background_err * part);
        let (mut photons, mut sum) = (0.0, 0.0);
        for (&place, time) in shapes.places.iter().zip(&shapes.times) {
            photons += counts[place];
            sum += counts[place] * time;
        }
        let net = photons - background;
        if net <= 0.0 {
            return None;
        }
        let [flat_mean, flat_square] = shapes.flat_moments();
        let mean = (sum - background * flat_mean) / net;
        let of = |log: f64| shapes.moments(log)[0][0];
        let log = inverted(of, mean, shapes.first, shapes.last())?;
        let slope = shapes.moments(log)[0][1];
        let of_scatter = if photons < FEW as f64 { log.max(libm::log(all.tau)) } else { log };
        let of_background = (mean - flat_mean) * background_err / net;
        let [[mean, ..], [square, ..]] = shapes.moments(of_scatter);
        let of_flat = mean.mul_add(mean - 2.0 * flat_mean, flat_square);
        let variance = net.mul_add(square - mean * mean, background * of_flat) / (net * net)
            + of_background * of_background;
        let tau = libm::exp(log);
        Some(Lifetime { tau, err: variance.sqrt() * tau / slope })
    }
}

/// Returns the argument at which a rising function has a value; `None` if it has it nowhere between two arguments.
fn inverted(of: impl Fn(f64) -> f64, value: f64, mut low: f64, mut high: f64) -> Option<f64> {
    if !(of(low)..=of(high)).contains(&value) {
        return None;
    }
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if of(middle) < value { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}
