//! Peaks in a histogram of differences: position, width and significance.
//!
//! 1,010,000 counts beside 1,000,000 counts in equally many bins are about 7 standard deviations; from there on a peak
//! is not due to chance. A peak is compared with its surroundings up to equally far on both sides, so that a slope is
//! no peak.

use super::{
    counted::DifferenceCounts,
    fit::{Background, Fitted, gaussian},
};

/// A range of bins with more counts than expected by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Peak {
    /// The first bin, and the number of bins.
    pub at: usize,
    pub bins: usize,
    /// Counts above the background.
    pub net: f64,
    /// Deviation from chance in standard deviations: the square root of twice the logarithm of the
    /// likelihood ratio.
    pub sigmas: f64,
}

/// Above this limit no peak among 10⁸ places is due to chance: the probability is below 10⁻³.
pub(crate) const SIGNIFICANT: f64 = 7.0;

/// The surroundings of a place extend this many times its width on both sides.
const FLANKS: usize = 4;

/// A measured peak, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    /// Where it is, with its standard error: the centre of the Gaussian that fits, else the highest place.
    pub place: f64,
    pub place_err: f64,
    /// Its approximate width.
    pub extent: f64,
    /// Its centre, width and tags; `None` if no Gaussian fits.
    pub fit: Option<Fitted>,
}

/// Returns the significance of `count` above the expectation from `beside` counts elsewhere, scaled by
/// `part`: the likelihood ratio of source on against source off (Li and Ma 1983, equation 17).
pub(crate) fn sigmas_above(count: u64, beside: u64, part: f64) -> f64 {
    let (on, off) = (count as f64, beside as f64);
    let term =
        |n: f64, share: f64| if n > 0.0 { n * libm::log(share * n / (on + off)) } else { 0.0 };
    let ratio = term(on, (1.0 + part) / part) + term(off, 1.0 + part);
    (2.0 * ratio.max(0.0)).sqrt()
}

impl DifferenceCounts {
    /// Returns the middle of the steps in a range of bins.
    pub fn middle(&self, at: usize, bins: usize) -> f64 {
        let edge = self.low as f64 + at as f64 * self.width as f64;
        // A bin holds whole steps: the last of n steps is n − 1 after the first.
        edge + (bins as f64 * self.width as f64 - 1.0) / 2.0
    }

    /// Returns the counts per bin by chance: the mean over bins without a peak.
    pub fn background(&self) -> f64 {
        let mean = |most: f64| {
            let kept = self.counts.iter().filter(|&&count| count as f64 <= most);
            let (sum, bins) = kept.fold((0, 0_usize), |(sum, bins), count| (sum + count, bins + 1));
            if bins == 0 { 0.0 } else { sum as f64 / bins as f64 }
        };
        let mut background = mean(f64::INFINITY);
        for _ in 0..8 {
            background = mean(background + 5.0 * background.max(1.0).sqrt());
        }
        // In a histogram of few pairs most bins are empty, and all counts together are taken as chance.
        let all = self.counts.iter().sum::<u64>() as f64 / self.counts.len().max(1) as f64;
        if background < 0.5 { background.max(all / 2.0).max(f64::MIN_POSITIVE) } else { background }
    }

    /// Returns the range of bins that exceeds both of its sides most significantly; it has one to
    /// `widest` bins and lies outside the ranges excluded by `without`.
    pub fn highest(&self, widest: usize, without: impl Fn(usize, usize) -> bool) -> Option<Peak> {
        let mut sums = Vec::with_capacity(self.counts.len() + 1);
        sums.push(0_u64);
        let mut sum = 0;
        for count in &self.counts {
            sum += count;
            sums.push(sum);
        }
        let mut best: Option<Peak> = None;
        let mut bins = 1;
        while bins <= widest.min(self.counts.len()) {
            for at in (0..=self.counts.len() - bins).step_by((bins / 4).max(1)) {
                let count = sums[at + bins] - sums[at];
                // Equally far on both sides: a slope is not a peak.
                let reach = (FLANKS * bins).min(at).min(self.counts.len() - at - bins);
                if 2 * reach < bins {
                    continue;
                }
                let (from, to) = (at - reach, at + bins + reach);
                let beside = sums[to] - sums[from] - count;
                let part = bins as f64 / (2 * reach) as f64;
                let expected = beside as f64 * part;
                // Most places are ordinary.
                if count as f64 <= expected + 3.0 * expected.sqrt() || without(at, bins) {
                    continue;
                }
                let sigmas = sigmas_above(count, beside, part);
                if best.is_none_or(|best| sigmas > best.sigmas) {
                    best = Some(Peak { at, bins, net: count as f64 - expected, sigmas });
                }
            }
            bins *= 2;
        }
        best
    }

    /// Returns the counts per bin next to a peak.
    pub fn beside(&self, peak: &Peak) -> f64 {
        let from = peak.at.saturating_sub(peak.bins);
        let to = (peak.at + 2 * peak.bins).min(self.counts.len());
        let outside = self.counts[..from].iter().chain(&self.counts[to..]);
        let bins = from + self.counts.len() - to;
        if bins == 0 { self.background() } else { outside.sum::<u64>() as f64 / bins as f64 }
    }

