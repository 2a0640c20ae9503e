//! Counts the tags of each channel between two times: the N of every query.
//!
//! Whole blocks are counted from the index; rows are read only in blocks that an edge cuts.
//!
//! Rows 130 to 219 in blocks of 100: block 1 counts as a whole less rows 100 to 129, and rows 200 to 219 are read.
//! The smaller part of a cut block is read, at most half of it.

use std::ops::Range;

use tagq_store::{Block, Channels};

use crate::{
    kernels::{labels, simd::Simd},
    run::{recording::Source, time_range::TimeRange},
};

impl Source<'_> {
    /// Returns the rows whose time lies in `range`: the block that contains an end is found in the index.
    pub fn rows_in(&self, range: TimeRange) -> Range<usize> {
        rows_in(self, 0, range)
    }

    /// Returns the number of tags of `channel` whose time plus `delay` lies in `range`.
    ///
    /// Reads no row if the range covers everything; otherwise reads rows of the blocks that it cuts.
    pub fn singles_within(&self, channel: u16, delay: i64, range: TimeRange, simd: Simd) -> u64 {
        let mut count = [0];
        add_singles(self, &[channel], delay, range, simd, &mut count);
        count[0]
    }
}

/// Adds to `counts` the tags of each of `channels` whose time plus `delay` lies in `range`.
pub(crate) fn add_singles(
    source: &Source<'_>,
    channels: &[u16],
    delay: i64,
    range: TimeRange,
    simd: Simd,
    counts: &mut [u64],
) {
    add_rows(source, channels, rows_in(source, delay, range), simd, counts);
}

/// Returns the rows whose time plus `delay` lies in `range`; empty if it ends before it begins.
pub(crate) fn rows_in(source: &Source<'_>, delay: i64, range: TimeRange) -> Range<usize> {
    let limit = |limit: Option<i64>, open| limit.map_or(open, |limit| row_at(source, limit, delay));
    let first = limit(range.from, 0);
    first..limit(range.to, source.tags.len()).max(first)
}

/// Returns the first row whose time plus `delay` is at least `limit`.
pub(crate) fn row_at(source: &Source<'_>, limit: i64, delay: i64) -> usize {
    let time = source.tags.time;
    let limit = i128::from(limit) - i128::from(delay);
    match source.span() {
        Some((first, last)) if limit > i128::from(first) && limit <= i128::from(last) => {}
        // No row is read if the span already decides.
        Some((first, _)) if limit <= i128::from(first) => return 0,
        _ => return source.tags.len(),
    }
    let around = block_around(source, limit).unwrap_or(0..time.len());
    let of_block = time.rows(around.clone());
    let row = around.start + of_block.partition_point(|time| i128::from(time) < limit);
    source.check_near(row);
    row
}

/// Returns the rows of the block that contains the first time at or after `limit`, from the index alone.
fn block_around(source: &Source<'_>, limit: i128) -> Option<Range<usize>> {
    let (blocks, row) = source.blocks();
    let before = blocks.partition_point(|block| i128::from(block.time_max) < limit);
    blocks.get(before).map(|block| within(&block.rows, row, source.tags.len()))
}

/// Prefetches together the blocks that these times cut, which are in order.
pub(crate) fn prefetch(source: &Source<'_>, times: impl Iterator<Item = i128>) {
    let mut done = 0;
    for limit in times {
        let Some(rows) = block_around(source, limit).filter(|rows| rows.end > done) else {
            continue;
        };
        done = rows.end;
        source.tags.time.rows(rows.clone()).will_need();
        match source.tags.channels {
            Channels::U8(labels) => labels.will_need(rows),
            Channels::U16(labels) => labels.will_need(rows),
        }
    }
}

/// Returns the rows of a source whose labels [`add_singles`] reads.
pub(crate) fn rows_read(source: &Source<'_>, delay: i64, range: TimeRange) -> Vec<Range<usize>> {
    let mut read = Vec::new();
    pieces(source, rows_in(source, delay, range), |piece| match piece {
        Piece::Source | Piece::Block(_) => {}
        Piece::Rows(rows) | Piece::LeftOut(rows) => {
            read.extend((!rows.is_empty()).then_some(rows));
        }
    });
    read
}

/// Rows that are searched before the index is used.
const NEAR: usize = 1 << 12;

/// Returns the first of these rows that is of `channel`, or the last one.
pub(crate) fn row_among(
    source: &Source<'_>,
    channel: u16,
    rows: Range<usize>,
    wants_last: bool,
) -> Option<usize> {
    fn find<L: Copy + Into<u16>>(labels: &[L], channel: u16, wants_last: bool) -> Option<usize> {
        let is_it = |&label: &L| label.into() == channel;
        if wants_last { labels.iter().rposition(is_it) } else { labels.iter().position(is_it) }
    }
    let row = match source.tags.channels {
        Channels::U8(labels) => find(labels.read(rows.clone()), channel, wants_last),
        Channels::U16(labels) => find(labels.read(rows.clone()), channel, wants_last),
    };
    row.map(|row| rows.start + row)
}

