//! From times in a unit to ticks: exact, rounded to the nearest tick, and to the even one if two are as near. With
//! ticks of 1 ns, 12.5 ns are 12 ticks and 13.5 ns are 14.
//!
//! Times are multiplied by the half ticks of a unit, `numerator / denominator`. Integers times the numerator fit in 127
//! bits for every time that a store holds. Of a fraction times the numerator, the floor and whether there is more are
//! computed digit by digit, from the last digit on, so that every digit counts.

use std::{cmp::Ordering, num::IntErrorKind};

use tagq_store::{Tick, TimeUnit};

/// After this many divisions by ten or more, a numerator is zero.
const ZEROS_MAX: u64 = 40;

/// A number that was rounded down.
struct Floor {
    floor: u128,
    /// Whether the number is more than its floor.
    is_more: bool,
}

/// The half ticks of a unit of time, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToTicks {
    /// Below 2^124: a second has 10^18 attoseconds, and the denominator of a tick is below 2^63.
    numerator: u128,
    /// Below 2^63.
    denominator: u128,
}

/// A time in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InTicks {
    pub ticks: i64,
    /// Whether it was between two ticks.
    pub is_rounded: bool,
}

/// Why a number is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeFault {
    /// It is no number, or infinite.
    NoNumber,
    /// Its ticks leave 64 bits.
    Range,
}

impl ToTicks {
    /// Whole numbers as they are.
    pub(crate) const WHOLE: Self = Self { numerator: 2, denominator: 1 };

    /// From times in `unit` to ticks of length `tick`; `None` if the unit has too many ticks, which no unit has.
    pub(crate) fn new(unit: TimeUnit, tick: Tick) -> Option<Self> {
        let ticks = unit.length().in_ticks(tick)?;
        let (numerator, denominator) = (ticks.numer().unsigned_abs(), ticks.denom().unsigned_abs());
        Some(Self { numerator: numerator.checked_mul(2)?, denominator })
    }

    /// The whole number of ticks that a unit has, if it has one.
    pub(crate) fn factor(self) -> Option<i64> {
        let divisor = 2 * self.denominator;
        let factor = self.numerator.is_multiple_of(divisor).then(|| self.numerator / divisor);
        factor.and_then(|factor| i64::try_from(factor).ok())
    }

    /// The ticks of a whole number of units.
    pub(crate) fn of_integer(self, value: i128) -> Result<i64, TimeFault> {
        Ok(self.nearest(self.scaled(value.unsigned_abs())?, false, value < 0)?.ticks)
    }

