//! The rows that a selection needs, found from the index: blocks without selected tags are never read.
//!
//! If blocks 0, 1 and 3 have tags of the wanted channel among others, and block 2 has none, the rows 0 to 131,071 and
//! 196,608 to 262,143 are read, and their labels are checked row by row.

use std::ops::Range;

use tagq_query::TimeRange;
use tagq_store::{Block, Error, Store, Tags, format::BLOCK_ROWS};

use super::selection::TagSelection;

/// Consecutive rows of which some or all are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Row numbers in the store.
    pub rows: Range<usize>,
    /// Whether all of them are selected; otherwise each label is checked.
    pub is_whole: bool,
}

impl Stretch {
    /// Returns the number of blocks that it overlaps.
    pub fn blocks(&self) -> u64 {
        if self.rows.is_empty() {
            return 0;
        }
        ((self.rows.end - 1) / BLOCK_ROWS - self.rows.start / BLOCK_ROWS + 1) as u64
    }

    /// Splits the rows at block boundaries into pieces of at most this many blocks.
    pub fn pieces(self, blocks: usize) -> impl Iterator<Item = Self> {
        self.of_rows(blocks.saturating_mul(BLOCK_ROWS))
    }

    /// Splits the rows at multiples of `step`.
    pub(super) fn of_rows(self, step: usize) -> impl Iterator<Item = Self> {
        let Self { rows, is_whole } = self;
        let mut start = rows.start;
        std::iter::from_fn(move || {
            let end = (start / step).saturating_add(1).saturating_mul(step).min(rows.end);
            let piece = (start < end).then_some(Self { rows: start..end, is_whole });
            start = end;
            piece
        })
    }
}

/// Returns the rows of a selection in order; all rows, without reading the index, if the selection
/// excludes no time and no channel. If the range cuts a block, the exact row is searched in `tags`.
///
/// # Errors
/// A damaged index.
pub fn stretches(
    store: &Store,
    tags: Tags<'_>,
    selection: &TagSelection,
) -> Result<Vec<Stretch>, Error> {
    let TagSelection { range, channels, first, left_out, .. } = selection;
    let channels = channels.as_deref();
    let end = first.map_or(tags.len(), |first| first.min(tags.len()));
    if range.is_open() && channels.is_none() && left_out.blocks.is_empty() {
        return Ok(vec![Stretch { rows: 0..end, is_whole: true }]);
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    let blocks = store.blocks()?;
    let is_kept = |&(number, _): &(u64, &Block)| !left_out.holds(number);
    for (_, block) in (0..).zip(&blocks).filter(is_kept) {
        if block.rows.start >= end as u64 {
            break;
        }
        let mut rows = rows_within(block, tags, range);
        rows.end = rows.end.min(end);
        let is_whole = match of_channels(block, channels) {
            _ if rows.is_empty() => continue,
            Held::None => continue,
            Held::Some => false,
            Held::All => true,
        };
        match stretches.last_mut() {
            Some(last) if last.is_whole == is_whole && last.rows.end == rows.start => {
                last.rows.end = rows.end;
            }
            _ => stretches.push(Stretch { rows, is_whole }),
        }
    }
    Ok(stretches)
}

fn rows_within(block: &Block, tags: Tags<'_>, range: &TimeRange) -> Range<usize> {
    #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
    let rows = block.rows.start as usize..block.rows.end as usize;
    let after = |side: Option<i64>, otherwise: usize| match side {
        Some(time) if time <= block.time_min => rows.start,
        Some(time) if time > block.time_max => rows.end,
        Some(time) => {
            rows.start + tags.time.rows(rows.clone()).partition_point(|before| before < time)
        }
        None => otherwise,
    };
    let (start, end) = (after(range.from, rows.start), after(range.to, rows.end));
    start..end.max(start)
}

enum Held {
    None,
    Some,
    All,
}

fn of_channels(block: &Block, channels: Option<&[u16]>) -> Held {
    let Some(channels) = channels else { return Held::All };
    let is_wanted = |channel: u16| channels.contains(&channel);
    let wanted = block.channels.iter().filter(|of| is_wanted(of.channel)).count();
    match wanted {
        0 => Held::None,
        n if n == block.channels.len() => Held::All,
        _ => Held::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_where_blocks_are() {
        let stretch = |rows| Stretch { rows, is_whole: true };
        let rows = |blocks: usize| blocks * BLOCK_ROWS;
        let whole = stretch(rows(1) - 5..rows(4) + 1);
        assert_eq!(whole.blocks(), 5);
        let pieces: Vec<Stretch> = whole.pieces(2).collect();
        assert_eq!(
            pieces,
            [
                stretch(rows(1) - 5..rows(2)),
                stretch(rows(2)..rows(4)),
                stretch(rows(4)..rows(4) + 1)
            ]
        );
        assert_eq!(stretch(7..7).pieces(1).count(), 0);
        assert_eq!((stretch(7..7).blocks(), stretch(0..rows(1)).blocks()), (0, 1));
    }
}
