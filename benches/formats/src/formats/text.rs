//! Text: a channel, a tab and a time in each line.

use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, Framing, InPlace},
};

/// Lines with an end.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    name: &'static str,
    end: &'static str,
}

impl Text {
    /// Lines that end with CR and LF.
    pub const CRLF: Self = Self { name: "tsv-crlf", end: "\r\n" };
    /// Lines that end with LF.
    pub const LF: Self = Self { name: "tsv-lf", end: "\n" };
}

impl FramedMessage for Text {
    fn name(&self) -> &'static str {
        self.name
    }

    fn settings(&self) -> String {
        "decimal by itoa 1.0, parsed by a plain loop; channel, tab, time".into()
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused("lines differ in length")
    }
}

impl Message for Text {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let mut digits = itoa::Buffer::new();
        for tag in tags {
            out.extend_from_slice(digits.format(tag.channel).as_bytes());
            out.push(b'\t');
            out.extend_from_slice(digits.format(tag.time).as_bytes());
            out.extend_from_slice(self.end.as_bytes());
        }
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let mut rest = message;
        while !rest.is_empty() {
            let channel = number(&mut rest)?;
            rest = rest.strip_prefix(b"\t").ok_or("no tab after a channel")?;
            let time = number(&mut rest)?;
            rest = rest.strip_prefix(self.end.as_bytes()).ok_or("no line end after a time")?;
            tags.push(Tag { time, channel: channel.cast_unsigned() });
        }
        Ok(())
    }
}

/// Takes a decimal number from the start of `rest`.
fn number(rest: &mut &[u8]) -> Result<i64> {
    let negative = rest.first() == Some(&b'-');
    let digits = &rest[usize::from(negative)..];
    let (mut value, mut len) = (0_i64, 0);
    while let Some(digit) = digits.get(len).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10)
    {
        let next = value.checked_mul(10).and_then(|value| value.checked_sub(digit.into()));
        value = next.ok_or("a number above 64 bits")?;
        len += 1;
    }
    *rest = &digits[len..];
    match (len, negative) {
        (0, _) => Err("no number".into()),
        (_, true) => Ok(value),
        // Summed up as a negative number, since there is one more of them.
        (_, false) => value.checked_neg().ok_or_else(|| "a number above 64 bits".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_up_to_their_limits() {
        for expected in [0, -1, 7, i64::MAX, i64::MIN] {
            let text = format!("{expected}\t");
            let mut rest = text.as_bytes();
            assert_eq!(number(&mut rest).unwrap(), expected);
            assert_eq!(rest, b"\t");
        }
        for wrong in ["", "-", "x", "9223372036854775808"] {
            assert!(number(&mut wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
