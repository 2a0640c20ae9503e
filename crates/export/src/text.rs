//! Record batches of numbers as lines of text.

use std::io::Write;

use arrow_array::{
    Array as _, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt8Array, UInt16Array,
    UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};

use crate::Error;

/// Bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes a header, then one line per row. A null has no characters.
pub(crate) struct TextWriter<W> {
    out: W,
    separator: u8,
    buffer: Vec<u8>,
}

/// A column of a batch, by its type.
enum Numbers<'a> {
    Times(&'a [i64]),
    Narrow(&'a [u8]),
    Wide(&'a [u16]),
    Widest(&'a [u32]),
    Floats(&'a [f64]),
}

impl<W: Write> TextWriter<W> {
    pub fn new(out: W, separator: u8, schema: &Schema) -> Result<Self, Error> {
        let mut writer = Self { out, separator, buffer: Vec::with_capacity(2 * BUFFER_BYTES) };
        for (at, field) in schema.fields().iter().enumerate() {
            if !is_number(field.data_type()) {
                return Err(Error::NoText(field.data_type().clone()));
            }
            if at > 0 {
                writer.buffer.push(separator);
            }
            writer.buffer.extend_from_slice(field.name().as_bytes());
        }
        writer.buffer.push(b'\n');
        writer.flush()?;
        Ok(writer)
    }

    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let columns = batch.columns().iter().map(|column| Ok((numbers(column)?, column.nulls())));
        let columns: Vec<(Numbers<'_>, Option<&NullBuffer>)> =
            columns.collect::<Result<_, Error>>()?;
        let mut digits = itoa::Buffer::new();
        for row in 0..batch.num_rows() {
            for (at, (column, nulls)) in columns.iter().enumerate() {
                if at > 0 {
                    self.buffer.push(self.separator);
                }
                if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    continue;
                }
                let text = match column {
                    Numbers::Times(times) => digits.format(times[row]),
                    Numbers::Narrow(labels) => digits.format(labels[row]),
                    Numbers::Wide(values) => digits.format(values[row]),
                    Numbers::Widest(values) => digits.format(values[row]),
                    Numbers::Floats(floats) => {
                        write!(self.buffer, "{}", floats[row])?;
                        continue;
                    }
                };
                self.buffer.extend_from_slice(text.as_bytes());
            }
            self.buffer.push(b'\n');
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        self.flush()
    }

    pub fn into_inner(self) -> W {
        self.out
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn is_number(data_type: &DataType) -> bool {
    use DataType::{Float64, Int64, UInt8, UInt16, UInt32};
    matches!(data_type, Int64 | UInt8 | UInt16 | UInt32 | Float64)
}

fn numbers(array: &ArrayRef) -> Result<Numbers<'_>, Error> {
    let any = array.as_any();
    if let Some(times) = any.downcast_ref::<Int64Array>() {
        Ok(Numbers::Times(times.values()))
    } else if let Some(labels) = any.downcast_ref::<UInt8Array>() {
        Ok(Numbers::Narrow(labels.values()))
    } else if let Some(values) = any.downcast_ref::<UInt16Array>() {
        Ok(Numbers::Wide(values.values()))
    } else if let Some(values) = any.downcast_ref::<UInt32Array>() {
        Ok(Numbers::Widest(values.values()))
    } else if let Some(floats) = any.downcast_ref::<Float64Array>() {
        Ok(Numbers::Floats(floats.values()))
    } else {
        Err(Error::NoText(array.data_type().clone()))
    }
}
