//! The times of sync pulses, whose period is no whole number of ticks.
//!
//! At a period of 12,500.25 ticks pulses 3 and 4 are at 37,500 and 50,001.

use num_rational::Ratio;
use tagq_store::Tick;

use super::tags::HeaderFault;
use crate::formats::photons::NUMBERS;

/// Period of the sync pulses in ticks: a whole number and a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pulses {
    whole: u64,
    rest: u128,
    denominator: u128,
    /// The fraction rounded down, in 2^-64, if the denominator has no more bits.
    part: Option<u64>,
}

impl Pulses {
    /// The largest denominator, so that twice a rest and a rest have room.
    const DENOMINATOR_MAX: u128 = 1 << 126;

    /// Returns pulses of this period.
    pub(super) fn of(period: Tick, tick: Tick) -> Result<Self, HeaderFault> {
        let no_fraction = || {
            let (period, tick) = (period.exact(), tick.exact());
            HeaderFault::Damaged(format!(
                "a sync period of {period} has no number of ticks of {tick}"
            ))
        };
        let ticks: Ratio<i128> = period.in_ticks(tick).ok_or_else(no_fraction)?;
        let denominator = ticks.denom().unsigned_abs();
        let whole = u64::try_from(ticks.to_integer()).map_err(|_| no_fraction())?;
        let rest = ticks.fract().numer().unsigned_abs();
        let pulses = Self::of_fraction(whole, rest, denominator);
        if denominator < Self::DENOMINATOR_MAX { Ok(pulses) } else { Err(no_fraction()) }
    }

    fn of_fraction(whole: u64, rest: u128, denominator: u128) -> Self {
        let is_short = denominator <= u64::MAX.into();
        let part = is_short.then(|| u64::try_from((rest << 64) / denominator).ok()).flatten();
        Self { whole, rest, denominator, part }
    }

    /// Returns the time of the pulse in ticks, rounded down.
    pub(super) fn time(self, pulse: i64) -> Option<i64> {
        let pulse = u128::try_from(pulse).ok()?;
        let part = match pulse.checked_mul(self.rest) {
            Some(product) => product / self.denominator,
            None => self.part(pulse),
        };
        let ticks = pulse.checked_mul(self.whole.into())?.checked_add(part)?;
        i64::try_from(ticks).ok()
    }

    /// Returns the whole part of `pulse` times the fraction, whose product leaves 128 bits: bit by bit.
    fn part(self, pulse: u128) -> u128 {
        let (mut part, mut rest) = (0, 0);
        for bit in (0..u64::BITS).rev() {
            rest = 2 * rest + if pulse >> bit & 1 == 1 { self.rest } else { 0 };
            part = 2 * part + rest / self.denominator;
            rest %= self.denominator;
        }
        part
    }

    /// Returns the number of the pulse at this time, as [`Self::time`] rounds it; `None` if none is there.
    pub(super) fn number(self, time: i64) -> Option<i64> {
        let time = u128::try_from(time).ok()?;
        let period =
            u128::from(self.whole).checked_mul(self.denominator)?.checked_add(self.rest)?;
        let pulse = i64::try_from(time.checked_mul(self.denominator)?.div_ceil(period)).ok()?;
        (self.time(pulse).map(i128::from) == i128::try_from(time).ok()).then_some(pulse)
    }

    /// Whether no two pulses have the same time in ticks, and each time has the number of its pulse.
    pub(super) fn have_numbers(self) -> bool {
        self.whole > 0 && self.denominator <= u64::MAX.into()
    }

    /// Returns the whole ticks of a period, at most 2^32 − 1.
    pub(super) fn whole(self) -> u32 {
        u32::try_from(self.whole).unwrap_or(u32::MAX)
    }
}

/// The pulses from one on: their times without a division.
///
/// The part of a tick of the first pulse and that of the period are rounded down to 64 bits. The sum of the first and d
/// times the second, d below 2^31, is less than 1/2^32 below the exact one. Of the sum, 32 bits of the fraction are
/// computed, each of its two terms rounded down: less than 3/2^32 below the exact one in all, so that the whole part is
/// exact unless the fraction is so close to 1. A denominator below 2^30 has no fraction so close to 1, and 3/2^32 are
/// added.
#[derive(Debug, Clone, Copy)]
pub(super) struct PulsesFrom {
    pulses: Pulses,
    first: i64,
    steps: Option<PulseSteps>,
}

/// Denominators whose fractions are far from 1.
const SHORT: u128 = 1 << 30;

#[derive(Debug, Clone, Copy)]
struct PulseSteps {
    /// The whole ticks of the time of the first pulse, and of a period.
    start: i64,
    period: u32,
    /// The part of a tick of the first, in 2^-32.
    start_part: u64,
    /// The fractions of sums of which the whole part is exact are below, in 2^-32.
    exact_below: u64,
    /// That of a period, in 2^-64: its upper and its lower half.
    upper: u32,
    lower: u32,
}

