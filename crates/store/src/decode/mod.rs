//! Times and distances from gaps and far distances.
//!
//! The distance of a row from the row before it is its gap, or if that is the largest one, the next far distance. The
//! values come from a file that may be damaged: no length, index or loop relies on them, sums wrap around, and a far
//! distance that is missing is 0.

use crate::{format::GAP_MAX, simd::Simd};

/// Far distances in the width of their column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Far<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl Far<'_> {
    /// Returns those from this one on; none if there are fewer.
    pub(crate) fn from(self, first: usize) -> Self {
        match self {
            Self::U32(far) => Self::U32(far.get(first..).unwrap_or_default()),
            Self::U64(far) => Self::U64(far.get(first..).unwrap_or_default()),
        }
    }
}

/// Writes the times of rows with these gaps: those of `out` are as many, and the row before the first has the time
/// `before`. `far` begins with the far distance of the first row that has one. Returns how many far distances the rows
/// have.
pub(crate) fn times(
    _simd: Simd,
    gaps: &[u16],
    far: Far<'_>,
    before: i64,
    out: &mut [i64],
) -> usize {
    let mut time = before;
    let mut of = |distance: u64| {
        time = time.wrapping_add_unsigned(distance);
        time
    };
    match far {
        Far::U32(far) => plain(gaps, far, out, &mut of),
        Far::U64(far) => plain(gaps, far, out, &mut of),
    }
}

/// Writes the distances of rows with these gaps from the rows before each; from [`u32::MAX`] on they are this one.
/// Otherwise as [`times`].
pub(crate) fn distances(_simd: Simd, gaps: &[u16], far: Far<'_>, out: &mut [u32]) -> usize {
    let of = |distance: u64| u32::try_from(distance).unwrap_or(u32::MAX);
    match far {
        Far::U32(far) => plain(gaps, far, out, of),
        Far::U64(far) => plain(gaps, far, out, of),
    }
}

/// Returns how many rows with these gaps have a far distance.
pub(crate) fn far_rows(gaps: &[u16]) -> usize {
    gaps.iter().filter(|&&gap| gap == GAP_MAX).count()
}

/// Writes a value made from each distance.
fn plain<D: Copy + Into<u64>, T>(
    gaps: &[u16],
    far: &[D],
    out: &mut [T],
    mut of: impl FnMut(u64) -> T,
) -> usize {
    let mut next = 0;
    for (out, &gap) in out.iter_mut().zip(gaps) {
        let distance = if gap == GAP_MAX {
            next += 1;
            far.get(next - 1).map_or(0, |&far| far.into())
        } else {
            gap.into()
        };
        *out = of(distance);
    }
    next
}

/// Returns the time of the last row with these gaps, as [`times`] writes it; `before` without any.
pub(crate) fn last_time(gaps: &[u16], far: Far<'_>, before: i64) -> i64 {
    let sum: u64 = gaps.iter().filter(|&&gap| gap < GAP_MAX).map(|&gap| u64::from(gap)).sum();
    let rows = far_rows(gaps);
    let far = match far {
        Far::U32(far) => far.iter().take(rows).map(|&far| u64::from(far)).sum::<u64>(),
        Far::U64(far) => far.iter().take(rows).fold(0, |sum: u64, far| sum.wrapping_add(*far)),
    };
    before.wrapping_add_unsigned(sum).wrapping_add_unsigned(far)
}
