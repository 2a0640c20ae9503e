//! Pointers of Cap'n Proto. The word 0x0000_0017_0000_0001 at word 4 is a list of structs with two words of content,
//! which begins at word 5.

use super::fault::{MessageFault, malformed};

/// The target of a pointer.
pub(super) enum Target {
    Null,
    Struct { at: u64, segment: usize, data: u64, pointers: u64 },
    List { at: u64, segment: usize, size: u8, count: u64 },
}

pub(super) const FAR: u64 = 2;
pub(super) const LIST_OF_POINTERS: u8 = 6;
pub(super) const LIST_OF_STRUCTS: u8 = 7;

pub(super) fn far_segment(pointer: u64) -> usize {
    (pointer >> 32) as usize
}

/// Reads a struct or list pointer that stands at word `at` and counts its offset from `base`.
/// Whether the target lies inside `segment` is for the caller to check: its size is known there.
pub(super) fn near(
    pointer: u64,
    at: u64,
    base: u64,
    segment: usize,
) -> Result<Target, MessageFault> {
    // Bits 2..32, signed.
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
    let offset = i64::from((pointer as u32).cast_signed() >> 2);
    let target = base
        .checked_add_signed(offset)
        .ok_or_else(|| malformed(at, "a pointer leads out of its segment"))?;
    match pointer & 3 {
        0 => Ok(Target::Struct {
            at: target,
            segment,
            data: pointer >> 32 & 0xffff,
            pointers: pointer >> 48,
        }),
        1 => Ok(Target::List {
            at: target,
            segment,
            size: (pointer >> 32 & 7) as u8,
            count: pointer >> 35,
        }),
        FAR => Err(malformed(at, "a far pointer leads to another far pointer")),
        _ => Err(malformed(at, "a capability stands where a list should")),
    }
}
