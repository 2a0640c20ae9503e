//! The steps in which differences of times occur, and bins of whole steps.
//!
//! Times that are recorded in steps of several ticks have differences at multiples of a step. Bins that do not hold
//! equally many steps each would show a pattern that looks like peaks. Of steps of 156.25 ticks, 4 are 625 ticks: a bin
//! of about 1,000 ticks becomes one of 1,250, which holds 8 steps.

use tagq_query::{Bins, Error};

use crate::pulses::Resolution;

/// A bin is made wider by this factor at most, to hold a whole number of steps …
const UNITS_MAX: i64 = 4;
/// … else it holds at least so many.
const SEVERAL: f64 = 8.0;

/// Single steps are added up from so many ticks at most.
const TICKS_MAX: f64 = (1 << 20) as f64;

/// Steps of the differences of two channels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// A step in ticks.
    pub step: f64,
    /// The fewest steps that are a whole number of ticks, and these ticks.
    steps: i64,
    ticks: i64,
}

impl Grid {
    const TICKS: Self = Self { step: 1.0, steps: 1, ticks: 1 };

    /// Returns the steps of differences up to `reach` ticks, where the times of both channels have a resolution.
    pub(crate) fn of(resolution: Option<Resolution>, reach: i64) -> Self {
        // Bins are at multiples of a step.
        let grid = resolution.filter(|found| found.phase == 0.0).and_then(|found| {
            let (steps, ticks) = found.whole(reach)?;
            Some(Self { step: ticks as f64 / steps as f64, steps, ticks })
        });
        grid.unwrap_or(Self::TICKS)
    }

    /// Returns the steps within so many ticks.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than the ticks")]
    pub(super) fn steps_in(&self, ticks: i64) -> i64 {
        (ticks as f64 / self.step).floor() as i64
    }

    /// Returns the width in steps of at most `most` bins over so many steps, so that each bin holds equally many.
    pub(super) fn width(&self, steps: i64, most: i64) -> i64 {
        let width = steps.div_euclid(most) + 1;
        let in_ticks = steps as f64 * self.step;
        // Single steps are added up from ticks.
        if width == 1 && in_ticks <= TICKS_MAX { 1 } else { self.whole(width) }
    }

    /// Returns the number of steps, at least `width`, that are a whole number of ticks.
    fn whole(&self, width: i64) -> i64 {
        width.div_euclid(self.steps).saturating_add((width % self.steps != 0).into()) * self.steps
    }

    /// Returns about so many ticks that hold a whole number of steps. Where only many steps are a whole number of ticks,
    /// several steps: then bins hold nearly equally many.
    pub(crate) fn ticks_of(&self, ticks: i64) -> i64 {
        let units = (ticks + self.ticks / 2).div_euclid(self.ticks).max(1);
        let several = (SEVERAL * self.step).ceil();
        if units > 1 || self.ticks <= UNITS_MAX * ticks || self.ticks as f64 <= several {
            return units.saturating_mul(self.ticks);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a few steps")]
        ticks.max(several as i64)
    }

    /// Returns bins of about `width` ticks, `aside` on both sides of the one at zero.
    pub(crate) fn centred(&self, aside: i64, width: i64) -> Result<Bins, Error> {
        let mut width = self.ticks_of(width);
        // The steps of a bin are evenly around its middle if their number is odd.
        let units = width / self.ticks;
        if self.ticks > 1 && width % self.ticks == 0 && units < aside && units % 2 == 0 {
            width += self.ticks;
        }
        Bins::centred(aside.saturating_mul(width), width)
    }

    /// Returns the step that is nearest to a difference, in ticks.
    #[expect(clippy::cast_possible_truncation, reason = "a difference of times")]
    pub(crate) fn nearest(&self, difference: f64) -> i64 {
        ((difference / self.step).round() * self.step).round() as i64
    }

    /// Returns the first tick that belongs to a step.
    #[expect(clippy::cast_possible_truncation, reason = "a difference of times")]
    pub(super) fn edge(&self, step: i64) -> i64 {
        let (steps, ticks) = (i128::from(self.steps), i128::from(self.ticks));
        // ⌈(step − 1/2) · ticks / steps⌉
        let double = (2 * i128::from(step) - 1) * ticks;
        (-(-double).div_euclid(2 * steps)) as i64
    }

    /// Returns the bins in ticks that `Grid::added` makes bins of `width` steps of.
    pub(super) fn bins(&self, low: i64, high: i64, width: i64) -> Result<Bins, Error> {
        let in_ticks = if width % self.steps == 0 { width / self.steps * self.ticks } else { 1 };
        Bins::linear(self.edge(low), self.edge(high), in_ticks)
    }

    /// Returns the counts of bins of `width` steps.
    pub(super) fn added(&self, low: i64, high: i64, width: i64, counts: Vec<u64>) -> Vec<u64> {
        if width % self.steps == 0 {
            return counts;
        }
        let first = self.edge(low);
        let place = |step: i64| usize::try_from(self.edge(step) - first).unwrap_or(usize::MAX);
        let bins = (low..high).step_by(usize::try_from(width).unwrap_or(1));
        bins.map(|step| counts[place(step)..place(step + width).min(counts.len())].iter().sum())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_equally_many_steps() {
        let grid = Grid { step: 156.25, steps: 4, ticks: 625 };
        assert_eq!(grid.steps_in(1_000), 6);
        assert_eq!([grid.width(100, 1 << 20), grid.width(1 << 20, 1 << 20)], [1, 4]);
        assert_eq!(grid.width(32, 1 << 10), 1, "fewer bins than ticks");
        assert_eq!(
            [100, 200, 625, 1_000].map(|ticks| grid.ticks_of(ticks)),
            [625, 625, 625, 1_250]
        );
        // Step n is recorded as tick 156.25·n, rounded up or down.
        for step in -9_i64..9 {
            let at = (step * 625).div_euclid(4);
            assert!((grid.edge(step)..grid.edge(step + 1) - 1).contains(&at), "{step}");
        }
        let bins = grid.bins(-8, 8, 4).unwrap();
        assert_eq!((bins.count(), bins.edge(0), bins.edge(1)), (4, -1_328, -703));
        let counts = vec![1; usize::try_from(grid.edge(3) - grid.edge(-2)).unwrap()];
        assert_eq!(grid.added(-2, 3, 1, counts), [156, 156, 157, 156, 156]);
        assert_eq!([-2, 0, 7].map(|step| Grid::TICKS.edge(step)), [-2, 0, 7]);
    }
}