    /// Returns the most significant range of bins, of any width, above a background that has its own
    /// noise.
    pub fn above(&self, background: &[f64]) -> Peak {
        let mut best = Peak { at: 0, bins: self.counts.len(), net: 0.0, sigmas: 0.0 };
        let mut bins = 1;
        while bins <= self.counts.len() {
            for at in (0..=self.counts.len() - bins).step_by((bins / 4).max(1)) {
                let count = self.counts[at..at + bins].iter().sum::<u64>() as f64;
                let expected = background[at..at + bins].iter().sum::<f64>();
                let net = count - expected;
                let sigmas = net / (count + expected).max(1.0).sqrt();
                if sigmas > best.sigmas {
                    best = Peak { at, bins, net, sigmas };
                }
            }
            bins *= 2;
        }
        best
    }

    /// Returns the surroundings of a peak in at most `most` bins, and the peak in them.
    pub fn around(&self, peak: &Peak, most: i64) -> (Self, Peak) {
        let aside = (FLANKS * peak.bins).max(2 * FLANKS);
        let from = peak.at.saturating_sub(aside);
        let to = (peak.at + peak.bins + aside).min(self.counts.len());
        let joined = (to - from).div_ceil(usize::try_from(most).unwrap_or(usize::MAX));
        let counts = self.counts[from..to].chunks(joined).map(|counts| counts.iter().sum());
        let steps =
            |bins: usize| i64::try_from(bins).unwrap_or(i64::MAX).saturating_mul(self.width);
        let around = Self {
            low: self.low.saturating_add(steps(from)),
            width: steps(joined),
            step: self.step,
            counts: counts.collect(),
        };
        let (at, end) = ((peak.at - from) / joined, (peak.at + peak.bins - from).div_ceil(joined));
        (around, Peak { at, bins: end - at, ..*peak })
    }

    /// Returns the shape of the peak in a range of bins.
    pub fn shape(&self, peak: &Peak, background: Background<'_>) -> Shape {
        let extent = peak.bins as f64 * self.width as f64;
        let middle = self.middle(peak.at, peak.bins);
        // For a Gaussian, the window with the highest significance is 2.8 standard deviations wide.
        let fit = gaussian(self, background, [peak.net, middle, extent / 2.8, 1.0]);
        let (place, err) = match fit {
            Some(fitted) => (fitted.centre, fitted.centre_err),
            None => self.top(peak, background),
        };
        Shape {
            place: place * self.step,
            place_err: err * self.step,
            extent: extent * self.step,
            fit: fit.map(|fitted| fitted.in_ticks(self.step)),
        }
    }

