//! The tags of a store, as columns.

use std::ops::Range;

/// The tags of a run or a part of it, in order of time: `time[i]` and row `i` of `channels` are one
/// tag. Both have the same length.
#[derive(Debug, Clone, Copy)]
pub struct Tags<'a> {
    /// Times in ticks.
    pub time: &'a [i64],
    /// Channel labels.
    pub channels: Channels<'a>,
}

/// The labels of consecutive tags, in the width that the store holds them in.
#[derive(Debug, Clone, Copy)]
pub enum Channels<'a> {
    /// No label of the run is above 255.
    U8(&'a [u8]),
    /// Some label is.
    U16(&'a [u16]),
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

    /// The tags of these rows.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Tags<'a> {
        let channels = match self.channels {
            Channels::U8(labels) => Channels::U8(&labels[rows.clone()]),
            Channels::U16(labels) => Channels::U16(&labels[rows.clone()]),
        };
        Tags { time: &self.time[rows], channels }
    }
}

impl Channels<'_> {
    /// The label of one row.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn label(&self, row: usize) -> u16 {
        match self {
            Self::U8(labels) => labels[row].into(),
            Self::U16(labels) => labels[row],
        }
    }
}
