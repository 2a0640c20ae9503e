//! The cells of one column: stored, or computed from smaller data at each read.

use std::{fmt, sync::Arc};

/// One value per row. Storing all values of a column with millions of rows is rarely worth the memory:
/// rates and errors follow from counts, and times of bins from their numbers.
#[derive(Clone)]
pub struct Cells<T>(CellSource<T>);

#[derive(Clone)]
enum CellSource<T> {
    Held(Arc<Vec<T>>),
    Made(usize, Arc<dyn Fn(usize) -> T + Send + Sync>),
}

impl<T: Clone> Cells<T> {
    /// Creates `len` cells that are computed when they are read.
    pub fn made(len: usize, make: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        Self(CellSource::Made(len, Arc::new(make)))
    }

    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        match &self.0 {
            CellSource::Held(values) => values.len(),
            CellSource::Made(len, _) => *len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cell of a row.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn at(&self, row: usize) -> T {
        match &self.0 {
            CellSource::Held(values) => values[row].clone(),
            CellSource::Made(len, make) => {
                assert!(row < *len, "row {row} of {len}");
                make(row)
            }
        }
    }

    /// Iterates over all cells, in the order of the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }
}

impl<T: Clone + Send + Sync + 'static> Cells<T> {
    /// Returns the same cells with `change` applied at each read.
    pub(crate) fn map<U: Clone>(self, change: impl Fn(T) -> U + Send + Sync + 'static) -> Cells<U> {
        Cells::made(self.len(), move |row| change(self.at(row)))
    }
}

impl<T> From<Vec<T>> for Cells<T> {
    fn from(values: Vec<T>) -> Self {
        Self(CellSource::Held(Arc::new(values)))
    }
}

impl<T> FromIterator<T> for Cells<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(CellSource::Held(Arc::new(values.into_iter().collect())))
    }
}

impl<T: Clone + PartialEq> PartialEq for Cells<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Clone + fmt::Debug> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_cells_equal_those_held() {
        let made = Cells::made(3, |row| row * row);
        assert_eq!(made, Cells::from(vec![0, 1, 4]));
        assert_ne!(made, Cells::from(vec![0, 1]));
        assert_eq!((made.len(), made.at(2), format!("{made:?}")), (3, 4, "[0, 1, 4]".to_owned()));
    }

    #[test]
    #[should_panic(expected = "row 3 of 3")]
    fn there_is_no_cell_behind_the_last_row() {
        Cells::made(3, |row| row).at(3);
    }
}
