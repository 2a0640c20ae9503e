//! A Gaussian peak.
//!
//! A net peak of 100 that lies wholly in one bin, on a background of 10: that bin has 110. `net` is an area, not a
//! height.

use std::f64::consts::TAU;

use super::flat::{Flat, places};
use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Model, Parameter, Quantity, Structure},
    special::{FULL_WIDTH, gaussian_between},
};

/// A Gaussian peak on a background that is equal in all bins.
///
/// Parameters: `net` (the sum of the peak above the background over all bins), `centre`, `fwhm` and `background`, the
/// value of a bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// The mean distance of neighbouring points. The value of a point is that of a bin that ends halfway to its
    /// neighbours.
    distance: f64,
}

/// A Gaussian peak on a background of known shape, in bins of some width.
///
/// Parameters as those of [`Peak`], but `sigma`, its standard deviation, in place of `fwhm`; `background` is the
/// factor of the shape.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakOver {
    /// The background of each bin.
    pub shape: Vec<f64>,
    /// Starting values of all parameters.
    pub start: [f64; 4],
    /// The bounds of the centre and of the standard deviation.
    pub bounds: [(f64, f64); 2],
}

impl Peak {
    /// Creates the model of a peak in `data`.
    pub fn of(data: &Data) -> Self {
        let middles = || data.bins.iter().map(Bin::middle);
        let span = middles().next_back().unwrap_or(0.0) - middles().next().unwrap_or(0.0);
        Self { distance: span / (data.bins.len().max(2) - 1) as f64 }
    }
}

impl Model for Peak {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let (from, to) = data.ends();
        let span = to - from;
        let width = span / data.bins.len() as f64;
        let total: f64 = data.ratios().map(|(_, value)| value).sum();
        vec![
            Parameter::new("net", Quantity::Value, total / 4.0).positive(),
            Parameter::new("centre", Quantity::Place, width).between(from, to),
            Parameter::new("fwhm", Quantity::Place, span / 20.0).between(width / 2.0, 2.0 * span),
            Parameter::new("background", Quantity::Value, total / data.bins.len() as f64)
                .positive(),
        ]
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let (from, to) = data.ends();
        let span = to - from;
        let width = span / data.bins.len() as f64;
        let values: Vec<f64> = data.ratios().map(|(_, value)| value).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let background = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0).max(1e-3);
        let mut starts = Vec::new();
        let mut wide = 1;
        while wide == 1 || wide <= data.bins.len() / 2 {
            let sum = |of: &[f64]| of.iter().sum::<f64>();
            let highest = values
                .windows(wide)
                .enumerate()
                .max_by(|one, other| sum(one.1).total_cmp(&sum(other.1)));
            let Some((at, values)) = highest else { break };
            let net = (background.mul_add(-(wide as f64), sum(values)) * 1.3).max(1.0);
            let centre = f64::midpoint(data.bins[at].from, data.bins[at + wide - 1].to);
            starts.push(vec![net, centre, width * wide as f64, background]);
            wide *= 2;
        }
        starts
    }

    fn structure(&self, data: &Data) -> Option<Structure> {
        let places = places(data).into_iter().map(|(centre, fwhm)| vec![0.0, centre, fwhm, 1.0]);
        let null = Box::new(Flat::new("background", Quantity::Value));
        Some(Structure {
            name: "peak".into(),
            against: "a constant".into(),
            null,
            amplitude: 0,
            shared: vec![(3, 0)],
            places: places.collect(),
        })
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let &[net, centre, fwhm, background] = parameters else {
            return Err(Error::Model("a peak has four parameters".into()));
        };
        let sigma = fwhm / FULL_WIDTH;
        for (value, bin) in values.iter_mut().zip(bins) {
            let share = if bin.width() > 0.0 {
                gaussian_between(bin.from, bin.to, centre, sigma)
            } else {
                let off = (bin.from - centre) / sigma;
                self.distance * libm::exp(-off * off / 2.0) / (sigma * TAU.sqrt())
            };
            *value = background + net * share;
        }
        Ok(())
    }
}

impl Model for PeakOver {
    fn parameters(&self, _: &Data) -> Vec<Parameter> {
        let [net, _, sigma, background] = self.start;
        let [centre, widths] = self.bounds;
        vec![
            Parameter::new("net", Quantity::Value, net).positive(),
            Parameter::new("centre", Quantity::Place, sigma).between(centre.0, centre.1),
            Parameter::new("sigma", Quantity::Place, sigma).between(widths.0, widths.1),
            Parameter::new("background", Quantity::Ratio, background).positive(),
        ]
    }

    fn starts(&self, _: &Data) -> Vec<Vec<f64>> {
        let [net, centre, sigma, background] = self.start;
        let narrower = |by: f64| vec![net, centre, (sigma / by).max(self.bounds[1].0), background];
        // From a wide start beside a narrow peak the search can lose the peak.
        [1.0, 3.0, 9.0].map(narrower).to_vec()
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let &[net, centre, sigma, background] = parameters else {
            return Err(Error::Model("a peak has four parameters".into()));
        };
        for ((value, shape), bin) in values.iter_mut().zip(&self.shape).zip(bins) {
            *value = background * shape + net * gaussian_between(bin.from, bin.to, centre, sigma);
        }
        Ok(())
    }
}
