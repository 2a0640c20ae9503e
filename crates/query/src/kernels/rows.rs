//! Code shared by all levels: the rows of a step, and the rows after the last whole step.

/// The largest number of neighbours that a tag is compared with.
pub(crate) const REACH: usize = 16;
/// Rows of a mask: its bits.
pub(crate) const MASK_ROWS: usize = 64;
/// Rows that one step of a kernel handles.
#[cfg(target_arch = "x86_64")]
pub(super) const ROWS: usize = MASK_ROWS;

/// Returns the part of each slice from its end in `ends` on.
#[cfg(target_arch = "x86_64")]
pub(super) fn behind<const N: usize>(slices: [&mut [i64]; N], ends: [usize; N]) -> [&mut [i64]; N] {
    let mut ends = ends.into_iter();
    slices.map(|slice| &mut slice[ends.next().unwrap_or_default()..])
}

/// Returns the lower half of a distance: the number modulo 2^32.
pub(super) fn low_half(number: i64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Passes the pairs of the rows from `start` on to `pair`, one by one: the rows after the last whole step.
pub(super) fn pairs_from(
    start: usize,
    time: &[i64],
    id: &[u8],
    window: i64,
    mut pair: impl FnMut(u8, u8),
) -> Option<()> {
    for i in start..time.len() {
        for j in i + 1..time.len() {
            let difference = time[j].wrapping_sub(time[i]);
            if difference > window {
                break;
            }
            if j - i > REACH {
                return None;
            }
            pair(id[i], id[j]);
        }
    }
    Some(())
}

/// Iterates over the places of the set bits, ascending.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(place)
    })
}
