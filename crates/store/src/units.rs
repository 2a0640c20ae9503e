//! Durations and ticks, exact: what stands on a command line becomes whole ticks here.
//!
//! Nothing in this module is a float. A duration is a fraction of attoseconds in `i128`, and every
//! step that could leave that range is checked. The rules (floor for a window, nearest for a delay)
//! are those of docs/queries.md, section "Durations".

mod meant;

use std::{fmt, str::FromStr};

use num_rational::Ratio;
use num_traits::{CheckedDiv, CheckedMul, ToPrimitive, Zero};

/// A fraction of attoseconds.
type Attoseconds = Ratio<i128>;

/// Units of time and their length in attoseconds. `us` and both spellings of `µs` are one unit.
const UNITS: [(&str, i128); 12] = [
    ("as", 1),
    ("fs", 1_000),
    ("ps", 1_000_000),
    ("ns", 1_000_000_000),
    ("us", 1_000_000_000_000),
    ("\u{b5}s", 1_000_000_000_000),
    ("\u{3bc}s", 1_000_000_000_000),
    ("ms", 1_000_000_000_000_000),
    ("s", ATTOSECONDS_PER_SECOND),
    ("min", 60 * ATTOSECONDS_PER_SECOND),
    ("h", 3_600 * ATTOSECONDS_PER_SECOND),
    ("t", 0),
];

/// The units that reports use, shortest first.
const READERS: [(&str, i128); 7] = [
    ("as", 1),
    ("fs", 1_000),
    ("ps", 1_000_000),
    ("ns", 1_000_000_000),
    ("µs", 1_000_000_000_000),
    ("ms", 1_000_000_000_000_000),
    ("s", ATTOSECONDS_PER_SECOND),
];

const FREQUENCIES: [(&str, i128); 5] = [
    ("Hz", 1),
    ("kHz", 1_000),
    ("MHz", 1_000_000),
    ("GHz", 1_000_000_000),
    ("THz", 1_000_000_000_000),
];

const ATTOSECONDS_PER_SECOND: i128 = 1_000_000_000_000_000_000;

/// As many digits as the largest number of ticks has.
const DIGITS_MAX: usize = 19;
/// Decimal places, few enough that the denominator leaves room for the unit.
const PLACES_MAX: usize = 18;

/// A text that is no duration, or one that does not fit the tick of the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// A number stands alone.
    #[error("`{text}` has no unit; write {text}ns, {text}ps, {text}us or {text}t (whole ticks)")]
    NoUnit {
        /// The text as given.
        text: String,
    },
    /// The letters behind the number are no unit.
    #[error(
        "`{text}`: no unit is called `{unit}`{}; the units are {known}",
        meant.as_ref().map_or(String::new(), |meant| format!(" (did you mean {meant}?)"))
    )]
    UnknownUnit {
        /// The text as given.
        text: String,
        /// The letters in question.
        unit: String,
        /// The text with the unit that these letters stand for elsewhere.
        meant: Option<String>,
        /// The units that would do.
        known: &'static str,
    },
    /// No number was found.
    #[error("`{text}` is no {what}; write it as {example}")]
    Malformed {
        /// The text as given.
        text: String,
        /// What was looked for.
        what: &'static str,
        /// One that would do.
        example: &'static str,
    },
    /// The number has more digits, or the value is larger, than tagq can count.
    #[error("`{text}` is outside what can be counted: at most 19 digits and 2^63 - 1 ticks")]
    OutOfRange {
        /// The text as given.
        text: String,
    },
    /// A window is a distance and has no sign.
    #[error("`{text}` is negative; a window is the largest time difference allowed, 0t or more")]
    Negative {
        /// The text as given.
        text: String,
    },
    /// Not a time that can be waited for.
    #[error("`{text}` is no time to wait; write it as 1s or 500ms")]
    NoWait {
        /// The text as given.
        text: String,
    },
    /// A window between zero and one tick would count only equal times.
    #[error(
        "`{text}` is shorter than one tick of {tick}; use at least {tick_paste} (1t), or 0t to \
         count equal times"
    )]
    BelowTick {
        /// The text as given.
        text: String,
        /// The tick for reading.
        tick: String,
        /// The tick as it can be pasted into the command.
        tick_paste: String,
    },
    /// A full width holds the differences −w, …, w: an odd number of ticks.
    #[error(
        "`{text}` is shorter than one tick of {tick}; a full width is at least {tick_paste} (1t), \
         which counts equal times"
    )]
    WidthBelowTick {
        /// The text as given.
        text: String,
        /// The tick for reading.
        tick: String,
        /// The tick as it can be pasted into the command.
        tick_paste: String,
    },
    /// A bin is a whole number of ticks.
    #[error("`{text}` is {found} ticks of {tick}; use {near}")]
    NotWhole {
        /// The text as given.
        text: String,
        /// Its length in ticks, for reading.
        found: String,
        /// The tick for reading.
        tick: String,
        /// The lengths next to it, as they can be pasted into the command.
        near: String,
    },
    /// A tick has a length.
    #[error("a tick must be longer than zero, and `{text}` is not")]
    TickNotPositive {
        /// The text as given.
        text: String,
    },
}

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
pub struct Tick(Attoseconds);

