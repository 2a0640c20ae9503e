//! The column of gaps: the ticks from each row to the one before it, made from the times.

use super::Writer;
use crate::{
    Error,
    files::FileKind,
    format::{self, BLOCK_ROWS, HEADER_BYTES},
};

impl Writer {
    /// Makes the column of gaps, from the times of all rows appended; rows appended later get their gaps, too.
    /// Written with the next commit. Does nothing if the store has the column. Not between
    /// [`Writer::begin_source`] and [`Writer::finish_source`].
    ///
    /// # Errors
    /// When the disk refuses; the writer then refuses everything else.
    pub fn make_gaps(&mut self) -> Result<(), Error> {
        if self.manifest.has_gaps() {
            return Ok(());
        }
        let made = self.make_gap_files();
        self.poison(made)
    }

    /// Drops the column of gaps with the next commit.
    pub fn drop_gaps(&mut self) {
        for kind in [FileKind::Gap, FileKind::GapBlocks] {
            self.manifest.files[kind] = None;
            self.obsolete.extend(self.files[kind].take().map(|file| file.name().to_owned()));
        }
        self.manifest.set_version();
    }

    fn make_gap_files(&mut self) -> Result<(), Error> {
        self.check()?;
        self.drain()?;
        let (column_entry, mut column) = self.create_file(FileKind::Gap, 2)?;
        let (blocks_entry, mut blocks) = self.create_file(FileKind::GapBlocks, 4)?;
        let mut before = None;
        let mut crc = 0;
        let mut gaps = Vec::new();
        for RowRange { start, rows, begins_source } in self.row_ranges() {
            let mut times = vec![0_i64; rows];
            let at = HEADER_BYTES as u64 + start * size_of::<i64>() as u64;
            self.file(FileKind::Time).read_at(bytemuck::cast_slice_mut(&mut times), at)?;
            gaps.clear();
            format::append_gaps(before.filter(|_| !begins_source), &times, &mut gaps);
            before = times.last().copied();
            let bytes: &[u8] = bytemuck::cast_slice(&gaps);
            column.append(bytes)?;
            crc = crate::checksum::crc32c_append(crc, bytes);
            if (start + rows as u64).is_multiple_of(BLOCK_ROWS as u64) {
                blocks.append(&crc.to_le_bytes())?;
                crc = 0;
            }
        }
        self.open_block.checksums[FileKind::Gap] = crc;
        self.replace_file(FileKind::Gap, column_entry, column);
        self.replace_file(FileKind::GapBlocks, blocks_entry, blocks);
        Ok(())
    }

    /// Divides all rows at the first rows of sources and of blocks.
    fn row_ranges(&self) -> Vec<RowRange> {
        let mut ranges = Vec::new();
        let mut start = 0;
        for source in &self.sources {
            let end = start + source.rows;
            let mut begins_source = true;
            while start < end {
                let rows = (end - start).min(BLOCK_ROWS as u64 - start % BLOCK_ROWS as u64);
                #[expect(clippy::cast_possible_truncation, reason = "at most the rows of a block")]
                ranges.push(RowRange { start, rows: rows as usize, begins_source });
                (start, begins_source) = (start + rows, false);
            }
        }
        ranges
    }
}

/// Rows of one source in one block.
struct RowRange {
    start: u64,
    rows: usize,
    /// Whether the first of them is the first of its source.
    begins_source: bool,
}
