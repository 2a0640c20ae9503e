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

/// Photons, those with a micro time, and the sums of micro times of two bytes and of their squares.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NarrowMicro([u64; 4]);

impl RunningSums<u16> for NarrowMicro {
    #[inline]
    fn photons(&self) -> u64 {
        self.0[0]
    }

    #[inline]
    fn add(&mut self, micro: u16) {
        let (has, micro) = micro.get().map_or((0, 0), |micro| (1, u64::from(micro)));
        let Self([photons, with, sum, squares]) = self;
        *photons += 1;
        *with += has;
        *sum += micro;
        *squares += micro * micro;
    }

    #[inline]
    fn add_since(&self, before: &Self, counts: &mut [u64]) {
        // A square is below 2³², and so is the number of rows of a walk.
        add_differences(&self.0, &before.0, counts);
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
        let (has, micro) = micro.get().map_or((0, 0), |micro| (1, u64::from(micro)));
        let square = micro * micro;
        let Self([photons, with, sum, low, high]) = self;
        *photons += 1;
        *with += has;
        *sum += micro;
        *low += square & u64::from(u32::MAX);
        *high += square >> 32;
    }

    #[inline]
    fn add_since(&self, before: &Self, counts: &mut [u64]) {
        add_differences(&self.0, &before.0, counts);
    }
}

#[inline]
fn add_differences(sums: &[u64], before: &[u64], counts: &mut [u64]) {
    let since = sums.iter().zip(before).map(|(sum, before)| sum - before);
    counts.iter_mut().zip(since).for_each(|(count, more)| *count += more);
}
