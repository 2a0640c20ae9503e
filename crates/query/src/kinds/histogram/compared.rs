//! Rows that are compared with the rows before them, to count their differences.

use std::ops::Range;

use crate::{
    kernels::neighbours::{DistanceColumn, PairDistances},
    scan::{
        morsels::seek,
        route::{Route, Work},
    },
};

/// Rows that are compared with the rows before them.
#[derive(Clone)]
pub(super) struct Compared<'a> {
    pub column: DistanceColumn<'a>,
    pub time: &'a [i64],
    pub labels: &'a [u8],
    /// The rows that are counted as the later ones of their pairs.
    pub rows: Range<usize>,
    /// The labels of starts and stops.
    pub ends: [u8; 2],
    /// The delays of starts and stops, which are not in the times.
    pub delays: [i64; 2],
    /// The distances of the times that count.
    pub distances: PairDistances,
}

/// Where neighbours are compared.
pub(super) enum Near<'a> {
    /// In the columns as stored: all rows that are counted.
    Columns(Compared<'a>),
    /// In a list of both channels, with their delays.
    OneList(PairDistances),
}

impl Compared<'_> {
    /// Returns the rows that are read, and how.
    pub(super) fn row_ranges(&self) -> (Route, Range<usize>) {
        let rows = &self.rows;
        match self.column {
            DistanceColumn::Gaps(_) | DistanceColumn::WideGaps(_) => (Route::Gaps, rows.clone()),
            DistanceColumn::Times(_) => {
                (Route::Columns(Work::Differences), self.head(rows.start)..rows.end)
            }
        }
    }

    /// Returns the first row within reach of this one.
    pub(super) fn head(&self, row: usize) -> usize {
        let earliest = self.time[row].saturating_sub(self.distances.reach());
        seek(self.time, row, |time| time < earliest)
    }

    /// Iterates over the delayed times of the starts (0) or stops (1) of these rows.
    pub(super) fn delayed(&self, end: usize, rows: &Range<usize>) -> impl Iterator<Item = i64> {
        let tags = self.time[rows.clone()].iter().zip(&self.labels[rows.clone()]);
        let (label, delay) = (self.ends[end], self.delays[end]);
        tags.filter(move |&(_, &own)| own == label).map(move |(&time, _)| time + delay)
    }
}
