//! The covariance of fitted parameters, and the deviance that is expected of values that the model describes.
//!
//! A level of 100 counts in each of 100 bins: the Fisher information is 100·1/100, so the level has the standard
//! error 1.

use nalgebra::{DMatrix, DVector};

use crate::{
    data::Noise,
    problem::Problem,
    residual::{expected_deviance, variance},
};

/// Draws of the measured part of a model: fewer if it has many bins.
const DRAWS: [u64; 2] = [20, 200];
/// Bins of all draws.
const DRAWN_BINS: u64 = 4_000_000;

/// The covariance of the parameters that the values determine.
pub(crate) struct Information {
    /// The covariance of the parameters.
    pub covariance: DMatrix<f64>,
    /// The variance of each over that of counts alone.
    pub widening: Vec<f64>,
}

/// The deviance of values that the model describes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    pub mean: f64,
    pub variance: f64,
}

/// The problem near its best parameters, with values in their standard errors as counts.
struct Linear {
    /// The derivatives of the predictions by the parameters in their scales.
    slopes: DMatrix<f64>,
    /// The inverse of the Fisher information.
    inverse: DMatrix<f64>,
    /// The scales of the parameters.
    scales: DVector<f64>,
}

/// Returns the information of these parameters, `None` if the data do not determine them, and the deviance that is
/// expected.
pub(crate) fn information(
    problem: &Problem<'_>,
    open: &[usize],
    curve: &[f64],
) -> (Option<Information>, Expected) {
    let noise = &problem.data.noise;
    let error = |(row, &mean): (usize, &f64)| variance(problem.data, row, mean).sqrt();
    let errors: Vec<f64> = curve.iter().enumerate().map(error).collect();
    let linear = Linear::of(problem, open, &errors);
    let (added, expected) = match noise {
        Noise::Covariance(rows) => of_covariance(rows, &errors, linear.as_ref()),
        _ => of_counts(problem, curve, &errors, linear.as_ref()),
    };
    let information = linear.map(|linear| {
        let in_scales =
            |of: &DMatrix<f64>| of.component_mul(&(&linear.scales * linear.scales.transpose()));
        let covariance = match (noise, added) {
            (Noise::Covariance(_), added) => added,
            (_, added) => &linear.inverse + added,
        };
        let widening = covariance.diagonal().component_div(&linear.inverse.diagonal());
        Information {
            covariance: in_scales(&covariance),
            widening: widening.iter().copied().collect(),
        }
    });
    (information, expected)
}

impl Linear {
    fn of(problem: &Problem<'_>, open: &[usize], errors: &[f64]) -> Option<Self> {
        if open.is_empty() {
            return None;
        }
        let mut slopes = DMatrix::zeros(errors.len(), open.len());
        for (column, &of) in open.iter().enumerate() {
            let scale = problem.parameters[of].scale;
            for (row, slope) in problem.slope(of)?.into_iter().enumerate() {
                slopes[(row, column)] = slope * scale / errors[row];
            }
        }
        let inverse = (slopes.transpose() * &slopes).cholesky()?.inverse();
        let scales = open.iter().map(|&of| problem.parameters[of].scale);
        Some(Self { slopes, inverse, scales: DVector::from_iterator(open.len(), scales) })
    }
}

/// Returns the parameters for other values that differ little from those of a fit, each list with one step of its
/// search from the optimum; `None` if the data do not determine the parameters.
pub(crate) fn followed(
    problem: &Problem<'_>,
    open: &[usize],
    curve: &[f64],
    others: &[Vec<f64>],
) -> Option<Vec<Vec<f64>>> {
    let error = |(row, &mean): (usize, &f64)| variance(problem.data, row, mean).sqrt();
    let errors: Vec<f64> = curve.iter().enumerate().map(error).collect();
    let Linear { slopes, inverse, scales } = Linear::of(problem, open, &errors)?;
    let gain = inverse * slopes.transpose();
    let of = |values: &Vec<f64>| {
        let off = values.iter().zip(curve).zip(&errors);
        let off = off.map(|((value, mean), err)| (value - mean) / err);
        let step = (&gain * DVector::from_iterator(errors.len(), off)).component_mul(&scales);
        let mut parameters = problem.values().to_vec();
        for (&of, step) in open.iter().zip(&step) {
            parameters[of] += step;
        }
        parameters
    };
    Some(others.iter().map(of).collect())
}

