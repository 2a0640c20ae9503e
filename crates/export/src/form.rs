//! The forms of tables, which are written in record batches.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::Schema;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, ZstdLevel},
    file::properties::{EnabledStatistics, WriterProperties},
    schema::types::ColumnPath,
};

use crate::{Error, text::TextTable};

/// Rows per group of a Parquet file: readers skip whole groups, and a group is held in memory.
const GROUP_ROWS: usize = 1 << 20;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// An Arrow IPC file: random access, memory-mapped by readers.
    Arrow,
    /// An Arrow IPC stream, for pipes.
    Stream,
    /// Parquet, compressed, with statistics that let readers skip row groups.
    Parquet,
    /// Comma-separated text with a header.
    Csv,
    /// Tab-separated text with a header.
    Tsv,
}

impl TableForm {
    /// The forms of files; a stream is for pipes.
    pub(crate) const FILES: [Self; 4] = [Self::Arrow, Self::Parquet, Self::Csv, Self::Tsv];

    /// The end of the name of a file of it, without the point.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Stream => "arrows",
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        }
    }
}

/// Writes batches of one schema in sequence.
pub struct BatchWriter<W: Write + Send>(Writer<W>);

enum Writer<W: Write + Send> {
    Arrow(Box<FileWriter<W>>),
    Stream(Box<StreamWriter<W>>),
    Parquet(Box<ArrowWriter<W>>),
    Text(TextTable<W>),
}

impl<W: Write + Send> BatchWriter<W> {
    /// Starts a file or stream in this format.
    ///
    /// # Errors
    /// Errors of `out`; [`Error::NoText`] for lists as text.
    pub fn new(out: W, form: TableForm, schema: &Schema) -> Result<Self, Error> {
        Ok(Self(match form {
            TableForm::Arrow => Writer::Arrow(Box::new(FileWriter::try_new(out, schema)?)),
            TableForm::Stream => Writer::Stream(Box::new(StreamWriter::try_new(out, schema)?)),
            TableForm::Parquet => {
                let schema = schema.clone().into();
                let writer = ArrowWriter::try_new(out, schema, Some(properties()?))?;
                Writer::Parquet(Box::new(writer))
            }
            TableForm::Csv => Writer::Text(TextTable::new(out, b',', schema)?),
            TableForm::Tsv => Writer::Text(TextTable::new(out, b'\t', schema)?),
        }))
    }

    /// Writes one batch.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.0 {
            Writer::Arrow(writer) => Ok(writer.write(batch)?),
            Writer::Stream(writer) => Ok(writer.write(batch)?),
            Writer::Parquet(writer) => Ok(writer.write(batch)?),
            Writer::Text(writer) => writer.push(batch),
        }
    }

    /// Writes the end of the file after the last batch, and returns `out`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finish(self) -> Result<W, Error> {
        match self.0 {
            Writer::Arrow(mut writer) => {
                writer.finish()?;
                Ok(writer.into_inner()?)
            }
            Writer::Stream(mut writer) => {
                writer.finish()?;
                Ok(writer.into_inner()?)
            }
            Writer::Parquet(writer) => Ok(writer.into_inner()?),
            Writer::Text(writer) => writer.finish(),
        }
    }
}

impl<W: Write + Send> std::fmt::Debug for BatchWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchWriter").finish_non_exhaustive()
    }
}

/// Returns the settings of Parquet files: times as differences, because they increase, and labels with
/// a dictionary, because there are few distinct ones.
fn properties() -> Result<WriterProperties, Error> {
    let time = ColumnPath::from("time");
    Ok(WriterProperties::builder()
        .set_created_by(concat!("tagq ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build())
}
