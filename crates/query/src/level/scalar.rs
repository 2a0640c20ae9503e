//! Plain code: the level of every machine.

use super::{Matrix, pairs_from};

/// See [`super::pairs`].
pub(super) fn pairs(time: &[i64], id: &[u8], [a, b]: [u8; 2], window: i64) -> Option<u64> {
    let mut count = 0;
    pairs_from(0, time, id, window, |x, y| {
        count += u64::from([x, y] == [a, b] || [x, y] == [b, a]);
    })?;
    Some(count)
}

/// See [`super::matrix`].
pub(super) fn matrix(
    time: &[i64],
    id: &[u8],
    window: i64,
    dense: &[u8; 256],
    matrix: &mut Matrix,
) -> Option<()> {
    pairs_from(0, time, id, window, |x, y| {
        matrix.add(dense[usize::from(x)], dense[usize::from(y)], 1);
    })
}
