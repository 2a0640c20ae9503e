//! Sync pulses that were not recorded as tags: their times follow from their number.
//!
//! A period of 25/2 ticks and an offset of 100: pulses 0 to 3 are at 100, 112, 125 and 137. Each time is computed
//! from the number of its pulse, so no rounding error adds up.

use std::ops::RangeInclusive;

use tagq_store::{Source, Tick};

/// The sync pulses of a source. Pulse n is at ⌊n · `numerator` / `denominator`⌋ + `offset` ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pulses {
    /// The label that tags of these pulses would have.
    pub channel: u16,
    /// Length of `denominator` periods in ticks.
    numerator: i128,
    denominator: i128,
    offset: i64,
    /// Number and time of the last pulse at or before the first tag, and of the one at or before the last tag.
    ends: [(i128, i64); 2],
}

impl Pulses {
    /// Returns the pulses of a source, if they are known and none is a tag.
    pub(crate) fn of(source: &Source, tick: Tick) -> Option<Self> {
        let recorded = source.facts.recording.as_ref()?.pulses?;
        if source.channels.iter().any(|rows| rows.channel == recorded.channel) {
            return None;
        }
        let ticks = recorded.period.in_ticks(tick)?;
        let [numerator, denominator] =
            [u64::try_from(*ticks.numer()).ok()?, u64::try_from(*ticks.denom()).ok()?];
        let offset = source.facts.rebased.unwrap_or(0);
        let span = source.span()?;
        Self::new(recorded.channel, [numerator, denominator], offset, span)
    }

    /// Returns `None` if a period is shorter than a tick, a tag is before the first pulse, or products of times and
    /// the denominator could leave 128 bits.
    fn new(
        channel: u16,
        [numerator, denominator]: [u64; 2],
        offset: i64,
        (first, last): (i64, i64),
    ) -> Option<Self> {
        if denominator == 0 || denominator >> 62 > 0 || numerator < denominator || first < offset {
            return None;
        }
        let (numerator, denominator) = (numerator.into(), denominator.into());
        let mut pulses = Self { channel, numerator, denominator, offset, ends: [(0, 0); 2] };
        for (end, time) in pulses.ends.iter_mut().zip([first, last]) {
            let since = i128::from(time) - i128::from(offset);
            let number = ((since + 1) * denominator - 1) / numerator;
            *end = (
                number,
                i64::try_from(number * numerator / denominator + i128::from(offset)).ok()?,
            );
        }
        Some(pulses)
    }

    /// Returns the time of a pulse between the first and the last one.
    pub(crate) fn time(&self, number: i128) -> i64 {
        let ticks = number * self.numerator / self.denominator + i128::from(self.offset);
        // Between the times of both ends.
        i64::try_from(ticks).unwrap_or(self.ends[1].1)
    }

    /// Returns the last pulse at or before `time`; one less than the first pulse if there is none.
    pub(crate) fn at_or_before(&self, time: i128) -> i128 {
        let [(first, first_time), (last, last_time)] = self.ends;
        if time < first_time.into() {
            first - 1
        } else if time >= last_time.into() {
            last
        } else {
            ((time - i128::from(self.offset) + 1) * self.denominator - 1) / self.numerator
        }
    }

    /// Returns whether a pulse has this number.
    pub(crate) fn is_pulse(&self, number: i128) -> bool {
        number >= self.ends[0].0
    }

    /// Returns the pulses with `from` ≤ time < `to`.
    pub(crate) fn between(&self, from: i128, to: i128) -> RangeInclusive<i128> {
        self.at_or_before(from - 1) + 1..=self.at_or_before(to - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pulses_are_found_by_their_times(
            (numerator, denominator) in (1..2_000_u64, 1..50_u64),
            offset in -1_000..1_000_i64,
            (first, len) in (0..3_000_i64, 0..3_000_i64),
            time in -2_000..8_000_i128,
            width in 0..500_i128,
        ) {
            let (first, last) = (offset + first, offset + first + len);
            let pulses = Pulses::new(0, [numerator, denominator], offset, (first, last));
            prop_assert_eq!(pulses.is_some(), numerator >= denominator);
            let Some(pulses) = pulses else { return Ok(()) };
            let all = (0_i128..).map(|n| {
                (n, n * i128::from(numerator) / i128::from(denominator) + i128::from(offset))
            });
            let all: Vec<(i128, i128)> =
                all.take_while(|&(_, time)| time <= last.into()).collect();
            let begin = all.iter().rposition(|&(_, time)| time <= first.into()).unwrap();
            let all = &all[begin..];
            for &(number, time) in all {
                prop_assert_eq!(i128::from(pulses.time(number)), time);
                prop_assert!(pulses.is_pulse(number));
            }
            prop_assert!(!pulses.is_pulse(all[0].0 - 1));
            let found = all.iter().rfind(|&&(_, at)| at <= time).map_or(all[0].0 - 1, |at| at.0);
            prop_assert_eq!(pulses.at_or_before(time), found);
            let between: Vec<i128> = all
                .iter()
                .filter(|&&(_, at)| (time..time + width).contains(&at))
                .map(|at| at.0)
                .collect();
            prop_assert_eq!(pulses.between(time, time + width).collect::<Vec<_>>(), between);
        }
    }
}
