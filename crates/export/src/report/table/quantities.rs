//! Numbers formatted for a person.
//!
//! 8,769.4 ± 197.3 is `8,769 ± 197`: the error has two significant digits or all of its whole ones, and the value
//! ends at the same place.

pub use tagq::{are, counted, thousands};

/// Formats -1234567 as -1,234,567.
pub(crate) fn ticks(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", thousands(n.unsigned_abs()))
}

/// Formats a size in the unit that leaves one to three digits before the point.
pub(crate) fn bytes(n: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let unit = units.into_iter().find(|&(_, size)| n as f64 >= size);
    match unit {
        Some((unit, size)) => format!("{} {unit}", short(n as f64 / size)),
        None => format!("{n} bytes"),
    }
}

/// Returns the text of an undefined value.
pub(crate) fn dash() -> String {
    "\u{2013}".to_owned()
}

/// Formats the error with two significant digits and the value to the same decimal place.
pub(crate) fn with_err(value: f64, err: f64) -> String {
    let places = places(err, 2);
    format!("{} \u{b1} {}", rounded(value, places), rounded(err, places))
}

pub(crate) fn two_digits(err: f64) -> String {
    rounded(err, places(err, 2))
}

/// Formats with `places` decimal places; whole numbers get thousands separators.
fn rounded(value: f64, places: usize) -> String {
    if places == 0 && value.abs() < 1e15 {
        let sign = if value <= -0.5 { "-" } else { "" };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 1e15")]
        return format!("{sign}{}", thousands(value.abs().round() as u64));
    }
    format!("{value:.places$}")
}

/// Returns the decimal places that show `digits` significant digits of a value.
fn places(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent")]
    let exponent = libm::log10(value.abs()).floor() as i32;
    usize::try_from(digits - 1 - exponent).unwrap_or(0)
}

pub(crate) fn ratio(value: Option<f64>, err: Option<f64>) -> String {
    match value.zip(err) {
        Some((value, err)) => format!("({}) %", with_err(value * 100.0, err * 100.0)),
        None => dash(),
    }
}

pub(crate) fn rate_with_err(rate: f64, err: f64) -> String {
    let (unit, size) = hertz_unit(rate.max(err));
    format!("({}) {unit}", with_err(rate / size, err / size))
}

/// Formats four significant digits, without an exponent if the number is readable.
pub(crate) fn short(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    if magnitude >= 1e3 {
        let sign = if value < 0.0 { "-" } else { "" };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 1e7")]
        return format!("{sign}{}", thousands(magnitude.round() as u64));
    }
    format!("{value:.*}", places(value, 4))
}

/// Formats a rate with four significant digits: `12.34 kHz`.
pub fn hertz(rate: f64) -> String {
    let (unit, size) = hertz_unit(rate);
    format!("{} {unit}", short(rate / size))
}

/// Formats a time with four digits.
pub(crate) fn short_seconds(value: f64) -> String {
    let (unit, size) = second_unit(value.abs());
    format!("{} {unit}", short(value / size))
}

/// Formats a time with its error, in the same unit.
pub(crate) fn seconds_with_err(value: f64, err: f64) -> String {
    let (unit, size) = second_unit(value.abs().max(err));
    format!("({}) {unit}", with_err(value / size, err / size))
}

fn second_unit(magnitude: f64) -> (&'static str, f64) {
    let units = [("s", 1.0), ("ms", 1e-3), ("\u{b5}s", 1e-6), ("ns", 1e-9)];
    let unit = units.into_iter().find(|&(_, size)| magnitude >= size * (1.0 - 1e-12));
    unit.unwrap_or(("ps", 1e-12))
}

/// Formats a time in the unit that leaves one to three digits before the point.
pub(crate) fn seconds(value: f64) -> String {
    if value == 0.0 {
        return "0 s".to_owned();
    }
    let (unit, size) = second_unit(value.abs());
    let text = format!("{:.6}", value / size);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn hertz_unit(rate: f64) -> (&'static str, f64) {
    let units = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)];
    units.into_iter().find(|&(_, size)| rate.abs() >= size).unwrap_or(("Hz", 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_short() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!((ticks(-6_400), ticks(-26)), ("-6,400".into(), "-26".into()));
        assert_eq!((bytes(512), bytes(4_500_123)), ("512 bytes".into(), "4.500 MB".into()));
        assert_eq!(short(94.645_1), "94.65");
        assert_eq!(short(0.012_345), "0.01235");
        assert_eq!(short(-12_345.6), "-12,346");
        assert_eq!(short(1e-9), "1.000e-9");
        assert_eq!(seconds(-4.0625e-9), "-4.0625 ns");
        assert_eq!(seconds(1e-6), "1 \u{b5}s");
        assert_eq!(
            (seconds(0.0), seconds(2.5), seconds(7.8125e-11)),
            ("0 s".into(), "2.5 s".into(), "78.125 ps".into())
        );
        assert_eq!(seconds_with_err(-4.062_6e-9, 3.1e-11), "(-4.063 \u{b1} 0.031) ns");
        assert_eq!(hertz(96_277.2), "96.28 kHz");
        assert_eq!(with_err(8_769.4, 197.3), "8,769 \u{b1} 197");
        assert_eq!(
            (two_digits(14_035_995.2), two_digits(0.083)),
            ("14,035,995".into(), "0.083".into())
        );
        assert_eq!(with_err(-0.355_5, 0.082_5), "-0.355 \u{b1} 0.083");
        assert_eq!(with_err(-2_000.0, 100.0), "-2,000 \u{b1} 100");
        assert_eq!(ratio(Some(0.410_94), Some(0.009_245)), "(41.09 \u{b1} 0.92) %");
        assert_eq!(rate_with_err(4_941.3, 111.2), "(4.94 \u{b1} 0.11) kHz");
        assert_eq!(rate_with_err(0.0, 2.5), "(0.0 \u{b1} 2.5) Hz");
    }
}
