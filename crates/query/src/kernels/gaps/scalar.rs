//! Gaps without vector instructions: row by row.

use std::ops::Range;

use super::{PairDistances, REACH, Span, gathered::Gathered};
use crate::kernels::{matrix::Matrix, rows::MASK_ROWS};

/// See [`super::pairs`].
pub(super) fn pairs(
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    wanted: &PairDistances,
) -> Option<u64> {
    let mut count = 0;
    for row in rows {
        each_pair(gaps, labels, row, pair, wanted, |_| count += 1)?;
    }
    Some(count)
}

/// See [`super::differences`].
pub(super) fn differences(
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    pair: [u8; 2],
    (wanted, low): (&PairDistances, u16),
    gathered: &mut Gathered,
    take: &mut impl FnMut(&mut [u16]),
) -> Result<(), usize> {
    for row in rows {
        gathered.begin(take);
        let push = |difference: u16| gathered.push(difference.wrapping_sub(low));
        if each_pair(gaps, labels, row, pair, wanted, push).is_none() {
            gathered.give_up();
            return Err(row);
        }
    }
    Ok(())
}

/// Passes the differences, modulo 2^16, of the pairs whose later tag is in this row.
#[inline]
fn each_pair(
    gaps: &[u16],
    labels: &[u8],
    row: usize,
    [a, b]: [u8; 2],
    wanted: &PairDistances,
    mut take: impl FnMut(u16),
) -> Option<()> {
    each_before(gaps, row, wanted.reach(), |before, distance| {
        let pair = [labels[before], labels[row]];
        let is_in =
            |span: Option<Span>| span.is_some_and(|(low, high)| (low..=high).contains(&distance));
        if pair == [a, b] && is_in(wanted.forward) {
            take(distance);
        }
        if pair == [b, a] && is_in(wanted.back) {
            take(distance.wrapping_neg());
        }
    })
}

/// See [`super::matrix`].
pub(super) fn matrix(
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    window: u16,
    number_of: &[u8; 256],
    matrix: &mut Matrix,
) -> Option<()> {
    let number = |row: usize| number_of[usize::from(labels[row])];
    for row in rows {
        each_before(gaps, row, window, |before, _| matrix.add(number(row), number(before), 1))?;
    }
    Some(())
}

/// See [`super::chains`].
pub(super) fn chains(
    (gaps, labels): (&[u16], &[u8]),
    rows: Range<usize>,
    window: u16,
    number_of: &[u8; 256],
    matrix: &mut Matrix,
    take: &mut impl FnMut(usize),
) {
    let number = |row: usize| number_of[usize::from(labels[row])];
    let mut start = rows.start;
    while start < rows.end {
        let linked = gaps[start + 1..rows.end].iter().take_while(|&&gap| gap <= window).count();
        match linked {
            0 => {}
            1 => matrix.add(number(start + 1), number(start), 1),
            _ => (start..=start + linked).for_each(&mut *take),
        }
        start += linked + 1;
    }
}

/// See [`super::near`].
pub(super) fn near(
    (gaps, _): (&[u16], &[u8]),
    rows: Range<usize>,
    k: usize,
    window: u16,
    masks: &mut [u64],
) {
    let is_near = |row: usize| {
        let Some(before) = row.checked_sub(k) else { return false };
        let between = &gaps[before + 1..=row];
        between.iter().fold(0_u16, |sum, &gap| sum.saturating_add(gap)) <= window
    };
    masks.fill(0);
    for (at, row) in rows.enumerate() {
        masks[at / MASK_ROWS] |= u64::from(is_near(row)) << (at % MASK_ROWS);
    }
}

/// Passes the rows before `row` that are within the window of it, the nearest first, and their distances.
#[inline]
fn each_before(
    gaps: &[u16],
    row: usize,
    window: u16,
    mut take: impl FnMut(usize, u16),
) -> Option<()> {
    let mut distance = 0_u16;
    for (near, before) in (0..row).rev().enumerate() {
        distance = distance.saturating_add(gaps[before + 1]);
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
