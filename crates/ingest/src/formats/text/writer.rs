//! Writes tags as lines `channel TAB time`.

use std::io;

use tagq_store::Tag;

/// The longest line: two numbers of 20 characters, a tab and a line feed.
const LINE_BYTES_MAX: usize = 42;

/// Writes tags as lines, in pieces of a good size for `out`.
#[derive(Debug)]
pub struct TextWriter<W> {
    out: W,
    separator: u8,
    buffer: Vec<u8>,
}

impl<W: io::Write> TextWriter<W> {
    const BUFFER_BYTES: usize = 256 * 1024;

    /// Lines go to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        Self { out, separator: b'\t', buffer: Vec::with_capacity(Self::BUFFER_BYTES) }
    }

    /// Separates channel and time by this instead of a tab.
    #[must_use]
    pub fn separator(self, separator: u8) -> Self {
        Self { separator, ..self }
    }

    /// One line.
    pub fn tag(&mut self, tag: Tag) -> io::Result<()> {
        if self.buffer.len() + LINE_BYTES_MAX > Self::BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        let mut digits = itoa::Buffer::new();
        self.buffer.extend_from_slice(digits.format(tag.channel).as_bytes());
        self.buffer.push(self.separator);
        self.buffer.extend_from_slice(digits.format(tag.time).as_bytes());
        self.buffer.push(b'\n');
        Ok(())
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
