//! Rule `herald`: every way to take one herald and one tag of each other channel within the window of the herald; and
//! rule `per-herald`: each herald at most once.
//!
//! Herald at 10, channel 2 at 5 and 15, window 5: two coincidences by `herald`, one by `per-herald`, which belongs to
//! 10, where its first way is complete. Tags of two other channels may be two windows apart, so a scan looks back
//! that far.

use crate::rules::definition::{Definition, Heralds, expected_tuples, symmetric};

pub(crate) struct Herald {
    /// Whether each herald counts at most once.
    pub once: bool,
}

impl Definition for Herald {
    fn key(&self) -> &'static str {
        if self.once { "herald-once" } else { "herald" }
    }

    fn name(&self) -> &'static str {
        if self.once { "per-herald" } else { "herald" }
    }

    fn summary(&self) -> &'static str {
        if self.once {
            "Each tag of the first channel at most once, if all others have one near it"
        } else {
            "Each combination of a tag of the first channel with one of each other within the window"
        }
    }

    fn is_span(&self, _: usize) -> bool {
        false
    }

    fn heralds(&self) -> Heralds {
        if self.once { Heralds::Once } else { Heralds::Every }
    }

    /// The window before the herald plus the window after it. By `per-herald` pairs need both, too: an earlier tag
    /// may have completed the herald already.
    fn look_back(&self, window: i64, size: usize) -> i64 {
        if size == 2 && !self.once { window } else { window.saturating_mul(2) }
    }

    fn first_times(&self, time: i64, window: i64) -> [i64; 2] {
        [2, 1].map(|windows| time.saturating_sub(window.saturating_mul(windows)))
    }

    fn counts_every_way(&self) -> bool {
        !self.once
    }

    fn expected(&self, tags: &[u64], live: f64, window: i64) -> Option<f64> {
        if self.once { None } else { expected_tuples(tags, live, self.full_width(window) as f64) }
    }

    /// With m tags of an arm in its window of 2w + 1, a shared herald with k arms left forms Πm of these. j
    /// shared arms without the herald lie in the window of another herald 2m/(j + 1) times, which then takes
    /// Πm of the remaining arms.
    fn clumping(&self, x: &[f64]) -> f64 {
        if self.once {
            return 1.0;
        }
        let m: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        let (herald, arms) = (m[0], &m[1..]);
        let choices = symmetric(arms);
        let with_herald: f64 = choices[1..].iter().sum();
        let without = |j: usize| 2.0 / (j as f64 + 1.0) * herald * choices[arms.len() - j];
        1.0 + (with_herald + (1..=arms.len()).map(without).sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clumping_of_equal_rates_by_hand() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let (x, every): (f64, _) = (0.2, Herald { once: false });
        near(every.clumping(&[x, x]), 1.0 + 4.0 * x);
        // m = 2x: the herald with one arm 2m, alone m²; an arm 2m², both 2/3 m.
        let m = 2.0 * x;
        near(every.clumping(&[x; 3]), 1.0 + 8.0 / 3.0 * m + 3.0 * m * m);
        near(every.clumping(&[x; 4]), 1.0 + 3.5 * m + 5.0 * m * m + 4.0 * m.powi(3));
        near(Herald { once: true }.clumping(&[x; 3]), 1.0);
    }
}
