//! The arguments of a request: channels by number or name, moments, windows.
//!
//! `-10s` is 10 s before the last tag, and `@123456t` the recorded time of 123,456 ticks.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use tagq_store::{Duration, Tick, UnitError};

use crate::{Run, escape::escaped, escape::is_shown};

/// A channel as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// The channel number.
    Number(u16),
    /// The name that the setup gives to the channel.
    Name(String),
}

impl FromStr for Channel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let number = text.parse().map(Self::Number);
            return number.map_err(|_| {
                format!("`{text}` is no channel; channels are numbers from 0 to 65535")
            });
        }
        if text.is_empty() || text.contains(['=', ',']) {
            return Err(format!("`{text}` is no channel; write a number (3) or a name"));
        }
        if !text.chars().all(is_shown) {
            let text = escaped(text);
            return Err(format!("`{text}` is no channel; a name has letters that can be shown"));
        }
        Ok(Self::Name(text.into()))
    }
}

impl Serialize for Channel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u16(*number),
            Self::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Channel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Named {
            Number(u16),
            Text(String),
        }
        match Named::deserialize(deserializer)? {
            Named::Number(number) => Ok(Self::Number(number)),
            Named::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Implements `Serialize` and `Deserialize` for types that are written as text, from `Display` and `FromStr`.
#[macro_export]
#[doc(hidden)]
macro_rules! serde_as_text {
    ($of:ty) => {
        impl serde::Serialize for $of {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $of {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

serde_as_text!(Moment);
serde_as_text!(BinWidth);

/// A moment of a run: relative to its first or last tag, or a recorded time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// This long after the first tag; if negative, before the last one.
    Since(Duration),
    /// At this recorded time, in ticks.
    At(i64),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some(at) = text.strip_prefix('@') else {
            return text.parse().map(Self::Since).map_err(|e: UnitError| e.to_string());
        };
        at.strip_suffix('t')
            .and_then(|ticks| ticks.trim().parse().ok())
            .map(Self::At)
            .ok_or_else(|| format!("`{text}` is no recorded time; write whole ticks, as @123456t"))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Since(duration) => f.write_str(duration.asked()),
            Self::At(time) => write!(f, "@{time}t"),
        }
    }
}

impl Moment {
    /// Whether it is relative to the end of the run, and moves with it.
    pub fn moves(&self) -> bool {
        // Negative, however small.
        matches!(self, Self::Since(duration) if duration.floor(Tick::DEFAULT).is_ok_and(|t| t < 0))
    }

    /// Returns the first tick of a run that is not earlier.
    ///
    /// # Errors
    /// [`UnitError::OutOfRange`] if it does not fit in 64 bits.
    pub fn tick_of(&self, run: &Run) -> Result<i64, UnitError> {
        let manifest = run.store().manifest();
        let span = manifest.span().unwrap_or_default();
        self.tick_in(span, manifest.tick)
    }

    /// Returns the first tick that is not earlier, in a run whose tags lie between these times.
    pub fn tick_in(&self, (first, last): (i64, i64), tick: Tick) -> Result<i64, UnitError> {
        match self {
            Self::At(time) => Ok(*time),
            Self::Since(duration) => {
                let ticks = duration.ceil(tick)?;
                let origin = if duration.floor(tick)? < 0 { last } else { first };
                origin
                    .checked_add(ticks)
                    .ok_or_else(|| UnitError::OutOfRange { text: duration.asked().into() })
            }
        }
    }
}

/// A bin width as the user gives it. It is rounded to the nearest whole number of ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinWidth(Duration);

impl BinWidth {
    /// Returns the width in ticks, at least one: the nearest whole number, half away from zero.
    ///
    /// # Errors
    /// A width below half a tick. If it `is_exact`, any width that is no whole number of ticks.
    pub fn ticks(&self, tick: Tick, is_exact: bool) -> Result<i64, UnitError> {
        if is_exact { self.0.bin(tick) } else { self.0.nearest_bin(tick) }
    }

    /// Returns the width as the user wrote it.
    pub fn asked(&self) -> &str {
        self.0.asked()
    }
}

impl fmt::Display for BinWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.asked())
    }
}

