//! Rows of nine bytes: a time, i64, and a channel in one byte.

use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, Framing, InPlace, Lists, channel_byte, first_row},
    walk::Walk,
};

/// Rows of nine bytes, without padding.
#[derive(Debug, Clone, Copy)]
pub struct Rows9 {
    big_endian: bool,
}

impl Rows9 {
    /// The order of bytes of the processor.
    pub const LITTLE: Self = Self { big_endian: false };
    /// The order of bytes of networks, which compresses less well here.
    pub const BIG: Self = Self { big_endian: true };

    fn join(self, tag: &Tag) -> [u8; 9] {
        let mut row = [0; 9];
        let time = if self.big_endian { tag.time.to_be_bytes() } else { tag.time.to_le_bytes() };
        row[..8].copy_from_slice(&time);
        row[8] = channel_byte(tag);
        row
    }

    fn split(self, &[time @ .., channel]: &[u8; 9]) -> (i64, u8) {
        let time =
            if self.big_endian { i64::from_be_bytes(time) } else { i64::from_le_bytes(time) };
        (time, channel)
    }

    fn tag(self, row: &[u8; 9]) -> Tag {
        let (time, channel) = self.split(row);
        Tag { time, channel: channel.into() }
    }
}

impl FramedMessage for Rows9 {
    fn name(&self) -> &'static str {
        if self.big_endian { "rows9-be" } else { "rows9" }
    }

    fn settings(&self) -> String {
        let order = if self.big_endian { "big" } else { "little" };
        format!("i64, u8, no padding, {order}-endian; a plain loop")
    }

    fn framing(&self) -> Framing {
        Framing::Rows(9)
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Lists("rows of 9 bytes, mapped", self)
    }
}

impl Message for Rows9 {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.resize(start + tags.len() * 9, 0);
        for (row, tag) in out[start..].as_chunks_mut::<9>().0.iter_mut().zip(tags) {
            *row = self.join(tag);
        }
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let (rows, rest) = message.as_chunks::<9>();
        tags.extend(rows.iter().map(|row| self.tag(row)));
        if rest.is_empty() { Ok(()) } else { Err("a torn row".into()) }
    }
}

impl Lists for Rows9 {
    fn head(&self, message: &[u8]) -> Result<(usize, i64)> {
        let rows = message.as_chunks::<9>().0;
        Ok((rows.len(), rows.first().map_or(0, |row| self.split(row).0)))
    }

    fn first_at(&self, message: &[u8], time: i64) -> Result<Option<Tag>> {
        let rows = message.as_chunks::<9>().0;
        let row = first_row(rows.len(), time, |row| self.split(&rows[row]).0);
        Ok(row.map(|row| self.tag(&rows[row])))
    }

    fn scan(&self, message: &[u8], walk: &mut Walk) -> Result<()> {
        let rows = message.as_chunks::<9>().0;
        walk.batch(0..rows.len(), |row| self.split(&rows[row]));
        Ok(())
    }
}
