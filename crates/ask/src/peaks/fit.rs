//! A maximum-likelihood fit of a Gaussian on a background of known shape.
//!
//! The width is corrected for the rounding of times to steps: a fitted standard deviation of 1 step gives a full width
//! at half maximum of 2.355·√(1 − 1/12) = 2.25 steps. The error of the number of pairs includes that of a background
//! that is measured beside the peak.

use tagq_fit::{Bin, Data, Estimate, Intervals, Noise, Settings, fit, models::PeakOver};

use super::counted::DifferenceCounts;

/// Full width at half maximum of a Gaussian, in standard deviations: 2·√(2 ln 2).
const FULL_WIDTH: f64 = 2.354_820_045;

/// The narrowest Gaussian in bins: a narrower one lies within one bin anyway.
const NARROWEST: f64 = 0.3;

/// A Gaussian with a smaller standard deviation, in steps, does not tell where in a step it is …
const SHARP: f64 = 0.7;
/// … but the mean of the tags in so many steps on either side does.
const ASIDE: usize = 4;
/// A peak is in a single step if that has this part of its tags.
const ALONE: f64 = 0.999;

/// Fit results in steps or ticks, with standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fitted {
    pub centre: f64,
    pub centre_err: f64,
    /// Full width at half maximum with its error; `None` if it is below a step.
    pub width: Option<(f64, f64)>,
    /// Tags of the peak above the background.
    pub net: f64,
    pub net_err: f64,
}

impl Fitted {
    /// Returns results in ticks for those in steps of so many ticks.
    pub(super) fn in_ticks(self, step: f64) -> Self {
        Self {
            centre: self.centre * step,
            centre_err: self.centre_err * step,
            width: self.width.map(|(width, err)| (width * step, err * step)),
            ..self
        }
    }
}

/// Net counts, centre, standard deviation, and the factor of the background shape.
type Terms = [f64; 4];

/// Knowledge of the background in each bin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Background<'a> {
    /// Equal in all bins; the value is a first estimate that the fit refines.
    Flat(f64),
    /// Means of counts over this number of equivalent places.
    Beside(&'a [f64], usize),
}

impl Background<'_> {
    pub(crate) fn at(&self, bin: usize) -> f64 {
        match *self {
            // For few pairs.
            Self::Flat(mean) => mean.max(f64::MIN_POSITIVE),
            Self::Beside(means, places) => means[bin].max(0.5 / places as f64),
        }
    }
}

/// Returns the mean of a peak over a background, and its standard error. If most tags of a peak are in one or two
/// steps, it is their mean that is at the true difference, whatever the part of a step that this is.
fn mean(counted: &DifferenceCounts, background: Background<'_>, near: f64) -> Option<(f64, f64)> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bin")]
    let at = (near.round() - counted.low as f64).max(0.0) as usize;
    let bins = at.saturating_sub(ASIDE)..(at + ASIDE + 1).min(counted.counts.len());
    let (mut net, mut first, mut variance, mut most) = (0.0, 0.0, 0.0, 0.0_f64);
    for bin in bins.clone() {
        let above = counted.counts[bin] as f64 - background.at(bin);
        most = most.max(above);
        net += above;
        first += above * counted.middle(bin, 1);
    }
    let mean = first / net;
    for bin in bins {
        variance += counted.counts[bin] as f64 * (counted.middle(bin, 1) - mean).powi(2);
    }
    // In a single step, the place within it is not known.
    let err = if most > ALONE * net { 12_f64.sqrt().recip() } else { variance.sqrt() / net };
    (net > 0.0).then_some((mean, err))
}

/// Fits a Gaussian to bins over a background: few bins, which takes no time that is worth a stop. Returns `None` if there is nothing to fit.
pub(crate) fn gaussian(
    counted: &DifferenceCounts,
    background: Background<'_>,
    start: Terms,
) -> Option<Fitted> {
    let width = counted.width as f64;
    // Bins hold whole steps.
    let edge = |bin: usize| counted.low as f64 + bin as f64 * width - 0.5;
    let bins = 0..counted.counts.len();
    let data = Data {
        bins: bins.clone().map(|bin| Bin { from: edge(bin), to: edge(bin + 1) }).collect(),
        values: counted.counts.iter().map(|&count| count as f64).collect(),
        noise: Noise::Poisson,
        exposure: None,
    };
    let [net, near, about, factor] = start;
    let narrowest = NARROWEST * width;
    // A window finds a peak within its own width, and none that is much wider.
    let model = PeakOver {
        shape: bins.map(|bin| background.at(bin)).collect(),
        start: [net.max(1e-3), near, about.max(narrowest), factor.max(1e-9)],
        bounds: [
            (3.0f64.mul_add(-about, near), 3.0f64.mul_add(about, near)),
            (narrowest, (4.0 * about).max(width)),
        ],
    };
    let mut settings = Settings { intervals: Intervals::Never, ..Settings::default() };
    if matches!(background, Background::Beside(..)) {
        // Neighbouring pulses have the same shape as the peak, so their counts alone determine the
        // background factor.
        settings.fixed.push(("background".into(), factor));
    }
    let mut fitted = fit(&model, &data, &settings, &|| false).ok()?;
    let is_narrow = fitted.get("sigma")?.value <= narrowest * 1.01;
    if is_narrow {
        // The width is held fixed if it does not affect the counts.
        settings.fixed.push(("sigma".into(), fitted.get("sigma")?.value));
        fitted = fit(&model, &data, &settings, &|| false).ok()?;
    }
    let [net, centre, sigma, _] = &fitted.parameters[..] else { return None };
    // Zero for a value at a bound.
    let err = |of: &Estimate| if of.is_at_bound || of.is_fixed { Some(0.0) } else { of.err };
    let (net_err, centre_err, sigma_err) = (err(net)?, err(centre)?, err(sigma)?);
    let sigma = sigma.value;
    // Both times of a difference are rounded to steps, 1/12 step² each; a bin of one step accounts for
    // one of the two.
    let light = sigma * sigma - 1.0 / 12.0;
    // The background places have noise, too.
    let beside = match background {
        Background::Flat(_) => 0.0,
        Background::Beside(means, places) => means.iter().sum::<f64>() / places as f64,
    };
    let mut place = (centre.value, centre_err);
    if counted.width == 1 && sigma < SHARP {
        place = mean(counted, background, centre.value).unwrap_or(place);
    }
    Some(Fitted {
        centre: place.0,
        centre_err: place.1,
        width: (!is_narrow && light > 0.0).then(|| {
            let light = light.sqrt();
            // With few tags the error of the width is a factor, not a sum: this is the larger of the
            // two sides.
            let factor = sigma_err * sigma / (light * light);
            (FULL_WIDTH * light, FULL_WIDTH * light * libm::expm1(factor.min(1.0)))
        }),
        net: net.value,
        net_err: libm::hypot(net_err, beside.sqrt()),
    })
}
