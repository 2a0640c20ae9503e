//! Exponential decays after a pulse.
//!
//! 1,000 photons with a lifetime of 2, no response: the first bin, from 0 to 2, has 1,000·(1 − 1/e) = 632 of them,
//! plus the background. `photons` are those of all time after the start, not only of the bins.

use super::{
    flat::Flat,
    gaussian::{Gaussian, rise},
    response::{Response, steepest},
};
use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Derived, Model, Parameter, Quantity, Structure},
    special::FULL_WIDTH,
};

/// The lowest mean of a bin where starts are compared.
const LEAST: f64 = 1e-9;

/// The most exponentials.
pub const EXPONENTIALS_MAX: usize = 3;

/// The step of a lifetime that gives the slope of a prediction, as a part of it.
const STEP: f64 = 1e-5;

/// A sum of exponentials over a background.
///
/// Parameters, with numbers after their names if there are several exponentials: `photons` (those of the exponential:
/// after the start of the first bin, or in all if there is a response), `tau`, and `background` in counts a bin; with
/// a measured response also `shift`, how much later the decay is than the response, and with a Gaussian one its
/// `centre` and `fwhm`. Longer lifetimes come first. For several
/// exponentials `fraction` of the photons of each, and the mean lifetimes `tau_intensity` (weighted by photons) and
/// `tau_amplitude` (weighted by amplitudes, photons over lifetime) are derived.
#[derive(Debug, Clone, PartialEq)]
pub struct Decay {
    exponentials: usize,
    response: Instrument,
    period: Option<f64>,
}

/// The response of the instrument.
#[derive(Debug, Clone, PartialEq)]
enum Instrument {
    /// None: the decay begins with the first bin.
    Instant,
    Measured(Response),
    /// A Gaussian that is fitted with the decay.
    Gaussian,
}

impl Decay {
    /// Creates the model. With a response, the decay of earlier pulses is added if their period is given.
    ///
    /// # Errors
    /// [`Error::Model`] for a number of exponentials other than 1, 2 and 3, or a response longer than the period.
    pub fn new(
        exponentials: usize,
        response: Option<Response>,
        period: Option<f64>,
    ) -> Result<Self, Error> {
        if !(1..=EXPONENTIALS_MAX).contains(&exponentials) {
            return Err(Error::Model(format!("{exponentials} exponentials; fit 1, 2 or 3")));
        }
        if let (Some(response), Some(period)) = (&response, period) {
            let length = response.width() * response.bins() as f64;
            // Markers of the last bin may lie a little after the period.
            if length > 1.01 * period + response.width() {
                return Err(Error::Model(
                    "the instrument response is longer than the period of the pulses".into(),
                ));
            }
        }
        let response = response.map_or(Instrument::Instant, Instrument::Measured);
        Ok(Self { exponentials, response, period })
    }

    /// Creates the model with a Gaussian response. Its centre and its width are fitted, too. With a period the decays of
    /// all pulses are added.
    ///
    /// # Errors
    /// [`Error::Model`] for a number of exponentials other than 1, 2 and 3.
    pub fn with_gaussian(exponentials: usize, period: Option<f64>) -> Result<Self, Error> {
        Ok(Self { response: Instrument::Gaussian, ..Self::new(exponentials, None, period)? })
    }

    /// Returns the number of parameters of the response.
    fn of_response(&self) -> usize {
        match self.response {
            Instrument::Instant => 0,
            Instrument::Measured(_) => 1,
            Instrument::Gaussian => 2,
        }
    }

    /// Returns the two likeliest Gaussians at a rise, of widths from a bin on in factors of four, for one exponential. A search
    /// that begins with a width of a few photons would end there.
    fn likely_responses(
        &self,
        ratios: &[(Bin, f64)],
        (rise, tau): (f64, f64),
        background: f64,
    ) -> Vec<Vec<f64>> {
        let one = Self { exponentials: 1, ..self.clone() };
        let bins: Vec<Bin> = ratios.iter().map(|(bin, _)| *bin).collect();
        let photons: f64 = ratios.iter().map(|(_, value)| (value - background).max(0.0)).sum();
        let deviance = |fwhm: f64| {
            let mut means = vec![0.0; bins.len()];
            let of = [photons, tau, background.max(1e-3), rise, fwhm];
            one.predict(&of, &bins, &mut means).ok()?;
            let of = means.iter().zip(ratios).map(|(mean, (_, value))| {
                let mean = mean.max(LEAST);
                mean - value * libm::log(mean)
            });
            Some(of.sum::<f64>())
        };
        let (first, last) = (bins[0], bins[bins.len() - 1]);
        let widths = std::iter::successors(Some(first.width()), |fwhm| Some(4.0 * fwhm));
        let widths = widths.take_while(|fwhm| *fwhm < (last.to - first.from) / 4.0);
        let mut all: Vec<(f64, f64)> =
            widths.filter_map(|fwhm| Some((deviance(fwhm)?, fwhm))).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all.iter().take(2).map(|(_, fwhm)| vec![rise, *fwhm]).collect()
    }

