//! Arrow IPC files: record batches, compressed buffer by buffer.

use std::{fs::File, path::Path, sync::Arc};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::{
    Block, CompressionType,
    reader::{FileDecoder, FileReader, read_footer_length},
    root_as_footer,
    writer::{FileWriter, IpcWriteOptions},
};
use bytes::Bytes;
use tagq_store::Tag;

use super::batch::{append, batch_of, columns_of, schema, tag_at};
use crate::{
    Result,
    compression::Compression,
    format::{Access, Compressions, Format, Rows, Sink},
    map::map,
    source::TagReader,
    walk::Walk,
};

/// Arrow IPC files.
#[derive(Debug, Clone, Copy)]
pub struct ArrowIpc;

impl Format for ArrowIpc {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn settings(&self) -> String {
        "arrow-ipc 59, file of record batches (i64, u8)".into()
    }

    fn compressions(&self) -> Compressions {
        const MEASURED: &[Compression] = &[
            Compression::None,
            Compression::Lz4,
            Compression::Zstd(1),
            Compression::Zstd(3),
            Compression::Zstd(19),
        ];
        Compressions { measured: MEASURED, reason: "the library compresses buffers by LZ4 or zstd" }
    }

    fn write(&self, path: &Path, compression: Compression, tags: &mut TagReader) -> Result<()> {
        let options = IpcWriteOptions::default();
        let options = match compression {
            Compression::None => options,
            Compression::Lz4 | Compression::Lz4Hc => {
                options.try_with_compression(Some(CompressionType::LZ4_FRAME))?
            }
            Compression::Zstd(level) => options
                .try_with_compression(Some(CompressionType::ZSTD))?
                .try_with_compression_level(Some(level))?,
        };
        let out = std::io::BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut writer = FileWriter::try_new_with_options(out, &schema(), options)?;
        while let Some(batch) = tags.next_batch()? {
            writer.write(&batch_of(batch)?)?;
        }
        let out = writer.into_inner()?;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }

    fn read(&self, path: &Path, _: Compression, sink: &mut Sink<'_>) -> Result<()> {
        let mut tags = Vec::new();
        for batch in FileReader::try_new_buffered(File::open(path)?, None)? {
            tags.clear();
            append(&batch?, &mut tags)?;
            sink(&tags)?;
        }
        Ok(())
    }

    fn access(&self) -> Access {
        Access::InPlace("record batches, mapped")
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Rows>> {
        Ok(Box::new(Batches::open(path)?))
    }

    fn pause(&self) -> &'static str {
        "between record batches; the footer is written at the end"
    }
}

/// The record batches of a mapped file.
struct Batches {
    batches: Vec<RecordBatch>,
}

impl Batches {
    fn open(path: &Path) -> Result<Self> {
        let buffer = Buffer::from(Bytes::from_owner(map(path)?));
        let trailer = *buffer.last_chunk::<10>().ok_or("an Arrow file without a trailer")?;
        let footer_end = buffer.len() - 10;
        let footer_len = read_footer_length(trailer)?;
        let start = footer_end.checked_sub(footer_len).ok_or("an Arrow file without a footer")?;
        let footer = root_as_footer(&buffer[start..footer_end])
            .map_err(|error| format!("the footer of an Arrow file: {error}"))?;
        let decoder = FileDecoder::new(Arc::clone(&schema()), footer.version());
        let mut batches = Vec::new();
        for block in footer.recordBatches().into_iter().flatten() {
            batches.extend(decoder.read_record_batch(block, &slice(&buffer, block)?)?);
        }
        Ok(Self { batches })
    }
}

fn slice(buffer: &Buffer, block: &Block) -> Result<Buffer> {
    let start = usize::try_from(block.offset())?;
    let len = usize::try_from(block.metaDataLength())? + usize::try_from(block.bodyLength())?;
    Ok(buffer.slice_with_length(start, len))
}

impl Rows for Batches {
    fn first_at(&self, time: i64) -> Result<Option<Tag>> {
        let last = |batch: &RecordBatch| {
            columns_of(batch).ok().and_then(|columns| columns.0.last().copied())
        };
        let at = self.batches.partition_point(|batch| last(batch).is_none_or(|last| last < time));
        let Some(batch) = self.batches.get(at) else { return Ok(None) };
        let columns = columns_of(batch)?;
        let row = columns.0.partition_point(|&at| at < time);
        Ok(Some(tag_at(columns, row)))
    }

    fn scan(&self, walk: &mut Walk) -> Result<()> {
        for batch in &self.batches {
            let (time, channel) = columns_of(batch)?;
            walk.batch(0..time.len(), |row| (time[row], channel[row]));
        }
        Ok(())
    }
}
