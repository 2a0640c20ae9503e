//! Writing rows at their places, on any thread: a part of a block is narrowed, checksummed, counted and written.
//!
//! The label of row 70,000 is byte 4,096 + 70,000 = 74,096 of a column with one byte a value. Tasks end where blocks do
//! or where an append does, so no two threads write the same bytes.

use std::{mem, sync::Arc};

use crate::{
    ChannelRows, Error,
    encode::DistancePart,
    files::{FileKind, PerFile},
    format::{self, BLOCK_ROWS, HEADER_BYTES, MICRO_NONE},
    growing::OpenFile,
    rows::RowSlices,
};

/// The columns of a store, open for any thread.
#[derive(Debug)]
pub(super) struct RowFiles {
    pub columns: Vec<OpenColumn>,
    /// Whether one of them is that of times. Otherwise rows have far distances and steps.
    pub has_times: bool,
}

/// A column, open for any thread.
#[derive(Debug)]
pub(super) struct OpenColumn {
    pub kind: FileKind,
    pub file: Arc<OpenFile>,
    /// The bytes of a value.
    pub width: u16,
}

/// Where rows belong.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The number of the first of them.
    pub row: u64,
    /// The time of the row before it; `None` if it is the first of its source.
    pub before: Option<i64>,
}

/// Rows of one block that were written.
#[derive(Debug, Default)]
pub(super) struct BlockPart {
    pub rows: u64,
    pub span: Option<(i64, i64)>,
    /// The crc32c of its times, and of its bytes in each other column; of no meaning for other files.
    pub checksums: PerFile<u32>,
    /// Ascending.
    pub channels: Vec<ChannelRows>,
    /// Empty in a store with a column of times. They have no fixed places in their files.
    pub distances: DistancePart,
}

/// Memory for values in the form in which they are written, used again for each part.
#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    gaps: Vec<u16>,
    counts: Counts,
}

/// Rows of each channel in a part of a block.
struct Counts {
    /// Of narrow labels: neighbours are counted apart, so that one does not wait for the other.
    narrow: [[u32; 256]; 8],
    /// Of wide labels, as many as the largest label seen needs.
    wide: Vec<u32>,
}

impl RowFiles {
    /// Writes rows at their place. Returns the parts of blocks that they are, in order.
    pub(super) fn write<'a>(
        &self,
        rows: impl IntoIterator<Item = RowSlices<'a>>,
        place: Place,
    ) -> Result<Vec<BlockPart>, Error> {
        let Place { mut row, mut before } = place;
        let mut buffers = Buffers::default();
        let (mut parts, mut part) = (Vec::new(), BlockPart::default());
        for mut rest in rows {
            while rest.len() > 0 {
                #[expect(clippy::cast_possible_truncation, reason = "a remainder below 65,536")]
                let room = BLOCK_ROWS - (row % BLOCK_ROWS as u64) as usize;
                let (now, later) = rest.split_at(room.min(rest.len()));
                self.write_in_block(now, Place { row, before }, &mut buffers, &mut part)?;
                row += now.len() as u64;
                before = now.times.last().copied();
                rest = later;
                if row.is_multiple_of(BLOCK_ROWS as u64) {
                    part.channels = buffers.counts.take();
                    parts.push(mem::take(&mut part));
                }
            }
        }
        if part.rows > 0 {
            part.channels = buffers.counts.take();
            parts.push(part);
        }
        Ok(parts)
    }

    fn write_in_block(
        &self,
        rows: RowSlices<'_>,
        Place { row, before }: Place,
        buffers: &mut Buffers,
        part: &mut BlockPart,
    ) -> Result<(), Error> {
        let times = rows.times;
        for &OpenColumn { kind, ref file, width } in &self.columns {
            let bytes = match kind {
                FileKind::Gap if !self.has_times => {
                    buffers.gaps.clear();
                    part.distances.add(row, before, times, &mut buffers.gaps);
                    bytemuck::cast_slice(&buffers.gaps)
                }
                _ => buffers.encode(kind, width, rows, before),
            };
            part.add_checksum(kind, bytes);
            file.write_at(bytes, HEADER_BYTES as u64 + row * u64::from(width))?;
        }
        if !self.has_times {
            part.add_checksum(FileKind::Time, bytemuck::cast_slice(times));
        }
        part.rows += times.len() as u64;
        let first = part.span.map(|(first, _)| first).or(times.first().copied());
        part.span = first.zip(times.last().copied());
        Ok(())
    }
}

