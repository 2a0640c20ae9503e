//! flatbuffers by planus: a vector of structs of 16 bytes.

use planus::ReadAsRoot as _;
use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace, Lists, channel_byte, first_row},
    generated::tags_planus::{self, TagBatch, TagBatchRef, TagRef},
    walk::Walk,
};

/// Vectors of structs.
#[derive(Debug, Clone, Copy)]
pub struct FlatBuffer;

impl FramedMessage for FlatBuffer {
    fn name(&self) -> &'static str {
        "flatbuffer"
    }

    fn settings(&self) -> String {
        "planus 1.3, vector of structs (int64, uint8, padded to 16 bytes)".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Lists("vectors of structs, mapped", self)
    }
}

impl Message for FlatBuffer {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let of = |tag: &Tag| tags_planus::Tag { time: tag.time, channel: channel_byte(tag) };
        let tags: Vec<tags_planus::Tag> = tags.iter().map(of).collect();
        let mut builder = planus::Builder::with_capacity(tags.len() * 16 + 64);
        let batch = TagBatch::create(&mut builder, &tags[..]);
        out.extend_from_slice(builder.finish(batch, None));
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        tags.extend(list(message)?.iter().map(tag_of));
        Ok(())
    }
}

impl Lists for FlatBuffer {
    fn head(&self, message: &[u8]) -> Result<(usize, i64)> {
        let list = list(message)?;
        Ok((list.len(), list.first().map_or(0, |tag| tag.time())))
    }

    fn first_at(&self, message: &[u8], time: i64) -> Result<Option<Tag>> {
        let list = list(message)?;
        let row = first_row(list.len(), time, |row| tag_at(list, row).time);
        Ok(row.map(|row| tag_at(list, row)))
    }

    fn scan(&self, message: &[u8], walk: &mut Walk) -> Result<()> {
        let list = list(message)?;
        walk.batch(0..list.len(), |row| {
            let tag = tag_at(list, row);
            (tag.time, channel_byte(&tag))
        });
        Ok(())
    }
}

fn list(message: &[u8]) -> Result<planus::Vector<'_, TagRef<'_>>> {
    let batch = TagBatchRef::read_as_root(message)?;
    Ok(batch.tags()?.ok_or("a batch without tags")?)
}

/// Returns the tag of a row, which exists.
fn tag_at(list: planus::Vector<'_, TagRef<'_>>, row: usize) -> Tag {
    list.get(row).map_or(Tag { time: i64::MAX, channel: 0 }, tag_of)
}

fn tag_of(tag: TagRef<'_>) -> Tag {
    Tag { time: tag.time(), channel: tag.channel().into() }
}
