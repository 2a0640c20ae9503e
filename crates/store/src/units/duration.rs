//! Durations, which become ticks by the rule of the quantity that they stand for.
//!
//! At a tick of 156.25 ps, 2 ns are 12.8 ticks: a window of 12 ticks (rounded down), a delay of 13 (nearest), a full
//! width that gives a window of 5 (2 · 5 + 1 = 11 ticks fit in 12), and no bin, which must be a whole number of ticks.

use std::str::FromStr;

use num_rational::Ratio;
use num_traits::{CheckedDiv, CheckedMul, ToPrimitive, Zero};

use super::{
    decimal::{Attoseconds, number_and_unit, unit_length},
    error::UnitError,
    shown::few_digits,
    tick::Tick,
};

const DURATION_EXAMPLE: &str = "2ns, 156.25ps, -0.5us or 13t (whole ticks)";

/// A time difference as a person wrote it: a decimal with a unit, or whole ticks (`13t`).
///
/// It becomes ticks only against the tick of a run, by the rule of the quantity it stands for.
///
/// ```
/// use tagq_store::{Duration, Tick};
///
/// let window: Duration = "2ns".parse()?;
/// assert_eq!(window.window(Tick::DEFAULT)?, 12);
/// let delay: Duration = "-4.0625ns".parse()?;
/// assert_eq!(delay.nearest(Tick::DEFAULT)?, -26);
/// # Ok::<(), tagq_store::UnitError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duration {
    text: String,
    length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Ticks(i64),
    Time(Attoseconds),
}

impl Duration {
    /// The duration in the words of the person who asked.
    pub fn asked(&self) -> &str {
        &self.text
    }

    /// A window in ticks: the largest whole number of ticks that is not longer.
    ///
    /// # Errors
    /// A negative length, or one that is not zero but shorter than a tick.
    pub fn window(&self, tick: Tick) -> Result<i64, UnitError> {
        let exact = self.exact(tick)?;
        if exact < Zero::zero() {
            return Err(UnitError::Negative { text: self.text.clone() });
        }
        let window = self.fit(exact.floor())?;
        if window == 0 && !exact.is_zero() {
            return Err(UnitError::BelowTick {
                text: self.text.clone(),
                tick: tick.to_string(),
                tick_paste: tick.format_paste(1),
            });
        }
        Ok(window)
    }

    /// A delay in ticks: the nearest whole number, half away from zero.
    pub fn nearest(&self, tick: Tick) -> Result<i64, UnitError> {
        self.fit(self.exact(tick)?.round())
    }

    /// The same on the clock of the computer, to whole nanoseconds: how long to wait for something.
    ///
    /// # Errors
    /// [`UnitError::NoWait`] for one below zero, and one in ticks, the length of which no clock knows.
    pub fn on_the_clock(&self) -> Result<std::time::Duration, UnitError> {
        let no_wait = || UnitError::NoWait { text: self.text.clone() };
        if matches!(self.length, Length::Ticks(ticks) if ticks != 0) {
            return Err(no_wait());
        }
        let nanoseconds = self.nearest("1ns".parse()?)?;
        u64::try_from(nanoseconds).map(std::time::Duration::from_nanos).map_err(|_| no_wait())
    }

    /// The window in ticks of which this is the full width: the largest w with 2w + 1 ticks in it.
    ///
    /// # Errors
    /// A length below one tick.
    pub fn window_of_full_width(&self, tick: Tick) -> Result<i64, UnitError> {
        let ticks = self.exact(tick)?.floor();
        if ticks < Ratio::from_integer(1) {
            return Err(UnitError::WidthBelowTick {
                text: self.text.clone(),
                tick: tick.to_string(),
                tick_paste: tick.format_paste(1),
            });
        }
        self.fit(((ticks - 1) / 2).floor())
    }

