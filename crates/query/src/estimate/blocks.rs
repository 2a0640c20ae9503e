//! Errors from the data themselves: values computed with one block of time left out in turn.
//!
//! Four blocks with 1, 2, 3 and 6 counts: the variance of their sum is n/(2(n − 1)) times the squares of the
//! differences of neighbours, 4/6·(1 + 1 + 9) = 22/3. Blocks must be in order of time, because only neighbours are
//! compared.

/// Returns the standard error of each value, from the values with one block left out, in order of time:
/// `left_out[i][j]` is value j without block i. See [`covariance`].
///
/// A value that is not defined without some block has no error. Values that grow with the time, such as
/// counts, must first be scaled to the whole time.
pub fn jackknife<const N: usize>(left_out: &[[Option<f64>; N]]) -> [Option<f64>; N] {
    std::array::from_fn(|j| {
        let values: Option<Vec<f64>> = left_out.iter().map(|values| values[j]).collect();
        values.filter(|values| values.len() > 1).map(|values| covariance(&values, &values).sqrt())
    })
}

/// Returns the covariance of two values θ and φ from those with one block left out, in order of time:
/// (n−1)/2n·Σ(θ₋ᵢ₊₁ − θ₋ᵢ)(φ₋ᵢ₊₁ − φ₋ᵢ), the delete-one jackknife (Quenouille 1956, Tukey 1958) with the
/// mean square of successive differences (von Neumann 1941) in place of that of the deviations from the mean: a
/// drift over the run is no noise.
pub fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let products = a.windows(2).zip(b.windows(2)).map(|(a, b)| (a[1] - a[0]) * (b[1] - b[0]));
    (n - 1.0) / (2.0 * n) * products.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_sum_it_is_that_of_successive_differences() {
        // The sum of 1, 2, 3, 6 is 12; n/(2(n − 1))·(1 + 1 + 9) = 22/3.
        let all = [1.0, 2.0, 3.0, 6.0];
        let without = |i: usize| [Some((12.0 - all[i]) * 4.0 / 3.0), None];
        let [sum, none] = jackknife(&[without(0), without(1), without(2), without(3)]);
        assert!((sum.unwrap() - (22.0_f64 / 3.0).sqrt()).abs() < 1e-14);
        assert_eq!(none, None);
    }
}