    /// The ticks of a float, taken as the binary fraction that it is.
    pub(crate) fn of_float(self, value: f64) -> Result<i64, TimeFault> {
        if !value.is_finite() {
            return Err(TimeFault::NoNumber);
        }
        let (whole, mut rest) = (value.abs().trunc(), value.abs().fract());
        if whole >= 2_f64.powi(127) {
            return Err(TimeFault::Range);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^127")]
        let scaled = self.scaled(whole as u128)?;
        // The digits of base 16 are exact. 53 bits are in 15 of them.
        let (mut digits, mut len, mut zeros) = ([0; 16], 0, 0);
        while rest > 0.0 && len < digits.len() {
            rest *= 16.0;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 15")]
            let digit = rest as u8;
            rest = rest.fract();
            if digit == 0 && len == 0 {
                zeros += 1;
            } else {
                digits[len] = digit;
                len += 1;
            }
        }
        let Floor { floor, is_more } =
            self.fraction::<16>(zeros, digits[..len].iter().rev().copied());
        Ok(self.nearest(scaled + floor, is_more, value < 0.0)?.ticks)
    }

    /// The ticks of a decimal number, such as `-12.5` or `1.25e-3`.
    pub(crate) fn of_decimal(self, text: &[u8]) -> Result<InTicks, TimeFault> {
        let (is_negative, number) = match text {
            [b'-', number @ ..] => (true, number),
            [b'+', number @ ..] | number => (false, number),
        };
        let (number, exponent) = match number.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&number[..at], exponent(&number[at + 1..])?),
            None => (number, 0),
        };
        let (before, after) = match number.iter().position(|&byte| byte == b'.') {
            Some(at) => (&number[..at], &number[at + 1..]),
            None => (number, &[][..]),
        };
        let has_digits = !before.is_empty() || !after.is_empty();
        if !has_digits || !before.iter().chain(after).all(u8::is_ascii_digit) {
            return Err(TimeFault::NoNumber);
        }
        // The point is after so many of all digits. More digits are zeros after them, or zeros before them.
        let (len, before_len) = ((before.len() + after.len()) as u64, before.len() as u64);
        let point = before_len.saturating_add_signed(exponent);
        let (zeros_after, rest) = (point.saturating_sub(len), len.saturating_sub(point));
        let zeros_before = exponent.min(0).unsigned_abs().saturating_sub(before_len);
        let digits = || before.iter().chain(after).map(|digit| digit - b'0');
        let mut whole = 0_u128;
        for digit in digits().take(usize::try_from(point).unwrap_or(usize::MAX)) {
            let next = whole.checked_mul(10).and_then(|ten| ten.checked_add(digit.into()));
            whole = next.ok_or(TimeFault::Range)?;
        }
        if whole > 0 {
            let power =
                u32::try_from(zeros_after).ok().and_then(|zeros| 10_u128.checked_pow(zeros));
            whole = power.and_then(|power| whole.checked_mul(power)).ok_or(TimeFault::Range)?;
        }
        let scaled = self.scaled(whole)?;
        let rest = digits().rev().take(usize::try_from(rest).unwrap_or(usize::MAX));
        let Floor { floor, is_more } = self.fraction::<10>(zeros_before, rest);
        self.nearest(scaled + floor, is_more, is_negative)
    }

    /// A whole number times the numerator. From 2^127 on, it is more than 2^63 ticks.
    fn scaled(self, whole: u128) -> Result<u128, TimeFault> {
        let scaled = whole.checked_mul(self.numerator).filter(|&scaled| scaled < 1 << 127);
        scaled.ok_or(TimeFault::Range)
    }

    /// A fraction times the numerator. The fraction in base `BASE`, at most 16,
    /// has `zeros` zeros after its point and then these digits, given from the last to the first.
    fn fraction<const BASE: u128>(self, zeros: u64, digits: impl Iterator<Item = u8>) -> Floor {
        let (mut floor, mut is_more) = (0_u128, false);
        for digit in digits.chain((0..zeros.min(ZEROS_MAX)).map(|_| 0)) {
            let next = self.numerator * u128::from(digit) + floor;
            is_more |= !next.is_multiple_of(BASE);
            floor = next / BASE;
        }
        Floor { floor, is_more }
    }

    /// The nearest tick. The time is `scaled` half ticks times the denominator, and a fraction more if `is_more`.
    fn nearest(self, scaled: u128, is_more: bool, is_negative: bool) -> Result<InTicks, TimeFault> {
        let (ticks, rest) = (scaled / (2 * self.denominator), scaled % (2 * self.denominator));
        let is_up = match rest.cmp(&self.denominator) {
            Ordering::Less => false,
            Ordering::Equal => is_more || ticks % 2 == 1,
            Ordering::Greater => true,
        };
        let ticks = i128::try_from(ticks + u128::from(is_up)).map_err(|_| TimeFault::Range)?;
        let ticks = i64::try_from(if is_negative { -ticks } else { ticks });
        let is_rounded = rest > 0 || is_more;
        Ok(InTicks { ticks: ticks.map_err(|_| TimeFault::Range)?, is_rounded })
    }
}

/// The exponent of a decimal number. One that 64 bits do not hold is as good as the largest one.
fn exponent(text: &[u8]) -> Result<i64, TimeFault> {
    let text = std::str::from_utf8(text).map_err(|_| TimeFault::NoNumber)?;
    text.parse().or_else(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => Ok(i64::MAX),
        IntErrorKind::NegOverflow => Ok(i64::MIN),
        _ => Err(TimeFault::NoNumber),
    })
}

#[cfg(test)]
mod tests {
    use num_rational::Ratio;
    use proptest::prelude::*;

    use super::*;

    fn decimal(to_ticks: ToTicks, text: &str) -> Result<i64, TimeFault> {
        to_ticks.of_decimal(text.as_bytes()).map(|time| time.ticks)
    }

    fn to_ticks(unit: &str, tick: &str) -> ToTicks {
        ToTicks::new(unit.parse().unwrap(), tick.parse().unwrap()).unwrap()
    }

