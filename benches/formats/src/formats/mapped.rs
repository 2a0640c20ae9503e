//! Rows of 32 bytes that are only ever mapped: a time (i64), a channel (u8) and 23 reserved bytes.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use memmap2::Mmap;
use tagq_store::Tag;

use crate::{
    Result,
    compression::Compression,
    format::{Access, Compressions, Format, Rows, Sink},
    framed::channel_byte,
    map::map,
    source::{BATCH_TAGS, TagReader},
    walk::Walk,
};

/// Mapped rows.
#[derive(Debug, Clone, Copy)]
pub struct Mapped;

/// A row.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Row {
    /// Its time in ticks.
    pub time: i64,
    /// Its channel.
    pub channel: u8,
    reserved: [u8; 23],
}

impl Row {
    fn of(tag: &Tag) -> Self {
        Self { time: tag.time, channel: channel_byte(tag), reserved: [0; 23] }
    }

    fn tag(&self) -> Tag {
        Tag { time: self.time, channel: self.channel.into() }
    }
}

impl Format for Mapped {
    fn name(&self) -> &'static str {
        "mmap32"
    }

    fn settings(&self) -> String {
        "32-byte rows (i64, u8, reserved) by memmap2 0.9".into()
    }

    fn compressions(&self) -> Compressions {
        Compressions { measured: &[Compression::None], reason: "mapped as they are" }
    }

    fn write(&self, path: &Path, _: Compression, tags: &mut TagReader) -> Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut rows = Vec::new();
        while let Some(batch) = tags.next_batch()? {
            rows.clear();
            rows.extend(batch.iter().map(Row::of));
            out.write_all(bytemuck::cast_slice(&rows))?;
        }
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }

    fn read(&self, path: &Path, _: Compression, sink: &mut Sink<'_>) -> Result<()> {
        let rows = MappedRows::open(path)?;
        let mut tags = Vec::new();
        for batch in rows.rows()?.chunks(BATCH_TAGS) {
            tags.clear();
            tags.extend(batch.iter().map(Row::tag));
            sink(&tags)?;
        }
        Ok(())
    }

    fn access(&self) -> Access {
        Access::InPlace("rows of 32 bytes, mapped")
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Rows>> {
        Ok(Box::new(MappedRows::open(path)?))
    }
}

/// A file of rows, mapped.
pub struct MappedRows(Mmap);

impl MappedRows {
    /// Maps a file.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(map(path)?))
    }

    /// Returns the rows.
    pub fn rows(&self) -> Result<&[Row]> {
        bytemuck::try_cast_slice(&self.0).map_err(|error| format!("mapped rows: {error}").into())
    }
}

impl Rows for MappedRows {
    fn first_at(&self, time: i64) -> Result<Option<Tag>> {
        let rows = self.rows()?;
        Ok(rows.get(rows.partition_point(|row| row.time < time)).map(Row::tag))
    }

    fn scan(&self, walk: &mut Walk) -> Result<()> {
        let rows = self.rows()?;
        walk.batch(0..rows.len(), |row| (rows[row].time, rows[row].channel));
        Ok(())
    }
}