impl Tick {
    /// 156.25 ps, the tick of the 16-channel instrument that writes `.tags.zst`.
    pub const DEFAULT: Self = Self(Ratio::new_raw(156_250_000, 1));

    fn new(attoseconds: Attoseconds, text: &str) -> Result<Self, UnitError> {
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
            Some(time) if *time.numer() > i128::MIN => format_time(time, " ").0,
            _ => format!("{ticks} ticks"),
        }
    }

    /// `ticks` as they can be pasted into a command: `1.875ns` where that is exact, else `12t`.
    pub fn format_paste(self, ticks: i64) -> String {
        match self.0.checked_mul(&Ratio::from_integer(ticks.into())) {
            Some(time) => match format_time(time, "") {
                // A run of thousands of millions of years has more digits than are read.
                (text, true) if text.bytes().filter(u8::is_ascii_digit).count() <= DIGITS_MAX => {
                    text
                }
                _ => format!("{ticks}t"),
            },
            None => format!("{ticks}t"),
        }
    }
}

/// The tick for a reader (`156.25 ps`, `1/3 ps`).
impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (text, true) = format_time(self.0, " ") {
            return f.write_str(&text);
        }
        let fractions = READERS.map(|(name, length)| (self.0 / length, name));
        let shortest = fractions.iter().min_by_key(|(time, _)| time.numer() + time.denom());
        let (time, name) = shortest.unwrap_or(&fractions[0]);
        write!(f, "{}/{} {name}", time.numer(), time.denom())
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
        if let Length::Ticks(_) = self.length {
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

    /// Whether the duration is a whole number of ticks.
    pub fn is_whole(&self, tick: Tick) -> Result<bool, UnitError> {
        Ok(self.exact(tick)?.is_integer())
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

/// Four decimals of a number that is not whole, all where these would be zeros.
fn few_digits(number: f64) -> String {
    let short = format!("{number:.4}");
    let short = short.trim_end_matches('0');
    if short.ends_with('.') { number.to_string() } else { short.to_owned() }
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, unit) = number_and_unit(text.trim(), text, "duration", DURATION_EXAMPLE)?;
        if unit.is_empty() {
            return Err(UnitError::NoUnit { text: text.trim().into() });
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

/// How often something happens: a decimal with a unit (`100kHz`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequency(Ratio<i128>);

impl Frequency {
    /// Events per tick, as a float: for simulations only.
    pub fn per_tick(self, tick: Tick) -> f64 {
        *self.0.numer() as f64 / *self.0.denom() as f64 * tick.seconds()
    }
}

impl FromStr for Frequency {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const EXAMPLE: &str = "100kHz";
        let (value, unit) = number_and_unit(text.trim(), text, "rate", EXAMPLE)?;
        if unit.is_empty() {
            return Err(UnitError::Malformed { text: text.into(), what: "rate", example: EXAMPLE });
        }
        let hertz = FREQUENCIES.iter().find(|(name, _)| *name == unit).map(|(_, hertz)| *hertz);
        let hertz = hertz.ok_or_else(|| UnitError::UnknownUnit {
            text: text.into(),
            unit: unit.into(),
            meant: meant::rate(unit).map(|meant| with_unit(text, unit, meant)),
            known: "Hz kHz MHz GHz THz",
        })?;
        if value < Zero::zero() {
            return Err(UnitError::Malformed { text: text.into(), what: "rate", example: EXAMPLE });
        }
        let rate = value.checked_mul(&Ratio::from_integer(hertz));
        rate.map(Self).ok_or_else(|| UnitError::OutOfRange { text: text.into() })
    }
}

const TICK_EXAMPLE: &str = "156.25ps, 1/3ps or 1/12.288GHz";
const DURATION_EXAMPLE: &str = "2ns, 156.25ps, -0.5us or 13t (whole ticks)";

fn malformed_tick(text: &str) -> UnitError {
    UnitError::Malformed { text: text.into(), what: "tick", example: TICK_EXAMPLE }
}

/// Splits `text` into its decimal number and the letters behind it.
fn number_and_unit<'a>(
    text: &'a str,
    whole: &str,
    what: &'static str,
    example: &'static str,
) -> Result<(Ratio<i128>, &'a str), UnitError> {
    let malformed = || UnitError::Malformed { text: whole.into(), what, example };
    let (negative, rest) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, unit) = rest.split_at(end);
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    if integer.len() + fraction.len() == 0 || fraction.contains('.') {
        return Err(malformed());
    }
    let digits = format!("{integer}{fraction}");
    if digits.trim_start_matches('0').len() > DIGITS_MAX || fraction.len() > PLACES_MAX {
        return Err(UnitError::OutOfRange { text: whole.into() });
    }
    let mantissa: i128 = digits.parse().map_err(|_| malformed())?;
    let scale = (0..fraction.len()).fold(1_i128, |scale, _| scale * 10);
    let value = Ratio::new(if negative { -mantissa } else { mantissa }, scale);
    Ok((value, unit.trim()))
}

