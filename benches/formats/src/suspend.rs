//! Reads the stream of varints in pieces of any length: it can stop after each byte and go on later.
//!
//! The state is a few numbers, which can be saved with the position in the file. It does not grow.

use tagq_store::Tag;

use crate::{
    Result,
    formats::{
        chunked::{CHUNK_TAGS, ENTRY_BYTES, HEAD_BYTES},
        varint::{after, unzigzag},
    },
};

/// Bytes of the length in front of a message.
const LEN_BYTES: usize = 8;

/// The state between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspended {
    at: At,
    /// The number that is being read, and how many of its bits were.
    value: u64,
    bits: u32,
    /// Tags of the message, and those that were read.
    count: u64,
    read: u64,
    /// The time of the last tag.
    before: i64,
}

/// The kind of the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In the length and the number of tags, with so many bytes left.
    Head(usize),
    Time,
    Channel,
    /// In the table of chunks, with so many bytes left.
    Table(usize),
}

impl Default for Suspended {
    fn default() -> Self {
        let at = At::Head(LEN_BYTES + HEAD_BYTES);
        Self { at, value: 0, bits: 0, count: 0, read: 0, before: 0 }
    }
}

impl Suspended {
    /// Reads the next bytes of the stream, and hands on the tags that are complete.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(Tag)) -> Result<()> {
        for &byte in bytes {
            match self.at {
                At::Head(left) => self.head(byte, left)?,
                At::Time => self.time(byte)?,
                At::Channel => {
                    sink(Tag { time: self.before, channel: byte.into() });
                    self.read += 1;
                    self.at = if self.read == self.count { self.table()? } else { At::Time };
                }
                At::Table(1) => *self = Self::default(),
                At::Table(left) => self.at = At::Table(left - 1),
            }
        }
        Ok(())
    }

    /// Whether a message ends here.
    pub fn is_between_messages(&self) -> bool {
        *self == Self::default()
    }

    fn head(&mut self, byte: u8, left: usize) -> Result<()> {
        // The length is not needed: the number of tags says where the message ends.
        if left <= HEAD_BYTES {
            self.count |= u64::from(byte) << (8 * (HEAD_BYTES - left));
        }
        self.at = match left {
            1 if self.count == 0 => return Err("a message without tags".into()),
            1 => At::Time,
            _ => At::Head(left - 1),
        };
        Ok(())
    }

    fn time(&mut self, byte: u8) -> Result<()> {
        if self.bits >= 64 {
            return Err("a number of more than ten bytes".into());
        }
        self.value |= u64::from(byte & 0x7f) << self.bits;
        self.bits += 7;
        if byte < 0x80 {
            let is_first = self.read.is_multiple_of(CHUNK_TAGS as u64);
            self.before =
                if is_first { unzigzag(self.value) } else { after(self.before, self.value) };
            (self.value, self.bits) = (0, 0);
            self.at = At::Channel;
        }
        Ok(())
    }

    fn table(&self) -> Result<At> {
        let chunks = usize::try_from(self.count)?.div_ceil(CHUNK_TAGS);
        Ok(At::Table(chunks * ENTRY_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{format::Message as _, formats::VARINT};

    #[test]
    fn pieces_of_every_length_give_the_same_tags() {
        let tag = |i: i64| Tag { time: i * i * 1_000 - 7, channel: (i % 5).cast_unsigned() };
        let tags: Vec<Tag> = (0..3_000).map(tag).collect();
        let mut stream = Vec::new();
        // Messages that end within a chunk, with a chunk, and after one tag.
        for batch in
            [&tags[..1_500], &tags[1_500..1_500 + CHUNK_TAGS], &tags[2_524..2_525], &tags[2_525..]]
        {
            let mut message = Vec::new();
            VARINT.encode(batch, &mut message).unwrap();
            stream.extend_from_slice(&(message.len() as u64).to_le_bytes());
            stream.extend_from_slice(&message);
        }
        let lens = (1..100).chain([1_000, 4_096, stream.len()]);
        for len in lens {
            let mut read = Vec::new();
            let mut state = Suspended::default();
            for piece in stream.chunks(len) {
                // Goes on from a copy, as from a file.
                let mut resumed = state;
                resumed.push(piece, |tag| read.push(tag)).unwrap();
                state = resumed;
            }
            assert!(state.is_between_messages(), "pieces of {len}");
            assert!(read == tags, "pieces of {len}");
        }
    }
}