    /// Expected numbers from Python: `round(Fraction(text) * unit / tick)` with attoseconds in `Fraction`.
    #[test]
    fn decimals_and_floats_are_rounded_as_python_rounds_fractions() {
        let ps = to_ticks("ns", "1ps");
        for (text, ticks) in [
            ("0.0005", 0),
            ("0.0015", 2),
            ("0.0025", 2),
            ("-0.0015", -2),
            ("0.00050000000000000000000000000000000000000000001", 1),
            ("0.00149999999999999999999999999999999999999999999", 1),
            ("1.5e3", 1_500_000),
            ("+12.", 12_000),
            (".25", 250),
            ("25e-2", 250),
            ("123456789e-8", 1_235),
            ("9223372036854775.807", i64::MAX),
            ("9223372036854775.80749", i64::MAX),
            ("-9223372036854775.808", i64::MIN),
            ("-9223372036854775.8085", i64::MIN),
            ("1e-99999999999999999999", 0),
            ("0e99999999999999999999", 0),
            ("0.000e400", 0),
            ("-0", 0),
        ] {
            assert_eq!(decimal(ps, text), Ok(ticks), "{text}");
        }
        for (text, fault) in [
            ("9223372036854775.8075", TimeFault::Range),
            ("-9223372036854775.80850000001", TimeFault::Range),
            ("1e16", TimeFault::Range),
            ("1e99999999999999999999", TimeFault::Range),
            ("340282366920938463463374607431768211456", TimeFault::Range),
            ("", TimeFault::NoNumber),
            (".", TimeFault::NoNumber),
            ("-", TimeFault::NoNumber),
            ("e5", TimeFault::NoNumber),
            ("1e", TimeFault::NoNumber),
            ("1.2.3", TimeFault::NoNumber),
            ("1_0", TimeFault::NoNumber),
            ("nan", TimeFault::NoNumber),
            ("inf", TimeFault::NoNumber),
            ("--1", TimeFault::NoNumber),
            ("1,5", TimeFault::NoNumber),
        ] {
            assert_eq!(decimal(ps, text), Err(fault), "{text}");
        }
        // These floats are a little above the decimal numbers: in Python, Fraction(0.0005) > Fraction("0.0005").
        for (float, ticks) in [(0.0005, 1), (0.0015, 2), (0.0025, 3), (-0.5, -500), (-0.0, 0)] {
            assert_eq!(ps.of_float(float), Ok(ticks), "{float}");
        }
        for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(ps.of_float(float), Err(TimeFault::NoNumber));
        }
        for float in [f64::MAX, -f64::MAX, 9.3e15] {
            assert_eq!(ps.of_float(float), Err(TimeFault::Range));
        }
        assert_eq!(ps.of_float(f64::MIN_POSITIVE / 8.0), Ok(0));
        assert_eq!(ps.of_integer(-7), Ok(-7_000));
        assert_eq!(ps.of_integer(i128::from(u64::MAX)), Err(TimeFault::Range));
        // Three ticks of 1/3 ps are a picosecond; of 2 s, odd seconds are as near to two ticks.
        assert_eq!(decimal(to_ticks("ps", "1/3ps"), "7.5"), Ok(22));
        for (text, is_rounded) in
            [("1.25", false), ("1.2500", false), ("1e-3", false), ("0.0005", true), ("1e-40", true)]
        {
            let time = ps.of_decimal(text.as_bytes()).unwrap();
            assert_eq!(time.is_rounded, is_rounded, "{text}");
        }
        assert_eq!(ps.factor(), Some(1_000));
        assert_eq!(
            (to_ticks("ps", "4ps").factor(), to_ticks("s", "1/3ps").factor()),
            (None, Some(3_000_000_000_000))
        );
        let halves: Vec<_> = (0..5).map(|n| to_ticks("s", "2s").of_integer(n).unwrap()).collect();
        assert_eq!(halves, [0, 0, 1, 2, 2]);
    }

    /// The nearest integer of a fraction, and the even one of two.
    fn rounded(value: Ratio<i128>) -> i128 {
        let floor = value.floor().to_integer();
        match (value - floor).cmp(&Ratio::new(1, 2)) {
            Ordering::Less => floor,
            Ordering::Equal => floor + floor.rem_euclid(2),
            Ordering::Greater => floor + 1,
        }
    }

    proptest! {
        #[test]
        fn numbers_are_the_nearest_ticks_of_their_fractions(
            mantissa in -1_000_000_000_000_i64..1_000_000_000_000,
            places in 0..13_u32,
            shift in -6..6_i32,
            binary in 0..50_i32,
            tick in prop::sample::select(vec!["1ps", "156.25ps", "1/3ps", "1/12.288GHz", "7ns", "3us"]),
            unit in prop::sample::select(vec!["ps", "ns", "us", "ms", "s"]),
        ) {
            let scale = unit.parse::<TimeUnit>().unwrap().length();
            let scale = scale.in_ticks(tick.parse().unwrap()).unwrap();
            let to_ticks = to_ticks(unit, tick);
            let expected = |value: Ratio<i128>| {
                let ticks = i64::try_from(rounded(value * scale));
                ticks.map_err(|_| TimeFault::Range)
            };
            let ten = 10_i128.pow(places);
            let magnitude = i128::from(mantissa.unsigned_abs());
            let sign = if mantissa < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{:0places$}", magnitude / ten, magnitude % ten, places = places as usize);
            let value = Ratio::new(mantissa.into(), ten);
            prop_assert_eq!(decimal(to_ticks, &text), expected(value), "{}", text);
            let moved = format!("{text}e{shift}");
            let power = Ratio::from_integer(10_i128).pow(shift);
            prop_assert_eq!(decimal(to_ticks, &moved), expected(value * power), "{}", moved);
            let float = mantissa as f64 / 2_f64.powi(binary);
            let value = Ratio::new(mantissa.into(), 1_i128 << binary);
            prop_assert_eq!(
                to_ticks.of_decimal(text.as_bytes()).map(|time| time.is_rounded),
                expected(Ratio::new(mantissa.into(), ten)).map(|_| !(Ratio::new(i128::from(mantissa), ten) * scale).is_integer()),
            );
            prop_assert_eq!(to_ticks.of_float(float), expected(value), "{}", float);
            prop_assert_eq!(to_ticks.of_integer(mantissa.into()), expected(i128::from(mantissa).into()));
        }
    }
}
