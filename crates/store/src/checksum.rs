//! The checksum of all files of tagq: crc32c.
//!
//! `crc32c_combine(crc32c(b"ab"), crc32c(b"cd"), 2)` is `crc32c(b"abcd")`, so threads can make the checksums of parts
//! of a file, and a file that grows needs one number.

use crc_fast::{CrcAlgorithm::Crc32Iscsi, Digest};

/// Every value of a crc32c is inverted at the beginning and at the end.
const INVERTED: u64 = 0xffff_ffff;

/// Returns the crc32c of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// Returns the crc32c of bytes of which `crc` is the crc32c, followed by `more`.
pub fn crc32c_append(crc: u32, more: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(Crc32Iscsi, u64::from(crc) ^ INVERTED);
    digest.update(more);
    narrow(digest.finalize())
}

/// Returns the crc32c of bytes of which `first` is the crc32c, followed by `len` bytes of which `second` is the crc32c.
pub fn crc32c_combine(first: u32, second: u32, len: usize) -> u32 {
    narrow(crc_fast::checksum_combine(Crc32Iscsi, first.into(), second.into(), len as u64))
}

#[expect(clippy::cast_possible_truncation, reason = "a crc32c has 32 bits")]
fn narrow(crc: u64) -> u32 {
    crc as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_published_value() {
        // RFC 3720, B.4: 32 bytes of zeros, of ones, and the check value of the digits.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    proptest! {
        #[test]
        fn parts_equal_the_whole_by_another_implementation(
            bytes in prop::collection::vec(any::<u8>(), 0..3000),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = crc32c::crc32c(&bytes);
            let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
            prop_assert_eq!(crc32c(&bytes), whole);
            prop_assert_eq!(crc32c_append(crc32c(first), second), whole);
            let combined = crc32c_combine(crc32c(first), crc32c(second), second.len());
            prop_assert_eq!(combined, whole);
        }
    }
}
