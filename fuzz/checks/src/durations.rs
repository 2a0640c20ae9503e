//! Durations, ticks and rates against plain fractions.

use tagq_store::{Duration, Tick, units::Frequency};

/// Durations, ticks and rates are what docs/queries.md says they are, to the last digit, or refused;
/// what is written of them reads as the same again.
///
/// The input is text: the tick of a run, a duration, a number of ticks and a rate, a line each.
///
/// # Panics
/// When they are not.
pub fn durations(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    let tick = check_tick(line()).unwrap_or(Tick::DEFAULT);
    check_duration(line(), tick);
    check_written(line().parse().unwrap_or(0), tick);
    check_rate(line());
}

/// A fraction in lowest terms; `below` is above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fraction {
    above: i128,
    below: i128,
}

impl Fraction {
    fn new(above: i128, below: i128) -> Self {
        let common = gcd(above.unsigned_abs(), below.unsigned_abs()).cast_signed();
        Self { above: above / common, below: below / common }
    }

    /// Nothing when it leaves 128 bits.
    fn times(self, other: Self) -> Option<Self> {
        // Across, so that what is left has nothing in common.
        let one = Self::new(self.above, other.below);
        let two = Self::new(other.above, self.below);
        let above = one.above.checked_mul(two.above)?;
        Some(Self { above, below: one.below.checked_mul(two.below)? })
    }

    /// Divided by `other`, which is above zero.
    fn over(self, other: Self) -> Option<Self> {
        self.times(Self { above: other.below, below: other.above })
    }

    fn floor(self) -> i128 {
        self.above.div_euclid(self.below)
    }

    /// Half away from zero.
    fn nearest(self) -> i128 {
        let (whole, rest) = (self.above / self.below, self.above % self.below);
        let is_half = rest.unsigned_abs() >= self.below.unsigned_abs() - rest.unsigned_abs();
        whole + if is_half { self.above.signum() } else { 0 }
    }

    fn float(self) -> f64 {
        self.above as f64 / self.below as f64
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The number that a text begins with, at most 19 digits and 18 places, and the word after it.
fn number(text: &str) -> Option<(Fraction, &str)> {
    let text = text.trim();
    let (sign, rest) = match text.chars().next()? {
        minus @ ('-' | '\u{2212}') => (-1, &text[minus.len_utf8()..]),
        '+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (mut digits, mut below, mut end) = (0_i128, 1_i128, 0);
    let (mut has_digit, mut has_point) = (false, false);
    for c in rest.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                has_digit = true;
                digits = digits * 10 + i128::from(digit);
                below *= if has_point { 10 } else { 1 };
                if digits >= 10_i128.pow(19) || below > 10_i128.pow(18) {
                    return None;
                }
            }
            None if c == '.' && has_point => return None,
            None if c == '.' => has_point = true,
            None => break,
        }
        end += 1;
    }
    has_digit.then(|| (Fraction::new(sign * digits, below), rest[end..].trim()))
}

/// Attoseconds in a unit.
fn unit(word: &str) -> Option<Fraction> {
    let of_seconds = |seconds: i128| Some(Fraction::new(seconds * 10_i128.pow(18), 1));
    let attoseconds = |zeros: u32| Some(Fraction::new(10_i128.pow(zeros), 1));
    match word {
        "as" => attoseconds(0),
        "fs" => attoseconds(3),
        "ps" => attoseconds(6),
        "ns" => attoseconds(9),
        "us" | "µs" | "μs" => attoseconds(12),
        "ms" => attoseconds(15),
        "s" => of_seconds(1),
        "min" => of_seconds(60),
        "h" => of_seconds(3600),
        _ => None,
    }
}

fn hertz(word: &str) -> Option<Fraction> {
    let zeros = match word {
        "Hz" => 0,
        "kHz" => 3,
        "MHz" => 6,
        "GHz" => 9,
        "THz" => 12,
        _ => return None,
    };
    Some(Fraction::new(10_i128.pow(zeros), 1))
}

/// A tick in attoseconds.
fn tick_of(text: &str) -> Option<Fraction> {
    let (over, rest) = match text.split_once('/') {
        Some((over, rest)) => (Some(number(over).filter(|(_, word)| word.is_empty())?.0), rest),
        None => (None, text),
    };
    let (value, word) = number(rest)?;
    let length = match (over, unit(word), hertz(word)) {
        (None, Some(unit), _) => value.times(unit)?,
        (Some(over), Some(unit), _) if value.above > 0 => over.over(value)?.times(unit)?,
        (Some(over), _, Some(hertz)) if value.above > 0 => {
            over.times(Fraction::new(10_i128.pow(18), 1))?.over(value.times(hertz)?)?
        }
        _ => return None,
    };
    let fits = |n: i128| n > 0 && i64::try_from(n).is_ok();
    (fits(length.above) && fits(length.below)).then_some(length)
}

