//! The column of gaps: the ticks from each row to the one before it, made from the times.
//!
//! Rows are read in ranges of one source and one block: sources of 70,000 and 10 rows are rows 0 to 65,535, 65,536 to
//! 69,999 and 70,000 to 70,009. Times are compared with their checksums, because gaps made of damaged times would have
//! right checksums of their own.

use super::Writer;
use crate::{
    Error,
    files::FileKind,
    format::{self, BLOCK_ROWS},
};

impl Writer {
    /// Makes the column of gaps, from the times of all rows appended; rows appended later get their gaps, too. Written
    /// with the next commit. The times are compared with their checksums. Does nothing if the store has the column, as
    /// every store without times. Not between [`Writer::begin_source`] and [`Writer::finish_source`].
    ///
    /// # Errors
    /// [`Error::Damaged`] for times that are not those that were appended, and when the disk refuses; the writer then
    /// refuses everything else.
    pub fn make_gaps(&mut self) -> Result<(), Error> {
        if self.manifest.has_gaps() {
            return Ok(());
        }
        let made = self.make_gap_files();
        self.poison(made)
    }

    /// Drops the column of gaps with the next commit.
    ///
    /// # Errors
    /// [`Error::GapsNeeded`] in a store without a column of times.
    pub fn drop_gaps(&mut self) -> Result<(), Error> {
        if !self.manifest.has_times() {
            return Err(Error::GapsNeeded { path: self.folder.path().into() });
        }
        self.drop_files([FileKind::Gap, FileKind::GapBlocks]);
        Ok(())
    }

    /// Drops files with the next commit.
    pub(super) fn drop_files<const N: usize>(&mut self, kinds: [FileKind; N]) {
        for kind in kinds {
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
        let (mut crc, mut crc_time) = (0, 0);
        let mut gaps = Vec::new();
        for RowRange { start, rows, source_first } in self.row_ranges() {
            let times: Vec<i64> = self.read_values(FileKind::Time, start, rows)?;
            crc_time = crate::checksum::crc32c_append(crc_time, bytemuck::cast_slice(&times));
            self.check_crc_time(start + rows, crc_time, FileKind::Time)?;
            gaps.clear();
            format::append_gaps(before.filter(|_| source_first.is_none()), &times, &mut gaps);
            before = times.last().copied();
            let bytes: &[u8] = bytemuck::cast_slice(&gaps);
            column.append(bytes)?;
            crc = crate::checksum::crc32c_append(crc, bytes);
            if (start + rows).is_multiple_of(BLOCK_ROWS as u64) {
                blocks.append(&crc.to_le_bytes())?;
                (crc, crc_time) = (0, 0);
            }
        }
        self.open_block.checksums[FileKind::Gap] = crc;
        self.replace_file(FileKind::Gap, column_entry, column);
        self.replace_file(FileKind::GapBlocks, blocks_entry, blocks);
        Ok(())
    }

    /// Divides all rows at the first rows of sources and of blocks.
    pub(super) fn row_ranges(&self) -> Vec<RowRange> {
        let mut ranges = Vec::new();
        let mut start = 0;
        for source in &self.sources {
            let end = start + source.rows;
            let mut source_first = source.time_first;
            while start < end {
                let rows = (end - start).min(BLOCK_ROWS as u64 - start % BLOCK_ROWS as u64);
                ranges.push(RowRange { start, rows, source_first });
                (start, source_first) = (start + rows, None);
            }
        }
        ranges
    }
}

/// Rows of one source in one block.
pub(super) struct RowRange {
    pub start: u64,
    pub rows: u64,
    /// The time of the first of them, if it is the first of its source.
    pub source_first: Option<i64>,
}
