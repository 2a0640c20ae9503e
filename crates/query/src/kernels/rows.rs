//! Code shared by all levels: the rows of a step and the bits of a mask.

/// Rows of a mask: its bits.
pub(crate) const MASK_ROWS: usize = 64;
/// The number of rows within the window of one from which on a kernel that compares neighbours gives up.
pub(crate) const REACH: usize = 64;
/// Rows that one step of a kernel handles.
#[cfg(target_arch = "x86_64")]
pub(super) const ROWS: usize = MASK_ROWS;

/// Returns the part of each slice from its end in `ends` on.
#[cfg(target_arch = "x86_64")]
pub(super) fn after<const N: usize>(slices: [&mut [i64]; N], ends: [usize; N]) -> [&mut [i64]; N] {
    let mut ends = ends.into_iter();
    slices.map(|slice| &mut slice[ends.next().unwrap_or_default()..])
}

/// Returns the lower half of a distance: the number modulo 2^32.
pub(super) fn low_half(number: i64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Iterates over the places of the set bits, ascending.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(place)
    })
}
