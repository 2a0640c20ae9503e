//! Phasors of decays, calibrated by the response.
//!
//! At the angular frequency ω an exponential with the lifetime τ has g = 1/(1 + ω²τ²) and s = ωτ/(1 + ω²τ²), a point
//! of the universal semicircle: with ωτ = 1 both are a half. Those of mixtures lie on the chord between them.

use std::f64::consts::TAU;

use super::{
    estimator::{FEW, Lifetime, Lifetimes},
    shapes::Shapes,
};

/// Finds phasors of decays at one harmonic of the pulses.
#[derive(Debug)]
pub struct Phasors<'a> {
    shapes: &'a Shapes,
    /// The angular frequency.
    pub(super) omega: f64,
    /// For each bin the cosine and the sine of the angle of its middle, and those of twice the angle.
    waves: Vec<[Complex; 2]>,
    /// The expected photons of the background, and their variance.
    pub(super) background: f64,
    pub(super) background_variance: f64,
    /// The phasors of one photon of the background.
    flat: [Complex; 2],
    /// The phasors of one photon of all decays together.
    all: [Complex; 2],
    /// One over the phasor of the response.
    pub(super) calibration: Complex,
}

/// The real and the imaginary part of a number.
pub(super) type Complex = [f64; 2];

/// A phasor, calibrated by the response, without background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phasor {
    /// The real part.
    pub g: f64,
    /// The imaginary part.
    pub s: f64,
    /// The variances of both and their covariance.
    pub variances: [f64; 3],
}

impl Lifetimes {
    /// Returns what finds phasors at a harmonic of the pulses; `None` without their period.
    #[must_use]
    pub fn phasors(&self, harmonic: u32) -> Option<Phasors<'_>> {
        let Self { shapes, background, background_err, all, .. } = self;
        let omega = TAU * f64::from(harmonic) / shapes.period?;
        let wave = |angle: f64| {
            let (sin, cos) = libm::sincos(angle);
            [cos, sin]
        };
        let waves: Vec<[Complex; 2]> =
            shapes.times.iter().map(|time| [1.0, 2.0].map(|of| wave(of * omega * time))).collect();
        let (log, bins) = (libm::log(all.tau), waves.len());
        let flat = summed(&waves, |_| 1.0 / bins as f64);
        let of_all = summed(&waves, |bin| shapes.shares(log).share(bin));
        // The response is the phasor of an exponential over the one that it would have without it.
        let calibration = quotient(on_semicircle(omega * all.tau), of_all[0]);
        let (background, background_err) = (*background, *background_err);
        Some(Phasors {
            shapes,
            omega,
            waves,
            background,
            background_variance: background_err * background_err,
            flat,
            all: of_all,
            calibration,
        })
    }
}

