//! Rule `all`: every way to take one tag of each channel within the window.
//!
//! Channel 1 at 0 and 3, channel 2 at 5, window 5: the coincidences are (0, 5) and (3, 5). A tag may be part of
//! several. Of n channels, (w + 1)^n − w^n arrangements of ticks have a span of at most w, 2w + 1 for pairs;
//! `expected` counts these.

use crate::rules::definition::{Definition, expected_tuples, symmetric};

pub(crate) struct All;

impl Definition for All {
    fn key(&self) -> &'static str {
        "all"
    }

    fn summary(&self) -> &'static str {
        "Each combination of one tag of each channel, latest minus earliest within the window"
    }

    fn is_span(&self, size: usize) -> bool {
        size > 2
    }

    fn counts_every_way(&self) -> bool {
        true
    }

    fn expected(&self, tags: &[u64], live: f64, window: i64) -> Option<f64> {
        let (n, w) = (tags.len(), window as f64);
        if n == 2 {
            return expected_tuples(tags, live, self.full_width(window) as f64);
        }
        if window == 0 {
            return expected_tuples(tags, live, 1.0);
        }
        // (w+1)^n − w^n; the plain difference would lose all digits.
        Some(expected_tuples(tags, live, w)? * w * libm::expm1(n as f64 * libm::log1p(1.0 / w)))
    }

    /// Tuples that share tags are correlated. Each choice S of channels, except none and all, adds to the
    /// variance, beyond the mean μ, the pairs of tuples that share exactly the tags of S: s shared tags that
    /// span r windows form (1 + k(1 − r))·Πx tuples with k others. The frequency of a span r is
    /// s(s−1)·r^(s−2), and a tag is in n·Πx tuples: ∫ s(s−1)·r^(s−2)·(1 + k(1 − r))² dr / n · Πx of the k
    /// others, where the integral is s + 2k + 2k²/(s + 1).
    fn clumping(&self, x: &[f64]) -> f64 {
        let n = x.len();
        let choices = symmetric(x);
        let of = |k: usize| {
            let (s, others) = ((n - k) as f64, k as f64);
            (s + 2.0 * others + 2.0 * others * others / (s + 1.0)) / n as f64 * choices[k]
        };
        1.0 + (1..n).map(of).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clumping_of_equal_rates_by_hand() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let x: f64 = 0.2;
        // A tag of one channel in windows of the other: 2(x + x), as for a pair.
        near(All.clumping(&[x, x]), 1.0 + 4.0 * x);
        // Shared pairs 3·(2 + 2 + 2/3)/3, shared tags 3·(1 + 2)²/3.
        near(All.clumping(&[x; 3]), 1.0 + 14.0 / 3.0 * x + 9.0 * x * x);
        // 4·(3 + 2 + 1/2)/4, 6·(2 + 4 + 8/3)/4, 4·16/4.
        near(All.clumping(&[x; 4]), 1.0 + 5.5 * x + 13.0 * x * x + 16.0 * x.powi(3));
    }
}
