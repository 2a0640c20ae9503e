//! The unit of all times of a run, as an exact fraction: `1/12.288GHz` is 244,140,625/3 as.
//!
//! Floats are made of it for reports only: counts follow from whole ticks.

use std::{fmt, str::FromStr};

use num_rational::Ratio;
use num_traits::{CheckedDiv, CheckedMul, Zero};
use serde::{Deserialize, Serialize};

use super::{
    decimal::{
        ATTOSECONDS_PER_SECOND, Attoseconds, DIGITS_MAX, FREQUENCIES, number_and_unit, unit_length,
    },
    error::UnitError,
    shown::{READERS, ShownTime, format_digits, format_time},
};

/// Returns the number that a file means by a double: if it equals a single, it was stored as one, and the shortest
/// decimal number of that single is meant.
///
/// ```
/// assert_eq!(tagq_store::of_single(1.5999999936067155e-11), 1.6e-11);
/// assert_eq!(tagq_store::of_single(1.6e-11), 1.6e-11);
/// ```
pub fn of_single(value: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "compared with the double")]
    let single = value as f32;
    let is_single = f64::from(single).to_bits() == value.to_bits();
    let meant = is_single.then(|| format!("{single:e}").parse().ok()).flatten();
    meant.unwrap_or(value)
}

/// Most digits of an exact time that is short enough for advice.
const SHORT_DIGITS: usize = 5;
/// Most digits of a time that is pasted into a command.
const PASTED_DIGITS: usize = 12;
const TICK_EXAMPLE: &str = "156.25ps, 1/3ps or 1/12.288GHz";
/// The largest number in a fraction that is shown to a reader.
const FRACTION_MAX: i128 = 999;
/// The unit of all times of a run: an exact positive fraction of attoseconds.
///
/// ```
/// use tagq_store::Tick;
///
/// let tick: Tick = "156.25ps".parse()?;
/// assert_eq!(tick.fraction(), "156250000/1");
/// assert_eq!("1/3ps".parse::<Tick>()?.fraction(), "1000000/3");
/// assert_eq!("1/12.288GHz".parse::<Tick>()?.fraction(), "244140625/3");
/// # Ok::<(), tagq_store::UnitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tick(pub(super) Attoseconds);

impl Tick {
    /// 156.25 ps, the tick of the 16-channel instrument that writes `.tags.zst`.
    pub const DEFAULT: Self = Self(Ratio::new_raw(156_250_000, 1));

    pub(super) fn new(attoseconds: Attoseconds, text: &str) -> Result<Self, UnitError> {
        if attoseconds <= Zero::zero() {
            return Err(UnitError::TickNotPositive { text: text.into() });
        }
        let fits = |n: &i128| i64::try_from(*n).is_ok();
        if !fits(attoseconds.numer()) || !fits(attoseconds.denom()) {
            return Err(UnitError::OutOfRange { text: text.into() });
        }
        Ok(Self(attoseconds))
    }

    /// The tick as `numerator/denominator` in attoseconds, lowest terms: how the manifest and the
    /// JSON output spell it.
    pub fn fraction(self) -> String {
        format!("{}/{}", self.0.numer(), self.0.denom())
    }

    /// Reads what [`Tick::fraction`] writes.
    pub fn from_fraction(text: &str) -> Result<Self, UnitError> {
        let malformed = || UnitError::Malformed {
            text: text.into(),
            what: "fraction of attoseconds",
            example: "156250000/1",
        };
        let (numerator, denominator) = text.split_once('/').ok_or_else(malformed)?;
        let numerator: i64 = numerator.parse().map_err(|_| malformed())?;
        let denominator: i64 = denominator.parse().map_err(|_| malformed())?;
        if denominator <= 0 {
            return Err(malformed());
        }
        Self::new(Ratio::new(numerator.into(), denominator.into()), text)
    }

    /// Returns the tick of this many seconds: the shortest decimal number that a float of this value is read from.
    /// Files store singles as doubles, too: see [`of_single`].
    pub fn of_seconds(seconds: f64) -> Result<Self, UnitError> {
        Self::of_decimal(&format!("{seconds:e}"))
    }

    /// Returns the number of seconds that files may store as a single or as a double for this tick; `None` if none is
    /// read as it.
    pub fn to_seconds(self) -> Option<f64> {
        let is_read = |&seconds: &f64| Self::of_seconds(of_single(seconds)) == Ok(self);
        Some(self.seconds()).filter(is_read)
    }

