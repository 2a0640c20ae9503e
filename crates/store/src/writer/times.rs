//! The column of times: dropped when distances replace it, and made again from them.
//!
//! Before the column is dropped, all times are computed from the new files as they were written, and compared with it.
//! The column of a store is only dropped if nothing is lost.

use super::{Writer, gaps::RowRange};
use crate::{
    Error,
    decode::{self, Far},
    encode::DistancePart,
    files::FileKind,
    format::{BLOCK_ROWS, STEP_ROWS, Step},
    simd::Simd,
};

/// The place in the rows up to which distances were decoded.
#[derive(Default)]
struct Decoded {
    /// Far distances used.
    far: u64,
    /// The time of the last row.
    before: i64,
}

impl Writer {
    /// Drops the column of times with the next commit: gaps, far distances and steps, made from the times of all rows
    /// appended, replace it, and rows appended later get these alone. The times are compared with their checksums
    /// before, and with those that the new files say. Does nothing if the store has no such column. Not between
    /// [`Writer::begin_source`] and [`Writer::finish_source`].
    ///
    /// # Errors
    /// [`Error::Damaged`] for times that are not those that were appended, and when the disk refuses; the writer then
    /// refuses everything else.
    pub fn drop_times(&mut self) -> Result<(), Error> {
        if !self.manifest.has_times() {
            return Ok(());
        }
        let dropped = self.replace_times();
        self.poison(dropped)
    }

    /// Makes the column of times from distances; rows appended later get their times, too. Written with the next
    /// commit. The times are compared with their checksums. Does nothing if the store has the column. Not between
    /// [`Writer::begin_source`] and [`Writer::finish_source`].
    ///
    /// # Errors
    /// [`Error::Damaged`] for distances that do not give the times that were appended, and when the disk refuses; the
    /// writer then refuses everything else.
    pub fn make_times(&mut self) -> Result<(), Error> {
        if self.manifest.has_times() {
            return Ok(());
        }
        let made = self.make_time_files();
        self.poison(made)
    }

    fn replace_times(&mut self) -> Result<(), Error> {
        self.check()?;
        self.drain()?;
        let is_gap_new = !self.manifest.has_gaps();
        let new = [
            (FileKind::Gap, 2),
            (FileKind::GapBlocks, 12),
            (FileKind::Far, 4),
            (FileKind::Steps, 16),
        ];
        for (kind, width) in new {
            if kind != FileKind::Gap || is_gap_new {
                let (entry, file) = self.create_file(kind, width)?;
                self.replace_file(kind, entry, file);
            }
            self.open_block.checksums[kind] = 0;
        }
        self.far_entries = 0;
        let mut before = None;
        let mut crc_time = 0;
        let mut gaps = Vec::new();
        for RowRange { start, rows, source_first } in self.row_ranges() {
            let times: Vec<i64> = self.read_values(FileKind::Time, start, rows)?;
            self.check_order(start, &times, before, source_first)?;
            crc_time = crate::checksum::crc32c_append(crc_time, bytemuck::cast_slice(&times));
            let mut part = DistancePart::default();
            gaps.clear();
            part.add(start, before.filter(|_| source_first.is_none()), &times, &mut gaps);
            self.append_distances(&part, start)?;
            let bytes: &[u8] = bytemuck::cast_slice(&gaps);
            let crc = &mut self.open_block.checksums[FileKind::Gap];
            *crc = crate::checksum::crc32c_append(*crc, bytes);
            if is_gap_new {
                self.append_to(FileKind::Gap, bytes)?;
            }
            before = times.last().copied();
            let end = start + rows;
            self.check_crc_time(end, crc_time, FileKind::Time)?;
            if end.is_multiple_of(BLOCK_ROWS as u64) {
                crc_time = 0;
                let checksums = self.open_block.checksums;
                self.append_gap_checksums(&checksums)?;
                for (kind, _) in new {
                    self.open_block.checksums[kind] = 0;
                }
            }
        }
        self.compare_with_times()?;
        self.drop_files([FileKind::Time]);
        Ok(())
    }

    /// Verifies that times of a block are in order. The first of a source is `source_first`, which the manifest lists.
    fn check_order(
        &self,
        row: u64,
        times: &[i64],
        before: Option<i64>,
        source_first: Option<i64>,
    ) -> Result<(), Error> {
        let first = times.first().copied();
        if times.is_sorted() && before <= first && (source_first.is_none() || source_first == first)
        {
            return Ok(());
        }
        Err(self.damaged_block(FileKind::Time, "the order of times", row / BLOCK_ROWS as u64))
    }

