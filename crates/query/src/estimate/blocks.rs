//! Errors from the data themselves: values computed with one block of time left out in turn.

/// Returns the standard error of each value, from the values with one block left out; `left_out[i][j]` is
/// value j without block i: σ² = (n−1)/n·Σ(θ₋ᵢ − θ̄)² (the delete-one jackknife; Quenouille 1956,
/// Tukey 1958).
///
/// A value that is not defined without some block has no error. Values that grow with the time, such as
/// counts, must first be scaled to the whole time.
pub fn jackknife<const N: usize>(left_out: &[[Option<f64>; N]]) -> [Option<f64>; N] {
    std::array::from_fn(|j| {
        let values: Option<Vec<f64>> = left_out.iter().map(|values| values[j]).collect();
        values.filter(|values| values.len() > 1).map(|values| covariance(&values, &values).sqrt())
    })
}

/// Returns the covariance of two values from those with one block left out.
pub fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    (n - 1.0) / n * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_mean_it_is_the_error_of_the_mean() {
        // 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 = 14, error of the mean √(14/(3·4)).
        let all = [1.0, 2.0, 3.0, 6.0];
        let without = |i: usize| [Some((12.0 - all[i]) / 3.0), None];
        let [mean, none] = jackknife(&[without(0), without(1), without(2), without(3)]);
        assert!((mean.unwrap() - (14.0_f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(none, None);
    }
}
