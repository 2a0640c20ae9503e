//! Columns without vector instructions: row by row.
//!
//! Rows at 0, 4 and 9, window 5: 4 is compared with 0, and 9 with 4. The other levels count their first and last rows
//! with this code, and must equal it everywhere, also in where they give up.

use std::{hint::select_unpredictable, ops::Range};

use super::{DifferenceRange, PairDistances, REACH, Span};
use crate::kernels::{
    gathered::Gathered,
    matrix::{Matrix, TakePairs},
    rows::MASK_ROWS,
};

/// A value of a column from which distances follow.
pub(super) trait Value: Copy + PartialOrd {
    /// A difference less the smallest one that is wanted.
    type Difference: Copy + Default;

    /// Returns a difference less the smallest one of the range.
    fn difference(signed: i64, range: &DifferenceRange) -> Self::Difference;

    /// Returns the distance from `row` to row `before`, given that to the row after `before`.
    fn distance(column: &[Self], row: usize, before: usize, shorter: i64) -> i64;

    /// Returns the distance of a row from the row `k` rows before it.
    fn apart(column: &[Self], row: usize, k: usize) -> i64;

    /// Returns whether the rows are in order of time.
    fn is_in_order(column: &[Self]) -> bool;
}

/// Returns the sum of the last `k` gaps up to that of a row.
#[inline]
fn sum_of_gaps<G: Copy + Into<i64>>(gaps: &[G], row: usize, k: usize) -> i64 {
    const FEW: usize = 4;
    match gaps[..=row].last_chunk::<FEW>() {
        // For random small k, a loop would mispredict its end.
        Some(last) if k <= FEW => {
            let gap = |at: usize| select_unpredictable(at + k >= FEW, last[at].into(), 0);
            (0..FEW).map(gap).sum()
        }
        _ => gaps[row + 1 - k..=row].iter().map(|&gap| gap.into()).sum(),
    }
}

/// A gap.
impl Value for u16 {
    type Difference = u16;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^16")]
    #[inline]
    fn difference(signed: i64, range: &DifferenceRange) -> u16 {
        signed.wrapping_sub(range.low) as u16
    }

    #[inline]
    fn distance(column: &[Self], _: usize, before: usize, shorter: i64) -> i64 {
        shorter.saturating_add(column[before + 1].into())
    }

    #[inline]
    fn apart(column: &[Self], row: usize, k: usize) -> i64 {
        sum_of_gaps(column, row, k)
    }

    fn is_in_order(_: &[Self]) -> bool {
        true
    }
}

/// A wide gap.
impl Value for u32 {
    type Difference = u32;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^32")]
    #[inline]
    fn difference(signed: i64, range: &DifferenceRange) -> u32 {
        signed.wrapping_sub(range.low) as u32
    }

    #[inline]
    fn distance(column: &[Self], _: usize, before: usize, shorter: i64) -> i64 {
        shorter.saturating_add(column[before + 1].into())
    }

    #[inline]
    fn apart(column: &[Self], row: usize, k: usize) -> i64 {
        sum_of_gaps(column, row, k)
    }

    fn is_in_order(_: &[Self]) -> bool {
        true
    }
}

/// A time.
impl Value for i64 {
    type Difference = u64;

    #[inline]
    fn difference(signed: i64, range: &DifferenceRange) -> u64 {
        signed.wrapping_sub(range.low).cast_unsigned()
    }

    #[inline]
    fn distance(column: &[Self], row: usize, before: usize, _: i64) -> i64 {
        column[row].wrapping_sub(column[before])
    }

    #[inline]
    fn apart(column: &[Self], row: usize, k: usize) -> i64 {
        column[row].wrapping_sub(column[row - k])
    }

    fn is_in_order(column: &[Self]) -> bool {
        column.is_sorted()
    }
}

/// Returns whether the rows are in order of time.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_in_order<V: Value>(column: &[V]) -> bool {
    V::is_in_order(column)
}

/// Returns whether `rows` and the rows that are looked back at are in order of time.
fn are_in_order<V: Value>(column: &[V], rows: &Range<usize>) -> Option<()> {
    V::is_in_order(&column[rows.start.saturating_sub(REACH)..rows.end]).then_some(())
}

/// See [`super::pairs`].
pub(super) fn pairs<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    wanted: &PairDistances,
) -> Option<u64> {
    are_in_order(column, &rows)?;
    pairs_of(column, labels, rows, pair, wanted)
}

/// Counts pairs without checking the order of times.
pub(super) fn pairs_of<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    wanted: &PairDistances,
) -> Option<u64> {
    let mut count = 0;
    for row in rows {
        each_pair(column, labels, row, pair, wanted, |_| count += 1)?;
    }
    Some(count)
}

