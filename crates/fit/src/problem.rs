//! A fit as a problem of least squares, for the optimiser.
//!
//! The sum of the squares of the residuals is the deviance, so the least squares are the largest likelihood. The
//! optimiser sees free parameters as numbers without bounds; all other code sees values in their units.

use std::cell::RefCell;

use levenberg_marquardt::LeastSquaresProblem;
use nalgebra::{DMatrix, DVector, Dyn, storage::Owned};

use crate::{
    data::Data,
    error::Error,
    model::{Model, Parameter},
    residual::residual,
};

/// A fit of the parameters that are free, as numbers without bounds.
pub(crate) struct Problem<'a> {
    pub model: &'a dyn Model,
    pub data: &'a Data,
    pub parameters: &'a [Parameter],
    /// The numbers of the parameters that are fitted.
    pub free: &'a [usize],
    /// The values of all parameters.
    values: Vec<f64>,
    /// The free parameters without bounds.
    point: DVector<f64>,
    /// The prediction for each bin; `None` if the model has none here.
    means: Option<Vec<f64>>,
    /// A number that follows from the parameters and is held at a value.
    held: Option<Held>,
    /// Polled before each prediction.
    stop: Stop<'a>,
    /// The first failure of the model.
    pub failure: RefCell<Option<Error>>,
}

/// Returns whether the caller cancelled the fit. It is polled often; after it returned `true` once, it must always
/// return `true`.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// A derived number that is held at a value, as if it had been measured with a very small error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// Its place among the derived numbers.
    pub number: usize,
    pub value: f64,
    pub err: f64,
}

impl<'a> Problem<'a> {
    pub fn new(
        model: &'a dyn Model,
        data: &'a Data,
        parameters: &'a [Parameter],
        free: &'a [usize],
        values: Vec<f64>,
        stop: Stop<'a>,
    ) -> Self {
        let internal = free.iter().map(|&of| parameters[of].internal(values[of]));
        let point = DVector::from_iterator(free.len(), internal);
        let failure = RefCell::new(None);
        let mut problem = Self {
            model,
            data,
            parameters,
            free,
            values,
            point,
            means: None,
            held: None,
            stop,
            failure,
        };
        problem.means = problem.predict(&problem.values);
        problem
    }

    /// Holds a derived number.
    pub fn holding(self, held: Held) -> Self {
        Self { held: Some(held), ..self }
    }

    /// Returns how far the number that is held is from its value, in its error, for values of all parameters.
    fn held_off(&self, values: &[f64]) -> Option<f64> {
        let Held { number, value, err } = self.held?;
        Some((self.model.derived(values)[number].value - value) / err)
    }

    fn move_to(&mut self, point: DVector<f64>) {
        for (&of, &free) in self.free.iter().zip(point.iter()) {
            self.values[of] = self.parameters[of].external(free);
        }
        self.point = point;
        self.means = self.predict(&self.values);
    }

    /// Returns the values of all parameters.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the prediction of each value; `None` if it is not finite, if the model failed, or after a stop.
    pub fn predict(&self, values: &[f64]) -> Option<Vec<f64>> {
        self.predict_by(self.model, values)
    }

    /// Works like [`Problem::predict`], with another model with the same parameters.
    pub fn predict_by(&self, model: &dyn Model, values: &[f64]) -> Option<Vec<f64>> {
        let mut means = vec![0.0; self.data.bins.len()];
        let predicted = if (self.stop)() {
            Err(Error::Cancelled)
        } else {
            model.predict(values, &self.data.bins, &mut means)
        };
        if let Err(error) = predicted {
            self.failure.borrow_mut().get_or_insert(error);
            return None;
        }
        for (k, mean) in means.iter_mut().enumerate() {
            *mean *= self.data.exposure(k);
        }
        means.iter().all(|mean| mean.is_finite()).then_some(means)
    }

    /// Returns the derivatives of the predictions by a parameter.
    pub fn slope(&self, of: usize) -> Option<Vec<f64>> {
        if !(self.stop)()
            && let Some(mut slope) = self.model.slope(&self.values, of, &self.data.bins)
        {
            for (k, slope) in slope.iter_mut().enumerate() {
                *slope *= self.data.exposure(k);
            }
            return Some(slope);
        }
        let (low, high) = self.around(of);
        let [below, above] = [low, high].map(|value| self.predict(&self.with(of, value)));
        let slope = |(above, below): (f64, f64)| (above - below) / (high - low);
        Some(above?.into_iter().zip(below?).map(slope).collect())
    }

    /// Returns the derivatives of several numbers by a parameter.
    pub fn slopes_of(&self, of: usize, numbers: impl Fn(&[f64]) -> DVector<f64>) -> DVector<f64> {
        let (low, high) = self.around(of);
        let [below, above] = [low, high].map(|value| numbers(&self.with(of, value)));
        (above - below) / (high - low)
    }

    /// Returns two values of a parameter on both sides, within its bounds.
    fn around(&self, of: usize) -> (f64, f64) {
        let Parameter { lower, upper, scale, .. } = self.parameters[of];
        let centre = self.values[of];
        // A small part of its value, and of its scale if it is far from zero, such as a place.
        let step = 1e-5 * centre.abs().clamp(0.01 * scale, scale);
        ((centre - step).max(lower), (centre + step).min(upper))
    }

    fn with(&self, of: usize, value: f64) -> Vec<f64> {
        let mut values = self.values.clone();
        values[of] = value;
        values
    }

    /// Returns the residual of each bin and its derivative by the prediction.
    fn each(&self) -> Option<impl Iterator<Item = (f64, f64)>> {
        let means = self.means.as_ref()?;
        let Data { values, noise, .. } = self.data;
        let of = move |(k, (&value, &mean)): (usize, (&f64, &f64))| residual(noise, k, value, mean);
        Some(values.iter().zip(means).enumerate().map(of))
    }

    /// Returns the sum of the squares of all residuals.
    pub fn deviance(&self) -> Option<f64> {
        Some(self.each()?.map(|(residual, _)| residual * residual).sum())
    }

    /// Returns the predictions and the residuals.
    pub fn result(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        Some((self.means.clone()?, self.each()?.map(|(residual, _)| residual).collect()))
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, point: &DVector<f64>) {
        self.move_to(point.clone());
    }

    fn params(&self) -> DVector<f64> {
        self.point.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let mut residuals: Vec<f64> = self.each()?.map(|(residual, _)| residual).collect();
        residuals.extend(self.held_off(&self.values));
        Some(DVector::from_vec(residuals))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let by_mean: Vec<f64> = self.each()?.map(|(_, slope)| slope).collect();
        let mut all = Vec::with_capacity(by_mean.len() * self.free.len());
        for (&of, &free) in self.free.iter().zip(self.point.iter()) {
            let factor = self.parameters[of].slope(free);
            let slope = self.slope(of)?;
            all.extend(slope.iter().zip(&by_mean).map(|(slope, by)| slope * by * factor));
            if self.held.is_some() {
                let off = |values: &[f64]| DVector::from_iterator(1, self.held_off(values));
                all.push(self.slopes_of(of, off)[0] * factor);
            }
        }
        let rows = by_mean.len() + usize::from(self.held.is_some());
        Some(DMatrix::from_vec(rows, self.free.len(), all))
    }
}
