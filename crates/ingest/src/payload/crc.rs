//! crc32c of the bytes of a file, made as they are read.
//!
//! Checksums of ranges that follow each other can be joined, in whatever order they were made: bytes 0 to 9 and bytes
//! 10 to 24 make bytes 0 to 24. So the threads that read a file make them side by side, and a file that grows needs one
//! number.

/// The checksum of the bytes from `start` to `end` of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crc {
    start: u64,
    /// The byte after the last one.
    pub end: u64,
    value: u32,
}

impl Crc {
    /// Covers nothing yet; the bytes from `start` on are to come.
    pub(crate) fn from(start: u64) -> Self {
        Self { start, end: start, value: 0 }
    }

    /// Covers nothing, where this one starts.
    pub(crate) fn cleared(self) -> Self {
        Self::from(self.start)
    }

    /// Covers the first `end` bytes of a file. `hex` is as [`Crc::hex`] gives it.
    pub(crate) fn of_start(end: u64, hex: &str) -> Option<Self> {
        u32::from_str_radix(hex, 16).ok().map(|value| Self { start: 0, end, value })
    }

    /// Adds the bytes that stand at byte `at` of the file, except those it covers already.
    pub(crate) fn add(&mut self, at: u64, bytes: &[u8]) {
        debug_assert!(at <= self.end, "no byte is left out");
        let covered = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        if let Some(new) = bytes.get(covered..) {
            self.value = tagq_store::checksum::crc32c_append(self.value, new);
            self.end += new.len() as u64;
        }
    }

    /// Joins the stretch that follows this one.
    #[must_use]
    pub(crate) fn join(self, next: Self) -> Self {
        debug_assert_eq!(self.end, next.start, "one follows the other");
        #[expect(clippy::cast_possible_truncation, reason = "64-bit systems only")]
        let len = (next.end - next.start) as usize;
        let value = tagq_store::checksum::crc32c_combine(self.value, next.value, len);
        Self { end: next.end, value, ..self }
    }

    pub(crate) fn hex(self) -> String {
        format!("{:08x}", self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_join_to_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..1_000_u32).map(|i| ((i * i) >> 3).to_le_bytes()[0]).collect();
        let whole = format!("{:08x}", crc32c::crc32c(&bytes));
        for cut in [0, 1, 500, 999, 1_000] {
            let (mut first, mut second) = (Crc::from(0), Crc::from(cut as u64));
            first.add(0, &bytes[..cut]);
            // From before its start on, in pieces that overlap.
            second.add(cut.saturating_sub(7) as u64, &bytes[cut.saturating_sub(7)..cut]);
            for piece in (cut..1_000).step_by(100) {
                let from = piece.saturating_sub(3);
                second.add(from as u64, &bytes[from..(piece + 100).min(1_000)]);
            }
            let joined = first.join(second);
            assert_eq!((joined.hex(), joined.end), (whole.clone(), 1_000), "cut at {cut}");
            assert_eq!(Crc::of_start(1_000, &whole), Some(joined));
        }
        // The check value of CRC-32C (RFC 3720, appendix B.4: 32 bytes of zeros).
        let mut zeros = Crc::from(0);
        zeros.add(0, &[0; 32]);
        assert_eq!(zeros.hex(), "8a9136aa");
    }
}
