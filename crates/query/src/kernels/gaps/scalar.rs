//! Gaps without vector instructions: row by row.

use std::ops::Range;

use super::REACH;

/// See [`super::pairs`].
pub(super) fn pairs(
    gaps: &[u16],
    labels: &[u8],
    rows: Range<usize>,
    [a, b]: [u8; 2],
    window: u16,
) -> Option<u64> {
    let mut count = 0;
    for row in rows {
        let now = labels[row];
        each_before(gaps, row, window, |before| {
            let pair = [now, labels[before]];
            count += u64::from(pair == [a, b] || pair == [b, a]);
        })?;
    }
    Some(count)
}

/// Passes the rows before `row` that are within the window of it, the nearest first.
#[inline]
fn each_before(gaps: &[u16], row: usize, window: u16, mut take: impl FnMut(usize)) -> Option<()> {
    let mut distance = 0_u16;
    for (near, before) in (0..row).rev().enumerate() {
        distance = distance.saturating_add(gaps[before + 1]);
        if distance > window {
            break;
        }
        if near + 1 == REACH {
            return None;
        }
        take(before);
    }
    Some(())
}
