//! Types and functions of the kernels over gaps that do not depend on the level.

use tagq_store::format::GAP_MAX;

use super::super::DifferenceRange;

pub(super) type Value = u16;
pub(super) type Ticks = u16;
pub(super) type Difference = u16;

/// Returns the smallest difference, modulo 2^16.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^16")]
pub(super) fn lowest(range: &DifferenceRange) -> u16 {
    range.low as u16
}

/// Returns a distance that the kernels accept, and that is below [`GAP_MAX`].
pub(super) fn ticks(distance: i64) -> Ticks {
    u16::try_from(distance).unwrap_or(GAP_MAX)
}
