//! The fit as callers see it: the search, the test whether the data have the structure of the model, and intervals.
//!
//! A dip of two standard deviations is not found: the result is the fit of a constant, with an upper limit of the
//! visibility. If a profile finds a lower deviance, the fit begins again there, so that intervals belong to the
//! lowest minimum.

use std::ops::ControlFlow;

use crate::{
    data::Data,
    error::Error,
    estimate::{Fitted, Settings, most_likely},
    information::followed,
    model::Model,
    problem::{Problem, Stop},
    profile::profiled,
    structure::tested,
};

/// The most fits: if a profile finds a lower deviance, the next fit begins there.
const RESTARTS: usize = 8;

/// Fits a model to data.
///
/// If the data do not have the structure of the model by [`crate::FOUND`] standard deviations, the result is the fit
/// without it: its parameters are absent, and the significance has the upper limit of the amplitude.
///
/// The parameters are those with the largest likelihood; their errors are the square roots of the diagonal of the
/// inverse Fisher information, and errors of derived numbers follow from the whole inverse to first order. A
/// parameter within three errors of a bound has no such error, and the others neither: they have intervals by profile
/// likelihood.
///
/// A fit of a million bins takes seconds; `stop` is asked before each prediction of the model and each 100 simulations.
///
/// # Errors
/// [`Error::TooFewBins`], [`Error::NoCounts`], [`Error::UnknownParameter`], [`Error::OutOfBounds`],
/// [`Error::NoConvergence`], [`Error::Cancelled`] after `stop`, errors of data with wrong lengths or values, and
/// those of the model.
pub fn fit(
    model: &dyn Model,
    data: &Data,
    settings: &Settings,
    stop: Stop<'_>,
) -> Result<Fitted, Error> {
    let mut settings = settings.clone();
    for _ in 0..RESTARTS {
        let fitted = most_likely(model, data, &settings, stop)?;
        let fitted = match tested(model, data, &settings, fitted, stop)? {
            ControlFlow::Break(fitted) => fitted,
            // There may be less structure still.
            ControlFlow::Continue(absent) => {
                let (null, settings) = absent.null();
                let null = fit(null, data, settings, stop)?;
                absent.with(null)
            }
        };
        let profiled = profiled(model, data, &settings, fitted, stop);
        // Intervals of a fit that was stopped are not true.
        if stop() {
            return Err(Error::Cancelled);
        }
        match profiled {
            ControlFlow::Break(fitted) => return Ok(fitted.at_bounds(&model.parameters(data))),
            ControlFlow::Continue(start) => settings.start = start,
        }
    }
    Err(Error::NoConvergence)
}

/// Returns the numbers that follow from the parameters of a fit, for other values than those that were fitted: one
/// list for each list of values. Each is one step of the search from the optimum, so that the values must differ
/// little, as those without one of many parts of a recording do. `None` if the data do not determine the parameters,
/// or after a stop.
pub fn derived_nearby(
    model: &dyn Model,
    data: &Data,
    fitted: &Fitted,
    others: &[Vec<f64>],
    stop: Stop<'_>,
) -> Option<Vec<Vec<f64>>> {
    let parameters = model.parameters(data);
    let values = fitted.parameters.iter().map(|of| of.value).collect();
    let is_open =
        |of: &usize| !fitted.parameters[*of].is_fixed && !fitted.parameters[*of].is_at_bound;
    let open: Vec<usize> = (0..parameters.len()).filter(is_open).collect();
    let problem = Problem::new(model, data, &parameters, &open, values, stop);
    let all = followed(&problem, &open, &fitted.curve, others)?;
    let derived = |of: Vec<f64>| model.derived(&of).into_iter().map(|of| of.value).collect();
    Some(all.into_iter().map(derived).collect())
}