    /// Verifies the checksum of the times of the block that ends with row `end`, or with all rows.
    pub(super) fn check_crc_time(&self, end: u64, crc: u32, kind: FileKind) -> Result<(), Error> {
        let block = (end - 1) / BLOCK_ROWS as u64;
        let expected = if end.is_multiple_of(BLOCK_ROWS as u64) {
            self.entry_of(block)?.0.checksums[FileKind::Time]
        } else if end == self.run.rows {
            Some(self.open_block.checksums[FileKind::Time])
        } else {
            return Ok(());
        };
        if expected == Some(crc) {
            return Ok(());
        }
        Err(self.damaged_block(kind, "the checksum of the times", block))
    }

    /// Verifies that the distances and steps in their files are those of the times.
    fn compare_with_times(&self) -> Result<(), Error> {
        let mut decoded = Decoded::default();
        for range in self.row_ranges() {
            let expected: Vec<i64> = self.read_values(FileKind::Time, range.start, range.rows)?;
            let far_before = decoded.far;
            let (gaps, times) = self.decode(&range, &mut decoded)?;
            let block = range.start / BLOCK_ROWS as u64;
            if times != expected {
                return Err(self.damaged_block(FileKind::Gap, "the distances", block));
            }
            if !self.has_steps(range.start, &gaps, &times, far_before)? {
                return Err(self.damaged_block(FileKind::Steps, "the steps", block));
            }
        }
        Ok(())
    }

    fn make_time_files(&mut self) -> Result<(), Error> {
        self.check()?;
        self.drain()?;
        let (column_entry, mut column) = self.create_file(FileKind::Time, 8)?;
        let (blocks_entry, mut blocks) = self.create_file(FileKind::GapBlocks, 4)?;
        let mut decoded = Decoded::default();
        let mut crc_time = 0;
        for range in self.row_ranges() {
            let (_, times) = self.decode(&range, &mut decoded)?;
            let bytes: &[u8] = bytemuck::cast_slice(&times);
            column.append(bytes)?;
            crc_time = crate::checksum::crc32c_append(crc_time, bytes);
            let end = range.start + range.rows;
            self.check_crc_time(end, crc_time, FileKind::Gap)?;
            if end.is_multiple_of(BLOCK_ROWS as u64) {
                let [crc_gap, ..] = self.gap_checksums_of(range.start / BLOCK_ROWS as u64)?;
                blocks.append(&crc_gap.to_le_bytes())?;
                crc_time = 0;
            }
        }
        self.replace_file(FileKind::Time, column_entry, column);
        self.replace_file(FileKind::GapBlocks, blocks_entry, blocks);
        self.drop_files([FileKind::Far, FileKind::Steps]);
        self.far_entries = 0;
        Ok(())
    }

    /// Returns the gaps and the times of rows that follow those decoded.
    fn decode(
        &self,
        range: &RowRange,
        decoded: &mut Decoded,
    ) -> Result<(Vec<u16>, Vec<i64>), Error> {
        let &RowRange { start, rows, source_first } = range;
        let gaps: Vec<u16> = self.read_values(FileKind::Gap, start, rows)?;
        let count = decode::far_rows(&gaps) as u64;
        let block = start / BLOCK_ROWS as u64;
        if decoded.far + count > self.far_entries {
            return Err(self.damaged_block(FileKind::Gap, "the number of far distances", block));
        }
        let mut times = vec![0; gaps.len()];
        let before = source_first.unwrap_or(decoded.before);
        if self.manifest.width_of(FileKind::Far) == 4 {
            let far: Vec<u32> = self.read_values(FileKind::Far, decoded.far, count)?;
            decode::times(Simd::best(), &gaps, Far::U32(&far), before, &mut times);
        } else {
            let far: Vec<u64> = self.read_values(FileKind::Far, decoded.far, count)?;
            decode::times(Simd::best(), &gaps, Far::U64(&far), before, &mut times);
        }
        *decoded =
            Decoded { far: decoded.far + count, before: times.last().copied().unwrap_or(before) };
        Ok((gaps, times))
    }

    /// Returns whether the steps that begin with some of these rows are theirs. The first row has the number `start`
    /// and comes after `far` far distances.
    fn has_steps(
        &self,
        start: u64,
        gaps: &[u16],
        times: &[i64],
        mut far: u64,
    ) -> Result<bool, Error> {
        let step_rows = STEP_ROWS as u64;
        let first = start.div_ceil(step_rows);
        let len = (start + gaps.len() as u64).div_ceil(step_rows) - first;
        let steps: Vec<Step> = self.read_values(FileKind::Steps, first, len)?;
        let mut row = 0;
        #[expect(clippy::cast_possible_truncation, reason = "below 1,024")]
        let mut next = (first * step_rows - start) as usize;
        for found in steps {
            far += decode::far_rows(&gaps[row..next]) as u64;
            if found != (Step { time: times[next], far }) {
                return Ok(false);
            }
            (row, next) = (next, next + STEP_ROWS);
        }
        Ok(true)
    }
}
