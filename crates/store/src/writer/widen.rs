//! A column that is written again: with wider values, or with micro times for rows that had none.
//!
//! A label of 300 appended after commit 4 to a store with one byte a label makes `channel.5.col` with two bytes each.
//! The old file stays until the next commit, because readers of the last one need it.

use super::Writer;
use crate::{
    Error, encode,
    files::{FileKind, FileName},
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, HEADER_BYTES, STEP_ROWS, Step},
    growing::Growing,
};

impl Writer {
    /// Makes a file under a new name, which the next commit may name, with values of `width` bytes.
    pub(super) fn create_file(
        &self,
        kind: FileKind,
        width: u16,
    ) -> Result<(FileName, Growing), Error> {
        let layout = kind.layout();
        let name = layout.unused_name(&self.folder, self.manifest.commit + 1)?;
        let header = format::encode_header(kind, width, self.manifest.run_id);
        let file = Growing::create(&self.disk, &self.folder, &name, &header)?;
        Ok((layout.entry(name, width), file))
    }

    /// Takes a file in the place of the one there was, which serves readers until the next commit.
    pub(super) fn replace_file(&mut self, kind: FileKind, entry: FileName, file: Growing) {
        self.manifest.files[kind] = Some(entry);
        self.manifest.set_version();
        let old = self.files[kind].replace(file);
        self.obsolete.extend(old.map(|old| old.name().to_owned()));
        self.names_changed = true;
    }

