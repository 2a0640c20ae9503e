//! Simple Binary Encoding by the generator of Real Logic: a group of tags whose size is a u32.

use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace, channel_byte},
    generated::sbe::{
        ReadBuf, WriteBuf, group_size_encoding_codec as group, message_header_codec as header,
        tag_batch_codec::{
            TagBatchDecoder, TagBatchEncoder, decoder::TagsDecoder, encoder::TagsEncoder,
        },
    },
};

/// Messages with one group.
#[derive(Debug, Clone, Copy)]
pub struct Sbe;

/// Bytes of a tag in a group.
const ROW: usize = 9;

impl FramedMessage for Sbe {
    fn name(&self) -> &'static str {
        "sbe"
    }

    fn settings(&self) -> String {
        "sbe-all 1.38.1 for Rust, a group (int64, uint8) with a size of 32 bits".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused("the generated decoder of a group only advances")
    }
}

impl Message for Sbe {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let len = header::ENCODED_LENGTH + group::ENCODED_LENGTH + tags.len() * ROW;
        out.resize(start + len, 0);
        let batch = TagBatchEncoder::default()
            .wrap(WriteBuf::new(&mut out[start..]), header::ENCODED_LENGTH);
        let batch = batch.header(0).parent()?;
        let mut rows = batch.tags_encoder(u32::try_from(tags.len())?, TagsEncoder::default());
        for tag in tags {
            rows.advance()?;
            rows.time(tag.time).channel(channel_byte(tag));
        }
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let head = header::MessageHeaderDecoder::default().wrap(ReadBuf::new(message), 0);
        let batch = TagBatchDecoder::default().header(head, 0);
        let mut rows: TagsDecoder<TagBatchDecoder<'_>> = batch.tags_decoder();
        while rows.advance()?.is_some() {
            tags.push(Tag { time: rows.time(), channel: rows.channel().into() });
        }
        Ok(())
    }
}