    /// Returns the highest place of a peak, and the distance up to which other places are not significantly lower, in
    /// steps.
    fn top(&self, peak: &Peak, background: Background<'_>) -> (f64, f64) {
        let beyond = |bin: usize| self.counts[bin] as f64 - background.at(bin);
        // For many small counts, the top is found from the sum over a part of the peak, symmetric
        // around each bin.
        let smooth = (peak.bins / 4).max(1) | 1;
        let around = |bin: usize| {
            bin.saturating_sub(smooth / 2)..(bin + smooth / 2 + 1).min(self.counts.len())
        };
        let height = |bin: usize| around(bin).map(beyond).sum::<f64>() / smooth as f64;
        let middle = self.middle(peak.at, peak.bins);
        let aside = |bin: usize| (self.middle(bin, 1) - middle).abs();
        // Among equally high places, the one closest to the middle.
        let top = (peak.at..peak.at + peak.bins)
            .max_by(|&a, &b| height(a).total_cmp(&height(b)).then(aside(b).total_cmp(&aside(a))))
            .unwrap_or(peak.at);
        // A place that is lower by less than the noise could be the top as well.
        let count = |bin: usize| {
            let held: u64 = around(bin).map(|bin| self.counts[bin]).sum();
            held as f64 / (smooth * smooth) as f64
        };
        let could_be = |bin: usize| height(top) - height(bin) <= (count(top) + count(bin)).sqrt();
        let first = (0..=top).rev().take_while(|&bin| could_be(bin)).last().unwrap_or(top);
        let last = (top..self.counts.len()).take_while(|&bin| could_be(bin)).last().unwrap_or(top);
        (self.middle(top, 1), (last - first + 1) as f64 * self.width as f64 / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a flat histogram with a peak of five bins around tick `at`.
    fn peaked(low: i64, bins: usize, flat: u64, at: i64) -> DifferenceCounts {
        let mut counts = vec![flat; bins];
        let middle = usize::try_from(at - low).unwrap();
        for (aside, more) in [(0, 400), (1, 200), (2, 40)] {
            counts[middle + aside] += more;
            if aside > 0 {
                counts[middle - aside] += more;
            }
        }
        DifferenceCounts { low, width: 1, step: 1.0, counts }
    }

    #[test]
    fn the_surroundings_of_a_peak_hold_it_in_few_bins() {
        let mut counted = peaked(-500_000, 1_000_000, 0, 26);
        counted.counts[100_000..700_000].fill(1);
        let wide = Peak { at: 100_001, bins: 599_990, net: 6e5, sigmas: 9.0 };
        let (around, peak) = counted.around(&wide, 4_096);
        assert!(around.counts.len() <= 4_096, "{}", around.counts.len());
        let sum = |of: &DifferenceCounts| of.counts.iter().sum::<u64>();
        assert_eq!(sum(&around), sum(&counted));
        let ends = |of: &DifferenceCounts, peak: &Peak| {
            let end = |at: usize| of.low + i64::try_from(at).unwrap() * of.width;
            [end(peak.at), end(peak.at + peak.bins)]
        };
        let ([from, to], [begin, end]) = (ends(&counted, &wide), ends(&around, &peak));
        assert!(begin <= from && from < begin + around.width, "{from} {begin}");
        assert!(to <= end && end < to + around.width, "{to} {end}");
        // A narrow one keeps its bins.
        let narrow = Peak { at: 500_024, bins: 5, net: 880.0, sigmas: 9.0 };
        let (around, peak) = counted.around(&narrow, 4_096);
        assert_eq!((around.width, around.counts.len(), peak.bins), (1, 45, 5));
        assert_eq!(around.counts[peak.at..][..5], counted.counts[500_024..][..5]);
        assert_eq!(ends(&around, &peak), ends(&counted, &narrow));
    }

    #[test]
    fn a_peak_is_found_where_it_is_and_as_wide() {
        let counted = peaked(-500, 1000, 100, 26);
        let background = counted.background();
        assert!((background - 100.0).abs() < 0.2, "{background}");
        let peak = counted.highest(64, |_, _| false).unwrap();
        assert!(peak.sigmas > 20.0, "{peak:?}");
        assert!((counted.beside(&peak) - 100.0).abs() < 0.2, "{peak:?}");
        let shape = counted.shape(&peak, Background::Flat(background));
        let (top, err) = counted.top(&peak, Background::Flat(background));
        assert!((top - 26.0).abs() < 1e-9 && (err - 0.5).abs() < 1e-9, "{top} {err}");
        let fit = shape.fit.unwrap();
        assert_eq!((shape.place, shape.place_err), (fit.centre, fit.centre_err));
        assert!((fit.centre - 26.0).abs() < 0.05 && fit.centre_err < 0.2, "{fit:?}");
        // 400 + 2·200 + 2·40 counts; variance (2·200 + 8·40)/880 = 0.82 ticks², 1/6 of it from
        // rounding: 2.355·0.81 ticks.
        assert!((fit.net - 880.0).abs() < 20.0 && fit.net_err > 880_f64.sqrt(), "{fit:?}");
        assert!((fit.width.unwrap().0 - 1.9).abs() < 0.2, "{fit:?}");
        // There is no peak outside of it.
        let aside = |at: usize, bins: usize| at < 540 && at + bins > 510;
        assert_eq!(counted.highest(64, aside), None);
    }

    #[test]
    fn chance_is_no_peak_and_few_pairs_can_be_one() {
        // Equal bins are perfectly flat.
        let flat = DifferenceCounts { low: 0, width: 3, step: 1.0, counts: vec![7; 1000] };
        assert_eq!(flat.highest(64, |_, _| false), None);
        let empty = DifferenceCounts { low: 0, width: 1, step: 1.0, counts: vec![0; 1000] };
        assert_eq!(empty.highest(64, |_, _| false), None);
        let mut lone = empty.clone();
        lone.counts[500] = 30;
        let peak = lone.highest(64, |_, _| false).unwrap();
        assert_eq!((peak.at, peak.bins), (500, 1));
        assert!(peak.sigmas > SIGNIFICANT, "{peak:?}");
        lone.counts[500] = 1;
        let chance = lone.highest(64, |_, _| false).unwrap();
        assert!(chance.sigmas < SIGNIFICANT, "{chance:?}");
        // A slope is higher on one side, and is not a peak.
        let slope = DifferenceCounts {
            low: 0,
            width: 1,
            step: 1.0,
            counts: (0..1000).map(|n| 1_000 + n).collect(),
        };
        let slope = slope.highest(64, |_, _| false);
        assert!(slope.is_none_or(|peak| peak.sigmas < SIGNIFICANT), "{slope:?}");
    }

    #[test]
    fn likelihoods_are_those_of_large_counts_in_the_limit() {
        // (n − µ)/√µ for small deviations of large counts, and (n − µ)/√2µ if µ is estimated from
        // equally many counts.
        assert!((sigmas_above(1_010_000, 1_000_000, 1.0) - 7.05).abs() < 0.05);
        assert!((sigmas_above(1_010_000, 1_000_000_000, 0.001) - 10.0).abs() < 0.05);
    }

    #[test]
    fn steps_are_in_the_middle_of_their_bins() {
        let counted = DifferenceCounts { low: -10, width: 4, step: 1.0, counts: vec![0; 5] };
        assert!((counted.middle(0, 1) - -8.5).abs() < 1e-12, "-10, -9, -8, -7");
        assert!((counted.middle(1, 2) - -2.5).abs() < 1e-12, "-6 to 1");
    }
}
