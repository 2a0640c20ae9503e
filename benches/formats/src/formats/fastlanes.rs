//! FastLanes: differences along 16 lanes, bit-packed, and bit-packed channels.
//!
//! A chunk is the bits of a difference and of a channel (u8 each), the first time of each lane (i64), the packed
//! differences and the packed channels. A chunk of fewer than 1,024 tags is filled up with its last tag.

use fastlanes::{BitPacking, Delta as _, Transpose as _, transpose};
use tagq_store::Tag;

use super::chunked::{CHUNK_TAGS, Chunk};
use crate::{Result, framed::channel_byte};

/// Differences, transposed and packed in as many bits as the largest of a chunk needs.
#[derive(Debug, Clone, Copy)]
pub struct FastLanes;

/// Lanes of 64-bit numbers.
const LANES: usize = 16;
/// Tags of a lane.
const LANE_TAGS: usize = CHUNK_TAGS / LANES;
const HEAD: usize = 2 + LANES * 8;

impl Chunk for FastLanes {
    fn name(&self) -> &'static str {
        "fastlanes"
    }

    fn settings(&self) -> String {
        "fastlanes 0.7: delta of u64 and bit-packing, channels of u8 bit-packed; chunks of 1,024"
            .into()
    }

    fn pause(&self) -> &'static str {
        "between messages"
    }

    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) {
        let Some(last) = tags.last() else { return };
        let full = |row: usize| *tags.get(row).unwrap_or(last);
        let time: [u64; CHUNK_TAGS] = std::array::from_fn(|row| full(row).time.cast_unsigned());
        let channel: [u8; CHUNK_TAGS] = std::array::from_fn(|row| channel_byte(&full(row)));
        let bases: [u64; LANES] = std::array::from_fn(|lane| time[lane * LANE_TAGS]);
        let (mut transposed, mut deltas) = ([0; CHUNK_TAGS], [0; CHUNK_TAGS]);
        u64::transpose(&time, &mut transposed);
        u64::delta::<LANES>(&transposed, &bases, &mut deltas);
        let time_bits = 64 - deltas.iter().fold(0, |all, delta| all | delta).leading_zeros();
        let channel_bits = 8 - channel.iter().fold(0, |all, channel| all | channel).leading_zeros();
        out.extend([time_bits.to_le_bytes()[0], channel_bits.to_le_bytes()[0]]);
        out.extend_from_slice(bytemuck::cast_slice(&bases));
        pack_u64(time_bits, &deltas, out);
        pack_u8(channel_bits, &channel, out);
    }

    fn decode(&self, chunk: &[u8], count: usize, tags: &mut Vec<Tag>) -> Result<()> {
        let (&[time_bits, channel_bits, ref bases @ ..], packed) =
            chunk.split_first_chunk::<HEAD>().ok_or("a torn chunk")?;
        let mut lanes = [0_u64; LANES];
        bytemuck::cast_slice_mut(&mut lanes).copy_from_slice(bases);
        let (mut time, mut channel) = ([0; CHUNK_TAGS], [0; CHUNK_TAGS]);
        let time_len = usize::from(time_bits) * CHUNK_TAGS / 8;
        let (of_time, of_channel) = packed.split_at_checked(time_len).ok_or("a torn chunk")?;
        undelta_u64(time_bits, of_time, &lanes, &mut time)?;
        unpack_u8(channel_bits, of_channel, &mut channel)?;
        tags.extend((0..count).map(|row| Tag {
            time: time[TRANSPOSED[row]].cast_signed(),
            channel: channel[row].into(),
        }));
        Ok(())
    }
}

/// Where each row is in a transposed chunk.
const TRANSPOSED: [usize; CHUNK_TAGS] = {
    let mut inverse = [0; CHUNK_TAGS];
    let mut at = 0;
    while at < CHUNK_TAGS {
        inverse[transpose(at)] = at;
        at += 1;
    }
    inverse
};

/// Calls code for a number of bits that the compiler must know.
macro_rules! for_bits {
    ($bits:expr, $constant:ident, [$($value:literal)*], $code:block, $other:expr) => {
        match $bits {
            $($value => { const $constant: usize = $value; $code })*
            _ => $other,
        }
    };
}

macro_rules! for_bits_of_u8 {
    ($bits:expr, $constant:ident, $code:block, $other:expr) => {
        for_bits!($bits, $constant, [0 1 2 3 4 5 6 7 8], $code, $other)
    };
}

macro_rules! for_bits_of_u64 {
    ($bits:expr, $constant:ident, $code:block, $other:expr) => {
        for_bits!(
            $bits,
            $constant,
            [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
             33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62
             63 64],
            $code,
            $other
        )
    };
}

fn pack_u64(bits: u32, values: &[u64; CHUNK_TAGS], out: &mut Vec<u8>) {
    for_bits_of_u64!(
        bits,
        BITS,
        {
            let mut packed = [0; LANES * BITS];
            u64::pack::<BITS, { LANES * BITS }>(values, &mut packed);
            out.extend_from_slice(bytemuck::cast_slice(&packed));
        },
        unreachable!("a u64 has at most 64 bits")
    );
}

fn undelta_u64(
    bits: u8,
    bytes: &[u8],
    bases: &[u64; LANES],
    out: &mut [u64; CHUNK_TAGS],
) -> Result<()> {
    for_bits_of_u64!(
        bits,
        BITS,
        {
            // The bytes may lie at any address.
            let mut packed = [0; LANES * BITS];
            bytemuck::cast_slice_mut(&mut packed).copy_from_slice(bytes);
            u64::undelta_pack::<LANES, BITS, { LANES * BITS }>(&packed, bases, out);
            Ok(())
        },
        Err("a time of more than 64 bits".into())
    )
}

fn pack_u8(bits: u32, values: &[u8; CHUNK_TAGS], out: &mut Vec<u8>) {
    for_bits_of_u8!(
        bits,
        BITS,
        {
            let mut packed = [0; CHUNK_TAGS / 8 * BITS];
            u8::pack::<BITS, { CHUNK_TAGS / 8 * BITS }>(values, &mut packed);
            out.extend_from_slice(&packed);
        },
        unreachable!("a u8 has at most 8 bits")
    );
}

fn unpack_u8(bits: u8, bytes: &[u8], out: &mut [u8; CHUNK_TAGS]) -> Result<()> {
    for_bits_of_u8!(
        bits,
        BITS,
        {
            let packed = bytes.first_chunk::<{ CHUNK_TAGS / 8 * BITS }>().ok_or("a torn chunk")?;
            u8::unpack::<BITS, { CHUNK_TAGS / 8 * BITS }>(packed, out);
            Ok(())
        },
        Err("a channel of more than 8 bits".into())
    )
}
