//! The times of light pulses.
//!
//! A period of 80.125 ticks: pulse 3 is at 240.375, pulse −1 at −80.125. Times are exact multiples of the period,
//! also of pulse 10^15.

use crate::moment::Moment;

/// Pulses at the multiples of a period in ticks, exact however many there are.
///
/// Multiplying in `f64` would move the pulses of a long recording by whole ticks. The period is the fixed-point
/// number `whole + part / 2^64`, which every `f64` from 1 on is exactly (its part has at most 52 bits).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comb {
    whole: i64,
    part: u64,
}

const PART_ONE: f64 = 18_446_744_073_709_551_616.0; // 2^64

impl Comb {
    /// A comb of this period, which must be from 1 to 2^62 ticks.
    pub(crate) fn new(period: f64) -> Comb {
        let period = Moment::new(period);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and 0 <= part < 2^64"
        )]
        let part = (period.fraction * PART_ONE) as u64;
        Comb { whole: period.tick, part }
    }

    /// The time of pulse `pulse`, or [`Moment::END`] beyond the range of ticks.
    #[inline]
    pub(crate) fn time(self, pulse: i64) -> Moment {
        let parts = i128::from(pulse) * i128::from(self.part);
        let ticks = i128::from(pulse) * i128::from(self.whole) + (parts >> 64);
        let Ok(tick) = i64::try_from(ticks) else { return Moment::END };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the low 64 bits are meant"
        )]
        let fraction = parts as u64 as f64 / PART_ONE;
        Moment { tick, fraction }
    }

    /// The last pulse at or before `tick`.
    pub(crate) fn pulse_before(self, tick: i64) -> i64 {
        let period = (i128::from(self.whole) << 64) + i128::from(self.part);
        let pulse = (i128::from(tick) << 64).div_euclid(period);
        // The period is at least a tick, so that there are no more pulses than ticks.
        i64::try_from(pulse).unwrap_or(tick)
    }

    /// The last pulse whose time is `tick` or before, rounded down to ticks.
    pub(crate) fn pulse_at(self, tick: i64) -> i64 {
        let before = self.pulse_before(tick);
        let is_in_tick = self.time(before + 1).tick <= tick;
        if is_in_tick { before + 1 } else { before }
    }

    /// The first pulse whose time is `tick` or after, rounded down to ticks.
    pub(crate) fn pulse_from(self, tick: i64) -> i64 {
        let before = self.pulse_before(tick);
        if self.time(before).tick >= tick { before } else { before + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_exact_multiples() {
        let comb = Comb::new(80.125);
        assert_eq!(comb.time(0), Moment { tick: 0, fraction: 0.0 });
        assert_eq!(comb.time(3), Moment { tick: 240, fraction: 0.375 });
        assert_eq!(comb.time(-1), Moment { tick: -81, fraction: 0.875 });
        // 80.125 * (10^15 + 1) = 80,125,000,000,000,080.125
        assert_eq!(
            comb.time(10i64.pow(15) + 1),
            Moment { tick: 80_125_000_000_000_080, fraction: 0.125 }
        );
    }

    #[test]
    fn extreme_periods_work() {
        assert_eq!(Comb::new(1.0).time(i64::MAX), Moment { tick: i64::MAX, fraction: 0.0 });
        let long = Comb::new(2f64.powi(62));
        assert_eq!(long.time(1), Moment { tick: 1 << 62, fraction: 0.0 });
        assert_eq!(long.time(-2), Moment { tick: i64::MIN, fraction: 0.0 });
        assert_eq!(long.time(i64::MAX), Moment::END);
        assert_eq!(
            Comb::new(2f64.powi(53) + 2.0).time(1),
            Moment { tick: (1 << 53) + 2, fraction: 0.0 }
        );
    }

    #[test]
    fn pulse_before_is_the_last_one_not_after() {
        let comb = Comb::new(7.5);
        for (tick, expected) in
            [(0, 0), (7, 0), (8, 1), (15, 2), (-1, -1), (-8, -2), (-15, -2), (-16, -3)]
        {
            assert_eq!(comb.pulse_before(tick), expected, "{tick}");
        }
        // Pulses 1 to 3 are in ticks 7, 15 and 22.
        for (tick, at, from) in
            [(6, 0, 1), (7, 1, 1), (8, 1, 2), (15, 2, 2), (21, 2, 3), (22, 3, 3)]
        {
            assert_eq!((comb.pulse_at(tick), comb.pulse_from(tick)), (at, from), "{tick}");
        }
        let pulse = comb.pulse_before(i64::MAX);
        assert!(comb.time(pulse).tick > i64::MAX - 8);
    }
}
