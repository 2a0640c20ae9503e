//! The spectrum of a histogram of differences, and lines in it.
//!
//! A power of 22 where the spectrum around has a median of 0.69, which is a mean of 1, is a line of ratio 22. The
//! surroundings are medians, because a line itself must not raise them.

use std::{
    f64::consts::{LN_2, PI},
    sync::OnceLock,
};

/// Number of bins of a histogram.
pub(super) const BINS: usize = 1 << 16;
/// Number of bins of one sign.
pub(super) const HALF_BINS: i64 = 1 << 15;
/// The lowest line that is searched has this many turns in the histogram.
pub(super) const LONGEST_PART: usize = 128;
/// The spectrum around a line is computed in blocks of this many places.
const BLOCK: usize = 64;
/// Fewer differences are not significant.
const PAIRS_MIN: u64 = 64;

/// Returns the weight of the middle of each bin of one sign, prepared once; those of the other sign are the same.
fn weights() -> &'static [f32] {
    static WEIGHTS: OnceLock<Vec<f32>> = OnceLock::new();
    let half = BINS as f64 / 2.0;
    #[expect(clippy::cast_possible_truncation, reason = "seven digits are enough")]
    let weight = |at: usize| libm::sin(PI * (at as f64 + 0.5 - half) / half).powi(2) as f32;
    WEIGHTS.get_or_init(|| (0..BINS / 2).map(weight).collect())
}

pub(super) struct Spectrum {
    /// The lines, from no turn on.
    power: Vec<f32>,
    /// The mean around each block, from medians, which lines do not change.
    around: Vec<f64>,
}

impl Spectrum {
    /// Returns the spectrum of counts with the weights of differences; `None` if there are too few.
    pub(super) fn of(counts: Vec<u32>) -> Option<Self> {
        if counts.iter().map(|&count| u64::from(count)).sum::<u64>() < PAIRS_MIN {
            return None;
        }
        let weights = weights();
        #[expect(clippy::cast_precision_loss, reason = "seven digits are enough")]
        let weigh = |(at, count): (usize, u32)| count as f32 * weights[at.min(BINS - 1 - at)];
        // In the memory of the counts.
        let power = tagq_spectrum::power(counts.into_iter().enumerate().map(weigh).collect());
        let mean_of = |block: &[f32]| {
            let mut sorted = [0; BLOCK];
            let sorted = &mut sorted[..block.len()];
            // The bits of floats that are not negative are in their order.
            sorted.iter_mut().zip(block).for_each(|(bits, power)| *bits = power.to_bits());
            let median = *sorted.select_nth_unstable(block.len() / 2).1;
            // The median of an exponential distribution is ln 2 times its mean.
            f64::from(f32::from_bits(median)) / LN_2
        };
        let means: Vec<f64> = power.chunks(BLOCK).map(mean_of).collect();
        // In a falling spectrum, the higher side.
        let around = |at: usize| {
            let near = &means[at.saturating_sub(1)..(at + 2).min(means.len())];
            near.iter().copied().fold(0.0, f64::max)
        };
        let around = (0..means.len()).map(around).collect();
        Some(Self { power, around })
    }

    /// Returns the power of a line.
    pub(super) fn power(&self, at: usize) -> f64 {
        self.power[at].into()
    }

    /// Returns the highest line that is not near one of those `passed`, and its ratio to the
    /// surroundings.
    pub(super) fn highest(&self, passed: &[usize]) -> (usize, f64) {
        let is_new = |&at: &usize| passed.iter().all(|&other| at.abs_diff(other) > 4);
        // Lines of a block have the same surroundings.
        let of_block = |block: usize| {
            let first = (block * BLOCK).max(LONGEST_PART);
            let places = first..((block + 1) * BLOCK).min(self.power.len() - 1);
            let highest = places.filter(is_new).max_by_key(|&at| self.power[at].to_bits());
            highest.map(|at| (at, self.ratio(at)))
        };
        let blocks = (0..self.around.len()).filter_map(of_block);
        blocks.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }

    /// Returns the same ratio for a place that is known up to its neighbours.
    pub(super) fn ratio_near(&self, at: usize) -> f64 {
        let near = at.saturating_sub(1)..(at + 2).min(self.power.len());
        near.map(|at| self.ratio(at)).fold(0.0, f64::max)
    }

    fn ratio(&self, at: usize) -> f64 {
        self.power(at) / self.around[at / BLOCK].max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_line_is_the_last_of_the_highest_ratios_that_are_not_near_others() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 62
        };
        // Few counts, so that many ratios are equal, and a line.
        let counts = (0..BINS).map(|at| u32::try_from(next()).unwrap() + u32::from(at % 50 == 0));
        let spectrum = Spectrum::of(counts.collect()).unwrap();
        let mut passed = Vec::new();
        for _ in 0..6 {
            let is_far = |at: &usize| passed.iter().all(|other| at.abs_diff(*other) > 4);
            let places = (LONGEST_PART..BINS / 2).filter(is_far);
            let ratios = places.map(|at| (at, spectrum.ratio(at)));
            let highest = ratios.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(spectrum.highest(&passed), highest);
            let is_near = |apart: usize| {
                let passed = [&passed[..], &[highest.0 + apart]].concat();
                spectrum.highest(&passed) != highest
            };
            assert_eq!([4, 5].map(is_near), [true, false]);
            passed.push(highest.0);
        }
        // A comb of 50 bins has a line at each multiple of its frequency.
        let turns = BINS as f64 / 50.0;
        let off = |at: usize| (at as f64 / turns - (at as f64 / turns).round()).abs() * turns;
        assert!(passed.iter().all(|&at| off(at) < 1.0), "{passed:?}");
    }

    #[test]
    fn weights_of_both_signs_are_the_same() {
        let half = BINS as f64 / 2.0;
        for (at, &weight) in weights().iter().enumerate() {
            let of_other = (BINS - 1 - at) as f64 + 0.5 - half;
            #[expect(clippy::cast_possible_truncation, reason = "seven digits are enough")]
            let of_other = libm::sin(PI * of_other / half).powi(2) as f32;
            assert_eq!(weight.to_bits(), of_other.to_bits(), "{at}");
        }
    }
}
