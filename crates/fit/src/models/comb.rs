//! The peaks of pulsed light, which may overlap.
//!
//! Equal heights of 2 on a background of 0.3 have the mean 2.3 over a period, whatever the shape: a height is the
//! area of a peak over a period. Predictions are linear in heights and background.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use crate::{
    data::{Bin, Data},
    error::Error,
    model::{Derived, Model, Parameter, Quantity},
    special::log_erfc,
};

/// A peak has no pairs beyond this many lifetimes, and its jitter ends after this many standard deviations.
const LIFETIMES: f64 = 30.0;
const DEVIATIONS: f64 = 8.0;
/// The longest lifetime, in periods. The sum of longer peaks is flat.
const TAU_MAX: f64 = 2.0;
/// The shortest lifetime and the least jitter, in periods, and the largest jitter.
const SHORT: f64 = 1e-3;
const JITTER_MAX: f64 = 0.25;
/// Places in a period at which the lowest and the highest value are looked for.
const PLACES: u32 = 24;
/// Where searches begin: the lifetime and the jitter in periods.
const STARTS: [(f64, f64); 4] = [(0.03, 0.01), (0.1, 0.02), (0.3, 0.02), (0.02, 0.1)];

/// The shape of a peak, before jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeakShape {
    /// exp(−|t|/τ): both photons are of emission with the lifetime τ.
    TwoSided,
    /// A rise with τ_before and a fall with τ_after: the photons of the two channels have different lifetimes. One of
    /// them may be short.
    Sides,
    /// Two lifetimes: f·exp(−|t|/τ_1)/τ_1 + (1 − f)·exp(−|t|/τ_2)/τ_2.
    TwoLifetimes,
}

/// g2 of pulsed light: peaks of one shape at multiples of the period, each with a height, on a level.
///
/// Parameters: `background`, the level between the peaks if they did not overlap; `tau`, or `tau_before` and
/// `tau_after`, or `tau_1`, `tau_2` and `fraction_1`; `jitter`, the standard deviation of a difference; `centre`,
/// that of the peak at zero; and for each peak `height_J`, its area over a period. All peaks further away are as high
/// as the last one on their side. Of one peak `valley` and `between` are derived: the lowest value of the sum of
/// equal peaks, over its highest value and over its mean; of several, `height`, the mean height of the side peaks,
/// and `g2_J`, each height over that mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comb {
    /// The shape of all peaks.
    pub shape: PeakShape,
    /// The period.
    pub period: f64,
    /// The peaks on each side of zero.
    pub aside: u32,
    /// The peaks next to zero, on each side, that are not among the side peaks.
    pub skip: u32,
}

/// A part of a shape: its weight, and the lifetimes before and after its centre.
type Component = (f64, f64, f64);

impl Comb {
    /// Returns the number of parameters of the shape, with the background.
    fn fixed(&self) -> usize {
        match self.shape {
            PeakShape::TwoSided => 4,
            PeakShape::Sides => 5,
            PeakShape::TwoLifetimes => 6,
        }
    }

    fn numbers(&self) -> impl Iterator<Item = i64> {
        let aside = i64::from(self.aside);
        -aside..=aside
    }

    fn parts(&self, parameters: &[f64]) -> ([Component; 2], f64, f64) {
        let none = (0.0, 1.0, 1.0);
        let parts = match (self.shape, parameters) {
            (PeakShape::TwoSided, &[_, tau, ..]) => [(1.0, tau, tau), none],
            (PeakShape::Sides, &[_, before, after, ..]) => [(1.0, before, after), none],
            (PeakShape::TwoLifetimes, &[_, one, other, part, ..]) => {
                [(part, one, one), (1.0 - part, other, other)]
            }
            _ => [none; 2],
        };
        let end = self.fixed();
        (parts, parameters[end - 2], parameters[end - 1])
    }

