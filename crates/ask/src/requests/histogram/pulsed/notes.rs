//! Notes: a period that is not known well enough, peaks in other places, and side peaks that differ.
//!
//! A peak of 5 pairs between peaks of 100 is low. If it is the only one and not at zero, the note has the delay that
//! moves it there: it may be that of a single emitter at equal times.

use std::f64::consts::TAU;

use tagq_query::{Binned, Histogram as Query};
use tagq_store::Tick;

use super::{Peaks, areas::Sums, in_seconds};
use crate::requests::context::QueryContext;

/// Differences have peaks if their phases add up to so many times what they would by chance.
const PULSED: f64 = 6.0;
/// A peak is low if it lies so many standard deviations below the mean of so many peaks on each side, and below half of it.
const LOW: f64 = 5.0;
const BESIDE: usize = 2;
/// Peaks near zero and far from it that differ by so many errors are correlated.
const DIFFERS: f64 = 4.0;

/// A peak far below those beside it: its number, its pairs, and the mean of those beside it.
struct Low {
    peak: i64,
    count: f64,
    beside: f64,
}

/// Returns the middle of each bin in ticks, and its count.
fn middles(all: &Binned) -> impl Iterator<Item = (f64, f64)> {
    all.counts.iter().enumerate().map(|(bin, &count)| {
        // A bin holds the ticks from its first edge to before the next one.
        let middle = (all.bins.edge(bin) as f64 + all.bins.edge(bin + 1) as f64 - 1.0) / 2.0;
        (middle, count as f64)
    })
}

impl Peaks {
    /// Notes a period that is too coarse for the last peaks.
    pub(in super::super) fn note_period(&self, context: &QueryContext<'_>) {
        if self.period_err * self.aside() as f64 > self.period / 20.0 {
            context.progress.note(
                "the period is not known well enough for the last peaks; give it with `pulsed`, or fewer `sides`",
            );
        }
    }

    /// Notes peaks that are not at multiples of the period, and a peak other than that at zero that lies far below its neighbours, as
    /// that of a single emitter at equal times does. Returns the ends of such a
    /// peak. Peaks are where the phases of all differences in the period have their mean.
    pub(in super::super) fn note_aside(
        &self,
        query: &Query,
        all: &Binned,
        tick: Tick,
        context: &QueryContext<'_>,
    ) -> Option<[i64; 2]> {
        let (mut cosine, mut sine, mut pairs) = (0.0, 0.0, 0.0);
        for (middle, count) in middles(all) {
            let (sin, cos) = libm::sincos(TAU * middle / self.period);
            cosine += count * cos;
            sine += count * sin;
            pairs += count;
        }
        let strength = libm::hypot(cosine, sine);
        let aside = libm::atan2(sine, cosine) / TAU * self.period;
        // Of light without pulses, the square of the strength has the mean `pairs`.
        if self.is_same || strength < PULSED * f64::sqrt(pairs) {
            return None;
        }
        let err = self.period / TAU * (pairs / 2.0).sqrt() / strength;
        let text = |ticks: f64| {
            let sign = if ticks < 0.0 { "-" } else { "" };
            format!("{sign}{}", in_seconds(ticks.abs(), err.max(1.0), tick).replace(' ', ""))
        };
        let stop = context.setup.name_of(query.stop);
        let delay = query.scope.delay_of(query.stop) as f64;
        if let Some(Low { peak, count, beside }) = self.low(all, aside) {
            let at = aside + peak as f64 * self.period;
            let is_elsewhere = at.abs() >= self.period / 16.0;
            if is_elsewhere {
                context.progress.note(&format!(
                    "of all peaks, only that at {} is low, with {count} of {beside:.0} pairs: if it is the one at equal times, \
                     `delays` {stop}={} moves it to zero",
                    text(at),
                    text(delay - at)
                ));
            }
            #[expect(clippy::cast_possible_truncation, reason = "within the histogram")]
            let ends = [-0.5, 0.5].map(|half| (at + half * self.width).round() as i64);
            return is_elsewhere.then_some(ends);
        }
        if aside.abs() >= self.period / 16.0 {
            context.progress.note(&format!(
                "the peaks of the differences are {} from multiples of the period; `delays` {stop}={} moves the nearest one to \
                 zero, which may not be that of equal times",
                text(aside.abs()),
                text(delay - aside)
            ));
        }
        None
    }

