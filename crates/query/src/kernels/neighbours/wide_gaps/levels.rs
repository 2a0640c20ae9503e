//! Types and functions of the kernels over wide gaps that do not depend on the level.

use super::super::DifferenceRange;

pub(super) type Value = u32;
pub(super) type Ticks = u32;
pub(super) type Difference = u32;

/// Returns the smallest difference, modulo 2^32.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^32")]
pub(super) fn lowest(range: &DifferenceRange) -> u32 {
    range.low as u32
}

/// Returns a distance that the kernels accept, and that is below [`u32::MAX`].
pub(super) fn ticks(distance: i64) -> Ticks {
    u32::try_from(distance).unwrap_or(u32::MAX)
}
