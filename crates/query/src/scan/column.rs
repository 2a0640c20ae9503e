//! The columns from which the distances of the rows of a source follow, as they are stored.
//!
//! Gaps 3 and 4 before two rows: the second is 7 ticks after the row before both. A gap of 65,535 stands for every
//! longer distance, so gaps are only compared with shorter reaches.

use std::ops::Range;

use tagq_store::{COLUMN_PIECE_ROWS, RowValues, Times};

use crate::kernels::neighbours::{ComparedRows, DistanceColumn};

/// A column of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredColumn<'a> {
    /// Gaps, for distances below [`GAP_MAX`](tagq_store::format::GAP_MAX).
    Gaps(RowValues<'a, u16>),
    /// Gaps of 32 bits, decoded from gaps and far distances, for distances below [`u32::MAX`].
    WideGaps(Times<'a>),
    /// Times, which may have to be decoded.
    Times(Times<'a>),
}

impl<'a> StoredColumn<'a> {
    /// Returns the same column without checks, to cut its rows where they are not counted yet.
    pub(crate) fn unchecked(self) -> Self {
        match self {
            Self::Gaps(gaps) => Self::Gaps(gaps.unchecked()),
            Self::WideGaps(times) => Self::WideGaps(times.unchecked()),
            Self::Times(times) => Self::Times(times.unchecked()),
        }
    }

    /// Returns the distance of a row from the row before it; all distances from
    /// [`GAP_MAX`](tagq_store::format::GAP_MAX) on may be the same.
    #[inline]
    pub(crate) fn gap(self, row: usize) -> i64 {
        match self {
            Self::Gaps(gaps) => gaps.at(row).into(),
            Self::WideGaps(times) | Self::Times(times) => times.gap(row).unwrap_or(i64::MAX),
        }
    }

    /// Returns how many rows before `row` are at most `reach` ticks before it.
    pub(crate) fn rows_before(self, row: usize, reach: i64) -> usize {
        self.rows_within(reach, (1..=row).rev())
    }

    /// Returns how many rows after `row` are at most `reach` ticks after it.
    pub(crate) fn rows_after(self, row: usize, reach: i64) -> usize {
        self.rows_within(reach, row + 1..self.len())
    }

    /// Returns how many gaps of these rows add up to at most `reach`.
    fn rows_within(self, reach: i64, rows: impl Iterator<Item = usize>) -> usize {
        let mut distance = 0_i64;
        let is_reached = |row: usize| {
            distance = distance.saturating_add(self.gap(row));
            distance <= reach
        };
        rows.map(is_reached).take_while(|&is_reached| is_reached).count()
    }

    /// Returns whether its rows are decoded into a buffer.
    pub(crate) fn is_decoded(self) -> bool {
        match self {
            Self::Gaps(_) => false,
            Self::WideGaps(_) => true,
            Self::Times(times) => times.column().is_none(),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Gaps(gaps) => gaps.len(),
            Self::WideGaps(times) | Self::Times(times) => times.len(),
        }
    }

    /// Divides rows into ranges that are read one after the other while they are in the cache; gaps are not divided.
    pub(crate) fn parts(self, rows: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let step = match self {
            Self::Gaps(_) => rows.len().max(1),
            _ if self.is_decoded() => PART_ROWS,
            Self::WideGaps(_) | Self::Times(_) => COLUMN_PIECE_ROWS,
        };
        let end = rows.end;
        rows.clone().step_by(step).map(move |start| start..end.min(start + step))
    }

    /// Reads rows to compare them with rows before them. `look_back` rows before are read, too; `labels` has all rows
    /// of the column. Returns the rows as parts of columns, and the row that is the first of these parts.
    pub(crate) fn compared<'b>(
        self,
        rows: &Range<usize>,
        look_back: usize,
        (labels, number_of): (RowValues<'b, u8>, &'b [u8; 256]),
        buffers: &'b mut Decoded,
    ) -> (ComparedRows<'b>, usize)
    where
        'a: 'b,
    {
        let first = rows.start.saturating_sub(look_back);
        let part = first..rows.end;
        let column = match self {
            Self::Gaps(gaps) => DistanceColumn::Gaps(gaps.read(part.clone())),
            Self::WideGaps(times) => {
                DistanceColumn::WideGaps(times.distances(part.clone(), &mut buffers.gaps))
            }
            Self::Times(times) => {
                DistanceColumn::Times(times.read(part.clone(), &mut buffers.times))
            }
        };
        let range = rows.start - first..rows.end - first;
        (ComparedRows { column, labels: labels.read(part), range, number_of }, first)
    }
}

/// Rows of a part that is decoded (docs/decisions.md, section "Distances of 32 bits are expanded in the cache").
const PART_ROWS: usize = 1 << 10;

/// Buffers for decoded rows.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) times: Vec<i64>,
    gaps: Vec<u32>,
}
