//! Messages of compressed chunks of 1,024 tags, with a table of the chunks at their end.
//!
//! A message is the number of tags (u32), the chunks one after another, and for each chunk its first time (i64) and
//! where it begins in the message (u32).

use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace, Lists, channel_byte},
    walk::Walk,
};

/// Tags of a chunk; the last one of a message may have fewer.
pub const CHUNK_TAGS: usize = 1024;
/// Bytes in front of the chunks.
pub const HEAD_BYTES: usize = 4;
/// Bytes of a chunk in the table.
pub const ENTRY_BYTES: usize = 12;

/// A compression of chunks of tags.
pub trait Chunk: Sync {
    /// See [`crate::format::Format::name`].
    fn name(&self) -> &'static str;
    /// See [`crate::format::Format::settings`].
    fn settings(&self) -> String;
    /// Appends a chunk of at most [`CHUNK_TAGS`] tags.
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>);
    /// Appends the tags of a chunk, `count` of them.
    fn decode(&self, chunk: &[u8], count: usize, tags: &mut Vec<Tag>) -> Result<()>;
}

/// Messages of chunks.
#[derive(Debug, Clone, Copy)]
pub struct Chunked<C>(pub C);

impl<C: Chunk> FramedMessage for Chunked<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn settings(&self) -> String {
        self.0.settings()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Lists("by the table of chunks; a chunk of 1,024 tags is decoded", self)
    }
}

impl<C: Chunk> Message for Chunked<C> {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&u32::try_from(tags.len())?.to_le_bytes());
        let mut table = Vec::new();
        for chunk in tags.chunks(CHUNK_TAGS) {
            table.extend_from_slice(&chunk[0].time.to_le_bytes());
            table.extend_from_slice(&u32::try_from(out.len() - start)?.to_le_bytes());
            self.0.encode(chunk, out);
        }
        out.extend_from_slice(&table);
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let opened = Opened::new(message)?;
        (0..opened.table.len()).try_for_each(|chunk| opened.decode(&self.0, chunk, tags))
    }
}

impl<C: Chunk> Lists for Chunked<C> {
    fn head(&self, message: &[u8]) -> Result<(usize, i64)> {
        let opened = Opened::new(message)?;
        let first = if opened.table.is_empty() { 0 } else { opened.entry(0).0 };
        Ok((opened.count, first))
    }

    fn first_at(&self, message: &[u8], time: i64) -> Result<Option<Tag>> {
        let opened = Opened::new(message)?;
        let after = opened.table.partition_point(|entry| split(entry).0 < time);
        let mut tags = Vec::with_capacity(CHUNK_TAGS);
        for chunk in after.saturating_sub(1)..opened.table.len() {
            tags.clear();
            opened.decode(&self.0, chunk, &mut tags)?;
            if let Some(tag) = tags.get(tags.partition_point(|tag| tag.time < time)) {
                return Ok(Some(*tag));
            }
        }
        Ok(None)
    }

    fn scan(&self, message: &[u8], walk: &mut Walk) -> Result<()> {
        let opened = Opened::new(message)?;
        let mut tags = Vec::with_capacity(CHUNK_TAGS);
        for chunk in 0..opened.table.len() {
            tags.clear();
            opened.decode(&self.0, chunk, &mut tags)?;
            walk.batch(0..tags.len(), |row| (tags[row].time, channel_byte(&tags[row])));
        }
        Ok(())
    }

    fn decodes(&self) -> bool {
        true
    }
}

/// A message whose table was found.
struct Opened<'a> {
    message: &'a [u8],
    count: usize,
    table: &'a [[u8; ENTRY_BYTES]],
    /// The bytes before the table.
    chunks_end: usize,
}

impl<'a> Opened<'a> {
    fn new(message: &'a [u8]) -> Result<Self> {
        let count = *message.first_chunk::<HEAD_BYTES>().ok_or("a message without a head")?;
        let count = usize::try_from(u32::from_le_bytes(count))?;
        let table_bytes = count.div_ceil(CHUNK_TAGS) * ENTRY_BYTES;
        let chunks_end = message.len().checked_sub(table_bytes).ok_or("a message without table")?;
        let table = message[chunks_end..].as_chunks::<ENTRY_BYTES>().0;
        Ok(Self { message, count, table, chunks_end })
    }

    /// Returns the first time of a chunk and where it begins.
    fn entry(&self, chunk: usize) -> (i64, usize) {
        split(&self.table[chunk])
    }

    fn decode(&self, codec: &impl Chunk, chunk: usize, tags: &mut Vec<Tag>) -> Result<()> {
        let is_last = chunk + 1 == self.table.len();
        let end = if is_last { self.chunks_end } else { self.entry(chunk + 1).1 };
        let bytes = self.message.get(self.entry(chunk).1..end).ok_or("a wrong table")?;
        codec.decode(bytes, (self.count - chunk * CHUNK_TAGS).min(CHUNK_TAGS), tags)
    }
}

fn split(entry: &[u8; ENTRY_BYTES]) -> (i64, usize) {
    let [time @ .., a, b, c, d] = *entry;
    (i64::from_le_bytes(time), u32::from_le_bytes([a, b, c, d]) as usize)
}
