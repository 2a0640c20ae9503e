//! Types and functions of the kernels over gaps of any width, which do not depend on the level.

use super::ROWS;

/// `write` omits no differences: those that wrap around are equal to others.
pub(super) const WRITE_SELECTS: bool = false;

/// Gaps are never negative.
pub(super) struct Order;

impl Order {
    pub(super) fn new() -> Self {
        Self
    }

    #[inline]
    pub(super) fn add_step<T>(&mut self, _: &[T; 2 * ROWS]) {
        let Self = self;
    }

    pub(super) fn is_certain(&self) -> bool {
        matches!(self, Self)
    }
}

pub(super) fn is_sorted<T>(_: &[T]) -> bool {
    true
}
