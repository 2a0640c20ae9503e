//! Values of consecutive rows in a column, which are checked where they are read.
//!
//! Reading rows 65,530 to 65,539 compares blocks 0 and 1 with their checksums; a block that was found right is not
//! compared again. Code that reads values without [`RowValues::read`] or [`RowValues::at`] must check them itself.

use std::{
    fmt,
    ops::{BitOr, Range},
};

use crate::{files::FileKind, format::BLOCK_ROWS, os};

/// Values of consecutive rows in a column. A copy is a view of the same values.
///
/// Each block of a column of a store is compared with its checksum when a part of it is first read. Values without the
/// right checksum are given out all the same: [`Store::guarded`](crate::Store::guarded) then refuses what a scan made
/// of them.
#[derive(Clone, Copy)]
pub struct RowValues<'a, T> {
    values: &'a [T],
    check: Option<Check<'a>>,
}

/// The check of a column.
#[derive(Clone, Copy)]
struct Check<'a> {
    blocks: &'a dyn CheckRows,
    kinds: Kinds,
    /// The row of the run that is the first of the values.
    first: usize,
}

/// Kinds of files whose blocks are checked together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) u16);

/// Compares blocks with their checksums.
pub(crate) trait CheckRows: Sync {
    /// Returns whether the blocks that hold these rows of the run have the right checksums in files of these kinds.
    /// Damage is remembered for those who use the rows.
    fn check_rows(&self, kinds: Kinds, rows: Range<usize>) -> bool;
}

impl<'a, T> RowValues<'a, T> {
    /// Creates a view of values that are checked when they are read. `first` is the row of the run that is the first of
    /// them.
    pub(crate) fn checked(
        values: &'a [T],
        blocks: &'a dyn CheckRows,
        kind: FileKind,
        first: usize,
    ) -> Self {
        Self { values, check: Some(Check { blocks, kinds: kind.into(), first }) }
    }

    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the values of these rows. Reads nothing.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let check = self.check.map(|check| Check { first: check.first + rows.start, ..check });
        Self { values: &self.values[rows], check }
    }

    /// Returns the values of these rows, and checks their blocks.
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn read(&self, rows: Range<usize>) -> &'a [T] {
        self.is_right(rows.clone());
        &self.values[rows]
    }

    /// Returns all values, and checks their blocks.
    pub fn all(&self) -> &'a [T] {
        self.read(0..self.len())
    }

    /// Returns whether the blocks that hold these rows have the right checksums.
    pub fn is_right(&self, rows: Range<usize>) -> bool {
        self.check.is_none_or(|Check { blocks, kinds, first }| {
            blocks.check_rows(kinds, first + rows.start..first + rows.end)
        })
    }

    /// Checks the block that holds a row. Returns the rows of that block.
    ///
    /// # Panics
    /// When there is no such row.
    pub(crate) fn check_block_of(&self, row: usize) -> Range<usize> {
        assert!(row < self.len(), "a row of the view");
        let Some(Check { blocks, kinds, first }) = self.check else { return 0..self.len() };
        let begin = (first + row) / BLOCK_ROWS * BLOCK_ROWS;
        blocks.check_rows(kinds, first + row..first + row + 1);
        begin.saturating_sub(first)..self.len().min(begin + BLOCK_ROWS - first)
    }

    /// Returns the same values without a check: for plans and cuts, whose rows are checked where they are counted.
    #[must_use]
    pub fn unchecked(&self) -> Self {
        Self { values: self.values, check: None }
    }

    /// Returns the values of rows that are checked by others.
    pub(crate) fn values(&self) -> &'a [T] {
        self.values
    }
}

impl<T: bytemuck::Pod> RowValues<'_, T> {
    /// Returns the value of a row, and checks its block.
    ///
    /// # Panics
    /// When there is no such row.
    #[inline]
    pub fn at(&self, row: usize) -> T {
        self.is_right(row..row + 1);
        self.values[row]
    }

    /// Tells the system that these rows will be read: it fetches them together.
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn will_need(&self, rows: Range<usize>) {
        os::will_need(&self.values[rows]);
    }
}

impl<'a, T> From<&'a [T]> for RowValues<'a, T> {
    /// Values in memory, which have no checksums.
    fn from(values: &'a [T]) -> Self {
        Self { values, check: None }
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for RowValues<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        values[..].into()
    }
}

impl<'a, T> From<&'a Vec<T>> for RowValues<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        values[..].into()
    }
}

impl<T: fmt::Debug> fmt::Debug for RowValues<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().fmt(f)
    }
}

impl Kinds {
    /// Returns the kinds. Those come first without which others cannot be found: steps and gaps say where far distances
    /// are.
    pub(crate) fn iter(self) -> impl Iterator<Item = FileKind> {
        let others = FileKind::all().filter(|&kind| kind != FileKind::Steps);
        let all = [FileKind::Steps].into_iter().chain(others);
        all.filter(move |&kind| self.0 & Self::from(kind).0 != 0)
    }
}

impl From<FileKind> for Kinds {
    fn from(kind: FileKind) -> Self {
        Self(1 << kind as usize)
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
