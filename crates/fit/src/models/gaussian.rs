//! A Gaussian response of an instrument.
//!
//! With a standard deviation of 1 around 5, half of the photons of a very short lifetime are before 5. With a lifetime
//! of 2, 0.184 of them: 1/2 − exp(1/8)·erfc(1/√8)/2.

use std::f64::consts::FRAC_1_SQRT_2;

use libm::erf;

use crate::{
    data::{Bin, Data},
    special::log_erfc,
};

/// Standard deviations beyond which all of a Gaussian is on one side, in double precision.
const FAR: f64 = 9.0;

/// Widths of bins that differ by no more than rounding of their edges, as a part of them.
const SAME: f64 = 1e-11;

/// A response with this centre and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gaussian {
    pub centre: f64,
    pub sigma: f64,
}

impl Gaussian {
    /// Adds an exponential of this number of photons, convolved with the response, to the values of bins; with a period
    /// also those of all other pulses. The width is small in a period.
    pub fn add_exponential(
        self,
        (photons, tau): (f64, f64),
        period: Option<f64>,
        bins: &[Bin],
        values: &mut [f64],
    ) {
        let lost = period.map(|period| -libm::expm1(-period / tau));
        let folded = period.zip(lost);
        let before = |at: f64| {
            let Some((period, lost)) = folded else { return self.before(at, tau) };
            // The next pulse, whose response may begin early, and those of the pulse and of the one before. Of all pulses
            // whose response has ended, the rest of an exponential.
            let these = self.before(at - period, tau) + self.before(at, tau);
            if self.is_after(at + period, tau) {
                return these + 1.0 - self.left(at + period, tau) / lost;
            }
            these + self.before(at + period, tau) - self.left(at + 2.0 * period, tau) / lost
        };
        let decays = 1.0 / lost.unwrap_or(1.0);
        // After the response of a pulse, and before that of the next one, photons fall by the same factor from bin to bin.
        let decaying = |bin: &Bin| match period {
            None => self.is_after(bin.from, tau).then_some(bin.from),
            Some(period) if self.is_after(bin.from, tau) && !self.has_begun(bin.to - period) => {
                Some(bin.from)
            }
            Some(period) if !self.has_begun(bin.to) && self.is_after(bin.from + period, tau) => {
                Some(bin.from + period)
            }
            Some(_) => None,
        };
        let mut last: Option<(f64, f64)> = None;
        let mut tail = Tail { tau, width: 0.0, emitted: 0.0, ends: None };
        for (value, bin) in values.iter_mut().zip(bins) {
            if let Some(from) = decaying(bin) {
                *value += photons * decays * tail.in_bin(bin, || self.left(from, tau));
                continue;
            }
            let known = last.filter(|(at, _)| at.total_cmp(&bin.from).is_eq());
            let from = known.map_or_else(|| before(bin.from), |(_, sum)| sum);
            let to = before(bin.to);
            *value += photons * (to - from);
            last = Some((bin.to, to));
        }
    }

    /// Returns the share of the photons that are emitted before a place.
    fn before(self, at: f64, tau: f64) -> f64 {
        if !self.has_begun(at) {
            return 0.0;
        }
        if self.is_after(at, tau) {
            return 1.0 - self.left(at, tau);
        }
        let excited = f64::midpoint(1.0, erf((at - self.centre) / self.sigma * FRAC_1_SQRT_2));
        excited - self.left(at, tau)
    }

    /// Whether photons are excited before a place.
    fn has_begun(self, at: f64) -> bool {
        (at - self.centre) / self.sigma >= -FAR
    }

    /// Whether all photons are excited before a place, so that the rest is that of an exponential.
    fn is_after(self, at: f64, tau: f64) -> bool {
        (at - self.centre) / self.sigma - self.sigma / tau > FAR
    }

    /// Returns the share of the photons that are excited before a place and emitted after it.
    fn left(self, at: f64, tau: f64) -> f64 {
        let (z, s) = ((at - self.centre) / self.sigma, self.sigma / tau);
        if self.is_after(at, tau) {
            return libm::exp(s * (s / 2.0 - z));
        }
        // By its logarithm, because one factor may overflow.
        0.5 * libm::exp(s * (s / 2.0 - z) + log_erfc((s - z) * FRAC_1_SQRT_2))
    }
}

/// An exponential after its response, in bins that mostly follow each other and have one width.
struct Tail {
    tau: f64,
    /// The width of the last bin, and the part of the photons that is emitted in it.
    width: f64,
    emitted: f64,
    /// The end of the last bin, and the share that is left there.
    ends: Option<(f64, f64)>,
}

