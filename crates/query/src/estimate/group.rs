//! The scatter of counts of groups of independent channels (docs/queries.md, "Errors of larger groups").
//!
//! Tuples that share tags are correlated. Each choice S of channels, except none and all, adds to the
//! variance, beyond the mean μ, the pairs of tuples that share exactly the tags of S.

use crate::rules::rule::Rule;

/// Returns the variance of the count of a group divided by its mean, for a rule that takes every way.
/// `in_window` holds the tags of each channel in w + ½ ticks, the herald's first.
pub(super) fn clumping(rule: Rule, in_window: &[f64]) -> f64 {
    match rule {
        Rule::All => 1.0 + spans(in_window),
        Rule::Herald => 1.0 + heralds(in_window),
        Rule::PerHerald | Rule::Once | Rule::Cluster | Rule::Grid => 1.0,
    }
}

/// Returns the clumping of rule `all`: s shared tags that span r windows form (1 + k(1 − r))·Πx tuples with k
/// others. The frequency of a span r is s(s−1)·r^(s−2), and a tag is in n·Πx tuples:
/// ∫ s(s−1)·r^(s−2)·(1 + k(1 − r))² dr / n · Πx of the k others, where the integral is s + 2k + 2k²/(s + 1).
fn spans(x: &[f64]) -> f64 {
    let n = x.len();
    let choices = symmetric(x);
    let of = |k: usize| {
        let (s, others) = ((n - k) as f64, k as f64);
        (s + 2.0 * others + 2.0 * others * others / (s + 1.0)) / n as f64 * choices[k]
    };
    (1..n).map(of).sum()
}

/// Returns the clumping of rule `herald`: with m tags of an arm in its window of 2w + 1, a shared herald with
/// k arms left forms Πm of these. j shared arms without the herald lie in the window of another herald
/// 2m/(j + 1) times, which then takes Πm of the remaining arms.
fn heralds(x: &[f64]) -> f64 {
    let m: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    let (herald, arms) = (m[0], &m[1..]);
    let choices = symmetric(arms);
    let with_herald: f64 = choices[1..].iter().sum();
    let without: f64 =
        (1..=arms.len()).map(|j| 2.0 / (j as f64 + 1.0) * herald * choices[arms.len() - j]).sum();
    with_herald + without
}

/// Returns the elementary symmetric polynomials: for each k, the sum of the products of all choices of k
/// values.
fn symmetric(values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; values.len() + 1];
    sums[0] = 1.0;
    for (known, value) in values.iter().enumerate() {
        for k in (1..=known + 1).rev() {
            sums[k] += value * sums[k - 1];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rates_by_hand() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let x: f64 = 0.2;
        // A tag of one channel in windows of the other: 2(x + x), as for a pair.
        near(clumping(Rule::All, &[x, x]), 1.0 + 4.0 * x);
        near(clumping(Rule::Herald, &[x, x]), 1.0 + 4.0 * x);
        // Shared pairs 3·(2 + 2 + 2/3)/3, shared tags 3·(1 + 2)²/3.
        near(clumping(Rule::All, &[x; 3]), 1.0 + 14.0 / 3.0 * x + 9.0 * x * x);
        // 4·(3 + 2 + 1/2)/4, 6·(2 + 4 + 8/3)/4, 4·16/4.
        near(clumping(Rule::All, &[x; 4]), 1.0 + 5.5 * x + 13.0 * x * x + 16.0 * x.powi(3));
        // m = 2x: the herald with one arm 2m, alone m²; an arm 2m², both 2/3 m.
        let m = 2.0 * x;
        near(clumping(Rule::Herald, &[x; 3]), 1.0 + 8.0 / 3.0 * m + 3.0 * m * m);
        near(clumping(Rule::Herald, &[x; 4]), 1.0 + 3.5 * m + 5.0 * m * m + 4.0 * m.powi(3));
        near(clumping(Rule::Once, &[x; 3]), 1.0);
    }
}
