//! Units as other programs and people write them: `nsec` means `ns`, and `Mcps` means `MHz`. They are only suggested in
//! errors, never accepted.

/// Words of time and the unit that each is.
const WORDS: [(&str, &str); 10] = [
    ("attosecond", "as"),
    ("femtosecond", "fs"),
    ("picosecond", "ps"),
    ("nanosecond", "ns"),
    ("microsecond", "us"),
    ("millisecond", "ms"),
    ("second", "s"),
    ("minute", "min"),
    ("hour", "h"),
    ("tick", "t"),
];

/// Rates in lower case.
const RATES: [(&str, &str); 15] = [
    ("hz", "Hz"),
    ("khz", "kHz"),
    ("mhz", "MHz"),
    ("ghz", "GHz"),
    ("thz", "THz"),
    ("cps", "Hz"),
    ("kcps", "kHz"),
    ("mcps", "MHz"),
    ("gcps", "GHz"),
    ("/s", "Hz"),
    ("1/s", "Hz"),
    ("counts/s", "Hz"),
    ("tags/s", "Hz"),
    ("k", "kHz"),
    ("g", "GHz"),
];

/// The unit of time that these letters stand for: a word in full or short (`nanosec`), a short one for
/// `second` after a prefix (`nsec`), or the unit in other letters (`NS`).
pub(super) fn time(letters: &str) -> Option<&'static str> {
    let letters = letters.to_lowercase();
    if letters == "hr" || letters == "hrs" {
        return Some("h");
    }
    let singular = letters.strip_suffix('s').unwrap_or(&letters);
    // Two letters of a word may be of another one.
    let begins = |word: &str| singular.len() > 2 && word.starts_with(singular);
    let is_short_second = |unit: &str| {
        let prefix = unit.strip_suffix('s').filter(|prefix| !prefix.is_empty());
        let rest = prefix.and_then(|prefix| singular.strip_prefix(prefix));
        rest.is_some_and(|rest| rest.len() > 2 && "second".starts_with(rest))
    };
    let found =
        WORDS.iter().find(|(word, unit)| letters == *unit || begins(word) || is_short_second(unit));
    found.map(|(_, unit)| *unit)
}

/// The unit of a rate that these letters stand for.
pub(super) fn rate(letters: &str) -> Option<&'static str> {
    let letters = letters.to_lowercase();
    RATES.iter().find(|(other, _)| *other == letters).map(|(_, unit)| *unit)
}
