//! Search from the beginning of a sorted list.
//!
//! Of 1, 2, 3 and 9, three are below 5. The numbers of the kind must come before all others.

/// Returns how many numbers at the beginning are of a kind. The cost is the logarithm of that.
#[inline]
pub(crate) fn gallop(sorted: &[i64], is_passed: impl Fn(i64) -> bool) -> usize {
    let mut step = 1;
    let mut passed = 0;
    while let Some(&number) = sorted.get(passed + step - 1)
        && is_passed(number)
    {
        passed += step;
        step *= 2;
    }
    let end = sorted.len().min(passed + step - 1);
    passed + sorted[passed..end].partition_point(|&number| is_passed(number))
}