    /// Returns the tick of a decimal number of seconds with an exponent, such as `9.6e-11`.
    pub fn of_decimal(text: &str) -> Result<Self, UnitError> {
        let (seconds, unit) = number_and_unit(text, text, "tick", TICK_EXAMPLE)?;
        if !unit.is_empty() {
            return Err(malformed_tick(text));
        }
        let out_of_range = || UnitError::OutOfRange { text: text.into() };
        let attoseconds = seconds.checked_mul(&Ratio::from_integer(ATTOSECONDS_PER_SECOND));
        Self::new(attoseconds.ok_or_else(out_of_range)?, text)
    }

    /// Returns this time in units of `tick`; `None` if the fraction does not fit.
    pub fn in_ticks(self, tick: Self) -> Option<Ratio<i128>> {
        self.0.checked_div(&tick.0)
    }

    /// One tick in seconds, rounded to a float: for reports only.
    pub fn seconds(self) -> f64 {
        self.seconds_of(1)
    }

    /// `ticks` in seconds, rounded once to a float: for reports only.
    pub fn seconds_of(self, ticks: i128) -> f64 {
        // The product is exact in a float's eyes when done in three roundings at most; each is
        // below 2^-53 relative, far below what a report shows.
        ticks as f64 * (*self.0.numer() as f64 / *self.0.denom() as f64) / 1e18
    }

    /// `ticks` for a reader: the unit that leaves one to three digits before the point, nine
    /// significant digits, no trailing zeros (`1.875 ns`).
    pub fn format(self, ticks: i128) -> String {
        match self.0.checked_mul(&Ratio::from_integer(ticks)) {
            // The smallest number has no magnitude in 128 bits.
            Some(time) if *time.numer() > i128::MIN => format_time(time, " ").text,
            _ => format!("{ticks} ticks"),
        }
    }

    /// Returns the tick as text that is read as the same tick: `156.25 ps`, `9696969697/100 as`.
    pub fn exact(self) -> String {
        if let ShownTime { text, is_exact: true } = format_time(self.0, " ") {
            return text;
        }
        let (time, name) = self.shortest_fraction();
        format!("{}/{} {name}", time.numer(), time.denom())
    }

    /// Returns the tick as it can be pasted into a command: `156.25ps`, `9696969697/100as`.
    pub fn paste(self) -> String {
        self.exact().replace(' ', "").replace('µ', "u")
    }

    /// Returns the tick as a fraction of that unit in which it has the fewest digits.
    fn shortest_fraction(self) -> (Attoseconds, &'static str) {
        let fractions = READERS.map(|(name, length)| (self.0 / length, name));
        let shortest = fractions.iter().min_by_key(|(time, _)| time.numer() + time.denom());
        *shortest.unwrap_or(&fractions[0])
    }

    /// `ticks` as they can be pasted into a command: `1.875ns` where that is exact, else `12t`.
    pub fn format_paste(self, ticks: i64) -> String {
        let time = self.0.checked_mul(&Ratio::from_integer(ticks.into()));
        match time.map(|time| format_digits(time, "", PASTED_DIGITS)) {
            // A run of thousands of millions of years has more digits than are read.
            Some(ShownTime { text, is_exact: true })
                if text.bytes().filter(u8::is_ascii_digit).count() <= DIGITS_MAX =>
            {
                text
            }
            _ => format!("{ticks}t"),
        }
    }

    /// `ticks` as a delay or a bin that can be pasted into a command, with as many digits as it takes to be read as these
    /// ticks: `1.0579ns` for 13 ticks of 1/12.288GHz.
    pub fn paste_nearest(self, ticks: i64) -> String {
        let exact = self.format_paste(ticks);
        if !exact.ends_with('t') {
            return exact;
        }
        let is_nearest = |read: Attoseconds| read.round() == Ratio::from_integer(ticks.into());
        self.shortest(ticks, 5, is_nearest).unwrap_or(exact)
    }

