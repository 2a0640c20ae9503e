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

/// Returns the weight of the middle of each bin, prepared once.
fn weights() -> &'static [f32] {
    static WEIGHTS: OnceLock<Vec<f32>> = OnceLock::new();
    let half = BINS as f64 / 2.0;
    #[expect(clippy::cast_possible_truncation, reason = "seven digits are enough")]
    let weight = |at: usize| libm::sin(PI * (at as f64 + 0.5 - half) / half).powi(2) as f32;
    WEIGHTS.get_or_init(|| (0..BINS).map(weight).collect())
}

pub(super) struct Spectrum {
    pub power: Vec<f64>,
    /// The mean around each block, from medians, which lines do not change.
    around: Vec<f64>,
}

impl Spectrum {
    /// Returns the spectrum of counts with the weights of differences; `None` if there are too few.
    pub(super) fn of(counts: Vec<u32>) -> Option<Self> {
        if counts.iter().map(|&count| u64::from(count)).sum::<u64>() < PAIRS_MIN {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "seven digits are enough")]
        let weigh = |(count, weight): (u32, &f32)| count as f32 * weight;
        let mut weighted: Vec<f32> = counts.into_iter().zip(weights()).map(weigh).collect();
        let power = tagq_spectrum::power(&mut weighted);
        let mean_of = |block: &[f64]| {
            let mut sorted = [0.0; BLOCK];
            let sorted = &mut sorted[..block.len()];
            sorted.copy_from_slice(block);
            // The median of an exponential distribution is ln 2 times its mean.
            *sorted.select_nth_unstable_by(block.len() / 2, f64::total_cmp).1 / LN_2
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

    /// Returns the highest line that is not near one of those `passed`, and its ratio to the
    /// surroundings.
    pub(super) fn highest(&self, passed: &[usize]) -> (usize, f64) {
        let places = LONGEST_PART..self.power.len() - 1;
        let places = places.filter(|&at| passed.iter().all(|&other| at.abs_diff(other) > 4));
        let ratio = |at: usize| (at, self.ratio(at));
        places.map(ratio).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
    }

    /// Returns the same ratio for a place that is known up to its neighbours.
    pub(super) fn ratio_near(&self, at: usize) -> f64 {
        let near = at.saturating_sub(1)..(at + 2).min(self.power.len());
        near.map(|at| self.ratio(at)).fold(0.0, f64::max)
    }

    fn ratio(&self, at: usize) -> f64 {
        self.power[at] / self.around[at / BLOCK].max(f64::MIN_POSITIVE)
    }
}
