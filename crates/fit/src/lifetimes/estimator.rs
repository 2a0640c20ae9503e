//! Estimates the lifetimes of single decays from what all have in common.

use super::{
    exponential::ExponentialLifetime,
    pooled::{FoundResponse, Pooled, ResponseOf, in_period},
    shapes::Shapes,
};
use crate::{data::Data, error::Error, problem::Stop};

/// Of fewer photons, the scatter of the own ones is not known well enough for an error; that of all decays together
/// is taken.
pub const FEW: u64 = 100;

/// Estimates lifetimes of decays that are measured with one response.
#[derive(Debug)]
pub struct Lifetimes {
    pub(super) shapes: Shapes,
    found: FoundResponse,
    /// The expected photons of the background in a single decay, and their standard error.
    pub(super) background: f64,
    pub(super) background_err: f64,
    /// The deviance of the fit to all decays together over the expected one.
    deviance_ratio: Option<f64>,
    /// Counts of all decays together in bins that end after the period.
    after_period: f64,
    /// All decays together, as one exponential.
    pub(super) all: ExponentialLifetime,
    /// The variance of the logarithm of its lifetime by one photon.
    of_all: Option<f64>,
}

/// A lifetime with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lifetime {
    /// The lifetime, in the unit of the axis.
    pub tau: f64,
    /// Its standard error.
    pub err: f64,
}

impl Lifetimes {
    /// Finds the response and the background in `pooled`, the sum of so many decays, which share the background. Its bins have one width, in the unit
    /// of the lifetimes. With the period of the pulses in that unit, photons of earlier pulses are part of each decay, and
    /// bins that end after the period are left out.
    ///
    /// # Errors
    /// [`Error::NoCounts`], [`Error::TooFewBins`], [`Error::UnequalBins`], [`Error::NoConvergence`],
    /// [`Error::Cancelled`] after `stop`, [`Error::Model`] for a response that does not fit to the period.
    pub fn new(
        pooled: &Data,
        decays: f64,
        response: &ResponseOf,
        period: Option<f64>,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let data = in_period(pooled, period)?;
        let after_period = pooled.values[data.values.len()..].iter().sum();
        let pooled = Pooled::of(&data, response, period, stop)?;
        let shapes = Shapes::new(&data, &pooled, period)?;
        let all = shapes.likeliest(&shapes.seen(&data.values)).ok_or(Error::NoCounts)?;
        let part = shapes.len() as f64 / decays.max(1.0);
        let [background, background_err] =
            [pooled.background, pooled.background_err].map(|of| of * part);
        let of_all = shapes.variance(&all);
        let Pooled { found, deviance_ratio, .. } = pooled;
        Ok(Self {
            shapes,
            found,
            background,
            background_err,
            deviance_ratio,
            after_period,
            all,
            of_all,
        })
    }

    /// Returns the response that was found.
    #[must_use]
    pub fn response(&self) -> FoundResponse {
        self.found
    }

    /// Returns the exponential of all decays together.
    #[must_use]
    pub fn all(&self) -> ExponentialLifetime {
        self.all
    }

    /// Returns the expected photons of the background in a single decay, and their standard error.
    #[must_use]
    pub fn background(&self) -> (f64, f64) {
        (self.background, self.background_err)
    }

    /// Returns the deviance of all decays together, fitted with up to three exponentials, over the expected one.
    #[must_use]
    pub fn deviance_ratio(&self) -> Option<f64> {
        self.deviance_ratio
    }

    /// Returns the counts of all decays together in the bins that end after the period, which are left out.
    #[must_use]
    pub fn after_period(&self) -> f64 {
        self.after_period
    }

    /// Returns the likeliest lifetime of a decay and its background; `None` without photons, or if the lifetime is the
    /// shortest or the longest one that was looked for.
    ///
    /// The error is that of the Fisher information of so many photons, at the lifetime that was found. Of fewer than
    /// [`FEW`] photons, it is that of the lifetime of all decays together, in proportion to the longer of both.
    #[must_use]
    pub fn exponential(&self, counts: &[f64]) -> Option<(Lifetime, f64)> {
        let seen = self.shapes.seen(counts);
        let of = self.shapes.likeliest(&seen).filter(|of| !of.is_at_bound)?;
        let photons: f64 = seen.iter().map(|(_, count)| count).sum();
        let (variance, scale) = if photons < FEW as f64 {
            (self.of_all, of.tau.max(self.all.tau))
        } else {
            (self.shapes.variance(&of), of.tau)
        };
        let err = (variance? / photons).sqrt() * scale;
        Some((Lifetime { tau: of.tau, err }, of.background))
    }
}
