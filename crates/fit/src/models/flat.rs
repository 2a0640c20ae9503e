//! A constant: the model of data without a structure.
//!
//! Counts of 4 and 6 with exposures of 1 and 1 have the level 5, the sum of the counts over the sum of the exposures.

use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Model, Parameter, Quantity},
};

/// A constant, with one parameter of this name and quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flat {
    name: &'static str,
    quantity: Quantity,
    /// The constant for a parameter of zero.
    base: f64,
}

impl Flat {
    /// Creates a constant that is zero or more.
    pub fn new(name: &'static str, quantity: Quantity) -> Self {
        Self { name, quantity, base: 0.0 }
    }

    /// Creates a constant whose parameter is its difference from this one.
    pub fn above(name: &'static str, quantity: Quantity, base: f64) -> Self {
        Self { name, quantity, base }
    }

    fn mean(data: &Data) -> f64 {
        let exposure: f64 = (0..data.bins.len()).map(|bin| data.exposure(bin)).sum();
        data.values.iter().sum::<f64>() / exposure.max(f64::MIN_POSITIVE)
    }
}

impl Model for Flat {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let parameter = Parameter::new(self.name, self.quantity, Self::mean(data));
        vec![if self.base == 0.0 { parameter.positive() } else { parameter }]
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        vec![vec![Self::mean(data) - self.base]]
    }

    fn predict(&self, parameters: &[f64], _: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let &[level] = parameters else {
            return Err(Error::Model("a constant has one parameter".into()));
        };
        values.fill(self.base + level);
        Ok(())
    }
}

/// Returns places and widths at which a structure of any width is searched: widths from a bin to the range, each in
/// steps of half of it.
pub(super) fn places(data: &Data) -> Vec<(f64, f64)> {
    let (first, last) = (data.bins[0].middle(), data.bins[data.bins.len() - 1].middle());
    let step = (last - first) / (data.bins.len().max(2) - 1) as f64;
    let mut places = Vec::new();
    let mut width = step;
    while width <= last - first && width > 0.0 {
        let mut centre = first;
        while centre <= last {
            places.push((centre, width));
            centre += (width / 2.0).max(step);
        }
        width *= 2.0;
    }
    places
}
