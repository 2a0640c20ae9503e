//! Durations of definitions in ticks.
//!
//! At 156.25 ps a tick, 2 ns are 12.8 ticks: a window of 12 ticks, a range 0ns..2ns of the differences 0 to 12, and a
//! dead time that drops tags up to 12 ticks later. Comparisons are exact; no duration is rounded to the nearest tick.

use tagq_store::{Duration, Tick, UnitError};

use crate::error::Error;

/// The longest duration, 2⁶² ticks: sums of two of them fit.
const LONGEST: i64 = 1 << 62;

/// The units of the times of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeUnits {
    /// The unit of times.
    pub tick: Tick,
    /// The unit of micro times, if the run has them.
    pub micro_tick: Option<Tick>,
}

/// Differences of time in ticks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Differences {
    /// The smallest difference.
    pub low: i64,
    /// The largest difference.
    pub high: i64,
}

impl Differences {
    /// Converts the half-open range of differences Δ with low ≤ Δ·tick < high.
    pub fn in_range(low: &Duration, high: &Duration, tick: Tick) -> Result<Self, Error> {
        let [from, to] = [low, high].map(|end| limited(end, end.ceil(tick)));
        let (from, to) = (from?, to?);
        if from >= to {
            let range = format!("{}..{}", low.asked(), high.asked());
            return Err(Error::EmptyRange { range, tick: tick.to_string() });
        }
        Ok(Self { low: from, high: to - 1 })
    }

    /// Converts a window: the differences Δ with |Δ|·tick ≤ window.
    pub fn within(window: &Duration, tick: Tick) -> Result<Self, Error> {
        let high = self::window(window, tick)?;
        Ok(Self { low: -high, high })
    }

    /// Returns whether a tag is within the differences from itself.
    pub fn have_zero(self) -> bool {
        self.low <= 0 && 0 <= self.high
    }
}

/// Returns the largest whole number of ticks that is not longer than a window.
pub fn window(window: &Duration, tick: Tick) -> Result<i64, Error> {
    limited(window, window.window(tick))
}

/// Returns the number of whole ticks from 0 on that are shorter than a duration.
pub fn ticks_below(
    duration: &Duration,
    tick: Tick,
    operator: &'static str,
    least: i64,
) -> Result<i64, Error> {
    let ticks = limited(duration, duration.ceil(tick))?;
    // A duration between -1 and 0 ticks is rounded up to 0.
    let is_negative = duration.fraction(tick).is_ok_and(|(numerator, _)| numerator < 0);
    if ticks < least || is_negative {
        let least = if least > 0 { "longer than zero" } else { "of zero or more" };
        return Err(Error::TooShort { duration: duration.asked().to_owned(), operator, least });
    }
    Ok(ticks)
}

fn limited(duration: &Duration, ticks: Result<i64, UnitError>) -> Result<i64, Error> {
    let text = || duration.asked().to_owned();
    match ticks {
        Ok(ticks) if (-LONGEST..=LONGEST).contains(&ticks) => Ok(ticks),
        Ok(_) | Err(UnitError::OutOfRange { .. }) => Err(Error::TooLong { duration: text() }),
        Err(error) => Err(Error::Duration { text: text(), error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of a tick in units of 10 fs, and the tick.
    fn ticks() -> [(i128, Tick); 4] {
        [(100, "1ps"), (15_625, "156.25ps"), (9_697, "96.97ps"), (8_100, "81ps")]
            .map(|(length, text)| (length, text.parse().unwrap()))
    }

    /// Half a tick before and after 0, whole ticks and odd lengths, in units of 10 fs.
    const LENGTHS: [i128; 15] = [
        -500_000, -156_250, -15_625, -9_697, -8_100, -101, -100, 0, 1, 100, 9_697, 15_625, 48_485,
        100_000, 123_457,
    ];

    fn duration(length: i128) -> Duration {
        format!("{length}0fs").parse().unwrap()
    }

    #[test]
    fn ranges_hold_the_whole_differences_between_their_ends() {
        for (tick_length, tick) in ticks() {
            for low in LENGTHS {
                for high in LENGTHS {
                    let inside: Vec<i128> = (-6000..6000)
                        .filter(|delta| (low..high).contains(&(delta * tick_length)))
                        .collect();
                    let found = Differences::in_range(&duration(low), &duration(high), tick);
                    match (inside.first(), inside.last()) {
                        (Some(&first), Some(&last)) => {
                            let found = found.unwrap();
                            assert_eq!((found.low.into(), found.high.into()), (first, last));
                        }
                        _ => assert!(matches!(found, Err(Error::EmptyRange { .. }))),
                    }
                }
            }
        }
    }

    #[test]
    fn windows_are_closed_and_dead_times_are_half_open() {
        for (tick_length, tick) in ticks() {
            for length in LENGTHS.into_iter().filter(|&length| length >= 0) {
                let within = (0..6000).filter(|delta| delta * tick_length <= length).count();
                match window(&duration(length), tick) {
                    Ok(window) => assert_eq!(window + 1, i64::try_from(within).unwrap()),
                    // Shorter than a tick.
                    Err(_) => assert!(length > 0 && length < tick_length, "{length}"),
                }
                let below = (0..6000).filter(|delta| delta * tick_length < length).count();
                let found = ticks_below(&duration(length), tick, "dead", 0);
                assert_eq!(found, Ok(i64::try_from(below).unwrap()));
            }
            assert!(matches!(
                ticks_below(&duration(-1), tick, "dead", 0),
                Err(Error::TooShort { .. })
            ));
            assert!(matches!(
                ticks_below(&duration(0), tick, "for", 1),
                Err(Error::TooShort { .. })
            ));
        }
        let long = "9223372036854775807t".parse().unwrap();
        assert!(matches!(window(&long, Tick::DEFAULT), Err(Error::TooLong { .. })));
    }
}
