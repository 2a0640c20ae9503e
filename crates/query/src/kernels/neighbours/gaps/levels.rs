//! Types and functions of the kernels over gaps that do not depend on the level.

use tagq_store::format::GAP_MAX;

use super::super::{DifferenceRange, ROWS};

pub(super) type Value = u16;
pub(super) type Ticks = u16;
pub(super) type Difference = u16;

/// Differences of 16 bits are the same for two distances.
pub(super) const WRITE_SELECTS: bool = false;

/// Returns the smallest difference, modulo 2^16.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^16")]
pub(super) fn lowest(range: &DifferenceRange) -> u16 {
    range.low as u16
}

/// Returns a distance that the kernels accept, and that is below [`GAP_MAX`].
pub(super) fn ticks(distance: i64) -> Ticks {
    u16::try_from(distance).unwrap_or(GAP_MAX)
}

/// Gaps are never negative.
pub(super) struct Order;

impl Order {
    pub(super) fn new() -> Self {
        Self
    }

    #[inline]
    pub(super) fn add_step(&mut self, _: &[u16; 2 * ROWS]) {
        let Self = self;
    }

    pub(super) fn is_certain(&self) -> bool {
        matches!(self, Self)
    }
}

pub(super) fn is_sorted(_: &[u16]) -> bool {
    true
}
