//! Cap'n Proto with the schema of the recorder: `List(List(Tag))`, a tag of an Int64 and a UInt64.

use capnp::{
    message::{Builder, HeapAllocator, ReaderOptions, ReaderSegments},
    serialize::{self, NoAllocSliceSegments},
    serialize_packed,
};
use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace, Lists, first_row},
    tags_capnp::{tag, tags},
    walk::Walk,
};

/// Words of the first segment, before a list in a segment of its own.
const FIRST_WORDS: u32 = 1024;

/// Messages as they lie in memory.
#[derive(Debug, Clone, Copy)]
pub struct Unpacked;

/// Messages without their zero bytes.
#[derive(Debug, Clone, Copy)]
pub struct Packed;

impl FramedMessage for Unpacked {
    fn name(&self) -> &'static str {
        "capnp"
    }

    fn settings(&self) -> String {
        "capnp 0.27, the reference's builder; no traversal limit".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Lists("lists of structs, mapped", self)
    }
}

impl FramedMessage for Packed {
    fn name(&self) -> &'static str {
        "capnp-packed"
    }

    fn settings(&self) -> String {
        "capnp 0.27, `serialize_packed`; no traversal limit".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused("packed words differ in length")
    }
}

impl Message for Unpacked {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        Ok(serialize::write_message(out, &built(tags)?)?)
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        read_all(&opened(message)?, tags)
    }
}

impl Message for Packed {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        Ok(serialize_packed::write_message(out, &built(tags)?)?)
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        read_all(&serialize_packed::read_message(message, options())?, tags)
    }
}

impl Lists for Unpacked {
    fn head(&self, message: &[u8]) -> Result<(usize, i64)> {
        let reader = opened(message)?;
        let list = only_list(&reader)?;
        let first = if list.is_empty() { 0 } else { list.get(0).get_time() };
        Ok((list.len() as usize, first))
    }

    fn first_at(&self, message: &[u8], time: i64) -> Result<Option<Tag>> {
        let reader = opened(message)?;
        let list = only_list(&reader)?;
        let row = first_row(list.len() as usize, time, |row| list.get(index(row)).get_time());
        Ok(row.map(|row| tag_of(list.get(index(row)))))
    }

    fn scan(&self, message: &[u8], walk: &mut Walk) -> Result<()> {
        let reader = opened(message)?;
        let list = only_list(&reader)?;
        walk.batch(0..list.len() as usize, |row| {
            let tag = list.get(index(row));
            (tag.get_time(), tag.get_channel().to_le_bytes()[0])
        });
        Ok(())
    }
}

fn built(of: &[Tag]) -> Result<Builder<HeapAllocator>> {
    let mut message = Builder::new(HeapAllocator::new().first_segment_words(FIRST_WORDS));
    let lists = message.init_root::<tags::Builder<'_>>().init_tags(1);
    let mut list = lists.init(0, u32::try_from(of.len())?);
    for (at, tag) in (0..).zip(of) {
        let mut to = list.reborrow().get(at);
        to.set_time(tag.time);
        to.set_channel(tag.channel);
    }
    Ok(message)
}

fn opened(message: &[u8]) -> Result<capnp::message::Reader<NoAllocSliceSegments<'_>>> {
    let mut rest = message;
    Ok(serialize::read_message_from_flat_slice_no_alloc(&mut rest, options())?)
}

fn options() -> ReaderOptions {
    let mut options = ReaderOptions::new();
    options.traversal_limit_in_words(None);
    options
}

fn read_all<S: ReaderSegments>(
    reader: &capnp::message::Reader<S>,
    out: &mut Vec<Tag>,
) -> Result<()> {
    for list in reader.get_root::<tags::Reader<'_>>()?.get_tags()? {
        out.extend(list?.iter().map(tag_of));
    }
    Ok(())
}

/// Returns the list of a message of this program.
fn only_list<S: ReaderSegments>(
    reader: &capnp::message::Reader<S>,
) -> Result<capnp::struct_list::Reader<'_, tag::Owned>> {
    Ok(reader.get_root::<tags::Reader<'_>>()?.get_tags()?.get(0)?)
}

fn tag_of(tag: tag::Reader<'_>) -> Tag {
    Tag { time: tag.get_time(), channel: tag.get_channel() }
}

fn index(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}
