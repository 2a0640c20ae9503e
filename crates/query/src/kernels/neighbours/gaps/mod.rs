//! The column of gaps: distances are sums of 16 bits, which saturate as the gaps do, so that a distance below
//! [`GAP_MAX`](tagq_store::format::GAP_MAX) is exact and every longer one stays above.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod vbmi2;

#[cfg(target_arch = "x86_64")]
mod levels;
#[cfg(target_arch = "x86_64")]
mod steps;

pub(crate) mod gathered;
pub(super) mod scalar;

use std::ops::Range;

use super::{Column, PairDistances, check};
use crate::kernels::simd::Simd;

/// Passes to `take`, some at a time, the differences of the pairs that [`pairs`](super::pairs) counts, in any order:
/// the time of the tag with the second label less that of the other and less `low`, modulo 2^16. With equal labels each
/// pair is taken both ways. Returns as an error the first row whose differences were not passed, because a row has too
/// many others within reach.
pub(crate) fn differences(
    simd: Simd,
    (gaps, labels): (&[u16], &[u8]),
    rows: Range<usize>,
    pair: [u8; 2],
    (distances, low): (&PairDistances, i128),
    gathered: &mut gathered::Gathered,
    mut take: impl FnMut(&mut [u16]),
) -> Result<(), usize> {
    check(Column::Gaps(gaps), labels, &rows, distances.reach());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2^16")]
    let wanted = (distances, low as u16);
    let end = at_level!(simd, differences(gaps, labels, rows, pair, wanted, gathered, &mut take));
    gathered.empty(&mut take);
    end
}
