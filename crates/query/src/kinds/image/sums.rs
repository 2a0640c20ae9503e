//! Running sums over photons.
//!
//! Micro times 3 and 4 after each other: 1 photon, 3 and 9, then 2 photons, 7 and 25.

use super::PixelCounts;
use crate::kinds::micro_bins::Micro;

/// Sums over photons.
pub(super) trait RunningSums<M>: Copy + Default {
    /// Returns how many photons there are.
    fn photons(&self) -> u64;
    /// Adds a photon.
    fn add(&mut self, micro: M);
    /// Adds what came after `before` to the numbers of a pixel.
    fn add_since(&self, before: &Self, counts: &mut [u64]);
}

/// Photons whose micro times are not counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PhotonCount(u64);

impl RunningSums<()> for PhotonCount {
    #[inline]
    fn photons(&self) -> u64 {
        self.0
    }

    #[inline]
    fn add(&mut self, (): ()) {
        self.0 += 1;
    }

    #[inline]
    fn add_since(&self, before: &Self, counts: &mut [u64]) {
        counts[0] += self.0 - before.0;
    }
}

/// Bits of the numbers of a walk, which has fewer rows: photons, those with a micro time, and the sum of micro times of two
/// bytes; and above them.
const FIELD: u32 = 16;
/// The most rows of a walk.
pub(super) const ROWS_MAX: usize = (1 << FIELD) - 1;

/// Photons, those with a micro time, and the sums of micro times of two bytes and of their squares. Of a walk, the first three
/// fit into one number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NarrowMicro {
    packed: u64,
    squares: u64,
}

impl RunningSums<u16> for NarrowMicro {
    #[inline]
    fn photons(&self) -> u64 {
        self.packed & ((1 << FIELD) - 1)
    }

    #[inline]
    fn add(&mut self, micro: u16) {
        let (has, micro) = micro.get().map_or((0, 0), |micro| (1, u64::from(micro)));
        self.packed += 1 + (has << FIELD) + (micro << (2 * FIELD));
        self.squares += micro * micro;
    }

    #[inline]
    fn add_since(&self, before: &Self, counts: &mut [u64]) {
        // No sum is below the one before, so that no field borrows from the next one.
        let since = self.packed - before.packed;
        let mask = (1 << FIELD) - 1;
        // A square is below 2³², and so is the number of rows of a walk.
        let squares = self.squares - before.squares;
        let all = [since & mask, since >> FIELD & mask, since >> (2 * FIELD), squares];
        counts.iter_mut().zip(all).for_each(|(count, more)| *count += more);
    }
}

/// The same of micro times of four bytes: the lower and the upper halves of squares are added apart.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WideMicro([u64; PixelCounts::WITH_MEAN]);

impl RunningSums<u32> for WideMicro {
    #[inline]
    fn photons(&self) -> u64 {
        self.0[0]
    }

    #[inline]
    fn add(&mut self, micro: u32) {
        let [photons, sums @ ..] = &mut self.0;
        *photons += 1;
        if let Some(micro) = micro.get() {
            let [_, of_one @ ..] = sums_of_one(micro);
            sums.iter_mut().zip(of_one).for_each(|(sum, more)| *sum += more);
        }
    }

    #[inline]
    fn add_since(&self, before: &Self, counts: &mut [u64]) {
        let since = self.0.iter().zip(&before.0).map(|(sum, before)| sum - before);
        counts.iter_mut().zip(since).for_each(|(count, more)| *count += more);
    }
}

/// Returns the numbers of a photon with this micro time: itself twice, the micro time, and both halves of its square.
pub(super) fn sums_of_one(micro: u32) -> [u64; PixelCounts::WITH_MEAN] {
    let micro = u64::from(micro);
    let square = micro * micro;
    [1, 1, micro, square & u64::from(u32::MAX), square >> 32]
}