    /// The width of a bin in ticks, a whole number of at least one.
    ///
    /// # Errors
    /// Any other length, with those next to it.
    pub fn bin(&self, tick: Tick) -> Result<i64, UnitError> {
        let exact = self.exact(tick)?;
        if exact.is_integer() && exact > Zero::zero() {
            return self.fit(exact);
        }
        let below = self.fit(exact.floor())?;
        let near: Vec<String> = [below, below.saturating_add(1)]
            .into_iter()
            .filter(|&ticks| ticks > 0)
            .map(|ticks| match tick.format_paste(ticks) {
                paste if paste.ends_with('t') => paste,
                paste => format!("{paste} ({ticks}t)"),
            })
            .collect();
        Err(UnitError::NotWhole {
            text: self.text.clone(),
            found: few_digits(*exact.numer() as f64 / *exact.denom() as f64),
            tick: tick.to_string(),
            near: if near.is_empty() { tick.format_paste(1) + " (1t)" } else { near.join(" or ") },
        })
    }

    /// The width of a bin in ticks: the nearest whole number, half away from zero, at least one.
    ///
    /// # Errors
    /// A length below half a tick, with the shortest bin.
    pub fn nearest_bin(&self, tick: Tick) -> Result<i64, UnitError> {
        let ticks = self.nearest(tick)?;
        if ticks < 1 { self.bin(tick) } else { Ok(ticks) }
    }

    /// The first whole tick that is not earlier.
    pub fn ceil(&self, tick: Tick) -> Result<i64, UnitError> {
        self.fit(self.exact(tick)?.ceil())
    }

    /// The last whole tick that is not later.
    pub fn floor(&self, tick: Tick) -> Result<i64, UnitError> {
        self.fit(self.exact(tick)?.floor())
    }

    /// The length in ticks as a fraction: numerator and denominator.
    pub fn fraction(&self, tick: Tick) -> Result<(i128, i128), UnitError> {
        let exact = self.exact(tick)?;
        Ok((*exact.numer(), *exact.denom()))
    }

    /// The length in ticks, not rounded to whole ones: for simulations only.
    pub fn ticks(&self, tick: Tick) -> Result<f64, UnitError> {
        let exact = self.exact(tick)?;
        Ok(*exact.numer() as f64 / *exact.denom() as f64)
    }

    /// The duration as the unit of other times.
    ///
    /// ```
    /// use tagq_store::{Duration, Tick};
    ///
    /// assert_eq!("25ns".parse::<Duration>()?.unit(Tick::DEFAULT)?, "25ns".parse()?);
    /// assert_eq!("160t".parse::<Duration>()?.unit(Tick::DEFAULT)?, "25ns".parse()?);
    /// # Ok::<(), tagq_store::UnitError>(())
    /// ```
    ///
    /// # Errors
    /// A length of zero or below, or one out of range.
    pub fn unit(&self, tick: Tick) -> Result<Tick, UnitError> {
        let out_of_range = || UnitError::OutOfRange { text: self.text.clone() };
        let length = self.exact(tick)?.checked_mul(&tick.0).ok_or_else(out_of_range)?;
        Tick::new(length, &self.text)
    }

    /// Whether the duration is a whole number of ticks.
    pub fn is_whole(&self, tick: Tick) -> Result<bool, UnitError> {
        Ok(self.exact(tick)?.is_integer())
    }

    /// Returns `count` durations from `first` to `last` at equal distances, to whole attoseconds or whole ticks.
    ///
    /// # Errors
    /// One in ticks and one in time; durations out of range.
    pub fn steps(first: &Self, last: &Self, count: u32) -> Result<Vec<Self>, UnitError> {
        let mixed = || UnitError::Malformed {
            text: format!("{}..{}", first.text, last.text),
            what: "range in one unit, ticks or time",
            example: "1ns..20ns or 10t..200t",
        };
        let at = |low: Ratio<i128>, high: Ratio<i128>, step: u32| {
            let part = Ratio::new(i128::from(step), i128::from(count.max(2) - 1));
            let moved = (high - low).checked_mul(&part).map(|part| low + part);
            let rounded = moved.map(|value| value.round().to_integer());
            rounded.ok_or_else(|| UnitError::OutOfRange { text: last.text.clone() })
        };
        let text = |step: u32| match (first.length, last.length) {
            _ if step == 0 => Ok(first.text.clone()),
            _ if step + 1 == count => Ok(last.text.clone()),
            (Length::Ticks(low), Length::Ticks(high)) => {
                let whole = |ticks: i64| Ratio::from_integer(i128::from(ticks));
                Ok(format!("{}t", at(whole(low), whole(high), step)?))
            }
            (Length::Time(low), Length::Time(high)) => Ok(in_ps(at(low, high, step)?)),
            // Zero has no unit.
            (Length::Ticks(0), Length::Time(high)) => Ok(in_ps(at(Zero::zero(), high, step)?)),
            (Length::Time(low), Length::Ticks(0)) => Ok(in_ps(at(low, Zero::zero(), step)?)),
            _ => Err(mixed()),
        };
        (0..count).map(|step| text(step)?.parse()).collect()
    }