/// Passes the differences of the pairs whose later tag is in this row.
#[inline]
fn each_pair<V: Value>(
    column: &[V],
    labels: &[u8],
    row: usize,
    [a, b]: [u8; 2],
    wanted: &PairDistances,
    mut take: impl FnMut(i64),
) -> Option<()> {
    each_before(column, row, wanted.reach(), |before, distance| {
        let pair = [labels[before], labels[row]];
        let is_in =
            |span: Option<Span>| span.is_some_and(|(low, high)| (low..=high).contains(&distance));
        if pair == [a, b] && is_in(wanted.forward) {
            take(distance);
        }
        if pair == [b, a] && is_in(wanted.back) {
            take(-distance);
        }
    })
}

/// See [`super::differences`].
pub(super) fn differences<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    wanted: &PairDistances,
    gathered: &mut Gathered<V::Difference>,
    take: &mut impl FnMut(&mut [V::Difference]),
) -> Result<(), usize> {
    are_in_order(column, &rows).ok_or(rows.start)?;
    differences_of(column, labels, rows, pair, wanted, gathered, take)
}

/// Passes differences without checking the order of times.
pub(super) fn differences_of<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    wanted: &PairDistances,
    gathered: &mut Gathered<V::Difference>,
    take: &mut impl FnMut(&mut [V::Difference]),
) -> Result<(), usize> {
    let range = wanted.range();
    for row in rows {
        gathered.begin(take);
        let push = |signed: i64| gathered.push(V::difference(signed, &range));
        if each_pair(column, labels, row, pair, wanted, push).is_none() {
            gathered.give_up();
            return Err(row);
        }
    }
    Ok(())
}

/// See [`super::near_pairs`].
pub(super) fn near_pairs<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    reach: i64,
    number_of: &[u8; 256],
    take: &mut impl TakePairs,
) -> Option<()> {
    are_in_order(column, &rows)?;
    near_pairs_of(column, labels, rows, reach, number_of, take)
}

/// Passes pairs without checking the order of times.
pub(super) fn near_pairs_of<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    reach: i64,
    number_of: &[u8; 256],
    take: &mut impl TakePairs,
) -> Option<()> {
    let number = |row: usize| number_of[usize::from(labels[row])];
    for row in rows {
        each_before(column, row, reach, |before, apart| {
            take.take([number(row), number(before)], || apart);
        })?;
    }
    Some(())
}

/// See [`super::chains`].
pub(super) fn chains<V: Value>(
    column: &[V],
    labels: &[u8],
    rows: Range<usize>,
    window: i64,
    number_of: &[u8; 256],
    matrix: &mut Matrix,
    take: &mut impl FnMut(usize),
) -> Option<()> {
    are_in_order(column, &rows)?;
    let number = |row: usize| number_of[usize::from(labels[row])];
    let is_linked = |&row: &usize| V::distance(column, row, row - 1, 0) <= window;
    let mut start = rows.start;
    while start < rows.end {
        let linked = (start + 1..rows.end).take_while(is_linked).count();
        match linked {
            0 => {}
            1 => matrix.add(number(start + 1), number(start), 1),
            _ => (start..=start + linked).for_each(&mut *take),
        }
        start += linked + 1;
    }
    Some(())
}

/// See [`super::near`].
pub(super) fn near<V: Value>(
    column: &[V],
    _: &[u8],
    rows: Range<usize>,
    k: usize,
    window: i64,
    masks: &mut [u64],
) -> Option<()> {
    are_in_order(column, &rows)?;
    for (mask, start) in masks.iter_mut().zip(rows.clone().step_by(MASK_ROWS)) {
        *mask = near_rows(column, start..rows.end.min(start + MASK_ROWS), k, window);
    }
    Some(())
}

/// Returns which of at most [`MASK_ROWS`] rows are within the window of the k-th row before them.
pub(super) fn near_rows<V: Value>(column: &[V], rows: Range<usize>, k: usize, window: i64) -> u64 {
    let is_near = |row: usize| row >= k && V::apart(column, row, k) <= window;
    rows.enumerate().fold(0, |mask, (bit, row)| mask | u64::from(is_near(row)) << bit)
}

/// Returns the distance of a row from the row `k` rows before it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn apart<V: Value>(column: &[V], row: usize, k: usize) -> i64 {
    V::apart(column, row, k)
}

/// Passes the rows before `row` that are within the window of it, the nearest first, and their distances.
#[inline]
fn each_before<V: Value>(
    column: &[V],
    row: usize,
    window: i64,
    mut take: impl FnMut(usize, i64),
) -> Option<()> {
    let mut distance = 0;
    for (near, before) in (0..row).rev().enumerate() {
        distance = V::distance(column, row, before, distance);
        if distance > window {
            break;
        }
        if near + 1 == REACH {
            return None;
        }
        take(before, distance);
    }
    Some(())
}
