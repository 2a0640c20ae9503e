//! The times of sync pulses, whose period is no whole number of ticks.
//!
//! At a period of 12,500.25 ticks pulses 3 and 4 are at 37,500 and 50,001.

use num_rational::Ratio;
use tagq_store::Tick;

use super::tags::HeaderFault;

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

    /// Returns the whole ticks of a period.
    pub(super) fn whole(self) -> u64 {
        self.whole
    }
}

/// The pulses from one on: their times without a division.
///
/// The part of a tick of the first pulse and that of the period are rounded down to 64 bits. The sum of the first and d
/// times the second is less than (1 + d)/2^64 below the exact one, so that its whole part is exact unless its fraction is
/// so close to 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct PulsesFrom {
    pulses: Pulses,
    first: i64,
    steps: Option<PulseSteps>,
}

#[derive(Debug, Clone, Copy)]
struct PulseSteps {
    /// The whole ticks of the time of the first pulse, and of a period.
    start: i64,
    period: i64,
    /// Parts of a tick, in 2^-64.
    start_part: u64,
    period_part: u64,
}

impl PulsesFrom {
    /// Pulses that are counted from one.
    const COUNTED: i64 = 1 << 17;

    pub(super) fn new(pulses: Pulses, first: i64) -> Self {
        Self { pulses, first, steps: PulseSteps::of(pulses, first) }
    }

    /// Returns the time of the pulse with this number from the first, in ticks, rounded down.
    #[inline]
    pub(super) fn time(&self, number: u32) -> Option<i64> {
        let Some(steps) = self.steps.filter(|_| i64::from(number) < Self::COUNTED) else {
            return self.pulses.time(self.first.checked_add(number.into())?);
        };
        let parts =
            u128::from(steps.start_part) + u128::from(steps.period_part) * u128::from(number);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is taken")]
        let part = parts as u64;
        if part > u64::MAX - u64::from(number) - 1 {
            return self.pulses.time(self.first.checked_add(number.into())?);
        }
        let whole = (parts >> 64) as i64;
        Some(steps.start + steps.period * i64::from(number) + whole)
    }
}

impl PulseSteps {
    /// Returns the steps; `None` if a time could leave 64 bits, or the denominator has more.
    fn of(pulses: Pulses, first: i64) -> Option<Self> {
        let Pulses { whole, rest, denominator, part } = pulses;
        let (period, period_part) = (i64::try_from(whole).ok()?, part?);
        // Both factors are below the denominator, which has 64 bits.
        let number = u128::try_from(first).ok()?;
        let product = (number % denominator) * rest;
        let start_part = u64::try_from(((product % denominator) << 64) / denominator).ok()?;
        let start = pulses.time(first)?;
        let last = period.checked_add(1)?.checked_mul(PulsesFrom::COUNTED)?;
        start.checked_add(last)?;
        Some(Self { start, period, start_part, period_part })
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
            (denominator, rest) in prop_oneof![1_u128..1_000, 1_u128..1 << 70, Just(1 << 20)]
                .prop_flat_map(|of| (Just(of), 0..of)),
            first in prop_oneof![0_i64..1 << 40, any::<i64>()],
            numbers in prop::collection::vec(0_u32..1 << 18, 50),
        ) {
            let pulses = Pulses::of_fraction(whole, rest, denominator);
            let from = PulsesFrom::new(pulses, first);
            for number in numbers.into_iter().chain([0, 1, (1 << 17) - 1, 1 << 17]) {
                let expected = first.checked_add(number.into()).and_then(|pulse| pulses.time(pulse));
                prop_assert_eq!(from.time(number), expected, "{} from {}", number, first);
            }
        }
    }
}
