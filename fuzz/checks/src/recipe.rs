//! Inputs of the fuzzer as decisions, so that any bytes make a case worth trying.

/// Decisions taken from the bytes of an input, one after the other; all zero after its end, so that
/// a shorter input is a simpler case.
pub(crate) struct Recipe<'a> {
    bytes: &'a [u8],
}

impl<'a> Recipe<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes.split_off_first().copied().unwrap_or(0)
    }

    /// Yes or no.
    pub(crate) fn is(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number below `n`, which is not 0: of one byte where that is enough, else of three.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let bytes = if n <= 256 { 1 } else { 3 };
        (0..bytes).fold(0, |number, _| number << 8 | usize::from(self.byte())) % n
    }

    /// A number of 64 bits: mostly a small one, often one at an end of a range.
    pub(crate) fn word(&mut self) -> u64 {
        let kind = self.byte();
        match kind {
            0..160 => kind.into(),
            160..192 => 1 << ((kind - 160) * 2),
            192..208 => i64::MAX.cast_unsigned() - u64::from(kind - 192),
            208..224 => i64::MIN.cast_unsigned() + u64::from(kind - 208),
            224..240 => u64::MAX - u64::from(kind - 224),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    /// As [`Recipe::word`], with a sign.
    pub(crate) fn number(&mut self) -> i64 {
        self.word().cast_signed()
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
}
