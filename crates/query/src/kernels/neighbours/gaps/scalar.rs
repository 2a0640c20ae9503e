//! Gaps without vector instructions: row by row.

use std::ops::Range;

use super::{
    super::{PairDistances, scalar::each_pair},
    gathered::Gathered,
};

pub(in super::super) use super::super::scalar::{chains, matrix, near, pairs};

/// See [`super::differences`].
pub(in super::super) fn differences(
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
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^16")]
        let push = |difference: i64| gathered.push((difference as u16).wrapping_sub(low));
        if each_pair(gaps, labels, row, pair, wanted, push).is_none() {
            gathered.give_up();
            return Err(row);
        }
    }
    Ok(())
}
