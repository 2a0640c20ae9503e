//! The columns from which the distances of the rows of a source follow, as they are stored.

use std::ops::Range;

use tagq_store::Times;

use crate::kernels::neighbours::{ComparedRows, DistanceColumn, REACH};

/// A column of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoredColumn<'a> {
    /// Gaps, for distances below [`GAP_MAX`](tagq_store::format::GAP_MAX).
    Gaps(&'a [u16]),
    /// Times, which may have to be decoded.
    Times(Times<'a>),
}

impl<'a> StoredColumn<'a> {
    /// Returns the distance of a row from the row before it; all distances from [`GAP_MAX`](tagq_store::format::GAP_MAX) on
    /// may be the same.
    #[inline]
    pub(crate) fn gap(self, row: usize) -> i64 {
        match self {
            Self::Gaps(gaps) => gaps[row].into(),
            Self::Times(times) => times.gap(row).unwrap_or(i64::MAX),
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
        matches!(self, Self::Times(times) if times.column().is_none())
    }

    /// Returns the number of rows.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Gaps(gaps) => gaps.len(),
            Self::Times(times) => times.len(),
        }
    }

    /// Reads rows to compare them with those before them; `labels` are those of all rows of the column. Returns the rows
    /// as parts of columns, and the row that is the first of these parts.
    pub(crate) fn compared<'b>(
        self,
        rows: &Range<usize>,
        labels: &'b [u8],
        number_of: &'b [u8; 256],
        buffer: &'b mut Vec<i64>,
    ) -> (ComparedRows<'b>, usize)
    where
        'a: 'b,
    {
        let first = rows.start.saturating_sub(REACH);
        let part = first..rows.end;
        let column = match self {
            Self::Gaps(gaps) => DistanceColumn::Gaps(&gaps[part.clone()]),
            Self::Times(times) => DistanceColumn::Times(times.read(part.clone(), buffer)),
        };
        let range = rows.start - first..rows.end - first;
        (ComparedRows { column, labels: &labels[part], range, number_of }, first)
    }
}
