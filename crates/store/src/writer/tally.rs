//! Rows that a writer has appended, counted.

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
    /// Counts rows in order of time.
    pub(super) fn add(&mut self, times: &[i64], channels: &[u16]) {
        let label_max = channels.iter().copied().max().map_or(0, usize::from);
        if self.by_channel.len() <= label_max {
            self.by_channel.resize(label_max + 1, 0);
        }
        for &channel in channels {
            self.by_channel[usize::from(channel)] += 1;
        }
        self.rows += times.len() as u64;
        let span = times.first().copied().zip(times.last().copied());
        self.span = joined(self.span, span);
    }

    /// Adds rows that come after these.
    pub(super) fn merge(&mut self, later: &Self) {
        if self.by_channel.len() < later.by_channel.len() {
            self.by_channel.resize(later.by_channel.len(), 0);
        }
        for (rows, more) in self.by_channel.iter_mut().zip(&later.by_channel) {
            *rows += more;
        }
        self.rows += later.rows;
        self.span = joined(self.span, later.span);
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

pub(super) fn joined(earlier: Option<(i64, i64)>, later: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (earlier, later) {
        (Some((first, _)), Some((_, last))) => Some((first, last)),
        (span, None) | (None, span) => span,
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
