//! Where each random process takes its random numbers.
//!
//! Each purpose of each detector has a sequence of its own: another dark rate of detector 1 changes no random number
//! of its light or of detector 2.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The purpose of a random sequence of a detector.
///
/// The numbers are part of the meaning of a seed: changing them changes every simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Dark = 0,
    /// Light that only this detector detects.
    Alone = 1,
    AloneJitter = 2,
    /// Light that this detector and an earlier one detect together.
    Together = 3,
    EarlierJitter = 4,
    LaterJitter = 5,
    /// In place of `Together` where the two detectors' delays are too far apart to show common light.
    EarlierApart = 6,
    LaterApart = 7,
}

/// The random sequences of one detector; no two detectors and no two purposes share any stretch of less than
/// 2^128 numbers.
#[derive(Clone, Debug)]
pub(crate) struct Seeds(Xoshiro256PlusPlus);

impl Seeds {
    /// The seeds of `count` detectors.
    pub(crate) fn of_detectors(seed: u64, count: usize) -> Vec<Seeds> {
        let mut next = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count)
            .map(|_| {
                let seeds = Seeds(next.clone());
                next.long_jump();
                seeds
            })
            .collect()
    }

    /// The random sequence for a purpose.
    pub(crate) fn rng(&self, purpose: Purpose) -> Xoshiro256PlusPlus {
        self.after(purpose as usize)
    }

    /// The random sequences for the light of a species and for its decay and jitter.
    pub(crate) fn of_species(&self, number: usize) -> (Xoshiro256PlusPlus, Xoshiro256PlusPlus) {
        let first = Purpose::LaterApart as usize + 1 + 2 * number;
        (self.after(first), self.after(first + 1))
    }

    fn after(&self, jumps: usize) -> Xoshiro256PlusPlus {
        let mut rng = self.0.clone();
        for _ in 0..jumps {
            rng.jump();
        }
        rng
    }
}