/// Returns the last of the first `end` rows that is of `channel`. Skips blocks without such a tag.
pub(crate) fn last_row_of(source: &Source<'_>, channel: u16, end: usize) -> Option<usize> {
    if source.singles_of(channel) == 0 {
        return None;
    }
    let near = end.saturating_sub(NEAR)..end;
    let mut left = near.start;
    if let Some(row) = row_among(source, channel, near, true) {
        return Some(row);
    }
    let (blocks, first) = source.blocks();
    while left > 0 {
        let last = first + left as u64 - 1;
        let block = blocks.get(blocks.partition_point(|block| block.rows.end <= last));
        let start = match block {
            Some(block) => within(&block.rows, first, left - 1).start,
            None => left.saturating_sub(NEAR),
        };
        let may_hold =
            block.is_none_or(|block| block.channels.iter().any(|of| of.channel == channel));
        if may_hold && let Some(row) = row_among(source, channel, start..left, true) {
            return Some(row);
        }
        left = start;
    }
    None
}

/// Adds to `counts` the tags of each of `channels` among `rows` of the source.
pub(crate) fn add_rows(
    source: &Source<'_>,
    channels: &[u16],
    rows: Range<usize>,
    simd: Simd,
    counts: &mut [u64],
) {
    pieces(source, rows, |piece| match piece {
        Piece::Source => {
            for (count, &channel) in counts.iter_mut().zip(channels) {
                *count += source.singles_of(channel);
            }
        }
        Piece::Block(block) => {
            for (count, &channel) in counts.iter_mut().zip(channels) {
                let known = block.channels.iter().find(|known| known.channel == channel);
                *count += known.map_or(0, |known| known.rows);
            }
        }
        Piece::Rows(rows) => read(source, channels, rows, simd, |i, more| counts[i] += more),
        // If the index is damaged, more tags may be left out than the block has.
        Piece::LeftOut(rows) => {
            read(source, channels, rows, simd, |i, less| {
                counts[i] = counts[i].saturating_sub(less);
            });
        }
    });
}

/// The basis from which rows are counted.
enum Piece<'b> {
    /// The singles of the whole source.
    Source,
    /// The index entry of a block.
    Block(&'b Block),
    /// The rows themselves.
    Rows(Range<usize>),
    /// Rows to subtract: they belong to a block counted before, but not to the requested rows.
    LeftOut(Range<usize>),
}

/// Passes the pieces of `rows` to `take`.
fn pieces(source: &Source<'_>, rows: Range<usize>, mut take: impl FnMut(Piece<'_>)) {
    if rows.is_empty() {
        return;
    }
    if rows == (0..source.tags.len()) && source.is_whole() {
        return take(Piece::Source);
    }
    let (blocks, first) = source.blocks();
    let mut row = rows.start;
    let mut at = blocks.partition_point(|block| block.rows.end <= first + rows.start as u64);
    while let Some(block) = blocks.get(at).filter(|_| row < rows.end) {
        let inside = within(&block.rows, first, source.tags.len());
        let is_whole = (inside.end - inside.start) as u64 == block.rows.end - block.rows.start;
        let asked = row..inside.end.min(rows.end);
        // Of a block that is cut, the smaller part is read.
        if is_whole && 2 * asked.len() > inside.len() {
            take(Piece::Block(block));
            take(Piece::LeftOut(inside.start..asked.start));
            take(Piece::LeftOut(asked.end..inside.end));
        } else {
            take(Piece::Rows(asked.clone()));
        }
        row = asked.end;
        at += 1;
    }
    take(Piece::Rows(row.min(rows.end)..rows.end));
}

/// Returns the rows of a block that lie in a source of `len` rows whose first row is `first`, counted from
/// there.
fn within(block: &Range<u64>, first: u64, len: usize) -> Range<usize> {
    let at = |row: u64| usize::try_from(row.saturating_sub(first)).map_or(len, |row| row.min(len));
    at(block.start)..at(block.end)
}

/// Counts in the rows themselves, piece by piece, so that each piece is in cache for all channels.
fn read(
    source: &Source<'_>,
    channels: &[u16],
    rows: Range<usize>,
    simd: Simd,
    mut take: impl FnMut(usize, u64),
) {
    const PIECE: usize = 1 << 14;
    for start in rows.clone().step_by(PIECE) {
        let piece = start..rows.end.min(start + PIECE);
        for (i, &channel) in channels.iter().enumerate() {
            take(
                i,
                match source.tags.channels {
                    Channels::U8(label) => match u8::try_from(channel) {
                        Ok(channel) => labels::count(simd, label.read(piece.clone()), channel),
                        Err(_) => 0,
                    },
                    Channels::U16(label) => labels::count(simd, label.read(piece.clone()), channel),
                },
            );
        }
    }
}
