//! Rows that a writer has appended, counted by channel, with the checksums of the open block.
//!
//! Parts of a block have a checksum each. They are combined in the order of rows, so the sum is that of the bytes of
//! the whole block.

use super::block_part::BlockPart;
use crate::{
    Manifest,
    files::{FileKind, PerFile},
    manifest::{LastBlock, source::ChannelRows},
};

/// Rows counted by channel, and the first and last of their times.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockTally {
    pub rows: u64,
    pub span: Option<(i64, i64)>,
    /// Indexed by label, as long as the largest label seen needs.
    pub by_channel: Vec<u64>,
}

/// The unfinished last block.
#[derive(Debug, Default)]
pub(super) struct OpenBlock {
    pub tally: BlockTally,
    /// The crc32c of its times, and of its bytes in each other file with values of rows; of no meaning for other files.
    pub checksums: PerFile<u32>,
}

impl BlockTally {
    /// Adds rows that come after these.
    pub(super) fn add(&mut self, part: &BlockPart) {
        let labels = part.channels.last().map_or(0, |last| usize::from(last.channel) + 1);
        if self.by_channel.len() < labels {
            self.by_channel.resize(labels, 0);
        }
        for more in &part.channels {
            self.by_channel[usize::from(more.channel)] += more.rows;
        }
        self.rows += part.rows;
        self.span = match (self.span, part.span) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (span, None) | (None, span) => span,
        };
    }

    /// The channels that have rows, ascending.
    pub(super) fn channels(&self) -> Vec<ChannelRows> {
        (0..=u16::MAX)
            .zip(&self.by_channel)
            .filter(|&(_, &rows)| rows > 0)
            .map(|(channel, &rows)| ChannelRows { channel, rows })
            .collect()
    }
}

impl OpenBlock {
    /// Adds rows that come after these, in the columns of this manifest.
    pub(super) fn add(&mut self, part: &BlockPart, manifest: &Manifest) {
        for kind in FileKind::columns().filter(|&kind| manifest.is_checksummed(kind)) {
            let width = match kind {
                FileKind::Time => size_of::<i64>(),
                _ => manifest.width_of(kind).into(),
            };
            #[expect(clippy::cast_possible_truncation, reason = "a block has 65,536 rows")]
            let bytes = part.rows as usize * width;
            let (crc, more) = (&mut self.checksums[kind], part.checksums[kind]);
            *crc = match self.tally.rows {
                0 => more,
                _ => crate::checksum::crc32c_combine(*crc, more, bytes),
            };
        }
        self.tally.add(part);
    }

    pub(super) fn resume(block: &LastBlock) -> Self {
        Self {
            tally: BlockTally {
                rows: block.rows.into(),
                span: Some((block.time_min, block.time_max)),
                by_channel: by_label(&block.counts),
            },
            checksums: PerFile::from_fn(|kind| block.checksums[kind].unwrap_or(0)),
        }
    }
}

pub(super) fn by_label(channels: &[ChannelRows]) -> Vec<u64> {
    let len = channels.iter().map(|c| usize::from(c.channel) + 1).max().unwrap_or(0);
    let mut rows = vec![0; len];
    for channel in channels {
        rows[usize::from(channel.channel)] = channel.rows;
    }
    rows
}