    /// Adds peaks with these heights, from the one with the number `first` on, to `values`, the means over the bins.
    fn add(
        &self,
        parameters: &[f64],
        bins: &[Bin],
        (first, heights): (i64, &[f64]),
        values: &mut [f64],
    ) {
        let (parts, jitter, centre) = self.parts(parameters);
        let from = (first as f64).mul_add(self.period, centre);
        let parts = parts.into_iter().filter(|part| part.0 != 0.0);
        let sums: Vec<Sum<'_>> =
            parts.map(|part| Sum::new(part, jitter, (from, self.period), heights)).collect();
        let sum = |at: f64| sums.iter().map(|sum| sum.before(at)).sum::<f64>();
        let mut last: Option<(f64, f64)> = None;
        for (value, bin) in values.iter_mut().zip(bins) {
            let known = last.filter(|(at, _)| at.total_cmp(&bin.from).is_eq());
            let from = known.map_or_else(|| sum(bin.from), |(_, sum)| sum);
            let to = sum(bin.to);
            *value += self.period / bin.width() * (to - from);
            last = Some((bin.to, to));
        }
    }

    /// Returns the peaks that reach into the bins: beyond those with heights, others follow.
    fn reaching(&self, parameters: &[f64]) -> (i64, i64) {
        let (parts, jitter, _) = self.parts(parameters);
        let longest = parts.iter().map(|part| part.1.max(part.2)).fold(0.0, f64::max);
        let reach = LIFETIMES.mul_add(longest, DEVIATIONS * jitter) / self.period;
        #[expect(clippy::cast_possible_truncation, reason = "at most a hundred")]
        let more = reach.ceil() as i64 + 2;
        let aside = i64::from(self.aside);
        (-aside - more, aside + more)
    }

    /// Returns the lowest and the highest value of the sum of equal peaks, whose mean is 1.
    fn extremes(&self, parameters: &[f64]) -> (f64, f64) {
        let width = self.period / f64::from(PLACES);
        let places = (0..PLACES).map(|place| {
            let from = (f64::from(place) - 0.5).mul_add(width, self.parts(parameters).2);
            Bin { from, to: from + width }
        });
        let bins: Vec<Bin> = places.collect();
        let mut values = vec![0.0; bins.len()];
        let one = Self { aside: 0, ..*self };
        let (first, last) = one.reaching(parameters);
        let heights: Vec<f64> = (first..=last).map(|_| 1.0).collect();
        one.add(parameters, &bins, (first, &heights), &mut values);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (low, values.iter().copied().fold(0.0, f64::max))
    }
}

impl Model for Comb {
    fn parameters(&self, data: &Data) -> Vec<Parameter> {
        let period = self.period;
        let mean = data.ratios().map(|(_, value)| value).sum::<f64>() / data.bins.len() as f64;
        let tau = |name: &str| {
            let tau = Parameter::new(name, Quantity::Place, period / 10.0);
            tau.between(SHORT * period, TAU_MAX * period)
        };
        let background = Parameter::new("background", Quantity::Ratio, mean);
        // Of several peaks, heights and the background may be below zero, so that their errors are symmetric.
        let mut parameters = vec![if self.aside == 0 { background.positive() } else { background }];
        match self.shape {
            PeakShape::TwoSided => parameters.push(tau("tau")),
            PeakShape::Sides => parameters.extend(["tau_before", "tau_after"].map(tau)),
            PeakShape::TwoLifetimes => {
                parameters.extend(["tau_1", "tau_2"].map(tau));
                let part = Parameter::new("fraction_1", Quantity::Ratio, 0.5);
                parameters.push(part.between(0.0, 1.0));
            }
        }
        let jitter = Parameter::new("jitter", Quantity::Place, period / 50.0);
        parameters.push(jitter.between(SHORT * period, JITTER_MAX * period));
        let centre = Parameter::new("centre", Quantity::Place, period / 50.0);
        parameters.push(centre.between(-period / 2.0, period / 2.0));
        let height = |number: i64| {
            Parameter::new(format!("height_{number}"), Quantity::Ratio, mean.max(1e-3))
        };
        parameters.extend(self.numbers().map(height));
        parameters
    }

