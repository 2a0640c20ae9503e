//! Formatting of numbers and names for readers.
//!
//! −12,345.678 with one place is `−12,345.7`, and 370 ± 19.235 is `370 ± 19`: errors have two significant digits.

use tagq::grouped;
pub(crate) use tagq::{are, counted, thousands};

/// Sign of negative numbers.
const MINUS: char = '\u{2212}';

/// Formats `value` with this many decimal places, and with separators between groups of three digits.
pub(crate) fn fixed(value: f64, places: usize) -> String {
    let text = format!("{:.places$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((&*text, ""), |(whole, rest)| (whole, rest));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let mut out = String::new();
    if value < 0.0 && !is_zero {
        out.push(MINUS);
    }
    out.push_str(&grouped(whole));
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    out
}

/// Sets a text of the command line for a figure, with minus signs.
pub(crate) fn typeset(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_sign = matches!(before, ' ' | '(' | '=' | '±') && letter == '-';
        let is_minus = is_sign && letters.peek().is_some_and(char::is_ascii_digit);
        out.push(if is_minus { MINUS } else { letter });
        before = letter;
    }
    out
}

/// Formats a value and its error in one unit, the error with two significant digits.
pub(crate) fn with_err(value: f64, err: f64) -> String {
    let places = places(err, 2);
    format!("{} \u{b1} {}", fixed(value, places), fixed(err, places))
}

/// Returns the number of decimal places that shows `digits` significant digits of a value.
pub(crate) fn places(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    usize::try_from(digits - 1 - exponent(value)).unwrap_or(0).min(15)
}

/// Returns the power of ten of the first digit.
#[expect(clippy::cast_possible_truncation, reason = "an exponent of a float")]
pub(crate) fn exponent(value: f64) -> i32 {
    // A value just below a power of ten counts as that power.
    (libm::log10(value.abs()) + 1e-9).floor() as i32
}

/// Returns at most `most` characters of a name; the last one marks the cut.
pub(crate) fn cut(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let mut text: String = name.chars().take(most.saturating_sub(1)).collect();
    text.push('\u{2026}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_set_for_a_page() {
        for (text, expected) in [
            ("from -10 ns to (-5), k=-1", "from \u{2212}10 ns to (\u{2212}5), k=\u{2212}1"),
            ("run-3, a - b, 1-2, -x", "run-3, a - b, 1-2, -x"),
        ] {
            assert_eq!(typeset(text), expected);
        }
    }

    #[test]
    fn numbers_are_grouped_and_errors_have_two_digits() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(fixed(-12_345.678, 1), "\u{2212}12,345.7");
        assert_eq!(fixed(-0.000_1, 2), "0.00");
        assert_eq!(with_err(370.0, 19.235), "370 \u{b1} 19");
        assert_eq!(with_err(0.998_76, 0.012_3), "0.999 \u{b1} 0.012");
        assert_eq!(with_err(96_277.2, 207.0), "96,277 \u{b1} 207");
        assert_eq!((cut("Alice", 5), cut("Alice-H", 5)), ("Alice".into(), "Alic\u{2026}".into()));
    }
}
