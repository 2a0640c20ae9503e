//! The dip of two-photon interference (Hong, Ou and Mandel).
//!
//! A level of 100, a visibility of 0.6: 40 in the centre, and 70 at half of `fwhm` from there, if bins are narrow.

use super::flat::{Flat, places};
use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Model, Parameter, Quantity, Structure},
    special::{FULL_WIDTH, gaussian_between},
};

/// The shape of a dip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DipShape {
    /// A triangle, of photons with a rectangular spectrum of phase matching.
    Triangle,
    /// A Gaussian, of photons after Gaussian filters.
    Gaussian,
}

/// A dip in a constant level.
///
/// Parameters: `level`, `visibility` (the depth over the level), `centre` and `fwhm`, the full width at half of the
/// depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dip(pub DipShape);

impl DipShape {
    /// Returns the mean of the shape over a bin, 1 in its centre.
    fn mean(self, bin: Bin, centre: f64, fwhm: f64) -> f64 {
        let (from, to) = (bin.from - centre, bin.to - centre);
        let width = to - from;
        let is_point = width <= 1e-9 * fwhm;
        match self {
            Self::Gaussian => {
                let sigma = fwhm / FULL_WIDTH;
                if is_point {
                    return libm::exp(-(from / sigma).powi(2) / 2.0);
                }
                let whole = sigma * std::f64::consts::TAU.sqrt();
                gaussian_between(from, to, 0.0, sigma) * whole / width
            }
            Self::Triangle => {
                if is_point {
                    return (1.0 - (from / fwhm).abs()).max(0.0);
                }
                // The integral from the centre.
                let until = |at: f64| {
                    let size = at.abs().min(fwhm);
                    (size - size * size / (2.0 * fwhm)).copysign(at)
                };
                (until(to) - until(from)) / width
            }
        }
    }
}

impl Model for Dip {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let (from, to) = data.ends();
        let span = to - from;
        let level = data.ratios().map(|(_, value)| value).fold(0.0, f64::max);
        vec![
            Parameter::new("level", Quantity::Value, level).positive(),
            Parameter::new("visibility", Quantity::Ratio, 0.5).between(0.0, 1.0),
            Parameter::new("centre", Quantity::Place, span / 20.0).between(from, to),
            Parameter::new("fwhm", Quantity::Place, span / 10.0).between(span / 1e4, 10.0 * span),
        ]
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let (from, to) = data.ends();
        let span = to - from;
        let places: Vec<(Bin, f64)> = data.ratios().collect();
        let highest = places.iter().map(|(_, value)| *value).fold(0.0, f64::max).max(1e-9);
        let lowest = places.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let (lowest, depth) = lowest.map_or((f64::midpoint(from, to), 0.5), |(bin, value)| {
            (bin.middle(), (1.0 - value / highest).clamp(0.05, 0.95))
        });
        let mut starts = Vec::new();
        // A triangle has corners, at which a search can end beside the best place.
        let near = span / 40.0;
        for centre in [lowest, lowest - near, lowest + near, f64::midpoint(from, to)] {
            for part in [20.0, 10.0, 6.0, 4.0, 2.0] {
                starts.push(vec![0.95 * highest, depth, centre, span / part]);
            }
        }
        starts
    }

    fn structure(&self, data: &Data) -> Option<Structure> {
        let places = places(data).into_iter().map(|(centre, fwhm)| vec![1.0, 0.0, centre, fwhm]);
        let null = Box::new(Flat::new("level", Quantity::Value));
        Some(Structure {
            name: "dip".into(),
            against: "a constant".into(),
            null,
            amplitude: 1,
            shared: vec![(0, 0)],
            places: places.collect(),
        })
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let &[level, visibility, centre, fwhm] = parameters else {
            return Err(Error::Model("a dip has four parameters".into()));
        };
        for (value, &bin) in values.iter_mut().zip(bins) {
            *value = level * visibility.mul_add(-self.0.mean(bin, centre, fwhm), 1.0);
        }
        Ok(())
    }
}