    fn starts(&self, data: &Data) -> Vec<Vec<f64>> {
        let period = self.period;
        let (mut low, mut high, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
        let (mut sine, mut cosine) = (0.0, 0.0);
        let mut count = 0_u32;
        for (bin, value) in data.ratios() {
            (low, high) = (low.min(value), high.max(value));
            let (sin, cos) = libm::sincos(TAU * bin.middle() / period);
            (sine, cosine) = (sine + value * sin, cosine + value * cos);
            sum += value;
            count += 1;
        }
        let mean = sum / f64::from(count.max(1));
        let centre = libm::atan2(sine, cosine) / TAU * period;
        let start = |&(tau, jitter): &(f64, f64)| {
            let shapes: Vec<Vec<f64>> = match self.shape {
                PeakShape::TwoSided => vec![vec![tau]],
                PeakShape::Sides => vec![vec![tau, tau / 10.0], vec![tau / 10.0, tau]],
                PeakShape::TwoLifetimes => vec![vec![3.0 * tau, tau, 0.2]],
            };
            let with = |shape: Vec<f64>| {
                let times = match self.shape {
                    PeakShape::TwoLifetimes => 2,
                    PeakShape::TwoSided | PeakShape::Sides => shape.len(),
                };
                let scaled = shape.iter().enumerate();
                let scaled = scaled.map(|(at, of)| if at < times { of * period } else { *of });
                let mut values = vec![0.0];
                values.extend(scaled);
                values.extend([jitter * period, centre]);
                values.resize(self.fixed() + self.numbers().count(), 0.0);
                let (least, most) = self.extremes(&values);
                let height = ((high - low) / (most - least).max(1e-6)).min(1.5 * mean);
                values[0] = (mean - height).max(0.02 * mean);
                values[self.fixed()..].fill(height);
                values
            };
            shapes.into_iter().map(with).collect::<Vec<_>>()
        };
        STARTS.iter().flat_map(start).collect()
    }

    fn predict(&self, parameters: &[f64], bins: &[Bin], values: &mut [f64]) -> Result<(), Error> {
        let of_peaks = &parameters[self.fixed()..];
        let first = -i64::from(self.aside);
        let height = |number: i64| {
            let at = usize::try_from(number - first).unwrap_or(0);
            of_peaks[at.min(of_peaks.len() - 1)]
        };
        values.fill(parameters[0]);
        let (from, to) = self.reaching(parameters);
        let heights: Vec<f64> = (from..=to).map(height).collect();
        self.add(parameters, bins, (from, &heights), values);
        Ok(())
    }

    fn slope(&self, parameters: &[f64], of: usize, bins: &[Bin]) -> Option<Vec<f64>> {
        // Predictions are linear in heights.
        let number = i64::try_from(of.checked_sub(self.fixed())?).ok()? - i64::from(self.aside);
        let (first, last) = self.reaching(parameters);
        let aside = i64::from(self.aside);
        let from = if number == -aside { first } else { number };
        let to = if number == aside { last } else { number };
        let mut values = vec![0.0; bins.len()];
        let heights: Vec<f64> = (from..=to).map(|_| 1.0).collect();
        self.add(parameters, bins, (from, &heights), &mut values);
        Some(values)
    }

    fn derived(&self, parameters: &[f64]) -> Vec<Derived> {
        if self.aside == 0 {
            let (low, high) = self.extremes(parameters);
            let of = |name: &str, value: f64| Derived {
                name: name.into(),
                quantity: Quantity::Ratio,
                value,
            };
            return vec![of("valley", low / high), of("between", low)];
        }
        let heights = || self.numbers().zip(&parameters[self.fixed()..]);
        let is_side = |number: i64| number.unsigned_abs() > u64::from(self.skip);
        let sides = heights().filter(|(number, _)| is_side(*number));
        let (sum, count) =
            sides.fold((0.0, 0_u32), |(sum, count), (_, height)| (sum + height, count + 1));
        let mean = sum / f64::from(count);
        let of = |name: String, value: f64| Derived { name, quantity: Quantity::Ratio, value };
        let each = heights().map(|(number, height)| of(format!("g2_{number}"), height / mean));
        std::iter::once(of("height".into(), mean)).chain(each).collect()
    }

    fn arrange(&self, parameters: &mut [f64], _: &Data) {
        if self.shape == PeakShape::TwoLifetimes && parameters[2] > parameters[1] {
            parameters.swap(1, 2);
            parameters[3] = 1.0 - parameters[3];
        }
    }
}

/// The sum of peaks of one shape at multiples of a period.
struct Sum<'a> {
    part: Component,
    jitter: f64,
    /// The place of the first peak, and the period.
    at: (f64, f64),
    heights: &'a [f64],
    /// Within this, before and after its centre, a peak is no exponential.
    near: [f64; 2],
    /// The heights of all peaks up to each one, and the same with exponentials that have their centre there.
    sums: Vec<f64>,
    falling: Vec<f64>,
    rising: Vec<f64>,
}

