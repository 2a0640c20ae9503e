//! g2 of peaks that are apart: the pairs of each, over a background from between them.
//!
//! If side peaks have 10 times the pairs of steady light, the valleys 1 and the peak at zero 1.9, its g2 is (1.9 −
//! 1)/(10 − 1) = 0.1.

use tagq_query::limit_of_none;

use super::{Peaks, layout::SECTIONS};

/// The g2 of a peak with its error.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PeakValue {
    pub value: Option<f64>,
    pub err: Option<f64>,
    pub limit: Option<f64>,
    pub background: Option<f64>,
    /// The square of the error that one pair alone has.
    pub of_pair: f64,
}

/// Sums of counts and of what uncorrelated steady light would give.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub count: f64,
    pub expected: f64,
}

impl Sums {
    pub(super) fn ratio(self) -> f64 {
        self.count / self.expected
    }

    /// Returns the variance of the ratio, if each count has `times` the variance of a Poisson number.
    pub(super) fn variance(self, times: f64) -> f64 {
        times * self.count / (self.expected * self.expected)
    }
}

impl Peaks {
    /// Returns the sums over the side peaks and over the valleys.
    pub(super) fn references(&self, counts: &[f64], expected: &[Option<f64>]) -> [Sums; 2] {
        let mut references = [Sums::default(); 2];
        for (section, (&count, &expected)) in counts.iter().zip(expected).enumerate() {
            let Some(expected) = expected.filter(|&expected| expected > 0.0) else { continue };
            let of = match section % SECTIONS {
                0 => 1,
                2 if self.is_side(section / SECTIONS) => 0,
                _ => continue,
            };
            references[of].count += count;
            references[of].expected += expected;
        }
        references
    }

    /// Returns g2 of each peak (docs/queries.md, section "Pulsed light"), with errors of Poisson counts.
    pub(super) fn areas(&self, counts: &[f64], expected: &[Option<f64>]) -> Vec<PeakValue> {
        let [sides, valleys] = self.references(counts, expected);
        let has_all = sides.expected > 0.0 && valleys.expected > 0.0;
        let (side, background) = (sides.ratio(), valleys.ratio());
        let height = side - background;
        let times = self.times();
        let of = |peak: usize| {
            let section = Self::section(peak);
            let Some(of_peak) = expected[section].filter(|&e| e > 0.0 && has_all) else {
                return PeakValue::default();
            };
            let own = Sums { count: counts[section], expected: of_peak };
            let background = Some(background * of_peak);
            if height.is_nan() || height <= 0.0 {
                return PeakValue { background, ..PeakValue::default() };
            }
            let g2 = (own.ratio() - valleys.ratio()) / height;
            // A count of a few is often below its mean, and its error must not be.
            let counted = Sums { count: own.count + 1.0, ..own };
            let of_itself = if self.number(peak) == 0 { times } else { 1.0 };
            // A side peak of two channels is a part of the sum.
            let shared = if self.is_side(peak) {
                times * own.count / (own.expected * sides.expected)
            } else {
                0.0
            };
            let variance = counted.variance(of_itself) + g2 * g2 * sides.variance(times)
                - 2.0 * g2 * shared
                + (1.0 - g2) * (1.0 - g2) * valleys.variance(times);
            PeakValue {
                value: Some(g2),
                // A peak with most of the counts of all is compared with itself.
                err: (!self.is_side(peak) || 2.0 * own.count <= sides.count)
                    .then(|| variance.max(0.0).sqrt() / height),
                of_pair: of_itself / (of_peak * height).powi(2),
                limit: (own.count == 0.0).then(|| of_itself * limit_of_none(of_peak * height)),
                background,
            }
        };
        (0..self.count()).map(of).collect()
    }
}
