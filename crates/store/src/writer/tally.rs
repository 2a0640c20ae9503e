//! Rows that a writer has appended, counted.

use super::block_part::BlockPart;
use crate::{manifest::LastBlock, manifest::source::ChannelRows};

/// Rows counted by channel, and the first and last of their times.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub rows: u64,
    pub span: Option<(i64, i64)>,
    /// Indexed by label, as long as the largest label seen needs.
    pub by_channel: Vec<u64>,
}

/// The unfinished last block.
#[derive(Debug, Default)]
pub(super) struct OpenBlock {
    pub tally: Tally,
    pub crc_time: u32,
    pub crc_channel: u32,
    /// Of no meaning in a store without micro times.
    pub crc_micro: u32,
    /// Of no meaning in a store without gaps.
    pub crc_gap: u32,
}

impl Tally {
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
    /// Adds rows that come after these, in columns of channels and micro times of so many bytes a value.
    pub(super) fn add(&mut self, part: &BlockPart, channel_width: u16, micro_width: u16) {
        let rows = self.tally.rows;
        let join = |crc: &mut u32, more: u32, width: u16| {
            #[expect(clippy::cast_possible_truncation, reason = "a block has 65,536 rows")]
            let bytes = part.rows as usize * usize::from(width);
            *crc =
                if rows == 0 { more } else { crate::checksum::crc32c_combine(*crc, more, bytes) };
        };
        join(&mut self.crc_time, part.crc_time, 8);
        join(&mut self.crc_channel, part.crc_channel, channel_width);
        join(&mut self.crc_micro, part.crc_micro, micro_width);
        join(&mut self.crc_gap, part.crc_gap, 2);
        self.tally.add(part);
    }

    pub(super) fn resume(block: &LastBlock) -> Self {
        Self {
            tally: Tally {
                rows: block.rows.into(),
                span: Some((block.time_min, block.time_max)),
                by_channel: by_label(&block.counts),
            },
            crc_time: block.crc_time,
            crc_channel: block.crc_channel,
            crc_micro: block.crc_micro.unwrap_or(0),
            crc_gap: block.crc_gap.unwrap_or(0),
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
