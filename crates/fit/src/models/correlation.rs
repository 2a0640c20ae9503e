//! g2 of an emitter, or of light that bunches.
//!
//! Two levels, level 1, contrast 0.8, no jitter: g2 is 0.2 at its centre and 1 − 0.8/e = 0.71 at |t| = τ. Values are
//! means over bins.

use super::flat::{Flat, places};
use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Derived, Model, Parameter, Quantity, Structure},
    special::two_sided_between,
};

/// The form of g2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emission {
    /// One excited level: 1 − C·exp(−|t|/τ).
    TwoLevel,
    /// With a dark level: 1 − C·((1 + B)·exp(−|t|/τ) − B·exp(−|t|/τ_B)).
    ThreeLevel,
    /// Light with fluctuations: 1 + C·exp(−|t|/τ).
    Bunching,
}

/// A g2 at t after its centre, on a level that is 1 for light that is not correlated, as the mean over each bin.
///
/// Parameters: `level`, `contrast` (C), `tau`, `centre`; of [`Emission::ThreeLevel`] also `bunching` (B) and
/// `tau_bunching`. `g2_0`, the value in the centre without jitter and on the level 1, is derived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// The form.
    pub emission: Emission,
    /// The standard deviation of the jitter of a time difference.
    pub jitter: f64,
}

impl Model for Correlation {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let (from, to) = data.ends();
        let span = to - from;
        let width = span / data.bins.len() as f64;
        let level = data.ratios().map(|(_, value)| value).sum::<f64>() / data.bins.len() as f64;
        let most = match self.emission {
            Emission::TwoLevel | Emission::ThreeLevel => 1.0,
            Emission::Bunching => 1e3,
        };
        let time = |name: &str| {
            let time = Parameter::new(name, Quantity::Place, span / 20.0);
            time.between(width / 20.0, 10.0 * span)
        };
        let mut parameters = vec![
            Parameter::new("level", Quantity::Ratio, level).positive(),
            Parameter { scale: 0.5, ..Parameter::new("contrast", Quantity::Ratio, 0.5) }
                .between(0.0, most),
            time("tau"),
            Parameter::new("centre", Quantity::Place, width).between(from.min(0.0), to.max(0.0)),
        ];
        if self.emission == Emission::ThreeLevel {
            parameters.push(Parameter::new("bunching", Quantity::Ratio, 0.5).positive());
            parameters.push(time("tau_bunching"));
        }
        parameters
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let (from, to) = data.ends();
        let span = to - from;
        let mut sorted: Vec<f64> = data.ratios().map(|(_, value)| value).collect();
        sorted.sort_by(f64::total_cmp);
        let level = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0).max(1e-6);
        let zero = 0.0_f64.clamp(from, to);
        let is_bunched = self.emission == Emission::Bunching;
        // The place of the deepest or highest mean of a few bins.
        let places: Vec<(Bin, f64)> = data.ratios().collect();
        let few = (places.len() / 50).max(1);
        let mean = |of: &[(Bin, f64)]| of.iter().map(|(_, value)| value).sum::<f64>();
        let sign = if is_bunched { -1.0 } else { 1.0 };
        let extreme = places
            .windows(few)
            .min_by(|a, b| (sign * mean(a)).total_cmp(&(sign * mean(b))))
            .map_or(zero, |of| of[of.len() / 2].0.middle());
        let mut starts = Vec::new();
        for centre in [zero, extreme] {
            for tau in [span / 200.0, span / 40.0, span / 10.0] {
                match self.emission {
                    Emission::TwoLevel => starts.push(vec![level, 0.7, tau, centre]),
                    Emission::Bunching => starts.push(vec![level, 0.5, tau, centre]),
                    Emission::ThreeLevel => {
                        for slower in [5.0, 25.0] {
                            starts.push(vec![level, 0.8, tau, centre, 0.3, slower * tau]);
                        }
                    }
                }
            }
        }
        starts
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let &[level, contrast, tau, centre, ref others @ ..] = parameters else {
            return Err(Error::Model("g2 has four parameters or more".into()));
        };
        for (value, bin) in values.iter_mut().zip(bins) {
            let decay =
                |tau: f64| two_sided_between(bin.from - centre, bin.to - centre, tau, self.jitter);
            let change = match (self.emission, others) {
                (Emission::Bunching, _) => contrast * decay(tau),
                (Emission::ThreeLevel, &[bunching, slow]) => {
                    contrast * bunching.mul_add(decay(slow), -(1.0 + bunching) * decay(tau))
                }
                _ => -contrast * decay(tau),
            };
            *value = level * (1.0 + change);
        }
        Ok(())
    }

    fn structure(&self, data: &Data) -> Option<Structure> {
        let centres = places(data).into_iter();
        // g2 is searched around zero, too, however wide it is.
        let zero = 0.0_f64.clamp(data.ends().0, data.ends().1);
        let centres = centres.flat_map(|(centre, tau)| [(centre, tau), (zero, tau)]);
        let places = centres.flat_map(|(centre, tau)| match self.emission {
            Emission::ThreeLevel => [(0.0, 5.0), (0.5, 5.0), (1.0, 25.0)]
                .map(|(bunching, slower)| vec![1.0, 0.0, tau, centre, bunching, slower * tau])
                .to_vec(),
            Emission::TwoLevel | Emission::Bunching => vec![vec![1.0, 0.0, tau, centre]],
        });
        let null = Box::new(Flat::new("level", Quantity::Ratio));
        let is_bunched = self.emission == Emission::Bunching;
        Some(Structure {
            name: if is_bunched { "bunching" } else { "antibunching" }.into(),
            against: "a constant".into(),
            null,
            amplitude: 1,
            shared: vec![(0, 0)],
            places: places.collect(),
        })
    }

    fn derived(&self, parameters: &[f64]) -> Vec<Derived> {
        let sign: f64 = if self.emission == Emission::Bunching { 1.0 } else { -1.0 };
        let value = sign.mul_add(parameters[1], 1.0);
        vec![Derived { name: "g2_0".into(), quantity: Quantity::Ratio, value }]
    }
}