impl PulsesFrom {
    pub(super) fn new(pulses: Pulses, first: i64) -> Self {
        Self { pulses, first, steps: PulseSteps::of(pulses, first) }
    }

    /// See [`Pulses::whole`].
    pub(super) fn whole(&self) -> u32 {
        self.pulses.whole()
    }

    /// Returns the time of the pulse with this number from the first, in ticks, rounded down.
    pub(super) fn time(&self, number: u32) -> Option<i64> {
        let of_steps = self.steps.filter(|_| number < NUMBERS).map(|steps| steps.time(number));
        match of_steps {
            Some((time, true)) => Some(time),
            _ => self.exact_time(number),
        }
    }

    /// Writes the times of photons that come `micro` ticks after the pulses with these numbers, below [`NUMBERS`];
    /// `None` if one leaves 64 bits.
    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    pub(super) fn write_times(
        &self,
        numbers: &[u32],
        micro: &[u32],
        times: &mut [i64],
    ) -> Option<()> {
        let photons = || numbers.iter().zip(micro);
        let mut are_exact = self.steps.is_some();
        if let Some(steps) = self.steps {
            for ((&number, &micro), time) in photons().zip(&mut *times) {
                let (pulse, is_exact) = steps.time(number);
                *time = pulse + i64::from(micro);
                are_exact &= is_exact;
            }
        }
        if are_exact { Some(()) } else { self.write_exact_times(photons(), times) }
    }

    #[cold]
    fn write_exact_times<'a>(
        &self,
        photons: impl Iterator<Item = (&'a u32, &'a u32)>,
        times: &mut [i64],
    ) -> Option<()> {
        for ((&number, &micro), time) in photons.zip(times) {
            *time = self.time(number)?.checked_add(micro.into())?;
        }
        Some(())
    }

    #[cold]
    fn exact_time(&self, number: u32) -> Option<i64> {
        self.pulses.time(self.first.checked_add(number.into())?)
    }
}

impl PulseSteps {
    /// Returns the steps; `None` if a time could leave 64 bits, or a value is too large for them.
    fn of(pulses: Pulses, first: i64) -> Option<Self> {
        let Pulses { whole, rest, denominator, part } = pulses;
        let (period, part) = (u32::try_from(whole).ok()?, part?);
        // Both factors are below the denominator, which has 64 bits.
        let number = u128::try_from(first).ok()?;
        let product = (number % denominator) * rest;
        let start_part = ((product % denominator) << 32) / denominator;
        let (added, exact_below) =
            if denominator < SHORT { (3, 1 << 32) } else { (0, (1 << 32) - 3) };
        let start_part = u64::try_from(start_part).ok()? + added;
        let start = pulses.time(first)?;
        // The whole periods, their parts, and a micro time.
        start.checked_add((i64::from(period) + 1) * i64::from(NUMBERS))?.checked_add(1 << 32)?;
        #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
        let (upper, lower) = ((part >> 32) as u32, part as u32);
        Some(Self { start, period, start_part, exact_below, upper, lower })
    }

    /// Returns the time of the pulse with this number, below [`NUMBERS`], and whether it is exact.
    #[expect(clippy::inline_always, reason = "compiled for each level")]
    #[inline(always)]
    fn time(self, number: u32) -> (i64, bool) {
        let number = u64::from(number);
        let lower = (number * u64::from(self.lower)) >> 32;
        let parts = number * u64::from(self.upper) + lower + self.start_part;
        let ticks = number * u64::from(self.period) + (parts >> 32);
        let is_exact = parts & 0xffff_ffff < self.exact_below;
        (self.start.wrapping_add(ticks.cast_signed()), is_exact)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tagq_sampling::random_cases;

    use super::*;

    proptest! {
        #![proptest_config(random_cases(2_000))]

        #[test]
        fn times_of_steps_are_those_of_the_division(
            whole in prop_oneof![0_u64..100_000, any::<u64>()],
            (denominator, rest) in prop_oneof![1_u128..1_000, 1_u128..1 << 70, Just(1 << 20), (1_u128 << 30) - 99..(1 << 30) + 99]
                .prop_flat_map(|of| (Just(of), 0..of)),
            first in prop_oneof![0_i64..1 << 40, any::<i64>()],
            numbers in prop::collection::vec(prop_oneof![0_u32..1 << 18, any::<u32>()], 50),
        ) {
            let pulses = Pulses::of_fraction(whole, rest, denominator);
            let from = PulsesFrom::new(pulses, first);
            // The next pulse at a whole tick: the sum of what was rounded down is just below.
            let of = i128::try_from(denominator).unwrap();
            let whole_tick = u32::try_from((-i128::from(first)).rem_euclid(of)).unwrap_or(0);
            let chosen = [0, 1, NUMBERS - 1, NUMBERS, whole_tick];
            for number in numbers.into_iter().chain(chosen) {
                let expected = first.checked_add(number.into()).and_then(|pulse| pulses.time(pulse));
                prop_assert_eq!(from.time(number), expected, "{} from {}", number, first);
            }
        }
    }
}