    /// Writes a column again with values of `width` bytes, and the index over it, under new names. A column that the
    /// store did not have is added: rows before have no value in it. All rows appended are written. The narrow values
    /// must have their checksums.
    pub(super) fn widen(&mut self, kind: FileKind, width: u16) -> Result<(), Error> {
        let (entry_of_column, mut wide) = self.create_file(kind, width)?;
        let (entry_of_blocks, mut blocks) = self.create_file(FileKind::Blocks, 64)?;
        let full_blocks = (self.run.rows - self.open_block.tally.rows) / BLOCK_ROWS as u64;
        self.chain = 0;
        for block in 0..full_blocks {
            let (mut entry, counts) = self.entry_of(block)?;
            let expected = entry.checksums[kind];
            let crc = self.rewrite_rows(kind, &mut wide, width, (block, BLOCK_ROWS, expected))?;
            entry.checksums[kind] = Some(crc);
            entry.chain = entry.chained(self.chain, &counts);
            blocks.append(&entry.encode())?;
            self.chain = entry.chain;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 65,536")]
        let rows_left = self.open_block.tally.rows as usize;
        let expected = Some(self.open_block.checksums[kind]);
        let crc = self.rewrite_rows(kind, &mut wide, width, (full_blocks, rows_left, expected))?;
        self.open_block.checksums[kind] = crc;
        self.replace_file(kind, entry_of_column, wide);
        self.replace_file(FileKind::Blocks, entry_of_blocks, blocks);
        Ok(())
    }

    /// Writes the far distances of the first `rows` rows again with eight bytes each, and the checksums of gaps, under
    /// new names. The narrow ones must have their checksums: they are in no other column.
    pub(super) fn widen_far(&mut self, rows: u64) -> Result<(), Error> {
        let (entry_of_column, mut wide) = self.create_file(FileKind::Far, 8)?;
        let width = self.manifest.width_of(FileKind::GapBlocks);
        let (entry_of_blocks, mut blocks) = self.create_file(FileKind::GapBlocks, width)?;
        let full_blocks = rows / BLOCK_ROWS as u64;
        let mut start = 0;
        for block in 0..rows.div_ceil(BLOCK_ROWS as u64) {
            let end = match (block + 1) * BLOCK_ROWS as u64 {
                next if next < rows => self.step_of(next)?.far,
                _ => self.far_entries,
            };
            let mut checksums = [0; 3];
            let expected = if block < full_blocks {
                checksums = self.gap_checksums_of(block)?;
                checksums[1]
            } else {
                self.open_block.checksums[FileKind::Far]
            };
            let narrow: Vec<u32> = match end.checked_sub(start) {
                Some(len) if len <= BLOCK_ROWS as u64 => {
                    self.read_values(FileKind::Far, start, len)?
                }
                _ => return Err(self.damaged_block(FileKind::Steps, "the far distances", block)),
            };
            if crate::checksum::crc32c(bytemuck::cast_slice(&narrow)) != expected {
                return Err(self.damaged_block(FileKind::Far, "the checksum", block));
            }
            let values = encode::widen(&narrow);
            let bytes: &[u8] = bytemuck::cast_slice(&values);
            wide.append(bytes)?;
            checksums[1] = crate::checksum::crc32c(bytes);
            if block < full_blocks {
                blocks.append(bytemuck::cast_slice(&checksums))?;
            } else {
                self.open_block.checksums[FileKind::Far] = checksums[1];
            }
            start = end;
        }
        self.replace_file(FileKind::Far, entry_of_column, wide);
        self.replace_file(FileKind::GapBlocks, entry_of_blocks, blocks);
        Ok(())
    }

    /// The checksums of the gaps, far distances and steps of a full block in a store without times.
    pub(super) fn gap_checksums_of(&self, block: u64) -> Result<[u32; 3], Error> {
        let mut checksums = [0; 3];
        let at = HEADER_BYTES as u64 + block * size_of_val(&checksums) as u64;
        let bytes = bytemuck::bytes_of_mut(&mut checksums);
        self.file(FileKind::GapBlocks).read_at(bytes, at)?;
        Ok(checksums)
    }

    /// The step that begins with this row.
    fn step_of(&self, row: u64) -> Result<Step, Error> {
        let steps = self.read_values(FileKind::Steps, row / STEP_ROWS as u64, 1)?;
        Ok(steps[0])
    }

    /// The values of a file from number `start` on.
    pub(super) fn read_values<T: bytemuck::Pod>(
        &self,
        kind: FileKind,
        start: u64,
        len: u64,
    ) -> Result<Vec<T>, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "at most the rows of a block")]
        let mut values = vec![T::zeroed(); len as usize];
        let at = HEADER_BYTES as u64 + start * size_of::<T>() as u64;
        self.file(kind).read_at(bytemuck::cast_slice_mut(&mut values), at)?;
        Ok(values)
    }

    /// The error for values of a block that are not those that were appended.
    pub(super) fn damaged_block(&self, kind: FileKind, what: &str, block: u64) -> Error {
        let start = block * BLOCK_ROWS as u64;
        let end = self.run.rows.min(start + BLOCK_ROWS as u64).saturating_sub(1);
        Error::Damaged {
            path: self.file(kind).path().into(),
            what: format!("{what} of block {block} (rows {start} to {end})"),
            expected: "as committed".into(),
            found: "something else".into(),
        }
    }

    /// The entry of a full block as it is, and the bytes of its counts.
    pub(super) fn entry_of(&self, block: u64) -> Result<(BlockEntry, Vec<u8>), Error> {
        let mut bytes = [0; format::BLOCK_ENTRY_BYTES];
        let at = HEADER_BYTES as u64 + block * bytes.len() as u64;
        self.file(FileKind::Blocks).read_at(&mut bytes, at)?;
        let entry = BlockEntry::decode(&bytes, |kind| self.manifest.is_chained(kind));
        let entry = entry.ok_or_else(|| Error::Damaged {
            path: self.file(FileKind::Blocks).path().into(),
            what: format!("the reserved bytes of block {block}"),
            expected: "zero".into(),
            found: "something else".into(),
        })?;
        let mut counts = vec![0; entry.counts_len as usize * COUNT_ENTRY_BYTES];
        let at = HEADER_BYTES as u64 + entry.counts_start * COUNT_ENTRY_BYTES as u64;
        self.file(FileKind::Counts).read_at(&mut counts, at)?;
        Ok((entry, counts))
    }

    /// Copies the first `rows` values of a block into the wide column, if they have the checksum that is expected;
    /// returns that of the wide ones.
    fn rewrite_rows(
        &self,
        kind: FileKind,
        wide: &mut Growing,
        width: u16,
        (block, rows, expected): (u64, usize, Option<u32>),
    ) -> Result<u32, Error> {
        let start = block * BLOCK_ROWS as u64;
        let old_width = self.manifest.width_of(kind);
        let mut bytes = vec![0; rows * usize::from(old_width)];
        if let Some(narrow) = &self.files[kind] {
            narrow.read_at(&mut bytes, HEADER_BYTES as u64 + start * u64::from(old_width))?;
            if expected != Some(crate::checksum::crc32c(&bytes)) {
                return Err(self.damaged_block(kind, "the checksum", block));
            }
        }
        let u16s = bytes.as_chunks::<2>().0.iter().map(|&bytes| u16::from_le_bytes(bytes));
        let values: Vec<u32> = match (kind, old_width) {
            (FileKind::Micro, 2) => u16s.map(format::widen_micro).collect(),
            // The column is new.
            (_, 0) => vec![format::MICRO_NONE; rows],
            (_, 1) => bytes.into_iter().map(u32::from).collect(),
            (_, _) => u16s.map(u32::from).collect(),
        };
        let mut bytes = Vec::new();
        format::encode_unsigned(&values, width, &mut bytes);
        wide.append(&bytes)?;
        Ok(crate::checksum::crc32c(&bytes))
    }
}
