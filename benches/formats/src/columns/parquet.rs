//! Parquet: row groups of as many rows as a block of the store, times as DELTA_BINARY_PACKED.

use std::{fs::File, io::Write, path::Path};

use bytes::Bytes;
use parquet::{
    arrow::{
        ArrowWriter,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    basic::{Compression as Codec, Encoding, ZstdLevel},
    file::{
        properties::{EnabledStatistics, WriterProperties},
        reader::ChunkReader,
        statistics::Statistics,
    },
    schema::types::ColumnPath,
};
use tagq_store::Tag;

use super::batch::{append, batch_of, columns_of, schema, tag_at};
use crate::{
    Result,
    compression::Compression,
    format::{Access, Compressions, Format, Message, Rows, Sink},
    map::map,
    source::{BATCH_TAGS, TagReader},
    walk::Walk,
};

/// Parquet files.
#[derive(Debug, Clone, Copy)]
pub struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn settings(&self) -> String {
        "parquet 59, row groups of 65,536; time DELTA_BINARY_PACKED, channel by dictionary".into()
    }

    fn compressions(&self) -> Compressions {
        const MEASURED: &[Compression] = &[
            Compression::None,
            Compression::Lz4,
            Compression::Zstd(1),
            Compression::Zstd(3),
            Compression::Zstd(19),
        ];
        Compressions {
            measured: MEASURED,
            reason: "the library compresses pages by LZ4_RAW or zstd",
        }
    }

    fn write(&self, path: &Path, compression: Compression, tags: &mut TagReader) -> Result<()> {
        let out = std::io::BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut writer = ArrowWriter::try_new(out, schema(), Some(properties(compression)?))?;
        while let Some(batch) = tags.next_batch()? {
            writer.write(&batch_of(batch)?)?;
        }
        let file =
            writer.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }

    fn read(&self, path: &Path, _: Compression, sink: &mut Sink<'_>) -> Result<()> {
        read_all(File::open(path)?, sink)
    }

    fn access(&self) -> Access {
        Access::ByBlock("by the statistics of row groups; a row group is decoded")
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Rows>> {
        Ok(Box::new(RowGroups::open(path)?))
    }

    fn pause(&self) -> &'static str {
        "between row groups; the footer is written at the end"
    }
}

/// A batch as a Parquet file in memory, for the comparison of block codecs.
impl Message for Parquet {
    fn encode(&self, tags: &[Tag], out: &mut Vec<u8>) -> Result<()> {
        let properties = properties(Compression::None)?;
        let mut writer =
            ArrowWriter::try_new(out as &mut (dyn Write + Send), schema(), Some(properties))?;
        writer.write(&batch_of(tags)?)?;
        writer.close()?;
        Ok(())
    }

    fn decode(&self, message: &[u8], tags: &mut Vec<Tag>) -> Result<()> {
        read_all(Bytes::copy_from_slice(message), &mut |batch| {
            tags.extend_from_slice(batch);
            Ok(())
        })
    }
}

fn properties(compression: Compression) -> Result<WriterProperties> {
    let codec = match compression {
        Compression::None => Codec::UNCOMPRESSED,
        Compression::Lz4 | Compression::Lz4Hc => Codec::LZ4_RAW,
        Compression::Zstd(level) => Codec::ZSTD(ZstdLevel::try_new(level)?),
    };
    let time = ColumnPath::from("time");
    Ok(WriterProperties::builder()
        .set_compression(codec)
        .set_max_row_group_row_count(Some(BATCH_TAGS))
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .build())
}

fn read_all(file: impl ChunkReader + 'static, sink: &mut Sink<'_>) -> Result<()> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(BATCH_TAGS);
    let mut tags = Vec::new();
    for batch in reader.build()? {
        tags.clear();
        append(&batch?, &mut tags)?;
        sink(&tags)?;
    }
    Ok(())
}

/// The row groups of a mapped file.
struct RowGroups {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// The last time of each row group.
    ends: Vec<i64>,
}

impl RowGroups {
    fn open(path: &Path) -> Result<Self> {
        let bytes = Bytes::from_owner(map(path)?);
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())?;
        let end = |group: &parquet::file::metadata::RowGroupMetaData| {
            match group.column(0).statistics() {
                Some(Statistics::Int64(of_time)) => of_time.max_opt().copied(),
                _ => None,
            }
            .ok_or("a row group without statistics")
        };
        let ends = metadata.metadata().row_groups().iter().map(end);
        let ends = ends.collect::<std::result::Result<_, _>>()?;
        Ok(Self { bytes, metadata, ends })
    }

    fn read(&self, groups: Vec<usize>, sink: &mut dyn FnMut(&[i64], &[u8])) -> Result<()> {
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        );
        let reader = reader.with_row_groups(groups).with_batch_size(BATCH_TAGS).build()?;
        for batch in reader {
            let batch = batch?;
            let (time, channel) = columns_of(&batch)?;
            sink(time, channel);
        }
        Ok(())
    }
}

impl Rows for RowGroups {
    fn first_at(&self, time: i64) -> Result<Option<Tag>> {
        let group = self.ends.partition_point(|&end| end < time);
        if group == self.ends.len() {
            return Ok(None);
        }
        let mut found = None;
        self.read(vec![group], &mut |times, channels| {
            let row = times.partition_point(|&at| at < time);
            if found.is_none() && row < times.len() {
                found = Some(tag_at((times, channels), row));
            }
        })?;
        Ok(found)
    }

    fn scan(&self, walk: &mut Walk) -> Result<()> {
        self.read((0..self.ends.len()).collect(), &mut |time, channel| {
            walk.batch(0..time.len(), |row| (time[row], channel[row]));
        })
    }
}