/// The length of a unit in attoseconds; 0 stands for ticks.
fn unit_length(unit: &str, whole: &str) -> Result<i128, UnitError> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, length)| *length).ok_or_else(|| {
        UnitError::UnknownUnit {
            text: whole.into(),
            unit: unit.into(),
            meant: meant::time(unit).map(|meant| with_unit(whole, unit, meant)),
            known: "as fs ps ns us µs ms s min h, and t for whole ticks",
        }
    })
}

/// `text`, which ends with `unit`, with `meant` in place of it.
fn with_unit(text: &str, unit: &str, meant: &str) -> String {
    let number = text.trim().strip_suffix(unit).unwrap_or_default();
    format!("{}{meant}", number.trim_end())
}

/// The largest of the readers' units that is not longer than `time`.
fn unit_for(time: Attoseconds) -> (&'static str, i128) {
    let magnitude = if time < Zero::zero() { -time } else { time };
    let fitting = READERS.iter().rev().find(|unit| magnitude >= Ratio::from_integer(unit.1));
    *fitting.unwrap_or(&READERS[0])
}

/// A time with nine significant digits, and whether these are all of it.
fn format_time(time: Attoseconds, space: &str) -> (String, bool) {
    const SIGNIFICANT: usize = 9;
    if time.is_zero() {
        return (format!("0{space}s"), true);
    }
    let (name, length) = unit_for(time);
    let name = if space.is_empty() && name == "µs" { "us" } else { name };
    let value = time / length;
    let sign = if value < Zero::zero() { "-" } else { "" };
    let value = if value < Zero::zero() { -value } else { value };
    let digits_before = value.to_integer().to_string().len();
    let places = SIGNIFICANT.saturating_sub(digits_before);
    let scale = (0..places).fold(1_i128, |scale, _| scale * 10);
    let Some(scaled) = value.checked_mul(&Ratio::from_integer(scale)) else {
        return (format!("{sign}{}{space}{name}", value.to_integer()), value.is_integer());
    };
    let rounded = scaled.round().to_integer();
    let mut text = format!("{}.{:0places$}", rounded / scale, rounded % scale);
    if places == 0 {
        text.truncate(text.len() - 2);
    } else {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    (format!("{sign}{text}{space}{name}"), scaled.is_integer())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn duration(text: &str) -> Duration {
        text.parse().unwrap()
    }

    fn duration_error(text: &str) -> String {
        text.parse::<Duration>().unwrap_err().to_string()
    }

    #[test]
    fn windows_are_floored_exactly() {
        // 2 ns / 156.25 ps = 12.8; 1 µs / 156.25 ps = 6400 exactly.
        for (text, ticks) in
            [("2ns", 12), ("2 ns", 12), ("1us", 6400), ("1µs", 6400), ("1μs", 6400), ("13t", 13)]
        {
            assert_eq!(duration(text).window(Tick::DEFAULT), Ok(ticks), "{text}");
        }
        // A third of a picosecond: 1 ps is three ticks, and just below it two.
        let third: Tick = "1/3ps".parse().unwrap();
        assert_eq!(duration("1ps").window(third), Ok(3));
        assert_eq!(duration("0.999999999999ps").window(third), Ok(2));
        assert_eq!(duration("0ns").window(Tick::DEFAULT), Ok(0));
    }

    #[test]
    fn windows_that_mean_nothing_are_refused() {
        let below = duration("100ps").window(Tick::DEFAULT).unwrap_err().to_string();
        assert_eq!(
            below,
            "`100ps` is shorter than one tick of 156.25 ps; use at least 156.25ps (1t), or 0t to \
             count equal times"
        );
        assert!(matches!(duration("-2ns").window(Tick::DEFAULT), Err(UnitError::Negative { .. })));
        for no_wait in ["-1s", "5t"] {
            let refused = duration(no_wait).on_the_clock();
            assert!(matches!(refused, Err(UnitError::NoWait { .. })), "{no_wait}");
        }
        let waited = std::time::Duration::from_millis(1_500);
        assert_eq!(duration("1.5s").on_the_clock().unwrap(), waited);
        assert!(matches!("2".parse::<Duration>(), Err(UnitError::NoUnit { .. })));
        assert!(matches!("2parsec".parse::<Duration>(), Err(UnitError::UnknownUnit { .. })));
        assert!(matches!("ns".parse::<Duration>(), Err(UnitError::Malformed { .. })));
        assert!(matches!("1.5t".parse::<Duration>(), Err(UnitError::Malformed { .. })));
        assert!(matches!("1.2.3ns".parse::<Duration>(), Err(UnitError::Malformed { .. })));
        assert!(matches!(
            duration("999999h").nearest("1as".parse().unwrap()),
            Err(UnitError::OutOfRange { .. })
        ));
        for text in ["99999999999999999999ns", "9223372036854775808t", "1e400s"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
        assert_eq!(
            duration("-999999999999999999t").nearest(Tick::DEFAULT),
            Ok(-(10_i64.pow(18) - 1))
        );
    }

    #[test]
    fn a_unit_that_is_none_is_read_as_it_was_meant() {
        for (text, meant) in [
            ("2nanosec", "2ns"),
            ("2 nsec", "2ns"),
            ("-4.0625 NS", "-4.0625ns"),
            ("1 microseconds", "1us"),
            ("3 sec", "3s"),
            ("5mins", "5min"),
            ("2 hrs", "2h"),
            ("13 ticks", "13t"),
        ] {
            let error = duration_error(text);
            assert!(error.contains(&format!("did you mean {meant}?")), "{text}: {error}");
            assert!(meant.parse::<Duration>().is_ok(), "{meant}");
        }
        for text in ["2 parsec", "2n", "2 light years", "2xs"] {
            assert!(!duration_error(text).contains("did you mean"), "{text}");
        }
        for (text, meant) in [("100khz", "100kHz"), ("5 kcps", "5kHz"), ("7 counts/s", "7Hz")] {
            let error = text.parse::<Frequency>().unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean {meant}?")), "{text}: {error}");
        }
    }

    #[test]
    fn a_full_width_holds_an_odd_number_of_ticks() {
        // 25 ticks are 3.90625 ns, 26 are 4.0625 ns.
        for (text, window) in
            [("3.90625ns", 12), ("4ns", 12), ("4.21874ns", 12), ("4.21875ns", 13), ("1t", 0)]
        {
            assert_eq!(duration(text).window_of_full_width(Tick::DEFAULT), Ok(window), "{text}");
        }
        for text in ["100ps", "0ns", "-4ns"] {
            let error = duration(text).window_of_full_width(Tick::DEFAULT).unwrap_err();
            assert!(matches!(error, UnitError::WidthBelowTick { .. }), "{error}");
        }
    }

    #[test]
    fn a_bin_is_whole_or_its_neighbours_are_named() {
        assert_eq!(duration("937.5ps").bin(Tick::DEFAULT), Ok(6));
        let error = duration("1ns").bin(Tick::DEFAULT).unwrap_err().to_string();
        assert_eq!(error, "`1ns` is 6.4 ticks of 156.25 ps; use 937.5ps (6t) or 1.09375ns (7t)");
        let odd: Tick = "81ps".parse().unwrap();
        let error = duration("100ps").bin(odd).unwrap_err().to_string();
        assert_eq!(error, "`100ps` is 1.2346 ticks of 81 ps; use 81ps (1t) or 162ps (2t)");
        let error = duration("81.00001ps").bin(odd).unwrap_err().to_string();
        assert!(error.starts_with("`81.00001ps` is 1.000000123"), "{error}");
        let third: Tick = "1/3ps".parse().unwrap();
        let error = duration("0.5ps").bin(third).unwrap_err().to_string();
        assert_eq!(error, "`0.5ps` is 1.5 ticks of 1/3 ps; use 1t or 2t");
        for text in ["0t", "-3t", "-0.1ps"] {
            assert!(duration(text).bin(Tick::DEFAULT).is_err(), "{text}");
        }
    }

    #[test]
    fn delays_round_half_away_from_zero() {
        let tick: Tick = "2ns".parse().unwrap();
        for (text, ticks) in [("1ns", 1), ("-1ns", -1), ("0.9ns", 0), ("-0.9ns", 0), ("3ns", 2)] {
            assert_eq!(duration(text).nearest(tick), Ok(ticks), "{text}");
        }
        assert!(duration("-4.0625ns").is_whole(Tick::DEFAULT).unwrap());
        assert!(!duration("-4ns").is_whole(Tick::DEFAULT).unwrap());
    }

    #[test]
    fn ticks_read_and_write() {
        assert_eq!(Tick::DEFAULT, "156.25ps".parse().unwrap());
        assert_eq!(Tick::DEFAULT.to_string(), "156.25 ps");
        assert_eq!("4ps".parse::<Tick>().unwrap().to_string(), "4 ps");
        assert_eq!("1/3ps".parse::<Tick>().unwrap().to_string(), "1/3 ps");
        // 1e18 / 12.288e9 = 81380208 1/3 as.
        let clock: Tick = "1/12.288GHz".parse().unwrap();
        assert_eq!(clock.fraction(), "244140625/3");
        for bad in ["0ps", "-1ps", "12.288GHz", "1/0ps", "1/0Hz", "13t", "1ns/3", "", "x", "1/3"] {
            assert!(bad.parse::<Tick>().is_err(), "{bad}");
        }
        for bad in ["", "1", "1/0", "-1/2", "a/b", "1/2/3"] {
            assert!(Tick::from_fraction(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_shown_as_a_reader_wants_them() {
        let tick = Tick::DEFAULT;
        assert_eq!(tick.format(12), "1.875 ns");
        assert_eq!(tick.format(25), "3.90625 ns");
        assert_eq!(tick.format(-26), "-4.0625 ns");
        assert_eq!(tick.format(6400), "1 µs");
        // 14827730247 ticks are 2.31683285109375 s.
        assert_eq!(tick.format(14_827_730_247), "2.31683285 s");
        assert_eq!(tick.format(0), "0 s");
        assert_eq!(tick.format_paste(6400), "1us");
        assert_eq!("1/3ps".parse::<Tick>().unwrap().format_paste(1), "1t");
        // 64563604257983430649 s would be the answer, which is of 20 digits.
        assert_eq!("7s".parse::<Tick>().unwrap().format_paste(i64::MAX), "9223372036854775807t");
        assert_eq!("1s".parse::<Tick>().unwrap().format(1_234_567_890_123), "1234567890123 s");
        // -2^127 as.
        let smallest = "-170141183460469231731687303715884105728 ticks";
        assert_eq!("1as".parse::<Tick>().unwrap().format(i128::MIN), smallest);
    }

    #[test]
    fn rates_become_events_per_tick() {
        let rate: Frequency = "100kHz".parse().unwrap();
        // 1e5 / s × 156.25 ps = 1.5625e-5.
        assert!((rate.per_tick(Tick::DEFAULT) - 1.562_5e-5).abs() < 1e-18);
        for bad in ["100", "1ns", "-1Hz", "kHz"] {
            assert!(bad.parse::<Frequency>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn ticks_survive_the_manifest(numerator in 1..=i64::MAX, denominator in 1..=i64::MAX) {
            let tick = Tick::from_fraction(&format!("{numerator}/{denominator}")).unwrap();
            prop_assert_eq!(Tick::from_fraction(&tick.fraction()), Ok(tick));
        }

        #[test]
        fn a_window_in_picoseconds_is_an_integer_division(ps in 0_i64..1 << 40, tick in 1_i64..1000) {
            let exact = Tick::from_fraction(&format!("{}/1", i128::from(tick) * 1_000_000)).unwrap();
            let window = duration(&format!("{ps}ps")).window(exact);
            if ps == 0 || ps >= tick {
                prop_assert_eq!(window, Ok(ps / tick));
            } else {
                let below = matches!(window, Err(UnitError::BelowTick { .. }));
                prop_assert!(below);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,24}") {
            let _ = text.parse::<Duration>().map(|d| (d.window(Tick::DEFAULT), d.nearest(Tick::DEFAULT)));
            let _ = text.parse::<Tick>();
        }
    }
}