    /// A short time of at least so many ticks, at most a twentieth longer: `1.1 ms`. Without a `space` it can be pasted
    /// into a command.
    pub fn about(self, ticks: i64, space: &str) -> String {
        let exact = self.format_paste(ticks);
        let digits = exact.bytes().filter(u8::is_ascii_digit).count();
        let is_short = digits <= SHORT_DIGITS && !exact.ends_with('t');
        let longest = Ratio::from_integer(i128::from(ticks)) * Ratio::new(21, 20);
        let is_about =
            |read: Attoseconds| read >= Ratio::from_integer(ticks.into()) && read <= longest;
        let short = if is_short { None } else { self.shortest(ticks, 1, is_about) };
        let paste = short.unwrap_or(exact);
        let unit = paste.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(paste.len());
        format!("{}{space}{}", &paste[..unit], &paste[unit..])
    }

    /// Returns the time of so many ticks with the fewest digits, at least `digits`, with which it is read as told.
    fn shortest(
        self,
        ticks: i64,
        digits: usize,
        is_read: impl Fn(Attoseconds) -> bool,
    ) -> Option<String> {
        let time = self.0.checked_mul(&Ratio::from_integer(ticks.into()))?;
        let mut texts = (digits..=PASTED_DIGITS).map(|digits| format_digits(time, "", digits).text);
        texts.find(|text| {
            let length = number_and_unit(text, text, "duration", TICK_EXAMPLE).ok().and_then(
                |(value, unit)| {
                    let unit = Ratio::from_integer(unit_length(unit, text).ok()?);
                    value.checked_mul(&unit)?.checked_div(&self.0)
                },
            );
            length.is_some_and(&is_read)
        })
    }
}

/// The tick for a reader (`156.25 ps`, `1/3 ps`): with four digits if it has many. [`Tick::exact`] has all of them.
impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, _) = self.shortest_fraction();
        let is_short = time.numer().max(time.denom()) <= &FRACTION_MAX;
        if is_short || format_time(self.0, " ").is_exact {
            return f.write_str(&self.exact());
        }
        f.write_str(&format_digits(self.0, " ", 4).text)
    }
}

/// `156.25ps`, `1/3ps` (a third of a picosecond) or `1/12.288GHz` (the period of that clock).
impl FromStr for Tick {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let out_of_range = || UnitError::OutOfRange { text: text.into() };
        let (numerator, rest) = match text.split_once('/') {
            Some((numerator, rest)) => {
                let (value, unit) = number_and_unit(numerator.trim(), text, "tick", TICK_EXAMPLE)?;
                if !unit.is_empty() {
                    return Err(malformed_tick(text));
                }
                (Some(value), rest)
            }
            None => (None, text),
        };
        let (value, unit) = number_and_unit(rest.trim(), text, "tick", TICK_EXAMPLE)?;
        if unit.is_empty() {
            let (text, suggestions) = (text.into(), format!("{text}ps"));
            return Err(UnitError::NoUnit { text, suggestions });
        }
        if let Some((_, hertz)) = FREQUENCIES.iter().find(|(name, _)| *name == unit) {
            let numerator = numerator.ok_or_else(|| malformed_tick(text))?;
            let clock = value.checked_mul(&Ratio::from_integer(*hertz)).ok_or_else(out_of_range)?;
            if clock <= Zero::zero() {
                return Err(UnitError::TickNotPositive { text: text.into() });
            }
            let attoseconds = numerator
                .checked_mul(&Ratio::from_integer(ATTOSECONDS_PER_SECOND))
                .and_then(|n| n.checked_div(&clock))
                .ok_or_else(out_of_range)?;
            return Self::new(attoseconds, text);
        }
        let length = unit_length(unit, text)?;
        if length == 0 {
            return Err(malformed_tick(text));
        }
        let value = match numerator {
            Some(numerator) if value > Zero::zero() => numerator.checked_div(&value),
            Some(_) => return Err(UnitError::TickNotPositive { text: text.into() }),
            None => Some(value),
        };
        let attoseconds = value
            .and_then(|v| v.checked_mul(&Ratio::from_integer(length)))
            .ok_or_else(out_of_range)?;
        Self::new(attoseconds, text)
    }
}

fn malformed_tick(text: &str) -> UnitError {
    UnitError::Malformed { text: text.into(), what: "tick", example: TICK_EXAMPLE }
}

impl Serialize for Tick {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.fraction())
    }
}

impl<'de> Deserialize<'de> for Tick {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_fraction(&text).map_err(serde::de::Error::custom)
    }
}
