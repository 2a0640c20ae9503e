//! Lifetimes of the pixels of an image, from their counts of micro times.
//!
//! All pixels together give the response and the background; each pixel then has a lifetime, if it has photons enough.
//! Of ten pixels with 200 photons and ten thousand with 20, most photons are in pixels with few: `auto` takes the mean
//! arrival time.

use std::{path::Path, sync::Arc};

use rayon::prelude::*;
use serde::Serialize;
use tagq_fit::{
    Bin, Data, Error as FitError, Noise,
    lifetimes::{FEW, FoundResponse, Lifetime, Lifetimes, Phasor, Reference, ResponseOf},
};
use tagq_query::{Bins, Image as Query, PixelCounts};
use tagq_run::{Channel, RequestError, Run, counted};
use tagq_store::Tick;

use super::{
    super::{
        context::QueryContext,
        instrument::{
            ResponseAsked, ResponseSource, ask_response, counted_response, response_of,
            response_of_text,
        },
        kind::{self, Resolved},
    },
    request::{Image, LIFETIME_PHOTONS, LifetimeMethod},
};
use crate::{
    answer::Answer,
    cells::Cells,
    error::Error,
    pulses::in_words,
    table::{Column, Table, Unit},
};

/// Pixels between which a caller can stop.
const TOGETHER: usize = 4_096;
/// A deviance of all pixels together that is larger by this factor than expected is noted.
const MISFIT: f64 = 2.0;

/// The counts of micro times of the pixels.
pub(super) struct Decays<'a> {
    /// Frame by frame, so many numbers a pixel.
    pub counts: &'a [u64],
    pub stride: usize,
    /// The area of each pixel of a frame, as a part of that of a whole one.
    pub areas: Vec<f64>,
    /// The frames with a line or a photon, which share the background.
    pub frames: usize,
    /// The word for one of them: a pixel, or a region.
    pub of: &'static str,
}

impl Decays<'_> {
    /// Returns the area of all pixels.
    fn area(&self) -> f64 {
        self.areas.iter().sum::<f64>() * self.frames as f64
    }
}

/// The lifetimes of all pixels.
pub(super) struct PixelLifetimes {
    pixels: Arc<Vec<PixelLifetime>>,
    method: LifetimeMethod,
    pub used: LifetimeUsed,
    /// The lifetimes as text for the header.
    pub words: String,
}

/// The lifetime of a pixel, and what was found with it.
#[derive(Debug, Clone, Copy, Default)]
struct PixelLifetime {
    lifetime: Option<Lifetime>,
    /// The part of the photons that are background.
    background: Option<f64>,
    phasor: Option<Phasor>,
}

/// How lifetimes were found.
#[derive(Debug, Serialize)]
pub(super) struct LifetimeUsed {
    method: &'static str,
    /// The period of the pulses.
    period_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    harmonic: Option<u32>,
    /// The response that was found; none if nothing was fitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<ResponseUsed>,
    /// The lifetime of all pixels together, as one exponential.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_all_s: Option<f64>,
    /// The expected photons of the background in a pixel.
    #[serde(skip_serializing_if = "Option::is_none")]
    background_per_pixel: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    background_per_pixel_err: Option<f64>,
    /// The deviance of the fit to all pixels together over the expected one.
    #[serde(skip_serializing_if = "Option::is_none")]
    deviance_ratio: Option<f64>,
    /// Photons with a micro time after the period of the pulses, which are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    photons_after_period: Option<u64>,
}

/// The response of the instrument.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ResponseUsed {
    /// A Gaussian that was found.
    Gaussian { centre_s: f64, fwhm_s: f64 },
    /// Photons between two times.
    Tail { from_s: f64, to_s: f64 },
    /// A measured one, moved.
    Measured { shift_s: f64 },
    /// That of a dye with a known lifetime: the phasor of the response, and the photons and the background that it is from.
    Reference {
        lifetime_s: f64,
        photons: f64,
        background: f64,
        background_err: f64,
        phase: f64,
        phase_err: f64,
        modulation: f64,
        modulation_err: f64,
    },
}

