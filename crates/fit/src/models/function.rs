//! A model of the caller: a function of places and parameters.
//!
//! It is evaluated in the middle of each bin and not averaged over it, so bins must be narrow compared with its
//! features.

use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Model, Parameter},
};

/// A function of the places and the parameters that returns one value per place.
type Values<'a> = dyn Fn(&[f64], &[f64]) -> Result<Vec<f64>, String> + 'a;

/// A model that is a function of the caller. It is evaluated in the middle of each bin.
pub struct Function<'a> {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Their starting values.
    pub start: Vec<f64>,
    /// The function.
    pub values: Box<Values<'a>>,
}

impl std::fmt::Debug for Function<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { parameters, start, .. } = self;
        f.debug_struct("Function").field("parameters", parameters).field("start", start).finish()
    }
}

impl Model for Function<'_> {
    fn parameters(&self, _: &Data) -> Vec<Parameter> {
        self.parameters.clone()
    }

    fn starts(&self, _: &Data) -> Vec<Vec<f64>> {
        vec![self.start.clone()]
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let places: Vec<f64> = bins.iter().map(Bin::middle).collect();
        let predicted = (self.values)(&places, parameters).map_err(Error::Callback)?;
        if predicted.len() != values.len() {
            let (found, bins) = (predicted.len(), values.len());
            return Err(Error::Callback(format!("it returned {found} values for {bins} places")));
        }
        values.copy_from_slice(&predicted);
        Ok(())
    }
}