impl<'a> Sum<'a> {
    fn new(part: Component, jitter: f64, at: (f64, f64), heights: &'a [f64]) -> Self {
        let (_, before, after) = part;
        let [rise, fall] = [before, after].map(|tau| libm::exp(-at.1 / tau));
        let carried = |by: f64, sum: &mut f64, height: &f64| {
            *sum = sum.mul_add(by, *height);
            Some(*sum)
        };
        let sums = heights.iter().scan(0.0, |sum, height| {
            *sum += height;
            Some(*sum)
        });
        let falling = heights.iter().scan(0.0, |sum, height| carried(fall, sum, height));
        let mut rising: Vec<f64> =
            heights.iter().rev().scan(0.0, |sum, height| carried(rise, sum, height)).collect();
        rising.reverse();
        let near = [before, after].map(|tau| {
            let exponential = jitter * (DEVIATIONS + jitter / tau);
            exponential.min(LIFETIMES.mul_add(tau, DEVIATIONS * jitter))
        });
        let (sums, falling) = (sums.collect(), falling.collect());
        Self { part, jitter, at, heights, near, sums, falling, rising }
    }

    /// Returns the weighted heights before a place.
    fn before(&self, place: f64) -> f64 {
        let (weight, before, after) = self.part;
        let (first, period) = self.at;
        let middle = |peak: usize| (peak as f64).mul_add(period, first);
        let number = |place: f64| (place - first) / period;
        let peaks = self.heights.len() as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a peak")]
        let [past, next] = [
            (number(place - self.near[1]).floor() + 1.0).clamp(0.0, peaks) as usize,
            number(place + self.near[0]).ceil().clamp(0.0, peaks) as usize,
        ];
        let mut sum = 0.0;
        if let Some(peak) = past.checked_sub(1) {
            let left = tail(place - middle(peak), after, before, self.jitter) * self.falling[peak];
            sum += self.sums[peak] - left;
        }
        for peak in past..next {
            sum += self.heights[peak] * below(place - middle(peak), before, after, self.jitter);
        }
        if next < self.heights.len() {
            sum += tail(middle(next) - place, before, after, self.jitter) * self.rising[next];
        }
        weight * sum
    }
}

/// Returns the share of a peak of area 1 before a place.
fn below(at: f64, before: f64, after: f64, jitter: f64) -> f64 {
    if at >= 0.0 {
        1.0 - beyond(at, after, before, jitter)
    } else {
        beyond(-at, before, after, jitter)
    }
}

