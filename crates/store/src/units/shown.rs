//! Times as reports show them: 1,875,000,000 as are `1.875 ns`.

use num_rational::Ratio;
use num_traits::{CheckedMul, Zero};

use super::decimal::{ATTOSECONDS_PER_SECOND, Attoseconds};

/// The units that reports use, shortest first.
pub(super) const READERS: [(&str, i128); 7] = [
    ("as", 1),
    ("fs", 1_000),
    ("ps", 1_000_000),
    ("ns", 1_000_000_000),
    ("µs", 1_000_000_000_000),
    ("ms", 1_000_000_000_000_000),
    ("s", ATTOSECONDS_PER_SECOND),
];

/// The largest of the readers' units that is not longer than `time`.
fn unit_for(time: Attoseconds) -> (&'static str, i128) {
    let magnitude = if time < Zero::zero() { -time } else { time };
    let fitting = READERS.iter().rev().find(|unit| magnitude >= Ratio::from_integer(unit.1));
    *fitting.unwrap_or(&READERS[0])
}

/// A time as text.
pub(super) struct ShownTime {
    pub text: String,
    /// Whether these are all digits.
    pub is_exact: bool,
}

/// Returns a time with nine significant digits.
pub(super) fn format_time(time: Attoseconds, space: &str) -> ShownTime {
    format_digits(time, space, 9)
}

/// Returns a time with this many significant digits.
pub(super) fn format_digits(time: Attoseconds, space: &str, significant: usize) -> ShownTime {
    if time.is_zero() {
        return ShownTime { text: format!("0{space}s"), is_exact: true };
    }
    let (name, length) = unit_for(time);
    let name = if space.is_empty() && name == "µs" { "us" } else { name };
    let value = time / length;
    let sign = if value < Zero::zero() { "-" } else { "" };
    let value = if value < Zero::zero() { -value } else { value };
    let digits_before = value.to_integer().to_string().len();
    let places = significant.saturating_sub(digits_before);
    let scale = (0..places).fold(1_i128, |scale, _| scale * 10);
    let Some(scaled) = value.checked_mul(&Ratio::from_integer(scale)) else {
        let text = format!("{sign}{}{space}{name}", value.to_integer());
        return ShownTime { text, is_exact: value.is_integer() };
    };
    let rounded = scaled.round().to_integer();
    let mut text = format!("{}.{:0places$}", rounded / scale, rounded % scale);
    if places == 0 {
        text.truncate(text.len() - 2);
    } else {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    ShownTime { text: format!("{sign}{text}{space}{name}"), is_exact: scaled.is_integer() }
}

/// Four decimals of a number that is not whole, all where these would be zeros.
pub(super) fn few_digits(number: f64) -> String {
    let short = format!("{number:.4}");
    let short = short.trim_end_matches('0');
    if short.ends_with('.') { number.to_string() } else { short.to_owned() }
}
