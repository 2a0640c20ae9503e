//! From lines to tags: eight digits at a time where a line is as programs write it, field by field where it is not.
//!
//! The time of `3<tab>585950217716` is read as 58595021 and 7716, and is 58595021 · 10,000 + 7716. The fast way must
//! accept nothing that the slow one reads otherwise or refuses.

use std::num::IntErrorKind;

use tagq_store::Tag;

use super::{
    columns::TextColumns,
    fields::{LineFault, comment, two_fields},
};
use crate::payload::cut::{LINE_BYTES_MAX, PADDING};

/// Bytes of a line that is no tag which are kept.
const START_BYTES: usize = 1_024;
/// Bytes of a line that a message shows.
const SHOWN_BYTES: usize = 40;

/// A line that is no tag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongLine {
    /// Which of the block, from 1.
    pub line: u64,
    pub fault: LineFault,
    /// Its beginning.
    pub start: Vec<u8>,
    /// The option that reads it, if one is known, in words that follow those of the fault.
    pub fix: Option<String>,
}

impl WrongLine {
    pub(crate) fn new(line: u64, fault: LineFault, bytes: &[u8]) -> Self {
        Self { line, fault, start: bytes[..bytes.len().min(START_BYTES)].into(), fix: None }
    }
}

/// Appends the tags of the lines in `bytes[at..len]`, each of which ends with a line feed; returns
/// how many lines these are. At least [`PADDING`] bytes follow them.
pub(crate) fn parse(
    bytes: &[u8],
    at: usize,
    len: usize,
    columns: TextColumns,
    tags: &mut Vec<Tag>,
) -> Result<u64, WrongLine> {
    match columns {
        TextColumns::ChannelTime => parse_lines::<false>(bytes, at, len, tags),
        TextColumns::TimeChannel => parse_lines::<true>(bytes, at, len, tags),
    }
}

fn parse_lines<const TIME_FIRST: bool>(
    bytes: &[u8],
    mut at: usize,
    len: usize,
    tags: &mut Vec<Tag>,
) -> Result<u64, WrongLine> {
    debug_assert!(bytes.len() >= len + PADDING);
    let mut lines = 0;
    while at < len {
        lines += 1;
        if let Some((tag, next)) = plain_line::<TIME_FIRST>(bytes, at, is_mark) {
            tags.push(tag);
            at = next;
            continue;
        }
        let line = &bytes[at..len];
        let line = &line[..line.iter().position(|&byte| byte == b'\n').unwrap_or(line.len())];
        match any_line::<TIME_FIRST>(line) {
            Ok(tag) => tags.extend(tag),
            Err(fault) => return Err(WrongLine::new(lines, fault, line)),
        }
        at += line.len() + 1;
    }
    Ok(lines)
}

/// The tag of one line that ends before anything follows, for the end of a file.
pub(crate) fn parse_one(line: &[u8], columns: TextColumns) -> Result<Option<Tag>, LineFault> {
    match columns {
        TextColumns::ChannelTime => any_line::<false>(line),
        TextColumns::TimeChannel => any_line::<true>(line),
    }
}

/// Whether a byte can stand between two numbers.
#[inline]
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'\t' | b',' | b';' | b' ' | b'|')
}

/// The line at `at` when it is two numbers of at most 18 digits, one byte between them and a line end
/// after them, and where the next line begins. Anything else is for [`any_line`].
#[inline]
pub(super) fn plain_line<const TIME_FIRST: bool>(
    bytes: &[u8],
    at: usize,
    is_mark: impl Fn(u8) -> bool,
) -> Option<(Tag, usize)> {
    let (first, at) = number::<TIME_FIRST>(bytes, at)?;
    if !is_mark(*bytes.get(at)?) {
        return None;
    }
    let (second, at) =
        if TIME_FIRST { number::<false>(bytes, at + 1)? } else { number::<true>(bytes, at + 1)? };
    let next = match bytes.get(at..at + 2)? {
        [b'\n', _] => at + 1,
        [b'\r', b'\n'] => at + 2,
        _ => return None,
    };
    let (time, channel) = if TIME_FIRST { (first, second) } else { (second, first) };
    Some((Tag { time, channel: channel.unsigned_abs() }, next))
}