impl FromStr for BinWidth {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        // Plans of earlier versions have `~` before a width that is rounded.
        text.strip_prefix('~').unwrap_or(text).parse().map(Self)
    }
}

/// A window as the user gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Window {
    /// The largest time difference allowed.
    Half(Duration),
    /// The full width: for pairs from one side to the other, otherwise from the earliest tag to the
    /// latest.
    Full(Duration),
}

impl Window {
    /// Returns the largest allowed time difference in ticks.
    ///
    /// `is_span`: the window bounds all tags of a coincidence together, so its full width is that of
    /// one side.
    pub fn ticks(&self, tick: Tick, is_span: bool) -> Result<i64, UnitError> {
        match self {
            Self::Half(window) => window.window(tick),
            Self::Full(width) if is_span => width.window(tick),
            Self::Full(width) => width.window_of_full_width(tick),
        }
    }

    /// Returns the window as the user wrote it.
    pub fn asked(&self) -> &str {
        match self {
            Self::Half(duration) | Self::Full(duration) => duration.asked(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick_of(text: &str) -> i64 {
        // 1 ns is 6.4 ticks.
        text.parse::<Moment>().unwrap().tick_in((100, 10_000), Tick::DEFAULT).unwrap()
    }

    #[test]
    fn moments_count_from_the_first_tag_or_back_from_the_last() {
        assert_eq!(tick_of("0s"), 100);
        // The first tick at or after 6.4 ticks, so that all earlier ticks are less than 1 ns.
        assert_eq!(tick_of("1ns"), 107);
        assert_eq!(tick_of("-1ns"), 10_000 - 6);
        assert_eq!(tick_of("-3t"), 9_997);
        assert_eq!(tick_of("@-77t"), -77);
        for bad in ["@1ns", "@", "@1.5t", "5", ""] {
            assert!(bad.parse::<Moment>().is_err(), "{bad}");
        }
        let far: Moment = "9223372036854775807t".parse().unwrap();
        assert!(far.tick_in((100, 200), Tick::DEFAULT).is_err());
    }

    #[test]
    fn a_bin_is_the_nearest_number_of_ticks_unless_it_must_be_exact() {
        let odd: Tick = "96.96969697ps".parse().unwrap();
        for (tick, text, nearest, exact) in [
            // 1 ns is 6.4 ticks, 1.05 ns is 6.72.
            (Tick::DEFAULT, "1ns", Some(6), None),
            (Tick::DEFAULT, "1.05ns", Some(7), None),
            (Tick::DEFAULT, "~1.05ns", Some(7), None),
            (Tick::DEFAULT, "7t", Some(7), Some(7)),
            (Tick::DEFAULT, "78.125ps", Some(1), None),
            (Tick::DEFAULT, "78ps", None, None),
            (Tick::DEFAULT, "0t", None, None),
            (Tick::DEFAULT, "-1ns", None, None),
            (odd, "1us", Some(10_312), None),
            (odd, "~1us", Some(10_312), None),
        ] {
            let bin: BinWidth = text.parse().unwrap();
            assert_eq!(bin.ticks(tick, false).ok(), nearest, "{text}");
            assert_eq!(bin.ticks(tick, true).ok(), exact, "{text}");
        }
        assert!("~".parse::<BinWidth>().is_err());
    }

    #[test]
    fn a_full_width_is_that_of_a_pair_or_of_all_tags() {
        // 4 ns are 25.6 ticks: 2w + 1 = 25 for a pair, a span of 25.
        let ticks = |is_span| Window::Full("4ns".parse().unwrap()).ticks(Tick::DEFAULT, is_span);
        assert_eq!((ticks(false), ticks(true)), (Ok(12), Ok(25)));
    }

    #[test]
    fn channels_are_numbers_or_names() {
        assert_eq!("15".parse(), Ok(Channel::Number(15)));
        assert_eq!(" Alice-H ".parse(), Ok(Channel::Name("Alice-H".into())));
        for bad in
            ["", "65536", "-1", "3x", "a=b", "a,b", "a\u{1b}[1m", "a\nb", "\u{202e}b", "a\u{9b}"]
        {
            assert!(bad.parse::<Channel>().is_err(), "{bad}");
        }
    }
}
