//! Our own stream: for each tag the ticks since the tag before as a varint, and the channel in a byte.
//!
//! The first tag of a chunk has its time, zigzag-encoded, in place of the difference. `suspend` reads the
//! same bytes in pieces of any length.

use tagq_store::Tag;

use super::chunked::Chunk;
use crate::{Result, framed::channel_byte};

/// Differences as varints.
#[derive(Debug, Clone, Copy)]
pub struct Varint;

impl Chunk for Varint {
    fn name(&self) -> &'static str {
        "varint"
    }

    fn settings(&self) -> String {
        "our own: LEB128 of differences, channel byte; chunks of 1,024".into()
    }

    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) {
        let mut before = None;
        for tag in tags {
            let value = before.map_or_else(|| zigzag(tag.time), |before| delta(before, tag.time));
            put_varint(value, out);
            out.push(channel_byte(tag));
            before = Some(tag.time);
        }
    }

    fn decode(&self, chunk: &[u8], count: usize, tags: &mut Vec<Tag>) -> Result<()> {
        let mut bytes = chunk.iter();
        let mut before = None;
        for _ in 0..count {
            let value = varint(&mut bytes)?;
            let time = before.map_or_else(|| unzigzag(value), |before| after(before, value));
            let channel = *bytes.next().ok_or("a torn chunk")?;
            tags.push(Tag { time, channel: channel.into() });
            before = Some(time);
        }
        Ok(())
    }
}

fn delta(before: i64, time: i64) -> u64 {
    time.wrapping_sub(before).cast_unsigned()
}

/// Returns the time that is `delta` ticks after another.
pub fn after(before: i64, delta: u64) -> i64 {
    before.wrapping_add(delta.cast_signed())
}

fn zigzag(time: i64) -> u64 {
    ((time << 1) ^ (time >> 63)).cast_unsigned()
}

/// Returns the time that was zigzag-encoded.
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn varint(bytes: &mut std::slice::Iter<'_, u8>) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.next().ok_or("a torn number")?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number of more than ten bytes".into())
}
