//! The covariance of fitted parameters.

use nalgebra::{DMatrix, DVector};

use crate::{problem::Problem, residual::variance};

/// Draws of the measured part of a model.
const DRAWS: u64 = 200;

/// What values determine of parameters.
pub(crate) struct Information {
    /// The covariance of the parameters.
    pub covariance: DMatrix<f64>,
    /// The derivatives of the predictions by the parameters, in standard errors of the values.
    slopes: DMatrix<f64>,
    /// The covariance in the scales of the parameters.
    inverse: DMatrix<f64>,
    /// The scales.
    scales: DVector<f64>,
    /// The standard errors of the values.
    errors: Vec<f64>,
}

/// What offsets of the predictions add to the deviance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Added {
    pub mean: f64,
    pub variance: f64,
}

impl Information {
    /// Returns the inverse of the Fisher information of these parameters; `None` if the data do not determine them.
    pub fn of(problem: &Problem<'_>, open: &[usize], curve: &[f64]) -> Option<Self> {
        if open.is_empty() {
            return None;
        }
        let error = |(row, &mean): (usize, &f64)| variance(&problem.data.noise, row, mean).sqrt();
        let errors: Vec<f64> = curve.iter().enumerate().map(error).collect();
        let mut slopes = DMatrix::zeros(curve.len(), open.len());
        for (column, &of) in open.iter().enumerate() {
            let scale = problem.parameters[of].scale;
            for (row, slope) in problem.slope(of)?.into_iter().enumerate() {
                slopes[(row, column)] = slope * scale / errors[row];
            }
        }
        let inverse = (slopes.transpose() * &slopes).cholesky()?.inverse();
        let scales = open.iter().map(|&of| problem.parameters[of].scale);
        let scales = DVector::from_iterator(open.len(), scales);
        let covariance = inverse.component_mul(&(&scales * scales.transpose()));
        Some(Self { covariance, slopes, inverse, scales, errors })
    }

    /// Adds what equally likely offsets of all predictions do to the parameters.
    pub fn add(&mut self, offsets: &[Vec<f64>]) -> Added {
        let count = offsets.len() as f64;
        let mut deviances = Vec::new();
        for offsets in offsets {
            let in_errors = offsets.iter().zip(&self.errors).map(|(offset, error)| offset / error);
            let in_errors = DVector::from_iterator(offsets.len(), in_errors);
            let change = &self.inverse * (self.slopes.transpose() * &in_errors);
            // What the parameters do not follow is left in the residuals.
            deviances.push((in_errors - &self.slopes * &change).norm_squared());
            let change = change.component_mul(&self.scales);
            self.covariance += &change * change.transpose() / count;
        }
        let mean = deviances.iter().sum::<f64>() / count;
        let variance = deviances.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / count;
        if offsets.is_empty() { Added::default() } else { Added { mean, variance } }
    }
}

/// Returns the changes of the predictions by other measurements of the measured part of the model.
pub(crate) fn measured_offsets(problem: &Problem<'_>, curve: &[f64]) -> Vec<Vec<f64>> {
    let one = |seed: u64| {
        let model = problem.model.redrawn(seed)?;
        let predicted = problem.predict_by(&*model, problem.values())?;
        Some(predicted.iter().zip(curve).map(|(one, other)| one - other).collect())
    };
    (0..DRAWS).map_while(one).collect()
}
