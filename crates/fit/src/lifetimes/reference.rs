//! The phasor of the response, from a reference of known lifetime.
//!
//! A dye of 4 ns has the phasor (1 + iωτ)/(1 + ω²τ²) at the frequency ω. What is measured is this times the phasor of the
//! response, if its background is subtracted: at ωτ = 1, a measured (0, 0.5) is a response of (0.5, 0.5).

use super::{
    estimator::Lifetimes,
    phasor::{Phasor, on_semicircle, quotient},
    pooled::ResponseOf,
};
use crate::{data::Data, error::Error, problem::Stop};

/// The response by a reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// The phasor of the response, with the errors by the photons of the reference.
    pub response: Phasor,
    /// The photons in the period.
    pub photons: f64,
    /// The expected photons of the background among them, and their standard error.
    pub background: (f64, f64),
}

impl Reference {
    /// Finds the response in the decay of a reference with this lifetime, at a harmonic of pulses with this period, all in
    /// one unit. The background is that of a fit with a Gaussian response.
    ///
    /// # Errors
    /// Those of [`Lifetimes::new`].
    pub fn new(
        decay: &Data,
        lifetime: f64,
        (period, harmonic): (f64, u32),
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let found = Lifetimes::new(decay, 1.0, &ResponseOf::Auto, Some(period), stop)?;
        let mut measured = found.phasors(harmonic).ok_or(Error::NoCounts)?;
        measured.calibration = [1.0, 0.0];
        // The background B is found in the photons that it is subtracted from. With N of them in the background, the likeliest
        // B has the covariance B with N, so N − B has the variance σ² − B; the variance of the photons has B of N already.
        let background = measured.background;
        measured.background_variance =
            (measured.background_variance - 2.0 * background).max(-background);
        let angle = measured.omega * lifetime;
        let phasor = measured.of(&decay.values, 1.0).ok_or(Error::NoCounts)?;
        let response = phasor.times(quotient([1.0, 0.0], on_semicircle(angle)));
        let photons = decay.values.iter().sum::<f64>() - found.after_period();
        Ok(Self { response, photons, background: found.background() })
    }
}
