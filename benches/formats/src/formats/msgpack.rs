//! MessagePack by rmp-serde: an array of arrays of two numbers.

use serde::{Deserialize, Serialize};
use tagq_store::Tag;

use crate::{
    Result,
    format::Message,
    framed::{FramedMessage, InPlace, channel_byte},
};

/// Structs as arrays, without the names of their fields.
#[derive(Debug, Clone, Copy)]
pub struct MessagePack;

#[derive(Serialize, Deserialize)]
struct Row {
    time: i64,
    channel: u8,
}

impl FramedMessage for MessagePack {
    fn name(&self) -> &'static str {
        "msgpack"
    }

    fn settings(&self) -> String {
        "rmp-serde 1.3, structs as arrays (i64, u8)".into()
    }

    fn in_place(&self) -> InPlace<'_> {
        InPlace::Refused("numbers differ in length")
    }
}

impl Message for MessagePack {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let row = |tag: &Tag| Row { time: tag.time, channel: channel_byte(tag) };
        let rows: Vec<Row> = tags.iter().map(row).collect();
        Ok(rmp_serde::encode::write(out, &rows)?)
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let rows: Vec<Row> = rmp_serde::from_slice(message)?;
        tags.extend(rows.iter().map(|r| Tag { time: r.time, channel: r.channel.into() }));
        Ok(())
    }
}
