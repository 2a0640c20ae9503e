//! The bins of all differences: a valley, the time from there to a peak, the peak, the time to the next valley, and so
//! on, each in equal parts.
//!
//! A period of 80 ticks with peaks of 40 has sections of about 10, 15, 40 and 15 ticks. A peak holds exactly the ticks
//! whose distance from its middle is at most half of its width.

use std::ops::Range;

use tagq_query::Bins;
use tagq_run::RequestError;

use super::Peaks;

use crate::error::Error;

/// The background is taken from the middle of the time between two peaks, from one in so many parts of it.
const VALLEY: f64 = 4.0;
/// The shortest time between two peaks: a valley has a tick.
pub(super) const BETWEEN: f64 = 2.0 * VALLEY;
/// Bins of a period, and of all, where that leaves one for each section.
const BINS_OF_PERIOD: usize = 24;
const BINS_MAX: usize = 1 << 14;
/// Sections of a period.
pub(super) const SECTIONS: usize = 4;

/// The number of bins of each section of a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SectionBins([usize; SECTIONS]);

impl SectionBins {
    pub(super) fn of(peaks: &Peaks) -> Self {
        let bins = (BINS_MAX / peaks.count()).clamp(SECTIONS, BINS_OF_PERIOD) as f64;
        let valley = (peaks.period - peaks.width) / VALLEY;
        let beside = (peaks.period - peaks.width - valley) / 2.0;
        let of = |width: f64| {
            let most = (width.floor() - 1.0).max(1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most 24"
            )]
            let bins = (width / peaks.period * bins).round().clamp(1.0, most) as usize;
            bins
        };
        Self([valley, beside, peaks.width, beside].map(of))
    }

    /// Returns the number of bins of a period.
    pub(super) fn period(self) -> usize {
        self.0.iter().sum()
    }

    /// Returns the bins of a section.
    pub(super) fn section(self, section: usize) -> Range<usize> {
        let [before, own] = [section % SECTIONS, section % SECTIONS + 1]
            .map(|sections| self.0[..sections].iter().sum::<usize>());
        let period = section / SECTIONS * self.period();
        period + before..period + own
    }
}

impl Peaks {
    /// Returns the number of sections: those of each peak, and a valley.
    fn sections(&self) -> usize {
        SECTIONS * self.count() + 1
    }

    /// Returns the section of a peak.
    pub(super) fn section(peak: usize) -> usize {
        SECTIONS * peak + 2
    }

    /// Returns the bins.
    pub(in super::super) fn bins(&self) -> Result<Bins, Error> {
        let mut ends: Vec<i64> = Vec::with_capacity(self.sections() + 1);
        let mut add = |middle: f64, width: f64| {
            for (time, after) in
                [((middle - width / 2.0).ceil(), 0), ((middle + width / 2.0).floor(), 1)]
            {
                if time.abs() >= (1_i64 << 62) as f64 {
                    return Err(RequestError::options(
                        &["sides"],
                        "the last peak is beyond 2^62 ticks; take fewer `sides`".into(),
                    ));
                }
                #[expect(clippy::cast_possible_truncation, reason = "checked")]
                ends.push(time as i64 + after);
            }
            Ok(())
        };
        let valley = (self.period - self.width) / VALLEY;
        for peak in -self.aside()..=self.aside() {
            let middle = peak as f64 * self.period;
            add(middle - self.period / 2.0, valley)?;
            add(middle, self.width)?;
        }
        add((self.aside() as f64 + 0.5) * self.period, valley)?;
        let layout = SectionBins::of(self);
        let mut edges = Vec::with_capacity(self.count() * layout.period() + 2);
        for (section, of) in ends.windows(2).enumerate() {
            let parts = i128::try_from(layout.section(section).len()).unwrap_or(1);
            let length = i128::from(of[1]) - i128::from(of[0]);
            for part in 0..parts {
                #[expect(clippy::cast_possible_truncation, reason = "between two of 64 bits")]
                edges.push((i128::from(of[0]) + length * part / parts) as i64);
            }
        }
        edges.extend(ends.last());
        let bins = Bins::Edges(edges);
        bins.check()?;
        Ok(bins)
    }

    /// Returns each section as one bin.
    pub(super) fn section_bins(&self, bins: &Bins) -> Bins {
        let layout = SectionBins::of(self);
        let first = |section: usize| bins.edge(layout.section(section).start);
        Bins::Edges((0..=self.sections()).map(first).collect())
    }

    /// Returns the sums over the bins of each section.
    pub(super) fn by_section(&self, of_bins: &[f64]) -> Vec<f64> {
        let layout = SectionBins::of(self);
        (0..self.sections()).map(|section| of_bins[layout.section(section)].iter().sum()).collect()
    }

    /// Returns the expected counts of each section; `None` if none of its bins has any.
    pub(super) fn expected_by_section(&self, of_bins: &[Option<f64>]) -> Vec<Option<f64>> {
        let layout = SectionBins::of(self);
        let of = |section: usize| {
            let bins = of_bins[layout.section(section)].iter();
            bins.flatten().copied().reduce(|one, other| one + other)
        };
        (0..self.sections()).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_parts_of_the_whole_ticks_of_each_peak() {
        for (period, width, sides) in [
            (12_500.0, 6_250.0, 3),
            (80.0, 40.0, 10),
            (128.9, 97.3, 7),
            (20.4, 12.0, 2),
            (9.0, 1.0, 1),
            (1e5, 99_000.0, 2_000),
        ] {
            let peaks = Peaks {
                period,
                period_err: 0.0,
                width,
                is_stated: true,
                sides,
                skip: 1,
                is_same: false,
            };
            let (bins, layout) = (peaks.bins().unwrap(), SectionBins::of(&peaks));
            assert_eq!(bins.count(), layout.section(peaks.sections() - 1).end);
            // Each section has at least one.
            assert!(bins.count() <= BINS_MAX + SECTIONS * (peaks.count() + 1));
            for peak in 0..peaks.count() {
                let at = layout.section(Peaks::section(peak));
                let middle = peaks.number(peak) as f64 * period;
                let (first, last) = (bins.edge(at.start) as f64, bins.edge(at.end) as f64 - 1.0);
                assert!(
                    (first - middle).abs() <= width / 2.0 && (last - middle).abs() <= width / 2.0
                );
                assert!(
                    (first - 1.0 - middle).abs() > width / 2.0
                        && (last + 1.0 - middle).abs() > width / 2.0
                );
            }
            let ones = vec![1.0; bins.count()];
            assert!(
                (peaks.by_section(&ones).iter().sum::<f64>() - bins.count() as f64).abs() < 1e-9
            );
        }
    }
}
