//! A wider channel column, once a label above 255 appears.

use super::Writer;
use crate::{
    Error,
    format::{self, BLOCK_ROWS, BlockEntry, COUNT_ENTRY_BYTES, FileKind, HEADER_BYTES},
    growing::Growing,
    names::STEMS,
};

impl Writer {
    /// Rewrites the channel column with two bytes a label, and the index over it, under new names.
    /// The old files serve readers until the next commit names the new ones.
    pub(super) fn widen(&mut self) -> Result<(), Error> {
        let commit = self.manifest.commit + 1;
        let run_id = self.manifest.run_id;
        let [_, channel, blocks, _] = &STEMS;
        let channel_name = channel.unused_name(&self.folder, commit)?;
        let blocks_name = blocks.unused_name(&self.folder, commit)?;
        let header = |kind, width| format::encode_header(kind, width, run_id);
        let mut channel = Growing::create(
            &self.disk,
            &self.folder,
            &channel_name,
            &header(FileKind::Channel, 2),
        )?;
        let mut blocks =
            Growing::create(&self.disk, &self.folder, &blocks_name, &header(FileKind::Blocks, 64))?;
        self.settle();
        let full_blocks = (self.run.rows - self.open_block.tally.rows) / BLOCK_ROWS as u64;
        self.chain = 0;
        for block in 0..full_blocks {
            let crc_channel = self.widen_rows(&mut channel, block, BLOCK_ROWS)?;
            let mut bytes = [0; format::BLOCK_ENTRY_BYTES];
            let at = HEADER_BYTES as u64 + block * bytes.len() as u64;
            self.blocks.read_at(&mut bytes, at)?;
            let entry = BlockEntry::decode(&bytes).ok_or_else(|| Error::Damaged {
                path: self.blocks.path().into(),
                what: format!("the reserved bytes of block {block}"),
                expected: "zero".into(),
                found: "something else".into(),
            })?;
            let mut counts = vec![0; entry.counts_len as usize * COUNT_ENTRY_BYTES];
            let at = HEADER_BYTES as u64 + entry.counts_start * COUNT_ENTRY_BYTES as u64;
            self.counts.read_at(&mut counts, at)?;
            let mut entry = BlockEntry { crc_channel, ..entry };
            entry.chain = entry.chained(self.chain, &counts);
            blocks.append(&entry.encode())?;
            self.chain = entry.chain;
        }
        self.open_block.crc_channel =
            self.widen_rows(&mut channel, full_blocks, self.rows_in_block())?;
        let old_channel = std::mem::replace(&mut self.channel, channel);
        let old_blocks = std::mem::replace(&mut self.blocks, blocks);
        self.obsolete.extend([old_channel.name().into(), old_blocks.name().into()]);
        let files = &mut self.manifest.files;
        files.channel.name = channel_name;
        files.channel.kind = "u16".into();
        files.channel.width = 2;
        files.blocks.name = blocks_name;
        self.names_changed = true;
        Ok(())
    }

    /// Copies the first `rows` labels of a block into the wide column; returns their checksum.
    fn widen_rows(&self, wide: &mut Growing, block: u64, rows: usize) -> Result<u32, Error> {
        let mut labels = vec![0_u8; rows];
        self.channel.read_at(&mut labels, HEADER_BYTES as u64 + block * BLOCK_ROWS as u64)?;
        let labels: Vec<u16> = labels.into_iter().map(u16::from).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&labels);
        wide.append(bytes)?;
        Ok(crc32c::crc32c(bytes))
    }
}
