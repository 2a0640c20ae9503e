//! Types and functions of the kernels over times that do not depend on the level.

use super::super::ROWS;

pub(super) type Value = i64;
pub(super) type Ticks = i64;
pub(super) type Difference = u64;

/// Differences are compared when they are computed.
pub(super) const WRITE_SELECTS: bool = true;

/// The distances of the rows of a step to the k-th row before each; the step follows the first rows.
#[derive(Clone, Copy)]
pub(super) struct Distances<'t> {
    pub times: &'t [i64; 2 * ROWS],
    pub k: usize,
}

pub(super) fn ticks(distance: i64) -> Ticks {
    distance
}

#[inline]
pub(super) fn at(times: &[i64; 2 * ROWS], k: usize) -> Distances<'_> {
    Distances { times, k }
}

#[inline]
pub(super) fn next(distances: &mut Distances<'_>, _: &[i64; 2 * ROWS], k: usize) {
    distances.k = k + 1;
}
