//! The words of a question: channels by number or name, moments, windows.

use std::str::FromStr;

use tagq_store::{Duration, Tick, UnitError};

/// A channel as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// By its label.
    Number(u16),
    /// By the name that the setup gives it.
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
        Ok(Self::Name(text.into()))
    }
}

/// A moment of a run: since its first tag, before its last one, or as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// So long after the first tag; if negative, before the last one.
    Since(Duration),
    /// At this time, in ticks as recorded.
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

impl Moment {
    /// The first tick that is not earlier, in a run whose tags lie between these times.
    /// Whether it counts back from the end of the run, and moves with it.
    pub(crate) fn moves(&self) -> bool {
        // Less than nothing, however little.
        matches!(self, Self::Since(duration) if duration.floor(Tick::DEFAULT).is_ok_and(|t| t < 0))
    }

    pub(crate) fn tick_in(&self, (first, last): (i64, i64), tick: Tick) -> Result<i64, UnitError> {
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

/// A window as a person gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Window {
    /// The largest time difference allowed.
    Half(Duration),
    /// All differences together, as some labs quote it.
    Full(Duration),
}

impl Window {
    /// The largest time difference allowed in ticks.
    pub(crate) fn ticks(&self, tick: Tick) -> Result<i64, UnitError> {
        match self {
            Self::Half(window) => window.window(tick),
            Self::Full(width) => width.window_of_full_width(tick),
        }
    }

    /// In the words of the person who asked.
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
        // The first tick at or behind 6.4 ticks, so that all before it are earlier than 1 ns.
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
    fn channels_are_numbers_or_names() {
        assert_eq!("15".parse(), Ok(Channel::Number(15)));
        assert_eq!(" Alice-H ".parse(), Ok(Channel::Name("Alice-H".into())));
        for bad in ["", "65536", "-1", "3x", "a=b", "a,b"] {
            assert!(bad.parse::<Channel>().is_err(), "{bad}");
        }
    }
}
