//! The value of a row and a column: one value, or a list of them.
//!
//! An image of 65,536 pixels has as many lists of counts of micro times, all of them parts of one array, with other numbers
//! of each pixel between them. A list knows the array and its place in it, so that nothing is copied.

use std::{fmt, ops::Range, sync::Arc};

use serde::{Serialize, Serializer};

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Undefined.
    Missing,
    /// Of `CellType::Count`.
    Count(u64),
    /// Of `CellType::Integer`.
    Integer(i64),
    /// Of `CellType::Float`.
    Float(f64),
    /// Of `CellType::Flag`.
    Flag(bool),
    /// Of `CellType::Channel`.
    Channel(u16),
    /// Of `CellType::Name`.
    Name(String),
    /// Of a column of lists.
    List(CellList),
}

/// The values of a list.
#[derive(Clone)]
pub struct CellList(Items);

#[derive(Clone)]
enum Items {
    Cells(Vec<Cell>),
    Counts(CountsPart),
}

/// A part of an array of counts.
#[derive(Debug, Clone)]
pub struct CountsPart {
    /// The array.
    pub counts: Arc<Vec<u64>>,
    /// The place of the part.
    pub range: Range<usize>,
}

impl Cell {
    /// Whether it is undefined, or a list of undefined values only.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::List(items) => items.iter().all(|item| item.is_missing()),
            Self::Count(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Flag(_)
            | Self::Channel(_)
            | Self::Name(_) => false,
        }
    }

    /// Returns its value as a float; `None` if it is not a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Missing | Self::Flag(_) | Self::Channel(_) | Self::Name(_) | Self::List(_) => {
                None
            }
        }
    }

    /// Returns the channels of a group, or the single channel.
    pub fn group(&self) -> Vec<u16> {
        match self {
            Self::Channel(channel) => vec![*channel],
            Self::List(items) => items.iter().flat_map(|item| item.group()).collect(),
            Self::Missing
            | Self::Count(_)
            | Self::Integer(_)
            | Self::Float(_)
            | Self::Flag(_)
            | Self::Name(_) => Vec::new(),
        }
    }
}

/// Writes the plain text of a cell, as in CSV: empty if it is missing.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Count(count) => count.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Channel(channel) => channel.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.to_string()).collect();
                f.write_str(&items.join(","))
            }
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_none(),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Channel(channel) => serializer.serialize_u16(*channel),
            Self::Name(name) => serializer.serialize_str(name),
            Self::List(items) => items.serialize(serializer),
        }
    }
}

impl CellList {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match &self.0 {
            Items::Cells(cells) => cells.len(),
            Items::Counts(part) => part.range.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Cell> + '_ {
        (0..self.len()).map(|at| match &self.0 {
            Items::Cells(cells) => cells[at].clone(),
            Items::Counts(part) => Cell::Count(part.counts[part.range.start + at]),
        })
    }

    /// Returns the part of an array of counts that the values are; `None` if they are cells.
    pub fn counts(&self) -> Option<&CountsPart> {
        match &self.0 {
            Items::Cells(_) => None,
            Items::Counts(part) => Some(part),
        }
    }
}

impl CountsPart {
    /// Returns the counts.
    pub fn as_slice(&self) -> &[u64] {
        &self.counts[self.range.clone()]
    }
}

impl FromIterator<Cell> for CellList {
    fn from_iter<I: IntoIterator<Item = Cell>>(cells: I) -> Self {
        Self(Items::Cells(cells.into_iter().collect()))
    }
}

impl From<CountsPart> for CellList {
    /// # Panics
    /// Panics if the part is not in the array.
    fn from(part: CountsPart) -> Self {
        assert!(part.range.end <= part.counts.len(), "a part of the counts");
        Self(Items::Counts(part))
    }
}

impl From<Vec<u64>> for CellList {
    fn from(counts: Vec<u64>) -> Self {
        let range = 0..counts.len();
        CountsPart { counts: Arc::new(counts), range }.into()
    }
}

impl PartialEq for CellList {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for CellList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for CellList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_counts_equals_its_cells() {
        let counts = Arc::new(vec![9, 1, 2, 3, 9]);
        let part = CellList::from(CountsPart { counts, range: 1..4 });
        let cells: CellList = [1, 2, 3].map(Cell::Count).into_iter().collect();
        assert_eq!(part, cells);
        assert_ne!(part, CellList::from(vec![1, 2]));
        assert_eq!((part.len(), cells.len(), part.is_empty()), (3, 3, false));
        assert_eq!(
            (format!("{part:?}"), serde_json::to_string(&part).unwrap()),
            (format!("{cells:?}"), "[1,2,3]".into())
        );
        assert_eq!(part.counts().unwrap().as_slice(), [1, 2, 3]);
        assert!(cells.counts().is_none());
    }

    #[test]
    #[should_panic(expected = "a part of the counts")]
    fn a_part_is_in_the_array() {
        let _ = CellList::from(CountsPart { counts: Arc::new(vec![1]), range: 0..2 });
    }
}
