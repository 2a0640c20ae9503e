//! Numbers at equal distances: of items of 16 bytes, the number at byte 8 of each.

use std::io::Read;

use super::{
    fault::TableFault,
    values::{Number, ReadColumn, Values, read_exact},
};

/// Bytes that are read at once, unless one row has more.
const PIECE_BYTES: usize = 256 * 1024;

/// A column of numbers, one in each item of `stride` bytes.
pub(crate) struct Fixed<R> {
    input: R,
    number: Number,
    stride: usize,
    /// Where the number stands in its item.
    offset: usize,
    bytes: Vec<u8>,
}

impl<R: Read> Fixed<R> {
    /// A column of the numbers at byte `offset` of each item.
    pub(crate) fn new(input: R, number: Number, stride: usize, offset: usize) -> Self {
        Self { input, number, stride, offset, bytes: Vec::new() }
    }
}

impl<R: Read> ReadColumn for Fixed<R> {
    fn read(&mut self, rows: usize, values: &mut Values) -> Result<(), TableFault> {
        let Self { input, number, stride, offset, bytes } = self;
        let mut left = rows;
        while left > 0 {
            let now = left.min((PIECE_BYTES / *stride).max(1));
            bytes.resize(now * *stride, 0);
            read_exact(input, bytes)?;
            number.decode(&bytes[*offset..], *stride, &mut values.bits);
            left -= now;
        }
        Ok(())
    }
}
