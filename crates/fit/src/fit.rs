//! Fitting.

use crate::{
    data::Data,
    error::Error,
    estimate::{Fitted, Settings, most_likely},
    model::Model,
    structure::tested,
};

/// Fits a model to data.
///
/// If the data do not have the structure of the model by [`crate::FOUND`] standard deviations, the result is the fit without
/// it: its parameters are absent, and the significance has the upper limit of the amplitude.
///
/// The parameters are those with the largest likelihood; their errors are the square roots of the diagonal of the inverse Fisher
/// information, and errors of derived numbers follow from the whole inverse to first order.
///
/// # Errors
/// [`Error::TooFewBins`], [`Error::NoCounts`], [`Error::UnknownParameter`], [`Error::OutOfBounds`],
/// [`Error::NoConvergence`], errors of data with wrong lengths or values, and those of the model.
pub fn fit(model: &dyn Model, data: &Data, settings: &Settings) -> Result<Fitted, Error> {
    let fitted = most_likely(model, data, settings)?;
    tested(model, data, settings, fitted)
}
