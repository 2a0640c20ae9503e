//! Plain code: the level of every machine, and the rows after the last whole step of the other levels.

use super::rows::MASK_ROWS;

/// See [`super::first_fall`].
pub(super) fn first_fall(time: &[i64]) -> Option<usize> {
    time.windows(2).position(|two| two[1] < two[0]).map(|row| row + 1)
}

/// See [`super::matching`].
pub(super) fn matching(labels: &[u8], wanted: &[u8], masks: &mut [u64]) {
    let mut is_wanted = [false; 256];
    for &label in wanted {
        is_wanted[usize::from(label)] = true;
    }
    for (labels, mask) in labels.chunks(MASK_ROWS).zip(masks) {
        *mask = 0;
        for (bit, &label) in labels.iter().enumerate() {
            *mask |= u64::from(is_wanted[usize::from(label)]) << bit;
        }
    }
}

/// See [`super::compress`].
pub(super) fn compress<const N: usize>(
    time: &[i64],
    masks: [&[u64]; N],
    delays: [i64; N],
    into: [&mut [i64]; N],
) -> bool {
    for ((masks, delay), into) in masks.into_iter().zip(delays).zip(into) {
        take(time, masks, into, |time| time.wrapping_add(delay));
    }
    time.is_sorted()
}

/// See [`super::compress_offsets`].
pub(super) fn compress_offsets<const N: usize>(
    offsets: &[u32],
    masks: [&[u64]; N],
    times: [i64; N],
    into: [&mut [i64]; N],
) {
    for ((masks, time), into) in masks.into_iter().zip(times).zip(into) {
        take(offsets, masks, into, |offset| time.wrapping_add(offset.into()));
    }
}

/// Applies `of` to the selected values and writes the results.
fn take<T: Copy, U>(values: &[T], masks: &[u64], into: &mut [U], of: impl Fn(T) -> U) {
    // Every row is written, but the end advances only past selected rows.
    let mut end = 0;
    for (values, &mask) in values.chunks(MASK_ROWS).zip(masks) {
        for (bit, &value) in values.iter().enumerate() {
            into[end] = of(value);
            end += usize::from(mask >> bit & 1 == 1);
        }
    }
}

/// See [`super::compress_labels`].
pub(super) fn compress_labels(labels: &[u8], masks: &[u64], into: &mut [u8]) {
    take(labels, masks, into, |label| label);
}
