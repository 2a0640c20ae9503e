//! The tick, or the unit of times, that a comment before the first tag states.

use tagq_store::{Tick, TimeUnit};

use crate::formats::naming::unit_of;

/// The words before a colon or an equals sign that state a tick or a unit, in lower case and without blanks and marks.
const KEYS: [&str; 13] = [
    "unit",
    "units",
    "timeunit",
    "timeunits",
    "unittime",
    "unittimetag",
    "unittimetags",
    "timetagunit",
    "resolution",
    "timeresolution",
    "tick",
    "timetick",
    "timebase",
];

/// The statement of a comment about times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// The length of a tick: a number with a unit, as in `Unit Time Tag: 80.955ps`.
    Tick(Tick),
    /// The unit of times: without a number, as in `Unit: ns`.
    Unit(TimeUnit),
}

impl Stated {
    /// Returns what a comment states, without the mark of the comment; `None` for any other comment.
    pub(super) fn of(comment: &[u8]) -> Option<Self> {
        let text = str::from_utf8(comment).ok()?;
        let (key, value) = text.split_once([':', '='])?;
        let key: String = key.chars().filter(|letter| letter.is_alphanumeric()).collect();
        if !KEYS.contains(&&*key.to_lowercase()) {
            return None;
        }
        let value: String = value.chars().filter(|letter| !letter.is_whitespace()).collect();
        let value = value.trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
        let unit_at = value.find(|letter: char| letter.is_alphabetic() && letter != 'e')?;
        let (number, unit) = value.split_at(unit_at);
        let unit = unit_of(&unit.to_lowercase());
        if number.is_empty() {
            return unit.map(Self::Unit);
        }
        let text = unit.map_or(value.to_owned(), |unit| format!("{number}{}", unit.name()));
        text.parse().ok().map(Self::Tick)
    }

    /// The length of one unit of times.
    pub(super) fn length(self) -> Tick {
        match self {
            Self::Tick(tick) => tick,
            Self::Unit(unit) => unit.length(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_states_a_tick_or_a_unit() {
        let tick = |text: &str| Some(Stated::Tick(text.parse().unwrap()));
        for (comment, stated) in [
            ("Unit Time Tag: 80.955ps", tick("80.955ps")),
            ("time_unit = 80.955 ps", tick("80.955ps")),
            ("Resolution: 1/3 ps", tick("1/3ps")),
            ("TICK: 4 picoseconds", tick("4ps")),
            ("Time base: 1e-12 s", tick("1ps")),
            ("tick: 1 fs", tick("1fs")),
            ("Unit: ps", Some(Stated::Unit(TimeUnit::Ps))),
            ("Units: [ns]", Some(Stated::Unit(TimeUnit::Ns))),
            ("Unit Channel: 1", None),
            ("Unit: counts", None),
            ("Resolution: 16 bits", None),
            ("Resolution: 4096", None),
            ("tick: -4ps", None),
            ("tick: 0ps", None),
            ("dead time: 20 ns", None),
            ("the unit is 4ps", None),
            ("Unit:", None),
        ] {
            assert_eq!(Stated::of(comment.as_bytes()), stated, "{comment}");
        }
    }
}
