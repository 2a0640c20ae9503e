//! The response of the instrument and the background, from the decay of all together.
//!
//! A decay of several lifetimes that is fitted with one exponential would give a response that is too wide. So up to
//! three exponentials are fitted, as many as the decay shows.

use crate::{
    data::{Bin, Data},
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
        let (best_model, best) = likeliest(data, response, period, stop)?;
        let background_err = background_err(&best_model, data, &best, stop)?;
        let value = |name: &str| best.get(name).map_or(0.0, |of| of.value);
        let (found, of_response) = match response {
            ResponseOf::Measured(_) => {
                let shift = value("shift");
                (FoundResponse::Measured { shift }, vec![shift])
            }
            ResponseOf::Auto | ResponseOf::Tail => {
                let (centre, fwhm) = (value("centre"), value("fwhm"));
                let found = match response {
                    ResponseOf::Tail => {
                        let (from, to) = tail((centre, fwhm), data, period);
                        FoundResponse::Tail { from, to }
                    }
                    _ => FoundResponse::Gaussian { centre, fwhm },
                };
                (found, vec![centre, fwhm])
            }
        };
        Ok(Self {
            model: with_response(1, response, period)?,
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

/// Returns the model of a decay with this response.
fn with_response(
    exponentials: usize,
    response: &ResponseOf,
    period: Option<f64>,
) -> Result<Decay, Error> {
    match response {
        ResponseOf::Measured(response) => {
            Decay::new(exponentials, Some((**response).clone()), period)
        }
        ResponseOf::Auto | ResponseOf::Tail => Decay::with_gaussian(exponentials, period),
    }
}

/// Returns the fit with as many exponentials as the decay shows.
fn likeliest(
    data: &Data,
    response: &ResponseOf,
    period: Option<f64>,
    stop: Stop<'_>,
) -> Result<(Decay, Fitted), Error> {
    let settings = Settings { search: Search::Rough, ..Settings::default() };
    let mut model = with_response(1, response, period)?;
    let mut best = most_likely(&model, data, &settings, stop)?;
    for exponentials in 2..=EXPONENTIALS_MAX {
        let other = with_response(exponentials, response, period)?;
        match most_likely(&other, data, &settings, stop) {
            Ok(more) if more.deviance < best.deviance - BETTER => (model, best) = (other, more),
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            // Too few bins, or no minimum: the one before is the best.
            _ => break,
        }
    }
    Ok((model, best))
}

/// Returns the end of a Gaussian response with this centre and full width, and the beginning of the next one.
fn tail((centre, fwhm): (f64, f64), data: &Data, period: Option<f64>) -> (f64, f64) {
    let aside = TAIL * fwhm / FULL_WIDTH;
    (centre + aside, period.map_or(data.ends().1, |period| centre - aside + period))
}

/// Returns the bins of a decay after the response of the instrument, up to that to the next pulse, and where the response ends. The
/// response is found as [`ResponseOf::Tail`]; bins before it are one period later.
///
/// # Errors
/// [`Error::Empty`] if no bin is left, and those of a fit.
pub fn after_response(
    data: &Data,
    period: Option<f64>,
    stop: Stop<'_>,
) -> Result<(Data, f64), Error> {
    let data = in_period(data, period)?;
    let half = data.width()? / 2.0;
    let (_, fitted) = likeliest(&data, &ResponseOf::Tail, period, stop)?;
    let value = |name: &str| fitted.get(name).map_or(0.0, |of| of.value);
    let (from, to) = tail((value("centre"), value("fwhm")), &data, period);
    // By how much each bin is later.
    let later = |bin: &Bin| match period {
        Some(period) => period * ((from + half - bin.middle()) / period).ceil(),
        None => 0.0,
    };
    let time = |k: &usize| data.bins[*k].middle() + later(&data.bins[*k]);
    let is_after = |k: &usize| (from + half..=to - half).contains(&time(k));
    let mut kept: Vec<usize> = (0..data.bins.len()).filter(is_after).collect();
    kept.sort_by(|one, other| time(one).total_cmp(&time(other)));
    let mut after = data.only(&kept)?;
    for bin in &mut after.bins {
        let by = later(bin);
        *bin = Bin { from: bin.from + by, to: bin.to + by };
    }
    Ok((after, from))
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

/// Returns the bins that end in the period.
pub(super) fn in_period(data: &Data, period: Option<f64>) -> Result<Data, Error> {
    let Some(period) = period else { return Ok(data.clone()) };
    let width = data.width()?;
    let ends = |bin: &Bin| bin.to <= period + 1e-6 * width;
    let count = data.bins.iter().take_while(|bin| ends(bin)).count();
    if count == 0 {
        return Err(Error::Empty);
    }
    data.between(data.bins[0].middle(), data.bins[count - 1].to)
}
