//! g2 of molecules that diffuse through a confocal volume (fluorescence correlation spectroscopy, FCS).
//!
//! An amplitude of 0.4, no triplet and no offset: g2 is 1.4 at zero, and 1/0.4 = 2.5 molecules are in the volume.

use super::flat::Flat;
use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Derived, Model, Parameter, Quantity, Structure},
};

/// Places and weights of the mean over a bin, from −1 to 1 (Gauss and Legendre, five places).
const PLACES: [(f64, f64); 5] = [
    (0.0, 128.0 / 450.0),
    (0.538_469_310_105_683_1, 0.239_314_335_249_683_24),
    (-0.538_469_310_105_683_1, 0.239_314_335_249_683_24),
    (0.906_179_845_938_664, 0.118_463_442_528_094_54),
    (-0.906_179_845_938_664, 0.118_463_442_528_094_54),
];
/// A triplet fraction of 1 would be no light.
const TRIPLET_MAX: f64 = 0.95;

/// Free diffusion in three dimensions through a Gaussian volume, of one or two components of the same brightness,
/// with a triplet state: 1 + offset + A·(1 + T/(1 − T)·exp(−|t|/τ_T))·Σ f_i·(1 + |t|/τ_i)⁻¹·(1 + |t|/(κ²
/// τ_i))^(−1/2).
///
/// Parameters: `amplitude` (A), `tau`, or `tau_1`, `tau_2` and `fraction_1` of two components, the faster one first;
/// with a triplet `triplet` (T) and `tau_triplet`; `kappa` (κ), the length of the volume over its width, and
/// `offset`. Derived: `molecules`, N = 1/A, in the volume; with a waist w in metres the diffusion coefficients
/// w²/(4τ) in m²/s.
///
/// Source: Krichevsky and Bonnet, Rep. Prog. Phys. 65, 251 (2002).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diffusion {
    /// Components, 1 or 2.
    pub components: usize,
    /// Whether there is a triplet state.
    pub has_triplet: bool,
    /// The distance from the axis, in metres, at which the detected light is e⁻² of that on it.
    pub waist: Option<f64>,
}

/// Parameters in their places.
struct Named {
    amplitude: f64,
    components: Vec<(f64, f64)>,
    triplet: Option<(f64, f64)>,
    kappa: f64,
    offset: f64,
}

impl Diffusion {
    fn named(&self, parameters: &[f64]) -> Named {
        let mut rest = parameters.iter().copied();
        let mut next = || rest.next().unwrap_or(f64::NAN);
        let amplitude = next();
        let first = next();
        let components = if self.components == 1 {
            vec![(1.0, first)]
        } else {
            let (second, fraction) = (next(), next());
            vec![(fraction, first), (1.0 - fraction, second)]
        };
        let triplet = self.has_triplet.then(|| (next(), next()));
        Named { amplitude, components, triplet, kappa: next(), offset: next() }
    }

    /// Returns values of all parameters for this amplitude and this time of diffusion.
    fn values(&self, amplitude: f64, tau: f64) -> Vec<f64> {
        let mut values = vec![amplitude, tau];
        if self.components > 1 {
            values.extend([10.0 * tau, 0.6]);
        }
        if self.has_triplet {
            values.extend([0.15, tau / 20.0]);
        }
        values.extend([KAPPA, 0.0]);
        values
    }
}

/// The usual length of a confocal volume over its width.
pub const KAPPA: f64 = 5.0;

impl Named {
    fn at(&self, lag: f64) -> f64 {
        let of = |&(fraction, tau): &(f64, f64)| {
            let along = lag / (self.kappa * self.kappa * tau);
            fraction / ((1.0 + lag / tau) * (1.0 + along).sqrt())
        };
        let decay: f64 = self.components.iter().map(of).sum();
        let triplet = self
            .triplet
            .map_or(1.0, |(part, tau)| (part / (1.0 - part)).mul_add(libm::exp(-lag / tau), 1.0));
        (self.amplitude * decay).mul_add(triplet, 1.0 + self.offset)
    }
}

