//! Writes numbers as lines of text.

use std::io;

use tagq_store::Tag;

/// Writes lines, in pieces of a good size for `out`.
#[derive(Debug)]
pub struct TextWriter<W> {
    out: W,
    separator: u8,
    buffer: Vec<u8>,
    /// Whether the line has a field already.
    is_begun: bool,
}

impl<W: io::Write> TextWriter<W> {
    const BUFFER_BYTES: usize = 256 * 1024;

    /// Lines go to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        let buffer = Vec::with_capacity(Self::BUFFER_BYTES);
        Self { out, separator: b'\t', buffer, is_begun: false }
    }

    /// Separates fields by this instead of a tab.
    #[must_use]
    pub fn separator(self, separator: u8) -> Self {
        Self { separator, ..self }
    }

    /// The next field, which is empty until more is written.
    #[inline]
    fn next(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) {
            self.buffer.push(self.separator);
        }
    }

    /// A field with a text, which has no separator.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.next();
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// A field with a whole number.
    #[inline]
    pub fn integer(&mut self, value: impl itoa::Integer) {
        self.text(itoa::Buffer::new().format(value));
    }

    /// A field with a number, in as many digits as tell it from others.
    pub fn float(&mut self, value: f64) {
        self.next();
        // A vector takes all bytes.
        let _ = io::Write::write_fmt(&mut self.buffer, format_args!("{value}"));
    }

    /// Ends a line.
    #[inline]
    pub fn end_line(&mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        self.is_begun = false;
        if self.buffer.len() >= Self::BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// A line with channel and time.
    pub fn tag(&mut self, tag: Tag) -> io::Result<()> {
        self.integer(tag.channel);
        self.integer(tag.time);
        self.end_line()
    }

    /// Writes what is left and hands back the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_written_in_full() {
        let mut writer = TextWriter::new(Vec::new());
        writer.tag(Tag { time: i64::MIN, channel: u64::MAX }).unwrap();
        for time in 0..60_000 {
            writer.tag(Tag { time, channel: 3 }).unwrap();
        }
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("18446744073709551615\t-9223372036854775808"));
        assert!(lines.zip(0..).all(|(line, time)| line == format!("3\t{time}")));
        assert_eq!(text.lines().count(), 60_001);
    }
}
