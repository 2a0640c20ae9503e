//! A column that is written again: with wider values, or with micro times for rows that had none.

use super::Writer;
use crate::{
    Error,
    files::{FileKind, FileName},
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, HEADER_BYTES},
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
    /// store did not have is added: rows before have no value in it. All rows appended are written.
    pub(super) fn widen(&mut self, kind: FileKind, width: u16) -> Result<(), Error> {
        let (entry_of_column, mut wide) = self.create_file(kind, width)?;
        let (entry_of_blocks, mut blocks) = self.create_file(FileKind::Blocks, 64)?;
        let full_blocks = (self.run.rows - self.open_block.tally.rows) / BLOCK_ROWS as u64;
        self.chain = 0;
        for block in 0..full_blocks {
            let crc = self.rewrite_rows(kind, &mut wide, width, block, BLOCK_ROWS)?;
            let (mut entry, counts) = self.entry_of(block)?;
            entry.checksums[kind] = Some(crc);
            entry.chain = entry.chained(self.chain, &counts);
            blocks.append(&entry.encode())?;
            self.chain = entry.chain;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 65,536")]
        let rows_left = self.open_block.tally.rows as usize;
        let crc = self.rewrite_rows(kind, &mut wide, width, full_blocks, rows_left)?;
        self.open_block.checksums[kind] = crc;
        self.replace_file(kind, entry_of_column, wide);
        self.replace_file(FileKind::Blocks, entry_of_blocks, blocks);
        Ok(())
    }

    /// The entry of a full block as it is, and the bytes of its counts.
    fn entry_of(&self, block: u64) -> Result<(BlockEntry, Vec<u8>), Error> {
        let mut bytes = [0; format::BLOCK_ENTRY_BYTES];
        let at = HEADER_BYTES as u64 + block * bytes.len() as u64;
        self.file(FileKind::Blocks).read_at(&mut bytes, at)?;
        let entry = BlockEntry::decode(&bytes, |kind| self.manifest.has(kind));
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

    /// Copies the first `rows` values of a block into the wide column; returns their checksum.
    fn rewrite_rows(
        &self,
        kind: FileKind,
        wide: &mut Growing,
        width: u16,
        block: u64,
        rows: usize,
    ) -> Result<u32, Error> {
        let start = block * BLOCK_ROWS as u64;
        let old_width = self.manifest.width_of(kind);
        let mut bytes = vec![0; rows * usize::from(old_width)];
        if let Some(narrow) = &self.files[kind] {
            narrow.read_at(&mut bytes, HEADER_BYTES as u64 + start * u64::from(old_width))?;
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