/// A number of at most 18 digits, with a minus where it may have one, and what follows it.
#[inline]
fn number<const SIGNED: bool>(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = SIGNED && *bytes.get(at)? == b'-';
    let at = at + usize::from(negative);
    let (mut value, mut count) = digits(bytes, at)?;
    let mut at = at + count;
    if count == 8 {
        let (more, digits_2) = digits(bytes, at)?;
        value = value * TENS[digits_2] + more;
        at += digits_2;
        count += digits_2;
        if digits_2 == 8 {
            let (more, digits_3) = digits(bytes, at)?;
            if digits_3 > 2 {
                return None;
            }
            value = value * TENS[digits_3] + more;
            at += digits_3;
        }
    }
    if count == 0 {
        return None;
    }
    let value = value.cast_signed();
    Some((if negative { -value } else { value }, at))
}

const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The digits at `at`, at most eight: their value, and how many they are.
#[inline]
fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    // Digits become 0 to 9. Any other byte sets its highest bit below; what it carries over changes
    // later bytes only, and the first one counts.
    let word = word ^ (ONES * 0x30);
    let others = (word.wrapping_add(ONES * 0x76) | word) & (ONES * 0x80);
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 {
        return Some((0, 0));
    }
    // To the high end, zeros before them; then neighbours are joined: two, four, eight digits.
    let word = word << (64 - 8 * count);
    let word = word.wrapping_mul(10).wrapping_add(word >> 8);
    let odd = (word & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let even = (word >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some((odd.wrapping_add(even) >> 32, count))
}

/// Any line, without its line feed: its tag, or `None` when it is blank, a comment, or the header
/// once more.
#[cold]
fn any_line<const TIME_FIRST: bool>(line: &[u8]) -> Result<Option<Tag>, LineFault> {
    if line.len() > LINE_BYTES_MAX {
        return Err(LineFault::TooLong);
    }
    let line = line.trim_ascii();
    if line.is_empty() || comment(line).is_some() {
        return Ok(None);
    }
    match TextColumns::of_header(line) {
        Some(TextColumns::TimeChannel) if TIME_FIRST => return Ok(None),
        Some(TextColumns::ChannelTime) if !TIME_FIRST => return Ok(None),
        Some(_) => return Err(LineFault::OtherHeader),
        None => {}
    }
    let (first, second) = two_fields(line)?;
    let (time, channel) = if TIME_FIRST { (first, second) } else { (second, first) };
    let channel = whole(channel).map_err(NumberFault::of_channel)?;
    Ok(Some(Tag { time: whole(time).map_err(NumberFault::of_time)?, channel }))
}

/// Why a field is no whole number.
pub(super) enum NumberFault {
    None,
    NotWhole,
    Range,
}

impl NumberFault {
    pub(super) fn of_channel(self) -> LineFault {
        match self {
            Self::None => LineFault::ChannelNoNumber,
            Self::NotWhole => LineFault::ChannelNotWhole,
            Self::Range => LineFault::ChannelRange,
        }
    }

    pub(super) fn of_time(self) -> LineFault {
        match self {
            Self::None => LineFault::TimeNoNumber,
            Self::NotWhole => LineFault::TimeNotWhole,
            Self::Range => LineFault::TimeRange,
        }
    }
}

/// The whole number that a field holds.
pub(super) fn whole<T: std::str::FromStr<Err = std::num::ParseIntError>>(
    field: &[u8],
) -> Result<T, NumberFault> {
    let text = std::str::from_utf8(field).map_err(|_| NumberFault::None)?;
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => NumberFault::Range,
        // A minus is no digit to an unsigned number.
        _ if text.parse::<i64>().is_ok() => NumberFault::Range,
        _ if field.iter().any(u8::is_ascii_digit) && text.parse::<f64>().is_ok() => {
            NumberFault::NotWhole
        }
        _ => NumberFault::None,
    })
}

/// The beginning of a line for a reader, with nothing in it that a terminal would obey.
pub(super) fn shown(line: &[u8]) -> String {
    let line = line.trim_ascii_end();
    let start = &line[..line.len().min(SHOWN_BYTES)];
    let more = if line.len() > SHOWN_BYTES { "…" } else { "" };
    format!("{}{more}", start.escape_ascii())
}
