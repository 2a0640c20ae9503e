//! AVX2: the kernels of neighbours over times.

use std::ops::Range;

use super::{
    super::{
        PairDistances, REACH, ROW_BITS, ROWS, Span, Window, scalar,
        steps::{Ends, neighbour_kernels},
    },
    levels::{Distances, Ticks, Value, at, next, ticks},
};
use crate::kernels::{
    avx2::{self, Order, equal, first_fall},
    found::Found,
    matrix::Matrix,
    prefetch::ask,
    rows::bits,
};

neighbour_kernels!("avx2,bmi1,popcnt");

/// Returns the rows of a step whose distances are at most `window`.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within(distances: &Distances<'_>, window: i64) -> u64 {
    let Distances { times, k } = *distances;
    avx2::near(times, ROWS - k, k, window)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn within_span(distances: &Distances<'_>, (low, high): Span) -> u64 {
    within(distances, high) & !within(distances, low - 1)
}

/// Returns whether times are in order.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn is_sorted(times: &[i64]) -> bool {
    first_fall(times).is_none()
}
