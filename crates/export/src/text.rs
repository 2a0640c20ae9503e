//! Record batches of numbers as lines of text.
//!
//! Time 17, channel 3 and no micro time are the line `17,3,`: a null is an empty field.

use std::io::Write;

use arrow_array::{
    Array as _, ArrayRef, Float64Array, Int64Array, RecordBatch, UInt8Array, UInt16Array,
    UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use tagq::files::text::TextWriter;

use crate::Error;

/// Writes a header, then one line per row. A null has no characters.
pub(crate) struct TextTable<W>(TextWriter<W>);

/// A column of a batch, by its type.
enum Numbers<'a> {
    Times(&'a [i64]),
    Narrow(&'a [u8]),
    Wide(&'a [u16]),
    Widest(&'a [u32]),
    Floats(&'a [f64]),
}

impl<W: Write> TextTable<W> {
    pub fn new(out: W, separator: u8, schema: &Schema) -> Result<Self, Error> {
        let mut lines = TextWriter::new(out).separator(separator);
        for field in schema.fields() {
            if !is_number(field.data_type()) {
                return Err(Error::NoText(field.data_type().clone()));
            }
            lines.text(field.name());
        }
        lines.end_line()?;
        Ok(Self(lines))
    }

    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let columns = batch.columns().iter().map(|column| Ok((numbers(column)?, column.nulls())));
        let columns: Vec<(Numbers<'_>, Option<&NullBuffer>)> =
            columns.collect::<Result<_, Error>>()?;
        let lines = &mut self.0;
        for row in 0..batch.num_rows() {
            for (column, nulls) in &columns {
                match column {
                    _ if nulls.is_some_and(|nulls| nulls.is_null(row)) => lines.text(""),
                    Numbers::Times(times) => lines.integer(times[row]),
                    Numbers::Narrow(labels) => lines.integer(labels[row]),
                    Numbers::Wide(values) => lines.integer(values[row]),
                    Numbers::Widest(values) => lines.integer(values[row]),
                    Numbers::Floats(floats) => lines.float(floats[row]),
                }
            }
            lines.end_line()?;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<W, Error> {
        Ok(self.0.finish()?)
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
