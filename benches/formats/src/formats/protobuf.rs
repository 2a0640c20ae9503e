//! Protocol Buffers by prost: an array of structs.

use prost::Message as _;
use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace},
    generated::tags_proto::{self, TagBatch},
};

/// An array of structs.
#[derive(Debug, Clone, Copy)]
pub struct Structs;

impl FramedMessage for Structs {
    fn name(&self) -> &'static str {
        "protobuf"
    }

    fn settings(&self) -> String {
        "prost 0.14, array of structs (int64, uint32)".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused("numbers differ in length")
    }
}

impl Message for Structs {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let tags = tags.iter().map(|tag| tags_proto::Tag { time: tag.time, channel: channel(tag) });
        Ok(TagBatch { tags: tags.collect() }.encode(out)?)
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let batch = TagBatch::decode(message)?;
        tags.extend(batch.tags.iter().map(|t| Tag { time: t.time, channel: t.channel.into() }));
        Ok(())
    }
}

fn channel(tag: &Tag) -> u32 {
    u32::try_from(tag.channel).unwrap_or(u32::MAX)
}