    fn exact(&self, tick: Tick) -> Result<Ratio<i128>, UnitError> {
        match self.length {
            Length::Ticks(ticks) => Ok(Ratio::from_integer(ticks.into())),
            Length::Time(time) => time
                .checked_div(&tick.0)
                .ok_or_else(|| UnitError::OutOfRange { text: self.text.clone() }),
        }
    }

    fn fit(&self, ticks: Ratio<i128>) -> Result<i64, UnitError> {
        ticks.to_integer().to_i64().ok_or_else(|| UnitError::OutOfRange { text: self.text.clone() })
    }
}

/// Returns whole attoseconds as picoseconds.
fn in_ps(attoseconds: i128) -> String {
    let sign = if attoseconds < 0 { "-" } else { "" };
    let size = attoseconds.unsigned_abs();
    let text = format!("{sign}{}.{:06}", size / 1_000_000, size % 1_000_000);
    format!("{}ps", text.trim_end_matches('0').trim_end_matches('.'))
}

impl serde::Serialize for Duration {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Duration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Some((_, high)) = text.split_once("..") {
            let (text, high) = (text.into(), high.into());
            return Err(UnitError::Range { text, high });
        }
        let (value, unit) = number_and_unit(text.trim(), text, "duration", DURATION_EXAMPLE)?;
        if unit.is_empty() && *value.numer() == 0 {
            return Ok(Self { text: text.trim().into(), length: Length::Ticks(0) });
        }
        if unit.is_empty() {
            let text = text.trim().to_owned();
            let suggestions = if text.contains(['e', 'E']) {
                format!("{text}s")
            } else {
                let ticks = if value.is_integer() {
                    format!(" or {text}t (whole ticks)")
                } else {
                    format!(" or {text}s")
                };
                format!("{text}ns, {text}ps, {text}us{ticks}")
            };
            return Err(UnitError::NoUnit { text, suggestions });
        }
        let out_of_range = || UnitError::OutOfRange { text: text.into() };
        let length = match unit_length(unit, text)? {
            0 if value.is_integer() => {
                Length::Ticks(value.to_integer().to_i64().ok_or_else(out_of_range)?)
            }
            0 => {
                return Err(UnitError::Malformed {
                    text: text.into(),
                    what: "whole number of ticks",
                    example: "13t",
                });
            }
            length => Length::Time(
                value.checked_mul(&Ratio::from_integer(length)).ok_or_else(out_of_range)?,
            ),
        };
        Ok(Self { text: text.trim().into(), length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_at_equal_distances() {
        let steps = |first: &str, last: &str, count| {
            let all = Duration::steps(&first.parse().unwrap(), &last.parse().unwrap(), count);
            all.map(|all| all.iter().map(|of| of.asked().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(steps("0.5ns", "2ns", 4).unwrap(), ["0.5ns", "1000ps", "1500ps", "2ns"]);
        assert_eq!(steps("-1ns", "1ns", 3).unwrap(), ["-1ns", "0ps", "1ns"]);
        // A third of a nanosecond, to whole attoseconds.
        assert_eq!(steps("0", "1ns", 4).unwrap()[1], "333.333333ps");
        assert_eq!(steps("-1ns", "0ns", 4).unwrap()[1], "-666.666667ps");
        assert_eq!(steps("10t", "0t", 3).unwrap(), ["10t", "5t", "0t"]);
        assert!(steps("1t", "1ns", 3).is_err());
    }
}
