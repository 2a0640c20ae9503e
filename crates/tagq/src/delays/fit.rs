//! A maximum-likelihood fit of a Gaussian on a background of known shape.

use libm::erf;

use super::counted::Counted;

/// Full width at half maximum of a Gaussian, in standard deviations: 2·√(2 ln 2).
const FULL_WIDTH: f64 = 2.354_820_045;
/// Maximum number of iterations of the fit.
const ROUNDS: usize = 200;
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
    let form: Vec<f64> = (0..counted.counts.len()).map(|bin| background.at(bin)).collect();
    // Neighbouring pulses have the same shape as the peak, so their counts alone determine the
    // background factor.
    let is_known = matches!(background, Background::Beside(..));
    let of = |terms| {
        let (value, mut slope, mut information) = likelihood(counted, &form, terms);
        if is_known {
            hold(&mut slope, &mut information, 3);
        }
        (value, slope, information)
    };
    let width = counted.width as f64;
    let [_, near, about, _] = start;
    // A window finds a peak within its own width, and none that is much wider.
    let bounded = |[net, centre, sigma, factor]: Terms| {
        let centre = centre.clamp(near - 3.0 * about, near + 3.0 * about);
        let sigma = sigma.clamp(NARROWEST * width, (4.0 * about).max(width));
        [net.max(1e-3), centre, sigma, factor.max(1e-9)]
    };
    let mut terms = bounded(start);
    let (mut best, mut slope, mut information) = of(terms);
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let mut damped = information;
        for (at, row) in damped.iter_mut().enumerate() {
            row[at] *= 1.0 + damping;
        }
        let Some(step) = inverse(damped).map(|inverse| times(inverse, slope)) else { break };
        let next = bounded(std::array::from_fn(|at| terms[at] + step[at]));
        let (value, next_slope, next_information) = of(next);
        if value.is_finite() && value >= best {
            let gain = value - best;
            (terms, best, slope, information) = (next, value, next_slope, next_information);
            damping = (damping / 4.0).max(1e-9);
            if gain < 1e-9 {
                break;
            }
        } else {
            damping *= 8.0;
            if damping > 1e9 {
                break;
            }
        }
    }
    let [net, centre, sigma, _] = terms;
    let is_narrow = sigma <= NARROWEST * width * 1.01;
    if is_narrow {
        // The width is held fixed if it does not affect the counts.
        hold(&mut slope, &mut information, 2);
    }
    let errors = inverse(information)?;
    let err = |at: usize| errors[at][at].max(0.0).sqrt();
    // Both times of a difference are rounded to ticks, 1/12 tick² each; a bin of one tick accounts for
    // one of the two.
    let light = sigma * sigma - 1.0 / 12.0;
    // The background places have noise, too.
    let beside = match background {
        Background::Flat(_) => 0.0,
        Background::Beside(means, places) => means.iter().sum::<f64>() / places as f64,
    };
    let is_there = [net, centre, err(0), err(1), err(2)].iter().all(|value| value.is_finite());
    is_there.then(|| Fitted {
        centre,
        centre_err: err(1),
        width: (!is_narrow && light > 0.0).then(|| {
            let light = light.sqrt();
            // With few tags the error of the width is a factor, not a sum: this is the larger of the
            // two sides.
            let factor = err(2) * sigma / (light * light);
            (FULL_WIDTH * light, FULL_WIDTH * light * factor.min(1.0).exp_m1())
        }),
        net,
        net_err: err(0).hypot(beside.sqrt()),
    })
}

/// Returns the logarithm of the likelihood, its gradient and the Fisher information.
fn likelihood(counted: &Counted, form: &[f64], terms: Terms) -> (f64, Terms, [Terms; 4]) {
    let [net, centre, sigma, factor] = terms;
    // Distribution (minus one half), density and its moment at the lower edge of a bin. Bins hold whole
    // ticks.
    let edge = |at: usize| {
        let edge = counted.low as f64 + at as f64 * counted.width as f64 - 0.5;
        let z = (edge - centre) / sigma;
        let density = (-z * z / 2.0).exp() / (std::f64::consts::TAU.sqrt() * sigma);
        [erf(z * std::f64::consts::FRAC_1_SQRT_2) / 2.0, density, z * density]
    };
    let (mut value, mut slope, mut information) = (0.0, [0.0; 4], [[0.0; 4]; 4]);
    let mut before = edge(0);
    for (at, (&count, &form)) in counted.counts.iter().zip(form).enumerate() {
        let behind = edge(at + 1);
        let held: [f64; 3] = std::array::from_fn(|of| behind[of] - before[of]);
        before = behind;
        let expected = (net * held[0] + factor * form).max(1e-12);
        let by = [held[0], -net * held[1], -net * held[2], form];
        let count = count as f64;
        value += count * expected.ln() - expected;
        for row in 0..4 {
            slope[row] += (count / expected - 1.0) * by[row];
            for column in 0..4 {
                information[row][column] += by[row] * by[column] / expected;
            }
        }
    }
    (value, slope, information)
}

/// Holds one of the terms fixed.
fn hold(slope: &mut Terms, information: &mut [Terms; 4], term: usize) {
    slope[term] = 0.0;
    for row in information.iter_mut() {
        row[term] = 0.0;
    }
    information[term] = [0.0; 4];
    information[term][term] = 1.0;
}

fn times(matrix: [Terms; 4], vector: Terms) -> Terms {
    matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

/// Inverts by elimination; returns `None` for a singular matrix.
fn inverse(mut matrix: [Terms; 4]) -> Option<[Terms; 4]> {
    let mut inverse: [Terms; 4] =
        std::array::from_fn(|row| std::array::from_fn(|column| f64::from(row == column)));
    for at in 0..4 {
        let pivot = (at..4).max_by(|&a, &b| matrix[a][at].abs().total_cmp(&matrix[b][at].abs()))?;
        matrix.swap(at, pivot);
        inverse.swap(at, pivot);
        let by = matrix[at][at];
        if by.abs() < f64::MIN_POSITIVE || !by.is_finite() {
            return None;
        }
        for column in 0..4 {
            matrix[at][column] /= by;
            inverse[at][column] /= by;
        }
        for row in (0..4).filter(|&row| row != at) {
            let by = matrix[row][at];
            for column in 0..4 {
                matrix[row][column] -= by * matrix[at][column];
                inverse[row][column] -= by * inverse[at][column];
            }
        }
    }
    Some(inverse)
}