    /// Returns the one peak that lies far below those beside it, if there is one. The peaks are `aside` ticks from multiples of the
    /// period.
    fn low(&self, all: &Binned, aside: f64) -> Option<Low> {
        let first = -self.aside();
        let peaks = usize::try_from(2 * self.aside() + 1).ok()?;
        let mut counts = vec![0.0; peaks];
        for (middle, count) in middles(all) {
            let number = ((middle - aside) / self.period).round();
            let from_peak = (middle - aside - number * self.period).abs();
            #[expect(clippy::cast_possible_truncation, reason = "a peak")]
            let at = usize::try_from(number as i64 - first).ok();
            if from_peak <= self.width / 2.0
                && let Some(sum) = at.and_then(|at| counts.get_mut(at))
            {
                *sum += count;
            }
        }
        // The last peaks may be cut off.
        let inner = BESIDE..counts.len().checked_sub(BESIDE)?;
        let mut low = inner.filter_map(|at| {
            let beside = counts[at - BESIDE..=at + BESIDE].iter().sum::<f64>() - counts[at];
            let beside = beside / (2 * BESIDE) as f64;
            let below = (beside - counts[at]) / beside.max(1.0).sqrt();
            (below > LOW && counts[at] < beside / 2.0).then_some(Low {
                peak: i64::try_from(at).unwrap_or(i64::MAX) + first,
                count: counts[at],
                beside,
            })
        });
        low.next().filter(|_| low.next().is_none())
    }

    /// Notes side peaks next to zero that differ from those far from it.
    pub(super) fn note_bunching(
        &self,
        counts: &[f64],
        expected: &[Option<f64>],
        context: &QueryContext<'_>,
    ) {
        let Some(ratio) = self.bunching(counts, expected) else { return };
        let cause = match (ratio > 1.0, self.is_same) {
            (true, false) => "the light is correlated over several pulses, as by blinking",
            (true, true) => {
                "the light is correlated over several pulses, as by blinking, or the detector has afterpulses"
            }
            (false, _) => "something prevents pairs there, as the dead time of a detector does",
        };
        context.progress.note(&format!(
            "the peaks next to zero are {ratio:.3} times those further away: {cause}; `skip` N leaves the first N \
             peaks on each side out of the reference"
        ));
    }

    /// Returns how much larger the peaks next to zero are than those far from it, if by more than chance.
    fn bunching(&self, counts: &[f64], expected: &[Option<f64>]) -> Option<f64> {
        let [_, valleys] = self.references(counts, expected);
        let half = i64::from(self.skip) + i64::from(self.sides.div_ceil(2));
        let mut halves = [Sums::default(); 2];
        for peak in (0..self.count()).filter(|&peak| self.is_side(peak)) {
            let Some(of_peak) = expected[Self::section(peak)].filter(|&e| e > 0.0) else {
                continue;
            };
            let sums = &mut halves[usize::from(self.number(peak).abs() > half)];
            sums.count += counts[Self::section(peak)];
            sums.expected += of_peak;
        }
        let [near, far] = halves;
        let times = if self.is_same { 2.0 } else { 1.0 };
        let err = (near.variance(times) + far.variance(times)).sqrt();
        let is_other = (near.ratio() - far.ratio()).abs() > DIFFERS * err;
        let ratio = (near.ratio() - valleys.ratio()) / (far.ratio() - valleys.ratio());
        Some(ratio).filter(|ratio| is_other && ratio.is_finite() && *ratio > 0.0)
    }
}
