//! The cells of rule `grid`.

/// Divides each time by `width`, which must be 1 or more, and rounds toward zero. The order is preserved.
pub(crate) fn to_cells(time: &mut [i64], width: i64) {
    if width == 1 {
        return;
    }
    let width = width.unsigned_abs();
    // The inverse is floor(2^64 / width). 2^64 itself would not fit in 64 bits. A width that divides 2^64
    // does not divide 2^64 - 1, so 1 is added for powers of two.
    let inverse = u64::MAX / width + u64::from(width.is_power_of_two());
    for time in time {
        // A division takes about forty cycles. The product is less than the quotient by less than
        // time / 2^64 + 1, so by one at most.
        let ticks = time.unsigned_abs();
        let quotient = ((u128::from(ticks) * u128::from(inverse)) >> 64) as u64;
        let is_short = ticks - quotient * width >= width;
        let cell = (quotient + u64::from(is_short)).cast_signed();
        *time = if *time < 0 { -cell } else { cell };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_are_quotients(
            time in prop::collection::vec(prop_oneof![
                any::<i64>(), -100_i64..100, Just(i64::MIN), Just(i64::MAX),
            ], 1..50),
            width in prop_oneof![
                1_i64..100, 1..i64::MAX, Just(i64::MAX), (0_u32..63).prop_map(|bits| 1 << bits),
            ],
        ) {
            let mut cells = time.clone();
            to_cells(&mut cells, width);
            let quotients: Vec<i64> = time.iter().map(|time| time / width).collect();
            prop_assert_eq!(cells, quotients);
        }
    }
}
