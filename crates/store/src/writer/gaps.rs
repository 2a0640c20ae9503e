//! The column of gaps: the ticks from each row to the one before it, made from the times.

use super::{Writer, gap_files::GapFiles};
use crate::{
    Error,
    format::{self, BLOCK_ROWS, FileKind, HEADER_BYTES},
    growing::Growing,
    manifest::files::FileName,
    names::STEMS,
};

impl Writer {
    /// Makes the column of gaps, from the times of all rows appended; rows appended later get their gaps, too.
    /// Written with the next commit. Does nothing if the store has the column. Not between
    /// [`Writer::begin_source`] and [`Writer::finish_source`].
    ///
    /// # Errors
    /// When the disk refuses; the writer then refuses everything else.
    pub fn make_gaps(&mut self) -> Result<(), Error> {
        if self.gaps.is_some() {
            return Ok(());
        }
        let made = self.make_gap_files();
        self.poison(made)
    }

    /// Drops the column of gaps with the next commit.
    pub fn drop_gaps(&mut self) {
        if let Some(gaps) = self.gaps.take() {
            self.obsolete.extend(gaps.files().map(|file| file.name().to_owned()));
            (self.manifest.files.gap, self.manifest.files.gaps) = (None, None);
            self.manifest.set_version();
        }
    }

    fn make_gap_files(&mut self) -> Result<(), Error> {
        self.check()?;
        self.drain()?;
        let (commit, run_id) = (self.manifest.commit + 1, self.manifest.run_id);
        let [.., column_stem, blocks_stem] = &STEMS;
        let names = [column_stem, blocks_stem].map(|stem| stem.unused_name(&self.folder, commit));
        let [column_name, blocks_name] = names;
        let (column_name, blocks_name) = (column_name?, blocks_name?);
        let create = |name: &str, kind, width| {
            let header = format::encode_header(kind, width, run_id);
            Growing::create(&self.disk, &self.folder, name, &header)
        };
        let mut files = GapFiles {
            column: create(&column_name, FileKind::Gap, 2)?,
            blocks: create(&blocks_name, FileKind::GapBlocks, 4)?,
        };
        let mut before = None;
        let mut crc = 0;
        let mut gaps = Vec::new();
        for RowRange { start, rows, begins_source } in self.row_ranges() {
            let mut times = vec![0_i64; rows];
            let at = HEADER_BYTES as u64 + start * size_of::<i64>() as u64;
            self.time.read_at(bytemuck::cast_slice_mut(&mut times), at)?;
            gaps.clear();
            format::append_gaps(before.filter(|_| !begins_source), &times, &mut gaps);
            before = times.last().copied();
            let bytes: &[u8] = bytemuck::cast_slice(&gaps);
            files.column.append(bytes)?;
            crc = crate::checksum::crc32c_append(crc, bytes);
            if (start + rows as u64).is_multiple_of(BLOCK_ROWS as u64) {
                files.blocks.append(&crc.to_le_bytes())?;
                crc = 0;
            }
        }
        self.open_block.crc_gap = crc;
        let file = |name, kind: &str, width| Some(FileName { name, kind: kind.into(), width });
        self.manifest.files.gap = file(column_name, "u16", 2);
        self.manifest.files.gaps = file(blocks_name, "u32", 4);
        self.manifest.set_version();
        self.gaps = Some(files);
        self.names_changed = true;
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
