//! Record batches of numbers as lines of text.

use std::io::Write;

use arrow_array::{
    Array as _, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt8Array, UInt16Array,
};
use arrow_schema::{DataType, Schema};

use crate::Error;

/// Bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes a header, then one line per row.
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
        let columns: Vec<Numbers<'_>> =
            batch.columns().iter().map(numbers).collect::<Result<_, _>>()?;
        let mut digits = itoa::Buffer::new();
        for row in 0..batch.num_rows() {
            for (at, column) in columns.iter().enumerate() {
                if at > 0 {
                    self.buffer.push(self.separator);
                }
                let text = match column {
                    Numbers::Times(times) => digits.format(times[row]),
                    Numbers::Narrow(labels) => digits.format(labels[row]),
                    Numbers::Wide(labels) => digits.format(labels[row]),
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
    matches!(data_type, DataType::Int64 | DataType::UInt8 | DataType::UInt16 | DataType::Float64)
}

fn numbers(array: &ArrayRef) -> Result<Numbers<'_>, Error> {
    let any = array.as_any();
    if let Some(times) = any.downcast_ref::<Int64Array>() {
        Ok(Numbers::Times(times.values()))
    } else if let Some(labels) = any.downcast_ref::<UInt8Array>() {
        Ok(Numbers::Narrow(labels.values()))
    } else if let Some(labels) = any.downcast_ref::<UInt16Array>() {
        Ok(Numbers::Wide(labels.values()))
    } else if let Some(floats) = any.downcast_ref::<Float64Array>() {
        Ok(Numbers::Floats(floats.values()))
    } else {
        Err(Error::NoText(array.data_type().clone()))
    }
}
