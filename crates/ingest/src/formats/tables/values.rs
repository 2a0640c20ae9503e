//! Values of the columns of a table: the byte `ff` is −1 in a column of signed integers and 255 in one of unsigned
//! ones.

use std::io::{self, Read};

use super::fault::{TableFault, damaged};
use crate::payload::input::is_shrunk;

/// The type of the numbers of a column, by which [`Values::bits`] are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Signed,
    Unsigned,
    Float,
}

/// A little-endian number as it stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    /// 1, 2, 4 or 8; of floats 4 or 8.
    pub bytes: usize,
    pub kind: ValueKind,
}

/// Values that follow each other in a column.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// Of an integer, the number, or the bits of an unsigned number of 64 bits; of a float, the bits of an `f64`.
    pub bits: Vec<i64>,
    /// Whether each value is there; empty if all are.
    pub is_there: Vec<bool>,
}

/// A column of numbers.
pub(crate) struct TableColumn<'a> {
    pub name: String,
    pub kind: ValueKind,
    pub reader: Box<dyn ReadColumn + 'a>,
}

/// Reads the values of a column one after the other.
pub(crate) trait ReadColumn {
    /// Appends the next `rows` values; fewer are damage.
    fn read(&mut self, rows: usize, values: &mut Values) -> Result<(), TableFault>;
}

impl Values {
    pub(super) fn clear(&mut self) {
        self.bits.clear();
        self.is_there.clear();
    }

    /// Whether the value of this row is there.
    pub(super) fn is_there(&self, row: usize) -> bool {
        self.is_there.get(row).copied().unwrap_or(true)
    }
}

impl Number {
    /// Appends the numbers in `bytes`, one every `stride` bytes.
    pub(super) fn decode(self, bytes: &[u8], stride: usize, out: &mut Vec<i64>) {
        let Self { bytes: width, kind } = self;
        let shift = 64 - 8 * u32::try_from(width).unwrap_or(8);
        out.extend(bytes.chunks(stride).filter_map(|item| {
            let mut word = [0; 8];
            word.get_mut(..width)?.copy_from_slice(item.get(..width)?);
            let word = u64::from_le_bytes(word);
            Some(match kind {
                ValueKind::Signed => (word << shift).cast_signed() >> shift,
                ValueKind::Float if width == 4 => {
                    let bytes = word.to_le_bytes();
                    let float = f32::from_le_bytes(std::array::from_fn(|byte| bytes[byte]));
                    f64::from(float).to_bits().cast_signed()
                }
                ValueKind::Unsigned | ValueKind::Float => word.cast_signed(),
            })
        }));
    }
}

/// Fills `bytes`; an end before that is damage.
pub(crate) fn read_exact(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), TableFault> {
    input.read_exact(bytes).or_else(|error| match error.kind() {
        _ if is_shrunk(&error) => Err(TableFault::Io(error)),
        io::ErrorKind::UnexpectedEof => damaged("its data end before its last row"),
        _ if error.raw_os_error().is_none() => {
            damaged(format!("its data cannot be decompressed: {error}"))
        }
        _ => Err(TableFault::Io(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_are_decoded() {
        let decoded = |bytes, kind, stride, from: &[u8]| {
            let mut out = Vec::new();
            Number { bytes, kind }.decode(from, stride, &mut out);
            out
        };
        assert_eq!(decoded(1, ValueKind::Signed, 1, &[0xff, 7]), [-1, 7]);
        assert_eq!(decoded(1, ValueKind::Unsigned, 3, &[0xff, 0, 0, 7, 0]), [255, 7]);
        assert_eq!(decoded(2, ValueKind::Signed, 2, &[0xfe, 0xff]), [-2]);
        assert_eq!(decoded(8, ValueKind::Signed, 8, &(-5_i64).to_le_bytes()), [-5]);
        let bits = |float: f64| float.to_bits().cast_signed();
        assert_eq!(decoded(4, ValueKind::Float, 4, &1.5_f32.to_le_bytes()), [bits(1.5)]);
        assert_eq!(decoded(8, ValueKind::Float, 8, &0.1_f64.to_le_bytes()), [bits(0.1)]);
    }
}
