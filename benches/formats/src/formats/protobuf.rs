//! Protocol Buffers by prost: an array of structs, and parallel arrays.

use prost::Message as _;
use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace},
    generated::tags_proto::{self, TagBatch, TagColumns},
};

/// An array of structs.
#[derive(Debug, Clone, Copy)]
pub struct Structs;

/// An array of times and an array of channels.
#[derive(Debug, Clone, Copy)]
pub struct Arrays;

const VARINTS: &str = "numbers differ in length";

impl FramedMessage for Structs {
    fn name(&self) -> &'static str {
        "protobuf"
    }

    fn settings(&self) -> String {
        "prost 0.14, array of structs (int64, uint32)".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused(VARINTS)
    }
}

impl FramedMessage for Arrays {
    fn name(&self) -> &'static str {
        "protobuf-arrays"
    }

    fn settings(&self) -> String {
        "prost 0.14, parallel packed arrays (int64, uint32)".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused(VARINTS)
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

impl Message for Arrays {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let time = tags.iter().map(|tag| tag.time).collect();
        Ok(TagColumns { time, channel: tags.iter().map(channel).collect() }.encode(out)?)
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let TagColumns { time, channel } = TagColumns::decode(message)?;
        if time.len() != channel.len() {
            return Err("arrays differ in length".into());
        }
        let rows = time.into_iter().zip(channel);
        tags.extend(rows.map(|(time, channel)| Tag { time, channel: channel.into() }));
        Ok(())
    }
}

fn channel(tag: &Tag) -> u32 {
    u32::try_from(tag.channel).unwrap_or(u32::MAX)
}