impl Model for Diffusion {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let (shortest, longest) = lags(data);
        let time = |name: &str| {
            let middle = (shortest * longest).sqrt();
            Parameter::new(name, Quantity::Place, middle).between(shortest / 10.0, 10.0 * longest)
        };
        let ratio = |name: &str, scale: f64| Parameter::new(name, Quantity::Ratio, scale);
        let highest = data.ratios().map(|(_, value)| value).fold(1.0, f64::max);
        let mut parameters = vec![ratio("amplitude", (highest - 1.0).max(1e-6)).positive()];
        if self.components == 1 {
            parameters.push(time("tau"));
        } else {
            parameters.extend([
                time("tau_1"),
                time("tau_2"),
                ratio("fraction_1", 0.3).between(0.0, 1.0),
            ]);
        }
        if self.has_triplet {
            parameters
                .extend([ratio("triplet", 0.2).between(0.0, TRIPLET_MAX), time("tau_triplet")]);
        }
        // A membrane is as thin as nothing: κ is very large.
        parameters.push(ratio("kappa", 2.0).between(1.0, 1e6));
        parameters.push(ratio("offset", 0.1 * (highest - 1.0).max(1e-6)));
        parameters
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let (shortest, longest) = lags(data);
        let all: Vec<(Bin, f64)> = data.ratios().collect();
        let near = all.iter().take((all.len() / 10).max(3));
        let near: Vec<f64> = near.map(|(_, value)| value - 1.0).collect();
        let amplitude = (near.iter().sum::<f64>() / near.len() as f64).max(1e-6);
        let half = all.iter().find(|(bin, value)| bin.from > 0.0 && value - 1.0 < amplitude / 2.0);
        let half = half.map_or((shortest * longest).sqrt(), |(bin, _)| bin.middle());
        [1.0, 0.1, 10.0]
            .map(|by| self.values(amplitude, (by * half).clamp(shortest, longest)))
            .to_vec()
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let named = self.named(parameters);
        for (value, bin) in values.iter_mut().zip(bins) {
            let half = bin.width() / 2.0;
            let at = |(place, weight): (f64, f64)| {
                weight * named.at(half.mul_add(place, bin.middle()).abs())
            };
            *value = PLACES.map(at).iter().sum();
        }
        Ok(())
    }

    fn structure(&self, data: &Data) -> Option<Structure> {
        let (shortest, longest) = lags(data);
        let taus = (0..).map(|half| shortest * libm::pow(2.0, f64::from(half) / 2.0));
        let places = taus.take_while(|tau| *tau < longest).map(|tau| self.values(0.0, tau));
        let offset = self.parameters(data).len() - 1;
        Some(Structure {
            name: "diffusion".into(),
            against: "a constant".into(),
            null: Box::new(Flat::above("offset", Quantity::Ratio, 1.0)),
            amplitude: 0,
            shared: vec![(offset, 0)],
            places: places.collect(),
        })
    }

    fn derived(&self, parameters: &[f64]) -> Vec<Derived> {
        let named = self.named(parameters);
        let of = |name: String, value: f64| Derived { name, quantity: Quantity::Ratio, value };
        let mut derived = vec![of("molecules".into(), 1.0 / named.amplitude)];
        if let Some(waist) = self.waist {
            let number = |at: usize| {
                if self.components == 1 { String::new() } else { format!("_{}", at + 1) }
            };
            let coefficients = named.components.iter().enumerate().map(|(at, (_, tau))| {
                of(format!("diffusion{}_m2_per_s", number(at)), waist * waist / (4.0 * tau))
            });
            derived.extend(coefficients);
        }
        derived
    }

    fn arrange(&self, parameters: &mut [f64], _: &Data) {
        if self.components == 2 && parameters[1] > parameters[2] {
            parameters.swap(1, 2);
            parameters[3] = 1.0 - parameters[3];
        }
    }
}

/// Returns the shortest and the longest lag that is not zero.
fn lags(data: &Data) -> (f64, f64) {
    let middles = data.bins.iter().map(|bin| bin.middle().abs()).filter(|lag| *lag > 0.0);
    let longest = middles.clone().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    (middles.fold(longest, f64::min), longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of PyCorrFit 1.3.1, model "3D+3D+T", for two components with a triplet.
    #[test]
    fn g2_is_that_of_pycorrfit() {
        let model = Diffusion { components: 2, has_triplet: true, waist: Some(0.25e-6) };
        let n = 2.5;
        let parameters = [1.0 / n, 1e-4, 3e-3, 0.7, 0.2, 2e-6, 4.0, 0.01];
        let values = [
            0.495_006_267_229_148_87,
            0.423_303_535_255_992_3,
            0.342_168_138_800_805_2,
            0.182_987_995_217_406_83,
            0.073_535_485_198_832_32,
            0.018_767_113_667_090_086,
            0.010_448_051_982_935_795,
        ];
        for (decade, expected) in (-7..0).zip(values) {
            let lag = 3.0 * 10.0_f64.powi(decade);
            let mut found = [0.0];
            model.predict(&parameters, &[Bin { from: lag, to: lag }], &mut found).unwrap();
            assert!((found[0] - 1.0 - expected).abs() < 1e-12, "{lag}: {found:?} {expected}");
        }
        let derived = model.derived(&parameters);
        assert!((derived[0].value - n).abs() < 1e-12);
        assert!((derived[1].value - 0.25e-6_f64.powi(2) / 4e-4).abs() < 1e-20);
    }

    /// The mean over a bin that is as wide as its lag is that of many places.
    #[test]
    fn wide_bins_have_the_mean() {
        let model = Diffusion { components: 1, has_triplet: false, waist: None };
        let bin = Bin { from: 1.0, to: 2.0 };
        let parameters = [1.0, 1.0, 5.0, 0.0];
        let mut mean = [0.0];
        model.predict(&parameters, &[bin], &mut mean).unwrap();
        let places = (0..10_000).map(|k| 1.0 + (f64::from(k) + 0.5) / 1e4);
        let sum: f64 = places.map(|lag| model.named(&parameters).at(lag)).sum();
        assert!((mean[0] - sum / 1e4).abs() < 1e-8, "{mean:?} {}", sum / 1e4);
    }
}