impl Phasors<'_> {
    /// Returns the same, calibrated by the phasor of the response in place of the one that was found.
    #[must_use]
    pub fn by_response(self, response: &Phasor) -> Self {
        Self { calibration: quotient([1.0, 0.0], [response.g, response.s]), ..self }
    }

    /// Returns the phasor of a decay, whose photons are at the middles of their bins, and whose background is this part of
    /// that of a whole decay; `None` if there are no more photons than background.
    ///
    /// The variances are those of n photons, ((1 + g₂)/2 − g²)/n, ((1 − g₂)/2 − s²)/n and (s₂/2 − g·s)/n before the
    /// calibration, with the phasor g₂, s₂ at twice the frequency: of the photons of the decay, or of fewer than
    /// [`FEW`] those of all decays together.
    #[must_use]
    pub fn of(&self, counts: &[f64], part: f64) -> Option<Phasor> {
        let Self { shapes, waves, flat, all, calibration, .. } = self;
        let background = self.background * part;
        let photons: f64 = shapes.places.iter().map(|&place| counts[place]).sum();
        let net = photons - background;
        if net <= 0.0 {
            return None;
        }
        let measured = summed(waves, |bin| counts[shapes.places[bin]]);
        let at = [0, 1].map(|part| (measured[0][part] - background * flat[0][part]) / net);
        let (sums, [g, s]) = if photons < FEW as f64 {
            let of = |times: usize| {
                [0, 1]
                    .map(|part| f64::mul_add(net, all[times][part], background * flat[times][part]))
            };
            ([of(0), of(1)], all[0])
        } else {
            (measured, at)
        };
        let [once, twice] = sums;
        // The sums of squares about the phasor.
        let of_g = f64::midpoint(photons, twice[0]) - 2.0 * g * once[0] + g * g * photons;
        let of_s = f64::midpoint(photons, -twice[0]) - 2.0 * s * once[1] + s * s * photons;
        let of_both = twice[1] / 2.0 - g * once[1] - s * once[0] + g * s * photons;
        // That of the background moves the phasor towards its own one.
        let moved = [0, 1].map(|part| at[part] - flat[0][part]);
        let by = self.background_variance * part * part;
        let [of_g, of_s, of_both] = [
            (moved[0] * moved[0]).mul_add(by, of_g),
            (moved[1] * moved[1]).mul_add(by, of_s),
            (moved[0] * moved[1]).mul_add(by, of_both),
        ]
        .map(|of| of / (net * net));
        let [g, s] = at;
        Some(Phasor { g, s, variances: [of_g, of_s, of_both] }.times(*calibration))
    }

    /// Returns the lifetime of the phase, s/(g·ω); `None` outside of the first quadrant.
    #[must_use]
    pub fn lifetime(&self, of: &Phasor) -> Option<Lifetime> {
        let Phasor { g, s, variances: [of_g, of_s, of_both] } = *of;
        if g <= 0.0 || s <= 0.0 {
            return None;
        }
        let tau = s / (g * self.omega);
        let (by_g, by_s) = (-tau / g, tau / s);
        let variance = by_g * by_g * of_g + by_s * by_s * of_s + 2.0 * by_g * by_s * of_both;
        Some(Lifetime { tau, err: variance.max(0.0).sqrt() })
    }
}

impl Phasor {
    /// Returns the product with a number without error, which rotates and scales the variances.
    pub(super) fn times(&self, [a, b]: Complex) -> Self {
        let [of_g, of_s, of_both] = self.variances;
        let [g, s] = product([a, b], [self.g, self.s]);
        let variances = [
            a * a * of_g + b * b * of_s - 2.0 * a * b * of_both,
            b * b * of_g + a * a * of_s + 2.0 * a * b * of_both,
            a * b * (of_g - of_s) + (a * a - b * b) * of_both,
        ];
        Self { g, s, variances }
    }

    /// Returns the angle of the phasor in radians, and its standard error.
    #[must_use]
    pub fn phase(&self) -> (f64, f64) {
        let Self { g, s, variances: [of_g, of_s, of_both] } = *self;
        let square = g * g + s * s;
        let variance = s * s * of_g + g * g * of_s - 2.0 * g * s * of_both;
        (libm::atan2(s, g), variance.max(0.0).sqrt() / square)
    }

    /// Returns the length of the phasor, and its standard error.
    #[must_use]
    pub fn modulation(&self) -> (f64, f64) {
        let Self { g, s, variances: [of_g, of_s, of_both] } = *self;
        let square = g * g + s * s;
        let variance = g * g * of_g + s * s * of_s + 2.0 * g * s * of_both;
        (square.sqrt(), (variance.max(0.0) / square).sqrt())
    }
}

/// Returns the phasor of an exponential at this angular frequency times its lifetime.
pub(super) fn on_semicircle(angle: f64) -> Complex {
    [1.0, angle].map(|part| part / angle.mul_add(angle, 1.0))
}

/// Returns the sums over the bins of a number times the waves.
fn summed(waves: &[[Complex; 2]], of: impl Fn(usize) -> f64) -> [Complex; 2] {
    let mut sums = [[0.0; 2]; 2];
    for (bin, wave) in waves.iter().enumerate() {
        let weight = of(bin);
        for (sum, wave) in sums.as_flattened_mut().iter_mut().zip(wave.as_flattened()) {
            *sum += weight * wave;
        }
    }
    sums
}

fn product([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, b * c + a * d]
}

pub(super) fn quotient(one: Complex, [c, d]: Complex) -> Complex {
    let square = c * c + d * d;
    product(one, [c / square, -d / square])
}
