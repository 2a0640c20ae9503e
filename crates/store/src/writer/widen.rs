//! A column that is written again: with wider values, or with micro times for rows that had none.

use std::mem;

use super::Writer;
use crate::{
    Error,
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, FileKind, HEADER_BYTES},
    growing::Growing,
    manifest::files::FileName,
    names::STEMS,
};

/// A column whose values can become wider.
#[derive(Clone, Copy)]
enum Column {
    Channel,
    Micro,
}

impl Writer {
    /// Rewrites the channel column with two bytes a label.
    pub(super) fn widen_channel(&mut self) -> Result<(), Error> {
        self.rewrite(Column::Channel, "u16", 2)
    }

    /// Rewrites the column of micro times with `width` bytes a value, or adds it: rows before have none.
    pub(super) fn widen_micro(&mut self, width: u16) -> Result<(), Error> {
        self.rewrite(Column::Micro, if width == 2 { "u16" } else { "u32" }, width)
    }

    /// Writes a column again with values of `width` bytes, and the index over it, under new names.
    /// The old files serve readers until the next commit names the new ones. All rows appended are written.
    fn rewrite(&mut self, column: Column, kind: &str, width: u16) -> Result<(), Error> {
        let commit = self.manifest.commit + 1;
        let run_id = self.manifest.run_id;
        let [_, channel_stem, blocks_stem, _, micro_stem, ..] = &STEMS;
        let (stem, file_kind) = match column {
            Column::Channel => (channel_stem, FileKind::Channel),
            Column::Micro => (micro_stem, FileKind::Micro),
        };
        let file =
            FileName { name: stem.unused_name(&self.folder, commit)?, kind: kind.into(), width };
        let blocks_name = blocks_stem.unused_name(&self.folder, commit)?;
        let create = |name: &str, kind, width| {
            let header = format::encode_header(kind, width, run_id);
            Growing::create(&self.disk, &self.folder, name, &header)
        };
        let mut wide = create(&file.name, file_kind, width)?;
        let mut blocks = create(&blocks_name, FileKind::Blocks, 64)?;
        let full_blocks = (self.run.rows - self.open_block.tally.rows) / BLOCK_ROWS as u64;
        self.chain = 0;
        for block in 0..full_blocks {
            let crc = self.rewrite_rows(column, &mut wide, width, block, BLOCK_ROWS)?;
            let (mut entry, counts) = self.entry_of(block)?;
            match column {
                Column::Channel => entry.crc_channel = crc,
                Column::Micro => entry.crc_micro = Some(crc),
            }
            entry.chain = entry.chained(self.chain, &counts);
            blocks.append(&entry.encode())?;
            self.chain = entry.chain;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 65,536")]
        let rows_left = self.open_block.tally.rows as usize;
        let crc = self.rewrite_rows(column, &mut wide, width, full_blocks, rows_left)?;
        let files = &mut self.manifest.files;
        let old = match column {
            Column::Channel => {
                self.open_block.crc_channel = crc;
                files.channel = file;
                Some(mem::replace(&mut self.channel, wide))
            }
            Column::Micro => {
                self.open_block.crc_micro = crc;
                files.micro = Some(file);
                self.micro.replace(wide)
            }
        };
        files.blocks.name = blocks_name;
        self.manifest.set_version();
        let old_blocks = mem::replace(&mut self.blocks, blocks);
        let replaced = old.iter().chain([&old_blocks]);
        self.obsolete.extend(replaced.map(|file| file.name().to_owned()));
        self.names_changed = true;
        Ok(())
    }

    /// The entry of a full block as it is, and the bytes of its counts.
    fn entry_of(&self, block: u64) -> Result<(BlockEntry, Vec<u8>), Error> {
        let mut bytes = [0; format::BLOCK_ENTRY_BYTES];
        let at = HEADER_BYTES as u64 + block * bytes.len() as u64;
        self.blocks.read_at(&mut bytes, at)?;
        let entry = BlockEntry::decode(&bytes, self.micro.is_some());
        let entry = entry.ok_or_else(|| Error::Damaged {
            path: self.blocks.path().into(),
            what: format!("the reserved bytes of block {block}"),
            expected: "zero".into(),
            found: "something else".into(),
        })?;
        let mut counts = vec![0; entry.counts_len as usize * COUNT_ENTRY_BYTES];
        let at = HEADER_BYTES as u64 + entry.counts_start * COUNT_ENTRY_BYTES as u64;
        self.counts.read_at(&mut counts, at)?;
        Ok((entry, counts))
    }

    /// Copies the first `rows` values of a block into the wide column; returns their checksum.
    fn rewrite_rows(
        &self,
        column: Column,
        wide: &mut Growing,
        width: u16,
        block: u64,
        rows: usize,
    ) -> Result<u32, Error> {
        let start = block * BLOCK_ROWS as u64;
        let values: Vec<u32> = match (column, &self.micro) {
            (Column::Channel, _) => {
                let mut labels = vec![0_u8; rows];
                self.channel.read_at(&mut labels, HEADER_BYTES as u64 + start)?;
                labels.into_iter().map(u32::from).collect()
            }
            (Column::Micro, Some(narrow)) => {
                let mut values = vec![0_u16; rows];
                let bytes = bytemuck::cast_slice_mut(&mut values);
                narrow.read_at(bytes, HEADER_BYTES as u64 + start * 2)?;
                values.into_iter().map(format::widen_micro).collect()
            }
            (Column::Micro, None) => vec![format::MICRO_NONE; rows],
        };
        let mut bytes = Vec::new();
        format::encode_unsigned(&values, width, &mut bytes);
        wide.append(&bytes)?;
        Ok(crate::checksum::crc32c(&bytes))
    }
}
