//! A block codec for the store: gaps in two or four bytes and channels, compressed by zstd.

use tagq_store::Tag;

use crate::{Result, format::Message, framed::channel_byte};

/// Gaps and channels, compressed at a level.
#[derive(Debug, Clone, Copy)]
pub struct ZstdGaps(pub i32);

/// The first time (i64), the number of tags (u32) and the bytes of a gap (u8).
const HEAD: usize = 13;

/// All gaps of a block have the same width, so that they are a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Two,
    Four,
    Eight,
}

impl Width {
    const ALL: [Self; 3] = [Self::Two, Self::Four, Self::Eight];

    fn bytes(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    fn holds(self, gap: u64) -> bool {
        match self {
            Self::Two => gap <= u16::MAX.into(),
            Self::Four => gap <= u32::MAX.into(),
            Self::Eight => true,
        }
    }
}

impl Message for ZstdGaps {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let first = tags.first().ok_or("a block without tags")?.time;
        let mut before = first;
        let mut gaps = Vec::with_capacity(tags.len());
        for tag in tags {
            gaps.push(tag.time.wrapping_sub(before).cast_unsigned());
            before = tag.time;
        }
        let largest = gaps.iter().copied().max().unwrap_or(0);
        let width = Width::ALL.into_iter().find(|width| width.holds(largest));
        let bytes = width.unwrap_or(Width::Eight).bytes();
        let mut plain = Vec::with_capacity(tags.len() * (bytes + 1));
        for gap in gaps {
            plain.extend_from_slice(&gap.to_le_bytes()[..bytes]);
        }
        plain.extend(tags.iter().map(channel_byte));
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&u32::try_from(tags.len())?.to_le_bytes());
        out.push(bytes.to_le_bytes()[0]);
        out.extend(zstd::bulk::compress(&plain, self.0)?);
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        let (&[a, b, c, d, e, f, g, h, i, j, k, l, width], packed) =
            message.split_first_chunk::<HEAD>().ok_or("a torn block")?;
        let first = i64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let count = usize::try_from(u32::from_le_bytes([i, j, k, l]))?;
        let width = usize::from(width);
        let plain = zstd::bulk::decompress(packed, count * (width + 1))?;
        let (gaps, channels) = plain.split_at_checked(count * width).ok_or("a torn block")?;
        if channels.len() != count {
            return Err("a torn block".into());
        }
        // One loop for each width, with gaps of a constant length.
        match width {
            2 => add_up(first, gaps.as_chunks::<2>().0.iter().map(widen), channels, tags),
            4 => add_up(first, gaps.as_chunks::<4>().0.iter().map(widen), channels, tags),
            8 => add_up(first, gaps.as_chunks::<8>().0.iter().map(widen), channels, tags),
            _ => return Err("gaps of an unknown width".into()),
        }
        Ok(())
    }
}

fn widen<const N: usize>(gap: &[u8; N]) -> i64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(gap);
    i64::from_le_bytes(bytes)
}

fn add_up(first: i64, gaps: impl Iterator<Item = i64>, channels: &[u8], tags: &mut Vec<Tag>) {
    let mut time = first;
    tags.extend(gaps.zip(channels).map(|(gap, &channel)| {
        time = time.wrapping_add(gap);
        Tag { time, channel: channel.into() }
    }));
}
