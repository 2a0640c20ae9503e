//! The response of the instrument and the background, from the decay of all together.
//!
//! A decay of several lifetimes that is fitted with one exponential would give a response that is too wide. So up to
//! three exponentials are fitted, as many as the decay shows.

use crate::{
    data::Data,
    error::Error,
    estimate::{Fitted, Search, Settings, most_likely},
    models::{Decay, EXPONENTIALS_MAX, Response},
    problem::Stop,
    special::FULL_WIDTH,
};

/// Standard deviations of the response on either side of its centre without which a tail begins.
const TAIL: f64 = 3.0;
/// By so much an exponential more has to lower the deviance: it has two parameters. What is left of a second lifetime
/// would be taken for background.
const BETTER: f64 = 10.0;

/// The step of the background that gives its error, as a part of all photons, and the least difference of a deviance.
const STEP: f64 = 0.02;
const LEAST: f64 = 1e-2;

/// The response of the instrument that is asked for.
#[derive(Debug, Clone)]
pub enum ResponseOf {
    /// A Gaussian at the rise of the decay.
    Auto,
    /// A measured one.
    Measured(Box<Response>),
    /// None: the photons after the response, which is taken as a Gaussian at the rise.
    Tail,
}

/// The response that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FoundResponse {
    /// A Gaussian.
    Gaussian {
        /// Its centre.
        centre: f64,
        /// Its full width at half maximum.
        fwhm: f64,
    },
    /// The measured one, and how much later the decay is.
    Measured {
        /// The shift.
        shift: f64,
    },
    /// Photons between two times, the second one in the next period if it is before the first.
    Tail {
        /// The end of the response.
        from: f64,
        /// The beginning of the response to the next pulse.
        to: f64,
    },
}

/// The fit of the decay of all together.
pub(super) struct Pooled {
    /// One exponential with the response that was found.
    pub model: Decay,
    /// The parameters of the response in that model.
    of_response: Vec<f64>,
    pub found: FoundResponse,
    /// Background in a bin, and its standard error.
    pub background: f64,
    pub background_err: f64,
    /// The deviance over the expected one.
    pub deviance_ratio: Option<f64>,
}

impl Pooled {
    pub fn of(
        data: &Data,
        response: &ResponseOf,
        period: Option<f64>,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let model = |exponentials| match response {
            ResponseOf::Measured(response) => {
                Decay::new(exponentials, Some((**response).clone()), period)
            }
            ResponseOf::Auto | ResponseOf::Tail => Decay::with_gaussian(exponentials, period),
        };
        let settings = Settings { search: Search::Rough, ..Settings::default() };
        let mut best = most_likely(&model(1)?, data, &settings, stop)?;
        let mut best_model = model(1)?;
        for exponentials in 2..=EXPONENTIALS_MAX {
            let model = model(exponentials)?;
            match most_likely(&model, data, &settings, stop) {
                Ok(more) if more.deviance < best.deviance - BETTER => {
                    (best, best_model) = (more, model);
                }
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                // Too few bins, or no minimum: the one before is the best.
                _ => break,
            }
        }
        let background_err = background_err(&best_model, data, &best, stop)?;
        let value = |name: &str| best.get(name).map_or(0.0, |of| of.value);
        let (found, of_response) = match response {
            ResponseOf::Measured(_) => {
                let shift = value("shift");
                (FoundResponse::Measured { shift }, vec![shift])
            }
            ResponseOf::Auto | ResponseOf::Tail => {
                let (centre, fwhm) = (value("centre"), value("fwhm"));
                let aside = TAIL * fwhm / FULL_WIDTH;
                let found = match response {
                    ResponseOf::Tail => {
                        let to = period.map_or(data.ends().1, |period| centre - aside + period);
                        FoundResponse::Tail { from: centre + aside, to }
                    }
                    _ => FoundResponse::Gaussian { centre, fwhm },
                };
                (found, vec![centre, fwhm])
            }
        };
        Ok(Self {
            model: model(1)?,
            of_response,
            found,
            background_err,
            background: value("background"),
            deviance_ratio: best.deviance_ratio(),
        })
    }

    /// Returns the parameters of one photon with this lifetime.
    pub fn photon(&self, tau: f64) -> Vec<f64> {
        [&[1.0, tau, 0.0], &self.of_response[..]].concat()
    }
}

/// Returns the standard error of the background, which may be at its bound, zero: from the deviance with a little more
/// background, in which all other parameters are fitted again. Long lifetimes look like background.
fn background_err(model: &Decay, data: &Data, best: &Fitted, stop: Stop<'_>) -> Result<f64, Error> {
    let step = STEP * data.values.iter().sum::<f64>() / data.values.len() as f64;
    let values = best.parameters.iter().map(|of| (of.name.clone(), of.value));
    let (fixed, start): (Vec<_>, Vec<_>) = values.partition(|(name, _)| name == "background");
    let fixed = fixed.into_iter().map(|(name, value)| (name, value + step)).collect();
    let settings = Settings { fixed, start, search: Search::Rough, ..Settings::default() };
    let more = most_likely(model, data, &settings, stop)?.deviance - best.deviance;
    // A deviance above the expected one says that all errors are larger.
    let scale = best.deviance_ratio().unwrap_or(1.0).max(1.0).sqrt();
    Ok(scale * step / more.max(LEAST).sqrt())
}
