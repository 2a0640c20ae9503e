//! A maximum-likelihood fit of a Gaussian on a background of known shape.

use tagq_fit::{Bin, Data, Estimate, Noise, Settings, fit, models::PeakOver};

use super::counted::Counted;

/// Full width at half maximum of a Gaussian, in standard deviations: 2·√(2 ln 2).
const FULL_WIDTH: f64 = 2.354_820_045;

/// The narrowest Gaussian in bins: a narrower one lies within one bin anyway.
const NARROWEST: f64 = 0.3;

/// Fit results in ticks, with standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fitted {
    pub centre: f64,
    pub centre_err: f64,
    /// Full width at half maximum with its error; `None` if it is below a tick.
    pub width: Option<(f64, f64)>,
    /// Tags of the peak above the background.
    pub net: f64,
    pub net_err: f64,
}

/// Net counts, centre, standard deviation, and the factor of the background shape.
type Terms = [f64; 4];

/// Knowledge of the background in each bin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Background<'a> {
    /// Equal in all bins; the value is a first estimate that the fit refines.
    Flat(f64),
    /// Means of counts over this number of equivalent places.
    Beside(&'a [f64], usize),
}

impl Background<'_> {
    pub(super) fn at(&self, bin: usize) -> f64 {
        match *self {
            // For few pairs.
            Self::Flat(mean) => mean.max(f64::MIN_POSITIVE),
            Self::Beside(means, places) => means[bin].max(0.5 / places as f64),
        }
    }
}

/// Fits a Gaussian to bins over a background. Returns `None` if there is nothing to fit.
pub(super) fn gaussian(
    counted: &Counted,
    background: Background<'_>,
    start: Terms,
) -> Option<Fitted> {
    let width = counted.width as f64;
    // Bins hold whole ticks.
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
    let mut settings = Settings::default();
    if matches!(background, Background::Beside(..)) {
        // Neighbouring pulses have the same shape as the peak, so their counts alone determine the
        // background factor.
        settings.fixed.push(("background".into(), factor));
    }
    let mut fitted = fit(&model, &data, &settings).ok()?;
    let is_narrow = fitted.get("sigma")?.value <= narrowest * 1.01;
    if is_narrow {
        // The width is held fixed if it does not affect the counts.
        settings.fixed.push(("sigma".into(), fitted.get("sigma")?.value));
        fitted = fit(&model, &data, &settings).ok()?;
    }
    let [net, centre, sigma, _] = &fitted.parameters[..] else { return None };
    // Zero for a value at a bound.
    let err = |of: &Estimate| if of.is_at_bound || of.is_fixed { Some(0.0) } else { of.err };
    let (net_err, centre_err, sigma_err) = (err(net)?, err(centre)?, err(sigma)?);
    let sigma = sigma.value;
    // Both times of a difference are rounded to ticks, 1/12 tick² each; a bin of one tick accounts for
    // one of the two.
    let light = sigma * sigma - 1.0 / 12.0;
    // The background places have noise, too.
    let beside = match background {
        Background::Flat(_) => 0.0,
        Background::Beside(means, places) => means.iter().sum::<f64>() / places as f64,
    };
    Some(Fitted {
        centre: centre.value,
        centre_err,
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