impl BlockPart {
    /// Takes more bytes into the checksum of a column.
    fn add_checksum(&mut self, kind: FileKind, bytes: &[u8]) {
        let crc = &mut self.checksums[kind];
        *crc = crate::checksum::crc32c_append(*crc, bytes);
    }
}

impl Buffers {
    /// Returns the values of a column for `rows`, each in `width` bytes, and counts the rows of each channel with
    /// the channels. `before` is the time of the row before.
    fn encode<'a>(
        &'a mut self,
        kind: FileKind,
        width: u16,
        rows: RowSlices<'a>,
        before: Option<i64>,
    ) -> &'a [u8] {
        let Self { bytes, gaps, counts } = self;
        let RowSlices { times, channels, micro } = rows;
        match kind {
            FileKind::Time => return bytemuck::cast_slice(times),
            FileKind::Channel if width == 1 => {
                bytes.clear();
                #[expect(clippy::cast_possible_truncation, reason = "no label above 255 here")]
                bytes.extend(channels.iter().map(|&channel| channel as u8));
                counts.add_narrow(bytes);
            }
            FileKind::Channel => {
                counts.add_wide(channels);
                return bytemuck::cast_slice(channels);
            }
            FileKind::Micro if micro.is_empty() => {
                bytes.clear();
                bytes.resize(times.len() * usize::from(width), MICRO_NONE.to_le_bytes()[0]);
            }
            FileKind::Micro => format::encode_unsigned(micro, width, bytes),
            FileKind::Gap => {
                gaps.clear();
                format::append_gaps(before, times, gaps);
                return bytemuck::cast_slice(gaps);
            }
            FileKind::Blocks
            | FileKind::Counts
            | FileKind::Dead
            | FileKind::GapBlocks
            | FileKind::Far
            | FileKind::Steps => {
                unreachable!("not a column")
            }
        }
        bytes
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self { narrow: [[0; 256]; 8], wide: Vec::new() }
    }
}

impl Counts {
    fn add_narrow(&mut self, labels: &[u8]) {
        let (eights, rest) = labels.as_chunks::<8>();
        for eight in eights {
            for (counts, &label) in self.narrow.iter_mut().zip(eight) {
                counts[usize::from(label)] += 1;
            }
        }
        for (counts, &label) in self.narrow.iter_mut().zip(rest) {
            counts[usize::from(label)] += 1;
        }
    }

    fn add_wide(&mut self, labels: &[u16]) {
        let label_max = labels.iter().copied().max().map_or(0, usize::from);
        if self.wide.len() <= label_max {
            self.wide.resize(label_max + 1, 0);
        }
        for &label in labels {
            self.wide[usize::from(label)] += 1;
        }
    }

    /// Returns the channels that have rows, ascending, and starts again.
    fn take(&mut self) -> Vec<ChannelRows> {
        let narrow = (0..256).map(|label| self.narrow.iter().map(|counts| counts[label]).sum());
        let sums: Vec<u32> =
            if self.wide.is_empty() { narrow.collect() } else { mem::take(&mut self.wide) };
        self.narrow = [[0; 256]; 8];
        let rows = (0..=u16::MAX).zip(sums).filter(|&(_, rows)| rows > 0);
        rows.map(|(channel, rows)| ChannelRows { channel, rows: rows.into() }).collect()
    }
}