fn check_tick(text: &str) -> Option<Tick> {
    let (found, expected) = (text.parse::<Tick>(), tick_of(text));
    let found = match (found, expected) {
        (Ok(found), Some(expected)) => {
            assert_eq!(length_of(found), expected, "{text:?}");
            found
        }
        (Err(error), None) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
        (found, expected) => panic!("{text:?}: {found:?}, {expected:?}"),
    };
    assert_eq!(Tick::from_fraction(&found.fraction()), Ok(found), "{text:?}");
    assert_eq!(found.to_string().parse(), Ok(found), "{text:?} is written {found}");
    Some(found)
}

fn length_of(tick: Tick) -> Fraction {
    let fraction = tick.fraction();
    let (above, below) = fraction.split_once('/').unwrap();
    Fraction { above: above.parse().unwrap(), below: below.parse().unwrap() }
}

/// How long a duration is.
enum Length {
    Ticks(i64),
    Time(Fraction),
}

fn length(text: &str) -> Option<Length> {
    let (value, word) = number(text)?;
    match word {
        "t" if value.below == 1 => i64::try_from(value.above).ok().map(Length::Ticks),
        word => value.times(unit(word)?).map(Length::Time),
    }
}

fn check_duration(text: &str, tick: Tick) {
    let duration = match (text.parse::<Duration>(), length(text)) {
        (Ok(duration), Some(length)) => (duration, length),
        (Err(error), None) => return assert!(!error.to_string().is_empty()),
        (found, _) => panic!("{text:?}: {found:?}"),
    };
    let (duration, length) = duration;
    assert_eq!(duration.asked(), text.trim());
    // In ticks; nothing when the fraction leaves 128 bits.
    let exact = match length {
        Length::Ticks(ticks) => Some(Fraction { above: ticks.into(), below: 1 }),
        Length::Time(time) => time.over(length_of(tick)),
    };
    let fit = |ticks: i128| i64::try_from(ticks).ok();
    let nearest = exact.and_then(|exact| fit(exact.nearest()));
    assert_eq!(duration.nearest(tick).ok(), nearest, "{text:?} of {tick}");
    let is_distance = |exact: &Fraction| exact.above >= exact.below || exact.above == 0;
    let window = exact.filter(is_distance).and_then(|exact| fit(exact.floor()));
    assert_eq!(duration.window(tick).ok(), window, "{text:?} of {tick}");
    let is_whole = exact.map(|exact| exact.below == 1);
    assert_eq!(duration.is_whole(tick).ok(), is_whole, "{text:?} of {tick}");
    let float = duration.ticks(tick).ok();
    assert_eq!(float, exact.map(Fraction::float), "{text:?} of {tick}");
}

fn check_written(ticks: i128, tick: Tick) {
    let read = tick.format(ticks);
    assert!(tick.seconds_of(ticks).is_finite());
    // To nine digits, and to eight places of an attosecond.
    if let Some(found) = read.parse::<Duration>().ok().and_then(|read| read.ticks(tick).ok()) {
        let off = (found - ticks as f64).abs();
        let known = 1e-8 * ((ticks as f64).abs() + 1.0 / length_of(tick).float());
        assert!(off <= known, "{ticks} ticks of {tick} are written {read}");
    }
    let Ok(ticks) = i64::try_from(ticks) else { return };
    let paste = tick.format_paste(ticks);
    let pasted: Duration = paste.parse().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(pasted.nearest(tick), Ok(ticks), "{paste}");
    assert_eq!(pasted.is_whole(tick), Ok(true), "{paste}");
    assert_eq!(pasted.window(tick).ok(), (ticks >= 0).then_some(ticks), "{paste}");
}

fn check_rate(text: &str) {
    let expected = number(text)
        .and_then(|(value, word)| value.times(hertz(word)?))
        .filter(|rate| rate.above >= 0)
        .map(|rate| rate.float() * Tick::DEFAULT.seconds());
    let found = text.parse::<Frequency>().map(|rate| rate.per_tick(Tick::DEFAULT));
    assert_eq!(found.ok(), expected, "{text:?}");
}