impl LifetimeUsed {
    /// Returns the frequency of phasors in hertz, if there are some.
    pub(super) fn phasor_hz(&self) -> Option<f64> {
        Some(f64::from(self.harmonic?) / self.period_s?)
    }
}

impl ResponseUsed {
    /// Returns the response that was found, or that of a reference with a lifetime in seconds.
    fn of(found: &Lifetimes, reference: Option<&(Reference, f64)>) -> Self {
        if let Some((Reference { response, photons, background }, lifetime)) = reference {
            let (phase, phase_err) = response.phase();
            let (modulation, modulation_err) = response.modulation();
            return Self::Reference {
                lifetime_s: *lifetime,
                photons: *photons,
                background: background.0,
                background_err: background.1,
                phase,
                phase_err,
                modulation,
                modulation_err,
            };
        }
        match found.response() {
            FoundResponse::Gaussian { centre, fwhm } => {
                Self::Gaussian { centre_s: centre, fwhm_s: fwhm }
            }
            FoundResponse::Tail { from, to } => Self::Tail { from_s: from, to_s: to },
            FoundResponse::Measured { shift } => Self::Measured { shift_s: shift },
        }
    }
}

impl LifetimeUsed {
    /// Fills in the results of the fit of all pixels together.
    fn take(&mut self, found: &Lifetimes, response: ResponseUsed) {
        self.response = Some(response);
        self.of_all_s = Some(found.all().tau);
        let (background, err) = found.background();
        self.background_per_pixel = Some(background);
        self.background_per_pixel_err = Some(err);
        self.deviance_ratio = found.deviance_ratio();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sum of counts"
        )]
        let after = found.after_period() as u64;
        self.photons_after_period = Some(after);
    }
}