    fn name(&self, of: &str, number: usize) -> String {
        if self.exponentials == 1 { of.to_owned() } else { format!("{of}_{}", number + 1) }
    }
}

impl Model for Decay {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let (from, to) = data.ends();
        let span = to - from;
        let width = span / data.bins.len() as f64;
        let total: f64 = data.ratios().map(|(_, value)| value).sum();
        let mut parameters = Vec::new();
        for number in 0..self.exponentials {
            let photons = self.name("photons", number);
            parameters.push(Parameter::new(photons, Quantity::Value, total).positive());
            let tau = Parameter::new(self.name("tau", number), Quantity::Place, span / 4.0);
            parameters.push(tau.between(width / 20.0, 100.0 * span));
        }
        let mean = total / data.bins.len() as f64;
        parameters.push(Parameter::new("background", Quantity::Value, mean).positive());
        match self.response {
            Instrument::Instant => {}
            Instrument::Measured(_) => {
                let shift = Parameter::new("shift", Quantity::Place, width);
                parameters.push(shift.between(-span / 4.0, span / 4.0));
            }
            Instrument::Gaussian => {
                let centre = Parameter::new("centre", Quantity::Place, width);
                parameters.push(centre.between(from - span / 4.0, to + span / 4.0));
                let fwhm = Parameter::new("fwhm", Quantity::Place, width);
                parameters.push(fwhm.between(width / 50.0, span / 4.0));
            }
        }
        parameters
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let (from, to) = data.ends();
        let ratios: Vec<(Bin, f64)> = data.ratios().collect();
        let mut sorted: Vec<f64> = ratios.iter().map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        let low = &sorted[..sorted.len().div_ceil(20)];
        let background = low.iter().sum::<f64>() / low.len() as f64;
        let net = || ratios.iter().map(|(_, value)| (value - background).max(0.0));
        let photons = net().sum::<f64>().max(1.0);
        let mean = |place: &dyn Fn(f64) -> f64| {
            let moments = ratios.iter().zip(net()).map(|((bin, _), net)| place(bin.middle()) * net);
            moments.sum::<f64>() / photons
        };
        let width = (to - from) / data.bins.len() as f64;
        let (after, of_response) = match &self.response {
            Instrument::Instant => (mean(&|at| at - from), vec![vec![]]),
            Instrument::Measured(response) => {
                let most = (to - from) / 5.0;
                let rise = data.bins[steepest(&data.values)].from;
                let shift = (rise - response.rise()).clamp(-most, most);
                (mean(&|at| at) - response.mean(), vec![vec![0.0], vec![shift]])
            }
            Instrument::Gaussian => {
                let rise = rise(data, self.period);
                let of_next = self.period.unwrap_or(0.0);
                let after = mean(&|at| at - rise + if at < rise { of_next } else { 0.0 });
                (after, self.likely_responses(&ratios, (rise, after.max(width)), background))
            }
        };
        let tau = after.max(width);
        let mixes: &[&[f64]] = match self.exponentials {
            1 => &[&[1.0], &[0.3], &[2.0]],
            2 => &[&[1.2, 0.3], &[2.0, 0.7], &[1.1, 0.1], &[6.0, 0.8]],
            _ => &[&[1.5, 0.5, 0.1], &[2.5, 0.8, 0.2], &[1.2, 0.3, 0.05], &[6.0, 1.0, 0.3]],
        };
        let mut starts = Vec::new();
        for of_response in of_response {
            for mix in mixes {
                let share = photons / mix.len() as f64;
                let mut values: Vec<f64> =
                    mix.iter().flat_map(|factor| [share, factor * tau]).collect();
                values.push(background.max(1e-3));
                values.extend(&of_response);
                starts.push(values);
            }
        }
        starts
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let (exponentials, others) = parameters.split_at(2 * self.exponentials);
        values.fill(others[0]);
        for of in exponentials.chunks_exact(2) {
            let (photons, tau) = (of[0], of[1]);
            match &self.response {
                Instrument::Instant => {
                    let first = bins[0].from;
                    for (value, bin) in values.iter_mut().zip(bins) {
                        let left = libm::exp(-(bin.from - first) / tau);
                        *value -= photons * left * libm::expm1(-bin.width() / tau);
                    }
                }
                Instrument::Measured(response) => {
                    response.add_exponential((photons, tau, others[1]), self.period, bins, values);
                }
                Instrument::Gaussian => {
                    let gaussian = Gaussian { centre: others[1], sigma: others[2] / FULL_WIDTH };
                    gaussian.add_exponential((photons, tau), self.period, bins, values);
                }
            }
        }
        Ok(())
    }

    /// Only one exponential depends on its photons and its lifetime.
    fn slope(&self, parameters: &[f64], of: usize, bins: &[Bin]) -> Option<Vec<f64>> {
        let (exponentials, others) = parameters.split_at(2 * self.exponentials);
        if of == exponentials.len() {
            return Some(vec![1.0; bins.len()]);
        }
        let [photons, tau] = exponentials.chunks_exact(2).nth(of / 2)? else { return None };
        let one = Self { exponentials: 1, ..self.clone() };
        let predict = |photons: f64, tau: f64| {
            let mut values = vec![0.0; bins.len()];
            one.predict(&[&[photons, tau, 0.0], &others[1..]].concat(), bins, &mut values).ok()?;
            Some(values)
        };
        if of.is_multiple_of(2) {
            return predict(1.0, *tau);
        }
        let (below, above) = (tau * (1.0 - STEP), tau * (1.0 + STEP));
        let slope = |(above_it, below_it): (f64, f64)| (above_it - below_it) / (above - below);
        Some(
            predict(*photons, above)?
                .into_iter()
                .zip(predict(*photons, below)?)
                .map(slope)
                .collect(),
        )
    }

    fn structure(&self, data: &Data) -> Option<Structure> {
        let (from, to) = data.ends();
        let width = (to - from) / data.bins.len() as f64;
        let taus = (-1..).map(|half| width * libm::pow(2.0, f64::from(half) / 2.0));
        let taus = taus.take_while(|tau| *tau < 4.0 * (to - from));
        let fewer = self.exponentials - 1;
        let background = 2 * self.exponentials;
        let others = vec![0.0; 2 * fewer];
        let (null, shared): (Box<dyn Model>, Vec<(usize, usize)>) = if fewer == 0 {
            (Box::new(Flat::new("background", Quantity::Value)), vec![(background, 0)])
        } else {
            let null = Self { exponentials: fewer, ..self.clone() };
            let shared = (0..2 * fewer).map(|at| (at, at));
            let shared = shared.chain([(background, 2 * fewer)]);
            let of_response = (1..=self.of_response()).map(|at| (background + at, 2 * fewer + at));
            (Box::new(null), shared.chain(of_response).collect())
        };
        let is_searched = fewer == 0 && self.response == Instrument::Gaussian;
        let of_response = |tau: f64| match self.response {
            Instrument::Instant => vec![vec![]],
            Instrument::Measured(_) => vec![vec![0.0]],
            Instrument::Gaussian if is_searched => {
                let step = (tau / 2.0).max(width);
                let at = (0..).map(|k| step.mul_add(f64::from(k), from));
                at.take_while(|at| *at < to).map(|at| vec![at, 2.0 * width]).collect()
            }
            // That of the other exponentials.
            Instrument::Gaussian => vec![vec![0.0, 0.0]],
        };
        let mut places = Vec::new();
        for tau in taus.step_by(if is_searched { 2 } else { 1 }) {
            for response in of_response(tau) {
                places.push([&others[..], &[0.0, tau, 0.0], &response].concat());
            }
        }
        let name = ["decay", "second exponential", "third exponential"][fewer].into();
        let against = ["a constant", "one exponential", "two exponentials"][fewer].into();
        Some(Structure { name, against, null, amplitude: 2 * fewer, shared, places })
    }

    fn redrawn(&self, seed: u64) -> Option<Box<dyn Model>> {
        let Instrument::Measured(response) = &self.response else { return None };
        let response = Instrument::Measured(response.redrawn(seed)?);
        Some(Box::new(Self { response, ..self.clone() }))
    }

    fn derived(&self, parameters: &[f64]) -> Vec<Derived> {
        if self.exponentials == 1 {
            return Vec::new();
        }
        let all = || parameters[..2 * self.exponentials].chunks_exact(2);
        let photons: f64 = all().map(|of| of[0]).sum();
        let fraction = |(number, of): (usize, &[f64])| Derived {
            name: self.name("fraction", number),
            quantity: Quantity::Ratio,
            value: of[0] / photons,
        };
        let mut derived: Vec<Derived> = all().enumerate().map(fraction).collect();
        let intensity = all().map(|of| of[0] * of[1]).sum::<f64>() / photons;
        let amplitude = photons / all().map(|of| of[0] / of[1]).sum::<f64>();
        for (name, value) in [("tau_intensity", intensity), ("tau_amplitude", amplitude)] {
            derived.push(Derived { name: name.into(), quantity: Quantity::Place, value });
        }
        derived
    }

    fn arrange(&self, parameters: &mut [f64], data: &Data) {
        let mut of: Vec<[f64; 2]> =
            parameters[..2 * self.exponentials].chunks_exact(2).map(|of| [of[0], of[1]]).collect();
        of.sort_by(|one, other| other[1].total_cmp(&one[1]));
        for (to, from) in parameters.iter_mut().zip(of.as_flattened()) {
            *to = *from;
        }
        if let (Instrument::Gaussian, Some(period)) = (&self.response, self.period) {
            let (from, _) = data.ends();
            let centre = &mut parameters[2 * self.exponentials + 1];
            *centre = from + (*centre - from).rem_euclid(period);
        }
    }
}
