//! The tags of a store, as columns: views that copy nothing.

use std::ops::Range;

use crate::{
    RowValues, Times,
    format::{MICRO_NONE, widen_micro},
};

/// The tags of a run or a part of it, in order of time: `time[i]` and row `i` of `channels` are one
/// tag. Both have the same length.
#[derive(Debug, Clone, Copy)]
pub struct Tags<'a> {
    /// Times in ticks.
    pub time: Times<'a>,
    /// Channel labels.
    pub channels: Channels<'a>,
}

/// The labels of consecutive tags, in the width that the store holds them in.
#[derive(Debug, Clone, Copy)]
pub enum Channels<'a> {
    /// No label of the run is above 255.
    U8(RowValues<'a, u8>),
    /// Some label is.
    U16(RowValues<'a, u16>),
}

/// The micro times of consecutive tags, in the width that the store holds them in: the time of a photon after
/// the pulse before it, in units of the manifest's `micro_tick`.
#[derive(Debug, Clone, Copy)]
pub enum MicroColumn<'a> {
    /// No micro time of the run is above 65,534; [`MICRO_NONE_U16`](crate::format::MICRO_NONE_U16) is none.
    U16(RowValues<'a, u16>),
    /// Some micro time is; [`MICRO_NONE`] is none.
    U32(RowValues<'a, u32>),
}

impl<'a> Tags<'a> {
    /// How many tags.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// The same tags without checks, see [`RowValues::unchecked`].
    #[must_use]
    pub fn unchecked(&self) -> Self {
        let channels = match self.channels {
            Channels::U8(labels) => Channels::U8(labels.unchecked()),
            Channels::U16(labels) => Channels::U16(labels.unchecked()),
        };
        Self { time: self.time.unchecked(), channels }
    }

    /// The tags of these rows.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Tags<'a> {
        Tags { time: self.time.rows(rows.clone()), channels: self.channels.rows(rows) }
    }
}

impl Channels<'_> {
    /// The label of one row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn label(&self, row: usize) -> u16 {
        match self {
            Self::U8(labels) => labels.at(row).into(),
            Self::U16(labels) => labels.at(row),
        }
    }

    /// Those of these rows. Reads nothing.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        match self {
            Self::U8(labels) => Self::U8(labels.rows(rows)),
            Self::U16(labels) => Self::U16(labels.rows(rows)),
        }
    }

    /// Those of these rows after their blocks were checked: they are not checked again.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn read(&self, rows: Range<usize>) -> Self {
        match self {
            Self::U8(labels) => Self::U8(labels.read(rows).into()),
            Self::U16(labels) => Self::U16(labels.read(rows).into()),
        }
    }

    /// Whether the blocks that hold them have the right checksums.
    pub(crate) fn is_right(&self) -> bool {
        match self {
            Self::U8(labels) => labels.is_right(0..labels.len()),
            Self::U16(labels) => labels.is_right(0..labels.len()),
        }
    }
}

/// Reads labels row by row: the block of a row is checked when the first of its rows is read.
#[derive(Debug, Clone)]
pub struct LabelReader<'a> {
    labels: Channels<'a>,
    /// The rows of the block that was checked last.
    checked: Range<usize>,
}

impl<'a> LabelReader<'a> {
    /// Prepares to read these labels.
    pub fn new(labels: Channels<'a>) -> Self {
        Self { labels, checked: 0..0 }
    }

    /// Returns the label of a row.
    ///
    /// # Panics
    /// When there is no such row.
    #[inline]
    pub fn at(&mut self, row: usize) -> u16 {
        if !self.checked.contains(&row) {
            self.checked = match self.labels {
                Channels::U8(labels) => labels.check_block_of(row),
                Channels::U16(labels) => labels.check_block_of(row),
            };
        }
        match self.labels {
            Channels::U8(labels) => labels.values()[row].into(),
            Channels::U16(labels) => labels.values()[row],
        }
    }
}

impl<'a> MicroColumn<'a> {
    /// The micro time of one row; `None` if it has none.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn get(&self, row: usize) -> Option<u32> {
        let value = match self {
            Self::U16(values) => widen_micro(values.at(row)),
            Self::U32(values) => values.at(row),
        };
        (value != MICRO_NONE).then_some(value)
    }

    /// Those of these rows.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> MicroColumn<'a> {
        match self {
            Self::U16(values) => Self::U16(values.rows(rows)),
            Self::U32(values) => Self::U32(values.rows(rows)),
        }
    }

    /// Those of these rows after their blocks were checked: they are not checked again.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn read(&self, rows: Range<usize>) -> Self {
        match self {
            Self::U16(values) => Self::U16(values.read(rows).into()),
            Self::U32(values) => Self::U32(values.read(rows).into()),
        }
    }

    /// Whether the blocks that hold them have the right checksums.
    pub(crate) fn is_right(&self) -> bool {
        match self {
            Self::U16(values) => values.is_right(0..values.len()),
            Self::U32(values) => values.is_right(0..values.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{
        files::FileKind,
        format::BLOCK_ROWS,
        row_values::{CheckRows, Kinds},
    };

    /// The rows that were checked.
    #[derive(Default)]
    struct Checked(Mutex<Vec<Range<usize>>>);

    impl CheckRows for Checked {
        fn check_rows(&self, _: Kinds, rows: Range<usize>) -> bool {
            self.0.lock().unwrap().push(rows);
            true
        }
    }

    #[test]
    fn a_block_is_checked_when_its_first_label_is_read() {
        // Rows of the run from 65,500 on: the first 36 are in block 0.
        let first = BLOCK_ROWS - 36;
        let values: Vec<u8> = (0..=250).cycle().take(BLOCK_ROWS + 100).collect();
        let checked = Checked::default();
        let labels = RowValues::checked(&values, &checked, FileKind::Channel, first);
        let mut labels = LabelReader::new(Channels::U8(labels));
        for (row, &value) in values.iter().enumerate() {
            assert_eq!(labels.at(row), u16::from(value));
        }
        assert_eq!(labels.at(3), 3);
        let found = checked.0.into_inner().unwrap();
        let rows = [0, 36, BLOCK_ROWS + 36, 3].map(|row| first + row..first + row + 1);
        assert_eq!(found, rows);
    }
}