impl Tail {
    /// Returns the share of the photons that are emitted in a bin; `left` is the share that is left at its begin.
    fn in_bin(&mut self, bin: &Bin, left: impl Fn() -> f64) -> f64 {
        let known = self.ends.filter(|(at, _)| at.total_cmp(&bin.from).is_eq());
        let left = known.map_or_else(left, |(_, left)| left);
        let width = bin.width();
        if (self.width - width).abs() > SAME * width {
            self.width = width;
            self.emitted = -libm::expm1(-width / self.tau);
        }
        let share = left * self.emitted;
        self.ends = Some((bin.to, left - share));
        share
    }
}

/// Returns the place of the rise of a decay: the edge with the clearest difference between as many bins after it and before it,
/// of any number that is a power of two. With a period, the bins before the first one are those of the end.
pub(super) fn rise(data: &Data, period: Option<f64>) -> f64 {
    let count = data.values.len();
    let mut sums = vec![0.0];
    sums.extend(data.values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    }));
    let all = sums[count];
    let (from, to) = data.ends();
    let is_folded = period.is_some_and(|period| to - from > 0.9 * period);
    // The counts before an edge, which may be in the period before or after.
    let before = |edge: isize| {
        let bins = count.cast_signed();
        let inside = |edge: isize| sums[edge.clamp(0, bins).cast_unsigned()];
        if is_folded {
            all * edge.div_euclid(bins) as f64 + inside(edge.rem_euclid(bins))
        } else {
            inside(edge)
        }
    };
    let mut best = (f64::NEG_INFINITY, 0);
    for width in (0..).map(|power| 1_isize << power) {
        if width.cast_unsigned() > count.div_ceil(4) {
            break;
        }
        for edge in 0..count {
            let at = edge.cast_signed();
            let (after, of_before) =
                (before(at + width) - before(at), before(at) - before(at - width));
            let clear = (after - of_before) / (after + of_before + 1.0).sqrt();
            if clear > best.0 {
                best = (clear, edge);
            }
        }
    }
    data.bins[best.1].from
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(count: u32) -> Vec<Bin> {
        (0..count).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect()
    }

    fn shares(of: Gaussian, tau: f64, period: Option<f64>, count: u32) -> Vec<f64> {
        let bins = bins(count);
        let mut values = vec![0.0; bins.len()];
        of.add_exponential((1.0, tau), period, &bins, &mut values);
        values
    }

    #[test]
    fn shares_before_the_centre() {
        let of = Gaussian { centre: 5.0, sigma: 1.0 };
        let before = |tau: f64| shares(of, tau, None, 5).iter().sum::<f64>();
        assert!((before(1e-4) - 0.5).abs() < 1e-4, "{}", before(1e-4));
        let expected = 0.5 - libm::exp(0.125) * libm::erfc(8.0_f64.sqrt().recip()) / 2.0;
        assert!((before(2.0) - expected).abs() < 1e-6, "{}", before(2.0));
    }

    /// The mean of all photons is that of the response and a lifetime later.
    #[test]
    fn the_mean_is_a_lifetime_later() {
        for (sigma, tau) in [(0.02, 3.0), (0.6, 3.0), (4.0, 0.5)] {
            let of = shares(Gaussian { centre: 30.3, sigma }, tau, None, 200);
            let sum: f64 = of.iter().sum();
            let mean: f64 = (0..).zip(&of).map(|(k, of)| (f64::from(k) + 0.5) * of).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            // The middles of bins stand for the photons in them.
            let tolerance = if sigma < 0.1 { 0.1 } else { 0.01 };
            assert!((mean - 30.3 - tau).abs() < tolerance, "{sigma} {tau}: {mean}");
        }
    }

    /// All pulses, added one by one, are what a period adds.
    #[test]
    fn a_period_adds_all_other_pulses() {
        for (centre, sigma, tau) in
            [(2.0, 0.1, 0.3), (9.8, 0.9, 2.0), (0.1, 0.5, 60.0), (5.0, 1.2, 1e-3)]
        {
            let folded = shares(Gaussian { centre, sigma }, tau, Some(10.0), 10);
            let mut summed = vec![0.0; 10];
            for pulse in -2..400 {
                let of = Gaussian { centre: f64::from(pulse).mul_add(-10.0, centre), sigma };
                summed.iter_mut().zip(shares(of, tau, None, 10)).for_each(|(sum, of)| *sum += of);
            }
            for (folded, summed) in folded.iter().zip(&summed) {
                assert!((folded - summed).abs() < 1e-7, "{sigma} {tau}: {folded} {summed}");
            }
        }
    }
}