/// Returns the covariance of the parameters that follows from the covariance of the values, and the expected
/// deviance. The fit itself weighs by the variances alone.
fn of_covariance(
    rows: &[Vec<f64>],
    errors: &[f64],
    linear: Option<&Linear>,
) -> (DMatrix<f64>, Expected) {
    let count = errors.len();
    let is_diagonal = rows.iter().all(|row| row.len() == 1);
    let in_errors = |k: usize, l: usize| match &rows[k][..] {
        [_] if k != l => 0.0,
        [variance] => variance / (errors[k] * errors[l]),
        row => row[l] / (errors[k] * errors[l]),
    };
    let trace: f64 = (0..count).map(|k| in_errors(k, k)).sum();
    let others = |k: usize| if is_diagonal { k..k + 1 } else { 0..count };
    let squares: f64 = (0..count)
        .flat_map(|k| others(k).map(move |l| (k, l)))
        .map(|(k, l)| in_errors(k, l).powi(2))
        .sum();
    let Some(Linear { slopes, inverse, .. }) = linear else {
        return (DMatrix::zeros(0, 0), Expected { mean: trace, variance: 2.0 * squares });
    };
    let product = DMatrix::from_fn(count, slopes.ncols(), |k, column| {
        others(k).map(|l| in_errors(k, l) * slopes[(l, column)]).sum()
    });
    let followed = inverse * (slopes.transpose() * &product);
    // Of (1 - H) S, with the projection H on what the parameters follow: the trace, and that of its square.
    let twice = (inverse * (product.transpose() * &product)).trace();
    let mean = trace - followed.trace();
    let variance = 2.0 * (squares - 2.0 * twice + (&followed * &followed).trace());
    (followed * inverse, Expected { mean, variance })
}

/// Returns the covariance that the error of a measured part of the model, such as a response, adds to that of the
/// parameters, and the expected deviance of counts.
fn of_counts(
    problem: &Problem<'_>,
    curve: &[f64],
    errors: &[f64],
    linear: Option<&Linear>,
) -> (DMatrix<f64>, Expected) {
    let open = linear.map_or(0, |linear| linear.slopes.ncols());
    let mut added = DMatrix::zeros(open, open);
    let noise = &problem.data.noise;
    let each = curve.iter().map(|&mean| expected_deviance(noise, mean));
    let mut mean = each.sum::<f64>() - problem.free.len() as f64;
    let mut variance = 2.0 * (curve.len() - problem.free.len()) as f64;
    let offsets = measured_offsets(problem, curve);
    let mut deviances = Vec::new();
    for offsets in &offsets {
        let in_errors = offsets.iter().zip(errors).map(|(offset, error)| offset / error);
        let mut rest = DVector::from_iterator(offsets.len(), in_errors);
        if let Some(Linear { slopes, inverse, .. }) = linear {
            let change = inverse * (slopes.transpose() * &rest);
            // Changes that the parameters do not follow stay in the residuals.
            rest -= slopes * &change;
            added += &change * change.transpose();
        }
        deviances.push(rest.norm_squared());
    }
    if !deviances.is_empty() {
        let count = deviances.len() as f64;
        let more = deviances.iter().sum::<f64>() / count;
        let spread = deviances.iter().map(|of| (of - more).powi(2)).sum::<f64>() / count;
        mean += more;
        variance += 4.0f64.mul_add(more, spread);
    }
    (added / offsets.len().max(1) as f64, Expected { mean, variance })
}

/// Returns the changes of the predictions by other measurements of the measured part of the model.
pub(crate) fn measured_offsets(problem: &Problem<'_>, curve: &[f64]) -> Vec<Vec<f64>> {
    let one = |seed: u64| {
        let model = problem.model.redrawn(seed)?;
        let predicted = problem.predict_by(&*model, problem.values())?;
        Some(predicted.iter().zip(curve).map(|(one, other)| one - other).collect())
    };
    let draws = DRAWN_BINS / curve.len().max(1) as u64;
    (0..draws.clamp(DRAWS[0], DRAWS[1])).map_while(one).collect()
}