/// Returns the share that is further than `at` on the side with the lifetime `tau`.
fn beyond(at: f64, tau: f64, other: f64, jitter: f64) -> f64 {
    let spread = jitter / tau;
    let (place, across) = (at / jitter, jitter / other);
    // exp(s²/2 ∓ t/τ)·erfc((s ∓ z)/√2), by its logarithm, because one factor may overflow.
    let falling = spread * spread / 2.0 - at / tau + log_erfc((spread - place) * FRAC_1_SQRT_2);
    let rising = across * across / 2.0 + at / other + log_erfc((across + place) * FRAC_1_SQRT_2);
    let exponentials = tau * libm::exp(falling) - other * libm::exp(rising);
    f64::midpoint(libm::erfc(place * FRAC_1_SQRT_2), exponentials / (tau + other))
}

/// Returns the same, far from the centre, where it is an exponential or nothing.
fn tail(at: f64, tau: f64, other: f64, jitter: f64) -> f64 {
    let spread = jitter / tau;
    let exponent = spread * spread / 2.0 - at / tau;
    // A lifetime far below the jitter leaves a Gaussian.
    if spread * jitter > LIFETIMES * tau { 0.0 } else { tau / (tau + other) * libm::exp(exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_sum_of_its_density() {
        for (before, after, jitter) in [(1.0, 1.0, 0.3), (0.1, 2.0, 0.5), (3.0, 0.02, 0.1)] {
            let density = |t: f64| {
                let mut sum = 0.0;
                for step in -4000..=4000 {
                    let shift = f64::from(step) * 0.002 * jitter;
                    let u = t - shift;
                    let of = if u < 0.0 { (u / before).exp() } else { (-u / after).exp() };
                    let gauss = (-shift * shift / (2.0 * jitter * jitter)).exp();
                    sum += of / (before + after) * gauss * 0.002 / TAU.sqrt();
                }
                sum
            };
            for (from, to) in [(-1.3, -0.2), (-0.1, 0.2), (0.4, 3.0), (5.0, 9.0)] {
                let steps = 400;
                let width: f64 = (to - from) / f64::from(steps);
                let sum: f64 = (0..steps)
                    .map(|step| density((f64::from(step) + 0.5).mul_add(width, from)) * width)
                    .sum();
                let share = |at| below(at, before, after, jitter);
                let exact = share(to) - share(from);
                assert!(
                    (exact - sum).abs() < 1e-3 * sum.max(1e-3),
                    "{before} {after} {from}: {exact} {sum}"
                );
            }
        }
    }

    #[test]
    fn equal_peaks_have_the_mean_of_their_height_over_a_period() {
        for shape in [PeakShape::TwoSided, PeakShape::Sides, PeakShape::TwoLifetimes] {
            let comb = Comb { shape, period: 12.5, aside: 2, skip: 0 };
            let mut values = match shape {
                PeakShape::TwoSided => vec![0.3, 6.0],
                PeakShape::Sides => vec![0.3, 0.1, 5.0],
                PeakShape::TwoLifetimes => vec![0.3, 6.0, 0.4, 0.7],
            };
            values.extend([0.4, 0.2]);
            values.extend([2.0; 5]);
            let bins: Vec<Bin> = (-50..50)
                .map(|at| Bin { from: f64::from(at) * 0.125, to: f64::from(at + 1) * 0.125 })
                .collect();
            let mut means = vec![0.0; bins.len()];
            comb.predict(&values, &bins, &mut means).unwrap();
            let mean = means.iter().sum::<f64>() / 100.0;
            assert!((mean - 2.3).abs() < 1e-9, "{shape:?}: {mean}");
            // Slopes of heights are exact.
            for of in comb.fixed()..values.len() {
                let slope = comb.slope(&values, of, &bins).unwrap();
                let mut more = values.clone();
                more[of] += 1.0;
                let mut changed = vec![0.0; bins.len()];
                comb.predict(&more, &bins, &mut changed).unwrap();
                for ((one, other), slope) in means.iter().zip(&changed).zip(slope) {
                    assert!((other - one - slope).abs() < 1e-9);
                }
            }
        }
    }
}