impl Image {
    /// Returns the lifetimes of the pixels, if they are asked for.
    pub(super) fn lifetimes(
        &self,
        all: &[Resolved<'_, Query>],
        (bins, unit): (&Bins, Tick),
        decays: &Decays<'_>,
    ) -> Result<Option<PixelLifetimes>, Error> {
        let (Some(method), [resolved, ..]) = (self.lifetime, all) else { return Ok(None) };
        let context = resolved.context;
        let period = self.period_of(resolved)?;
        let harmonic = self.harmonic.unwrap_or(1);
        let is_phasor = method == LifetimeMethod::Phasor;
        let &Decays { counts, stride, ref areas, .. } = decays;
        let pixels = || counts.chunks_exact(stride).map(PixelCounts);
        let pooled = pooled((bins, unit), pixels());
        let response = self.response(all, bins, &pooled)?;
        let reference = self.reference(all, bins, &pooled, (period.unwrap_or(0.0), harmonic))?;
        let photons: Vec<u64> = pixels().map(|pixel| pixel.count()).collect();
        let method = match method {
            LifetimeMethod::Auto if typical(&photons) < FEW => LifetimeMethod::Mean,
            LifetimeMethod::Auto => LifetimeMethod::Exp,
            method => method,
        };
        let mut used = LifetimeUsed {
            method: method.name(),
            period_s: period,
            harmonic: is_phasor.then_some(harmonic),
            response: None,
            of_all_s: None,
            background_per_pixel: None,
            background_per_pixel_err: None,
            deviance_ratio: None,
            photons_after_period: None,
        };
        let stop = || context.progress.is_cancelled();
        let found = match Lifetimes::new(&pooled, decays.area(), &response, period, &stop) {
            Ok(found) => found,
            // A response that does not fit is a mistake; a decay that tells nothing may still grow.
            Err(error @ (FitError::Model(_) | FitError::UnequalBins)) => {
                return Err(RequestError::options(&["irf", "bin"], error.to_string()).into());
            }
            Err(FitError::Cancelled) => return Err(tagq_query::Error::Cancelled.into()),
            Err(error) => {
                context.progress.note(&format!(
                    "no lifetimes: the decay of all pixels together is not fitted: {error}"
                ));
                let pixels = Arc::new(vec![PixelLifetime::default(); photons.len()]);
                return Ok(Some(PixelLifetimes { pixels, method, used, words: String::new() }));
            }
        };
        used.take(&found, ResponseUsed::of(&found, reference.as_ref()));
        let phasors = found.phasors(harmonic).filter(|_| is_phasor);
        let phasors = phasors.map(|phasors| match &reference {
            Some((reference, _)) => phasors.by_response(&reference.response),
            None => phasors,
        });
        let least = self.min_photons.unwrap_or(LIFETIME_PHOTONS);
        let of_pixel = |(at, pixel): (usize, PixelCounts<'_>)| {
            if pixel.count() < least {
                return PixelLifetime::default();
            }
            let bins: Vec<f64> = pixel.bins().iter().map(|&count| count as f64).collect();
            match (&phasors, method) {
                (Some(phasors), _) => {
                    let phasor = phasors.of(&bins, areas[at % areas.len()]);
                    let lifetime = phasor.as_ref().and_then(|of| phasors.lifetime(of));
                    PixelLifetime { lifetime, background: None, phasor }
                }
                (None, LifetimeMethod::Mean) => {
                    let lifetime = found.mean(&bins, areas[at % areas.len()]);
                    PixelLifetime { lifetime, ..PixelLifetime::default() }
                }
                (None, _) => {
                    let of = found.exponential(&bins);
                    let (lifetime, background) = of.unzip();
                    PixelLifetime { lifetime, background, phasor: None }
                }
            }
        };
        let mut all = Vec::with_capacity(photons.len());
        for some in counts.chunks(stride * TOGETHER) {
            if stop() {
                return Err(tagq_query::Error::Cancelled.into());
            }
            let first = all.len();
            let each = || {
                let pixels = some.par_chunks_exact(stride).map(PixelCounts).enumerate();
                pixels.map(|(at, pixel)| of_pixel((first + at, pixel)))
            };
            all.extend(context.pool.install(|| each().collect::<Vec<_>>()));
        }
        let response = used.response.as_ref().map_or_else(String::new, ResponseUsed::words);
        let words = words(method, harmonic, &response, period, found.all().tau);
        let pixels = PixelLifetimes { pixels: Arc::new(all), method, used, words };
        pixels.note(resolved, decays.of, &photons, least);
        Ok(Some(pixels))
    }
}

impl Image {
    /// Returns the period of the pulses, in seconds; checks the options that go with it.
    fn period_of(&self, resolved: &Resolved<'_, Query>) -> Result<Option<f64>, Error> {
        let period = match &self.pulse_period {
            Some(period) => Some(period.ticks(resolved.tick())? * resolved.tick().seconds()),
            None => resolved.run.pulse_period_s(),
        };
        if period.is_some_and(|period| period <= 0.0) {
            let reason = "`pulse_period` is longer than zero".into();
            return Err(RequestError::options(&["pulse_period"], reason).into());
        }
        let is_phasor = self.lifetime == Some(LifetimeMethod::Phasor);
        if self.harmonic.is_some() && !is_phasor || self.harmonic == Some(0) {
            let reason = "`harmonic` is one of a phasor, from 1 on; ask for `lifetime` phasor";
            return Err(RequestError::options(&["harmonic", "lifetime"], reason.into()).into());
        }
        if is_phasor && period.is_none() {
            let what = ": phasors are at a harmonic of the pulses, and the file states no period";
            return Err(RequestError::missing("pulse_period", what).into());
        }
        if is_phasor && self.irf == Some(ResponseAsked::Tail) {
            let reason = "phasors need the photons of the whole period; `irf` tail leaves some out";
            return Err(RequestError::options(&["irf", "lifetime"], reason.into()).into());
        }
        Ok(period)
    }

