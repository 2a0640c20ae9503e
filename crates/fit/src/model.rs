//! The interface of all models.
//!
//! The search works on numbers without bounds: with a lower bound of 0 and a scale of 2, the number 0.75 stands for
//! the value 2·(√(0.75² + 1) − 1) = 0.5. [`Parameter::slope`] must be the derivative of [`Parameter::external`].

use crate::{
    data::{Bin, Data},
    error::Error,
};

/// A start lies inside of two bounds: its distance from their middle is at most this part of half of their distance.
const INSIDE: f64 = 1.0 - 1e-7;

/// The physical quantity of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The quantity of the horizontal axis, such as time.
    Place,
    /// The quantity of the values, such as counts.
    Value,
    /// A ratio without a unit.
    Ratio,
}

/// A parameter of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its quantity.
    pub quantity: Quantity,
    /// The lowest value.
    pub lower: f64,
    /// The highest value.
    pub upper: f64,
    /// The order of magnitude of a change that matters, greater than zero.
    pub scale: f64,
}

/// A number that follows from the parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Its name.
    pub name: String,
    /// Its quantity.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
}

/// A function of the horizontal axis, with parameters.
pub trait Model {
    /// Returns the parameters of a fit to `data`.
    fn parameters(&self, data: &Data) -> Vec<Parameter>;

    /// Returns starting values, found in `data`: at least one set of all parameters. The best of all fits is taken.
    fn starts(&self, data: &Data) -> Vec<Vec<f64>>;

    /// Writes the mean of the model in each bin to `values`. A mean depends on its own bin alone, so that a curve can
    /// have other bins than the data.
    ///
    /// # Errors
    /// [`Error::Callback`] if it is a function of the caller that failed.
    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error>;

    /// Returns the derivative of the means by a parameter, if it can be had without differences of predictions.
    fn slope(&self, _: &[f64], _: usize, _: &[Bin]) -> Option<Vec<f64>> {
        None
    }

    /// Returns numbers that follow from the parameters, always the same ones in the same order.
    fn derived(&self, _: &[f64]) -> Vec<Derived> {
        Vec::new()
    }

    /// Returns the part of the model that data may not have, with the places at which it is searched in `data`;
    /// `None` if there is no such part.
    fn structure(&self, _: &Data) -> Option<Structure> {
        None
    }

    /// Returns the model as another measurement of its measured part, drawn with this seed, would make it; `None` if
    /// no part of it was measured.
    fn redrawn(&self, _: u64) -> Option<Box<dyn Model>> {
        None
    }

    /// Puts parameters that could be exchanged in a fixed order, and a place that is the same a period later into `data`.
    fn arrange(&self, _: &mut [f64], _: &Data) {}
}

/// The part of a model that data may not have.
pub struct Structure {
    /// The name of the structure, such as `dip`.
    pub name: String,
    /// The description of the data without it, such as `a constant`.
    pub against: String,
    /// The model without it.
    pub null: Box<dyn Model>,
    /// The number of the parameter that is zero without it. Predictions are linear in it.
    pub amplitude: usize,
    /// Parameters of the model, each with that of the null.
    pub shared: Vec<(usize, usize)>,
    /// Values of all parameters: where a search can find the structure. The values of shared parameters are not used.
    pub places: Vec<Vec<f64>>,
}

impl Parameter {
    /// Creates a parameter without bounds.
    pub fn new(name: impl Into<String>, quantity: Quantity, scale: f64) -> Self {
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
        let (lower, upper) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { name: name.into(), quantity, lower, upper, scale }
    }

    /// Adds bounds.
    #[must_use]
    pub fn between(self, lower: f64, upper: f64) -> Self {
        Self { lower, upper, ..self }
    }

    /// Adds a lower bound of zero.
    #[must_use]
    pub fn positive(self) -> Self {
        Self { lower: 0.0, ..self }
    }

    /// Returns the parameter for a number without bounds: the transformation of MINUIT, smooth and monotonic near the
    /// start.
    pub(crate) fn external(&self, free: f64) -> f64 {
        match (self.lower.is_finite(), self.upper.is_finite()) {
            (false, false) => free * self.scale,
            (true, false) => self.lower + self.scale * (libm::hypot(free, 1.0) - 1.0),
            (false, true) => self.upper - self.scale * (libm::hypot(free, 1.0) - 1.0),
            (true, true) => {
                let off = (self.upper - self.lower) / 2.0 * libm::sin(free);
                // Rounding could pass a bound.
                (f64::midpoint(self.lower, self.upper) + off).clamp(self.lower, self.upper)
            }
        }
    }

    /// Returns the number without bounds of a parameter, a little inside of its bounds.
    pub(crate) fn internal(&self, value: f64) -> f64 {
        let above = |by: f64| {
            let by = (by / self.scale).max(1e-3) + 1.0;
            (by * by - 1.0).sqrt()
        };
        match (self.lower.is_finite(), self.upper.is_finite()) {
            (false, false) => value / self.scale,
            (true, false) => above(value - self.lower),
            (false, true) => above(self.upper - value),
            (true, true) => {
                let half = (self.upper - self.lower) / 2.0;
                let place = (value - f64::midpoint(self.lower, self.upper)) / half;
                libm::asin(place.clamp(-INSIDE, INSIDE))
            }
        }
    }

    /// Returns the derivative of [`Parameter::external`].
    pub(crate) fn slope(&self, free: f64) -> f64 {
        match (self.lower.is_finite(), self.upper.is_finite()) {
            (false, false) => self.scale,
            (true, false) => self.scale * free / libm::hypot(free, 1.0),
            (false, true) => -self.scale * free / libm::hypot(free, 1.0),
            (true, true) => (self.upper - self.lower) / 2.0 * libm::cos(free),
        }
    }

    /// Returns whether a value is at a bound.
    pub(crate) fn is_at_bound(&self, value: f64) -> bool {
        self.bound_at(value).is_some()
    }

    /// Returns the bound at which a value is, up to what a search finds.
    pub(crate) fn bound_at(&self, value: f64) -> Option<f64> {
        let size = if self.lower.is_finite() && self.upper.is_finite() {
            self.scale.min(self.upper - self.lower)
        } else {
            self.scale
        };
        [self.lower, self.upper].into_iter().find(|bound| (value - bound).abs() < 1e-5 * size)
    }
}
