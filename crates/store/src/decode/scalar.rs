//! Decodes one row after the other: for machines without vector instructions, for the last rows of a range, and for
//! distances too long for the sums of the vector code.

use crate::format::GAP_MAX;

/// See [`super::times`].
pub(super) fn times<D: Copy + Into<u64>>(
    gaps: &[u16],
    far: &[D],
    before: i64,
    out: &mut [i64],
) -> usize {
    let mut time = before;
    each(gaps, far, out, |distance| {
        time = time.wrapping_add_unsigned(distance);
        time
    })
}

/// See [`super::offsets`]; the row before the first has the offset `before`.
pub(super) fn offsets(gaps: &[u16], far: &[u32], before: u32, out: &mut [u32]) -> bool {
    let mut sum = u64::from(before);
    each(gaps, far, out, |distance| {
        sum += distance;
        u32::try_from(sum).unwrap_or(u32::MAX)
    });
    u32::try_from(sum).is_ok()
}

/// See [`super::distances`].
pub(super) fn distances<D: Copy + Into<u64>>(gaps: &[u16], far: &[D], out: &mut [u32]) -> usize {
    each(gaps, far, out, |distance| u32::try_from(distance).unwrap_or(u32::MAX))
}

/// Writes a value made from each distance.
fn each<D: Copy + Into<u64>, T>(
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