    /// Returns the response of the instrument that is asked for. A reference is no response: with it, one is found.
    fn response(
        &self,
        all: &[Resolved<'_, Query>],
        bins: &Bins,
        pooled: &Data,
    ) -> Result<ResponseOf, Error> {
        match ResponseSource::of(self.irf.as_ref(), self.irf_channel.as_ref())? {
            None | Some(ResponseSource::Found) => return Ok(ResponseOf::Auto),
            Some(ResponseSource::LeftOut) => return Ok(ResponseOf::Tail),
            Some(_) if self.reference_lifetime.is_some() => return Ok(ResponseOf::Auto),
            Some(ResponseSource::Text(_) | ResponseSource::Counted(..)) => {}
        }
        let response = match self.response_counts(all, bins, Vec::new())? {
            ResponseCounts::Text(path) => response_of(&response_of_text(path, pooled)?)?,
            ResponseCounts::Counted(answer) => counted_response(&answer, pooled)?,
        };
        Ok(ResponseOf::Measured(Box::new(response)))
    }

    /// Returns the counts of a measured response: those of a text, or of the channel that is asked for, else of `channels`, of a run.
    pub(super) fn response_counts(
        &self,
        all: &[Resolved<'_, Query>],
        bins: &Bins,
        channels: Vec<Channel>,
    ) -> Result<ResponseCounts<'_>, Error> {
        let (path, channel) =
            match ResponseSource::of(self.irf.as_ref(), self.irf_channel.as_ref())? {
                Some(ResponseSource::Text(path)) => return Ok(ResponseCounts::Text(path)),
                Some(ResponseSource::Counted(path, channel)) => (path, channel),
                None | Some(ResponseSource::Found | ResponseSource::LeftOut) => (None, None),
            };
        let channels = channel.map_or(channels, |channel| vec![channel.clone()]);
        let request = self.micro_times_of(bins, channels)?;
        let runs: Vec<_> = all.iter().map(|of| (of.run, of.context)).collect();
        let ask = |runs: &[(&Run, &QueryContext<'_>)]| Ok(kind::sum(&request, runs, None)?.0);
        Ok(ResponseCounts::Counted(Box::new(ask_response(path, &runs, ask)?)))
    }
}

/// The counts of a measured response.
pub(super) enum ResponseCounts<'a> {
    /// In a text file.
    Text(&'a Path),
    /// In an answer.
    Counted(Box<Answer>),
}

impl PixelLifetimes {
    /// Adds the columns, of the rows from `first` on.
    pub(super) fn add_to(&self, table: Table, (first, rows): (usize, usize)) -> Table {
        let of = |value: fn(&PixelLifetime) -> Option<f64>| {
            let pixels = Arc::clone(&self.pixels);
            Cells::made(rows, move |row| pixels.get(first + row).and_then(value))
        };
        let table = table
            .with(
                Column::floats("lifetime_s", of(|pixel| Some(pixel.lifetime?.tau)))
                    .heading("lifetime")
                    .unit(Unit::Seconds)
                    .err("lifetime_s_err"),
            )
            .with(Column::floats("lifetime_s_err", of(|pixel| Some(pixel.lifetime?.err))).hidden());
        match self.method {
            LifetimeMethod::Exp => {
                table.with(Column::floats("background", of(|pixel| pixel.background)))
            }
            LifetimeMethod::Phasor => table
                .with(
                    Column::floats("phasor_g", of(|pixel| Some(pixel.phasor?.g)))
                        .err("phasor_g_err"),
                )
                .with(Column::floats("phasor_g_err", of(|pixel| err(pixel, 0))).hidden())
                .with(
                    Column::floats("phasor_s", of(|pixel| Some(pixel.phasor?.s)))
                        .err("phasor_s_err"),
                )
                .with(Column::floats("phasor_s_err", of(|pixel| err(pixel, 1))).hidden())
                .with(
                    Column::floats(
                        "phasor_covariance",
                        of(|pixel| Some(pixel.phasor?.variances[2])),
                    )
                    .hidden(),
                ),
            LifetimeMethod::Auto | LifetimeMethod::Mean => table,
        }
    }

    /// Notes the method that was chosen, and why lifetimes may be wrong.
    fn note(&self, resolved: &Resolved<'_, Query>, of: &str, photons: &[u64], least: u64) {
        let note = |text: &str| resolved.context.progress.note(text);
        let typical = typical(photons);
        if typical < FEW && self.method != LifetimeMethod::Phasor {
            let larger = match of {
                "pixel" => "; larger pixels, as with `bin_pixels` 3, have more",
                _ => "",
            };
            let by = if self.method == LifetimeMethod::Mean {
                "by the mean arrival time"
            } else {
                "by likelihood"
            };
            note(&format!(
                "lifetimes {by}: half of the photons are in {of}s with at most {}{larger}",
                counted(typical, "photon")
            ));
        }
        if matches!(self.used.response, Some(ResponseUsed::Gaussian { .. }))
            && let Some(ratio) = self.used.deviance_ratio.filter(|ratio| *ratio > MISFIT)
        {
            note(&format!(
                "a Gaussian is not quite the response: the deviance of all pixels together is {ratio:.1} times the expected one. \
                 Lifetimes are off alike, by a part of its width; `irf` tail leaves the response out"
            ));
        }
        if let Some(after) = self.used.photons_after_period.filter(|after| *after > 0) {
            note(&format!(
                "{} later than a period of the pulses, and left out of lifetimes",
                counted(after, "photon")
            ));
        }
        let enough = photons.iter().filter(|&&photons| photons >= least).count();
        let with = self.pixels.iter().filter(|pixel| pixel.lifetime.is_some()).count();
        if enough > 0 && with < enough {
            note(&format!(
                "{} of {} with at least {} have no lifetime: none up to twice the period fits them",
                enough - with,
                counted(enough as u64, of),
                counted(least, "photon")
            ));
        }
    }
}

fn err(pixel: &PixelLifetime, of: usize) -> Option<f64> {
    Some(pixel.phasor?.variances[of].max(0.0).sqrt())
}

/// Returns the photons of the pixel in which half of all photons are reached, from the pixels with the fewest on.
fn typical(photons: &[u64]) -> u64 {
    let mut sorted = photons.to_vec();
    sorted.sort_unstable();
    let half = sorted.iter().sum::<u64>().div_ceil(2);
    let mut sum = 0;
    sorted
        .into_iter()
        .find(|photons| {
            sum += photons;
            sum >= half
        })
        .unwrap_or(0)
}

/// Returns the decay of all pixels together, in seconds, where a unit k is at k.
fn pooled<'a>((bins, unit): (&Bins, Tick), pixels: impl Iterator<Item = PixelCounts<'a>>) -> Data {
    let mut sums = vec![0_u64; bins.count()];
    for pixel in pixels {
        sums.iter_mut().zip(pixel.bins()).for_each(|(sum, more)| *sum += more);
    }
    let edge = |at: usize| unit.seconds_of(2 * i128::from(bins.edge(at)) - 1) / 2.0;
    let all = (0..bins.count()).map(|bin| Bin { from: edge(bin), to: edge(bin + 1) }).collect();
    let values = sums.into_iter().map(|sum| sum as f64).collect();
    Data { bins: all, values, noise: Noise::Poisson, exposure: None }
}

fn time(seconds: f64) -> String {
    in_words(seconds, seconds / 1e3)
}

impl ResponseUsed {
    fn words(&self) -> String {
        match *self {
            Self::Gaussian { centre_s, fwhm_s } => {
                format!("response found, a Gaussian of {} at {}", time(fwhm_s), time(centre_s))
            }
            Self::Tail { from_s, to_s } => {
                format!("photons from {} to {}", time(from_s), time(to_s))
            }
            Self::Measured { shift_s } => format!("response moved by {}", time(shift_s)),
            Self::Reference { lifetime_s, photons, .. } => {
                format!("response by a reference of {} with {photons:.0} photons", time(lifetime_s))
            }
        }
    }
}

fn words(
    method: LifetimeMethod,
    harmonic: u32,
    response: &str,
    period: Option<f64>,
    of_all: f64,
) -> String {
    let by = match method {
        LifetimeMethod::Mean => "from mean arrival times".to_owned(),
        LifetimeMethod::Phasor => format!("from the phase at harmonic {harmonic}"),
        LifetimeMethod::Auto | LifetimeMethod::Exp => "by likelihood".to_owned(),
    };
    let period = period.map_or(String::new(), |period| format!(", period {}", time(period)));
    format!("; lifetimes {by}, {response}{period}; {} of all together", time(of_all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_photons_are_in_pixels_with_no_more() {
        assert_eq!(typical(&[]), 0);
        assert_eq!(typical(&[0, 0, 7]), 7);
        // 1,000 photons in pixels with 10, and 900 in one.
        let mut photons = vec![10; 100];
        photons.push(900);
        assert_eq!(typical(&photons), 10);
        photons.push(200);
        assert_eq!(typical(&photons), 200);
    }
}
