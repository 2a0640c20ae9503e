//! Rows found by masks, collected and processed in batches.
//!
//! The number of bits in a mask is unpredictable, and a loop over them mispredicts the end of nearly every
//! mask. Here a fixed few are written, whether the bits exist or not.
//!
//! The mask 0b1010 of the step from row 64 on stands for the rows 65 and 67. Rows are processed in order.

use super::rows::MASK_ROWS;

/// The number of rows collected before they are processed.
const ROOM: usize = 1024;
/// Bits of a mask that are written at once.
const AT_ONCE: usize = 8;

/// Rows not yet processed, in order.
pub(super) struct FoundRows {
    rows: [usize; ROOM + MASK_ROWS],
    len: usize,
}

impl FoundRows {
    pub(super) fn new() -> Self {
        Self { rows: [0; ROOM + MASK_ROWS], len: 0 }
    }

    /// Adds the rows `start + i` of the bits i of a mask; passes all rows to `take` when there are many.
    #[inline]
    pub(super) fn add(&mut self, start: usize, mut mask: u64, take: impl FnMut(&[usize])) {
        let count = mask.count_ones() as usize;
        let Some(free) = self.rows[self.len..].first_chunk_mut::<MASK_ROWS>() else { return };
        let mut write = |row: &mut usize| {
            *row = start + mask.trailing_zeros() as usize;
            mask &= mask.wrapping_sub(1);
        };
        for row in &mut free[..AT_ONCE] {
            write(row);
        }
        if count > AT_ONCE {
            for row in &mut free[AT_ONCE..count] {
                write(row);
            }
        }
        self.len += count;
        if self.len >= ROOM {
            self.take(take);
        }
    }

    /// Passes all rows to `take`.
    #[inline]
    pub(super) fn take(&mut self, mut take: impl FnMut(&[usize])) {
        take(&self.rows[..self.len]);
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_of_the_masks_is_taken_in_order(
            masks in prop::collection::vec(
                prop_oneof![
                    any::<u64>(),
                    (0..=64_u32, 0..64_u32).prop_map(|(bits, at)| {
                        u64::MAX.checked_shl(bits).map_or(u64::MAX, |rest| !rest).rotate_left(at)
                    }),
                ],
                0..80,
            ),
        ) {
            let (mut found, mut rows) = (FoundRows::new(), Vec::<usize>::new());
            let mut wanted = Vec::new();
            for (step, &mask) in masks.iter().enumerate() {
                found.add(step * MASK_ROWS, mask, |found| rows.extend(found));
                wanted.extend((0..MASK_ROWS).filter(|bit| mask >> bit & 1 == 1).map(|bit| step * MASK_ROWS + bit));
            }
            found.take(|found| rows.extend(found));
            prop_assert_eq!(rows, wanted);
        }
    }
}
