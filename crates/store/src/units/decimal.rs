//! Decimal numbers with a unit, as a person writes them.
//!
//! `2.5e3ns` is 2,500 and `ns`; `1,5ns` is refused with the advice to write `1.5ns`. Numbers are fractions of integers:
//! a float would make 0.1 ns not exactly 100 ps.

use num_rational::Ratio;
use num_traits::{CheckedDiv as _, CheckedMul as _};

use super::{error::UnitError, meant};

/// A fraction of attoseconds.
pub(super) type Attoseconds = Ratio<i128>;

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

pub(super) const FREQUENCIES: [(&str, i128); 5] = [
    ("Hz", 1),
    ("kHz", 1_000),
    ("MHz", 1_000_000),
    ("GHz", 1_000_000_000),
    ("THz", 1_000_000_000_000),
];

pub(super) const ATTOSECONDS_PER_SECOND: i128 = 1_000_000_000_000_000_000;

/// As many digits as the largest number of ticks has.
pub(super) const DIGITS_MAX: usize = 19;
/// Decimal places, few enough that the denominator leaves room for the unit.
const PLACES_MAX: usize = 18;

/// Splits `text` into its decimal number, which may have an exponent (`2.5e3`), and the letters after it.
pub(super) fn number_and_unit<'a>(
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
    let (exponent, unit) = exponent(unit);
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    if integer.len() + fraction.len() == 0 || fraction.contains('.') {
        return Err(malformed());
    }
    if unit.starts_with(',') {
        return Err(UnitError::Comma { text: whole.into() });
    }
    let digits = format!("{integer}{fraction}");
    if digits.trim_start_matches('0').len() > DIGITS_MAX || fraction.len() > PLACES_MAX {
        return Err(UnitError::OutOfRange { text: whole.into() });
    }
    let mantissa: i128 = digits.parse().map_err(|_| malformed())?;
    let scale = (0..fraction.len()).fold(1_i128, |scale, _| scale * 10);
    let value = Ratio::new(if negative { -mantissa } else { mantissa }, scale);
    let out_of_range = || UnitError::OutOfRange { text: whole.into() };
    let power = 10_i128.checked_pow(exponent.unsigned_abs()).ok_or_else(out_of_range)?;
    let power = Ratio::from_integer(power);
    let value = if exponent < 0 { value.checked_div(&power) } else { value.checked_mul(&power) };
    Ok((value.ok_or_else(out_of_range)?, unit.trim()))
}

/// Splits off an exponent, `e-9`, in front of a unit; 0 if there is none.
fn exponent(text: &str) -> (i32, &str) {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return (0, text) };
    let sign = usize::from(rest.starts_with(['-', '+']));
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    match rest[..sign + digits].parse() {
        Ok(exponent) => (exponent, &rest[sign + digits..]),
        Err(_) => (0, text),
    }
}

/// The length of a unit in attoseconds; 0 stands for ticks.
pub(super) fn unit_length(unit: &str, whole: &str) -> Result<i128, UnitError> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, length)| *length).ok_or_else(|| {
        UnitError::UnknownUnit {
            text: whole.into(),
            unit: unit.into(),
            meant: meant::time(unit)
                .map(|meant| with_unit(whole, unit, meant))
                .or_else(|| period(whole, unit)),
            known: "as fs ps ns us µs ms s min h, and t for whole ticks",
        }
    })
}

/// Returns the time between two events of a rate as text, rounded to attoseconds.
fn period(text: &str, unit: &str) -> Option<String> {
    const SECOND: i128 = 1_000_000_000_000_000_000;
    let (_, hertz) = FREQUENCIES.iter().find(|(name, _)| *name == unit)?;
    let (number, _) = number_and_unit(text.trim(), text, "rate", "").ok()?;
    let rate = number.checked_mul(&Ratio::from_integer(*hertz))?;
    let seconds = Ratio::from_integer(1).checked_div(&rate)?;
    let period = seconds.checked_mul(&Ratio::from_integer(SECOND))?.round().to_integer();
    // From 1 to 1,000 of a unit, with all digits after its point.
    let units = [("s", 18), ("ms", 15), ("us", 12), ("ns", 9), ("ps", 6)];
    let (unit, digits) = units.into_iter().find(|(_, digits)| period >= 10_i128.pow(*digits))?;
    let (length, digits) = (10_i128.pow(digits), usize::try_from(digits).ok()?);
    let number = format!("{}.{:0digits$}", period / length, period % length);
    Some(format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')))
}

/// `text`, which ends with `unit`, with `meant` in place of it.
pub(super) fn with_unit(text: &str, unit: &str, meant: &str) -> String {
    let number = text.trim().strip_suffix(unit).unwrap_or_default();
    format!("{}{meant}", number.trim_end())
}
