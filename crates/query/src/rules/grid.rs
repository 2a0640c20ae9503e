//! Rule `grid`: pairs with both tags in one cell, where a cell is t / W rounded toward zero.
//!
//! Cells of 10 ticks: 11 and 19 share cell 1, 19 and 20 share none, and −9 and 9 share cell 0, which is twice as
//! wide. `to_cells` equals the division of Rust for every time and width, so that a count does not depend on the
//! route.

use crate::{
    error::Error,
    rules::{
        definition::{Definition, expected_tuples},
        groups::channels_of,
    },
    run::scope::{Delay, Scope},
};

pub(crate) struct Grid;

impl Definition for Grid {
    fn key(&self) -> &'static str {
        "grid"
    }

    fn summary(&self) -> &'static str {
        "Pairs with both tags in one cell of t / W, as tagtools counts"
    }

    fn cells(&self, window: i64) -> Option<i64> {
        Some(window)
    }

    fn check(&self, window: i64, groups: &[Vec<u16>], scope: &Scope) -> Result<(), Error> {
        if window == 0 {
            return Err(Error::GridWindow);
        }
        if let Some(group) = groups.iter().find(|group| group.len() != 2) {
            return Err(Error::GridGroup { channels: group.clone() });
        }
        // Delays of channels that are not counted cannot split a cell.
        let channels = channels_of(groups);
        let splits = |delay: &&Delay| {
            delay.ticks % window != 0 && channels.binary_search(&delay.channel).is_ok()
        };
        match scope.delays.iter().find(splits) {
            Some(&Delay { channel, ticks: delay }) => {
                Err(Error::GridDelay { channel, delay, window })
            }
            None => Ok(()),
        }
    }

    fn takes_veto(&self) -> bool {
        false
    }

    /// The cell at zero is twice as wide.
    fn look_back(&self, window: i64, _: usize) -> i64 {
        window.saturating_mul(2)
    }

    fn nearest(&self, window: i64) -> i64 {
        window.saturating_mul(2)
    }

    /// The first time in the cell of `time`.
    fn first_times(&self, time: i64, window: i64) -> [i64; 2] {
        let first = match time / window {
            cell if cell > 0 => cell * window,
            cell => {
                let last_before = cell.checked_sub(1).and_then(|before| before.checked_mul(window));
                last_before.map_or(i64::MIN, |last| last + 1)
            }
        };
        [first; 2]
    }

    fn full_width(&self, window: i64) -> i128 {
        window.into()
    }

    fn counts_every_way(&self) -> bool {
        true
    }

    fn expected(&self, tags: &[u64], live: f64, window: i64) -> Option<f64> {
        expected_tuples(tags, live, self.full_width(window) as f64).filter(|_| tags.len() == 2)
    }
}

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
