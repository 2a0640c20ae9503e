//! Texts that are no duration, tick or rate, and durations that do not fit the tick of the run.

/// A text that is no duration, or one that does not fit the tick of the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// A number stands alone.
    #[error("`{text}` has no unit; write {suggestions}")]
    NoUnit {
        /// The text as given.
        text: String,
        /// The same with units.
        suggestions: String,
    },
    /// Two durations, where one is expected.
    #[error("`{text}` is a range, and one duration is expected here, as {high}")]
    Range {
        /// The text as given.
        text: String,
        /// Its end.
        high: String,
    },
    /// The letters after the number are no unit.
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
    /// A number with a decimal comma.
    #[error("`{text}` has a comma; write decimals with a point, as {}", text.trim().replace(',', "."))]
    Comma {
        /// The text as given.
        text: String,
    },
    /// No number was found.
    #[error("`{text}` is no {what}; write it as {example}")]
    Malformed {
        /// The text as given.
        text: String,
        /// The quantity that was expected.
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
    /// A window is a distance and has no sign, and so has a length of time.
    #[error("`{text}` is negative; write it without the minus sign, as {}", text.trim().trim_start_matches('-'))]
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
