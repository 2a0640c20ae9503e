//! Rows that are compared with the rows before them, to count their differences.

use std::ops::Range;

use tagq_store::{RowValues, Times};

use crate::{
    kernels::neighbours::{DistanceColumn, PairDistances},
    scan::{
        column::StoredColumn,
        route::{Route, Work},
    },
};

/// Rows of a source as stored.
#[derive(Debug, Clone)]
pub(super) struct StoredRows<'a> {
    pub column: StoredColumn<'a>,
    pub labels: RowValues<'a, u8>,
    /// The rows that are counted as the later ones of their pairs.
    pub rows: Range<usize>,
    /// The labels of starts and stops.
    pub ends: [u8; 2],
    /// The delays of starts and stops, which are not in the times.
    pub delays: [i64; 2],
    /// The distances of the times that count.
    pub distances: PairDistances,
}

/// Rows in memory.
#[derive(Clone)]
pub(super) struct Compared<'a> {
    pub column: DistanceColumn<'a>,
    pub labels: &'a [u8],
    /// The rows that are counted as the later ones of their pairs.
    pub rows: Range<usize>,
    /// The labels of starts and stops.
    pub ends: [u8; 2],
    /// The distances of the times that count.
    pub distances: PairDistances,
}

/// A crowded row, the rows within its reach before it, and all later ones: their pairs are counted in lists.
pub(super) struct Crowded<'a> {
    pub time: &'a [i64],
    pub labels: &'a [u8],
    /// The crowded row.
    pub row: usize,
    pub ends: [u8; 2],
    pub delays: [i64; 2],
}

/// Where neighbours are compared.
pub(super) enum Near<'a> {
    /// In the columns as stored: all rows that are counted.
    Columns(Box<StoredRows<'a>>),
    /// In a list of both channels, with their delays.
    OneList(PairDistances),
}

impl StoredRows<'_> {
    /// Returns the rows that are read, and how.
    pub(super) fn row_ranges(&self, time: Times<'_>) -> (Route, Range<usize>) {
        let rows = &self.rows;
        match self.column {
            StoredColumn::Gaps(_) => (Route::Gaps, rows.clone()),
            StoredColumn::WideGaps(_) | StoredColumn::Times(_) => {
                (Route::Columns(Work::Differences), self.head(time, rows.start)..rows.end)
            }
        }
    }

    /// Returns the first row within reach of this one.
    pub(super) fn head(&self, time: Times<'_>, row: usize) -> usize {
        let earliest = time.at(row).saturating_sub(self.distances.reach());
        // A damaged row may mislead the search.
        time.seek(row, |time| time < earliest).min(row)
    }
}

impl Crowded<'_> {
    /// Iterates over the delayed times of the starts (0) or stops (1) before row `to`.
    pub(super) fn delayed(&self, end: usize, to: usize) -> impl Iterator<Item = i64> {
        let tags = self.time[..to].iter().zip(&self.labels[..to]);
        let (label, delay) = (self.ends[end], self.delays[end]);
        tags.filter(move |&(_, &own)| own == label).map(move |(&time, _)| time + delay)
    }
}
