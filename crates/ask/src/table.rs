//! The table of an answer: columns of cells, each with its key and its display format.
//!
//! Two rows with the keys `channels` and `count` are `[{"channels":[3,15],"count":61},…]` in JSON. All columns have a
//! cell for each row. A count stays a whole number up to the output: as a float it would lose digits above 2⁵³.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use serde::{
    Deserialize, Serialize, Serializer,
    ser::{SerializeMap as _, SerializeSeq as _},
};

use crate::{
    cell::{Cell, CellList},
    cells::Cells,
};

/// Columns of equal length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
}

/// One column: one cell per row.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The key in JSON, CSV and Arrow (docs/outputs.md, section "Output").
    pub key: Cow<'static, str>,
    /// The type of a cell, or of each item of its list.
    pub of: CellType,
    /// Whether cells are lists.
    pub is_list: bool,
    /// The cells.
    pub cells: Cells<Cell>,
    /// How a displayed table shows the column.
    pub shown: Shown,
}

/// The type of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellType {
    /// A count.
    Count,
    /// Ticks or row numbers.
    Integer,
    /// Any other measured value.
    Float,
    /// Yes or no.
    Flag,
    /// A channel; missing means all channels together.
    Channel,
    /// The name of a channel.
    Name,
}

/// How a displayed table shows a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Its heading, without the unit.
    pub heading: Cow<'static, str>,
    /// Says what its values are where its key alone can be misread; else empty. Not shown in a table, which has a heading.
    pub about: Cow<'static, str>,
    /// The unit of its values, and the number of digits.
    pub unit: Unit,
    /// The key of the column with the standard errors.
    pub err: Option<Cow<'static, str>>,
    /// The keys of the columns with the ends of an interval, which values without an error have.
    pub ends: Option<[Cow<'static, str>; 2]>,
    /// Whether it is shown if there is little space.
    pub priority: Priority,
    /// Whether it distinguishes rows.
    pub is_key: bool,
    /// Whether its value in the last interval is shown next to that of the whole run, in a watch.
    pub is_compared: bool,
}

/// The unit of the values of a column, and the number of digits shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// No unit.
    None,
    /// No unit; without separators, for copying.
    Plain,
    /// No unit; four digits, and the error only if all digits are shown.
    Brief,
    /// Seconds.
    Seconds,
    /// Seconds, with four digits.
    BriefSeconds,
    /// Hertz.
    Hertz,
    /// A probability, in percent.
    Percent,
}

/// Whether a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    /// Always.
    Always,
    /// Unless the terminal is too narrow; the lowest number is omitted first.
    IfRoom(u8),
    /// Not as a separate column: it is shown next to its value, or above the rows.
    Never,
}

impl Column {
    /// Creates a column of cells of this type.
    pub fn of_cells(key: impl Into<Cow<'static, str>>, of: CellType, cells: Cells<Cell>) -> Self {
        let key = key.into();
        let shown = Shown {
            heading: key.clone(),
            about: "".into(),
            unit: Unit::None,
            err: None,
            ends: None,
            priority: Priority::Always,
            is_key: false,
            is_compared: false,
        };
        Self { key, of, is_list: false, cells, shown }
    }

    /// Creates a column of counts.
    pub fn counts(key: impl Into<Cow<'static, str>>, cells: Cells<u64>) -> Self {
        Self::of_cells(key, CellType::Count, cells.map(Cell::Count))
    }

    /// Creates a column of ticks or row numbers.
    pub fn integers(key: impl Into<Cow<'static, str>>, cells: Cells<i64>) -> Self {
        Self::of_cells(key, CellType::Integer, cells.map(Cell::Integer))
    }

    /// Creates a column of integers that are missing in some rows. They are shown without separators.
    pub fn some_integers(key: impl Into<Cow<'static, str>>, cells: Cells<Option<i64>>) -> Self {
        let cells = cells.map(|value| value.map_or(Cell::Missing, Cell::Integer));
        Self::of_cells(key, CellType::Integer, cells).unit(Unit::Plain)
    }

    /// Creates a column of measured values.
    pub fn floats(key: impl Into<Cow<'static, str>>, cells: Cells<Option<f64>>) -> Self {
        Self::of_cells(key, CellType::Float, cells.map(float))
    }

    /// Creates a column of flags. The heading is empty, and rows with the flag set show the key.
    pub fn flags(key: impl Into<Cow<'static, str>>, cells: Cells<bool>) -> Self {
        Self::of_cells(key, CellType::Flag, cells.map(Cell::Flag)).heading("")
    }

    /// Creates a column of channels; a missing one means all channels together.
    pub fn channels(key: impl Into<Cow<'static, str>>, cells: Cells<Option<u16>>) -> Self {
        let cells = cells.map(|channel| channel.map_or(Cell::Missing, Cell::Channel));
        Self::of_cells(key, CellType::Channel, cells)
    }

    /// Creates a column of groups of channels.
    pub fn groups(key: impl Into<Cow<'static, str>>, cells: Cells<Vec<u16>>) -> Self {
        Self::lists(key, CellType::Channel, cells, Cell::Channel)
    }

    /// Creates a column of several counts per row.
    pub fn count_lists(key: impl Into<Cow<'static, str>>, cells: Cells<CellList>) -> Self {
        let of = Self::of_cells(key, CellType::Count, cells.map(Cell::List));
        Self { is_list: true, ..of }
    }

    /// Creates a column of several values per row.
    pub fn float_lists(key: impl Into<Cow<'static, str>>, cells: Cells<Vec<Option<f64>>>) -> Self {
        Self::lists(key, CellType::Float, cells, float)
    }

    fn lists<T: Clone + Send + Sync + 'static>(
        key: impl Into<Cow<'static, str>>,
        of: CellType,
        cells: Cells<Vec<T>>,
        cell: fn(T) -> Cell,
    ) -> Self {
        let cells = cells.map(move |list| Cell::List(list.into_iter().map(cell).collect()));
        Self { is_list: true, ..Self::of_cells(key, of, cells) }
    }

    /// Sets a heading that replaces the key.
    #[must_use]
    pub fn heading(mut self, heading: impl Into<Cow<'static, str>>) -> Self {
        self.shown.heading = heading.into();
        self
    }

    /// Sets what its values are, for CSV and Arrow: where its key alone can be misread.
    #[must_use]
    pub fn about(mut self, about: impl Into<Cow<'static, str>>) -> Self {
        self.shown.about = about.into();
        self
    }

    /// Sets the unit of the values.
    #[must_use]
    pub fn unit(mut self, unit: Unit) -> Self {
        self.shown.unit = unit;
        self
    }

    /// Sets the key of the column with the standard errors.
    #[must_use]
    pub fn err(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.shown.err = Some(key.into());
        self
    }

    /// Names the columns with the ends of intervals.
    #[must_use]
    pub fn ends(
        mut self,
        low: impl Into<Cow<'static, str>>,
        high: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.shown.ends = Some([low.into(), high.into()]);
        self
    }

    /// Omits the column if there is not enough space, the lowest number first.
    #[must_use]
    pub fn if_room(mut self, order: u8) -> Self {
        self.shown.priority = Priority::IfRoom(order);
        self
    }

    /// Hides the column.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.shown.priority = Priority::Never;
        self
    }

    /// Marks the column as distinguishing rows.
    #[must_use]
    pub fn key(mut self) -> Self {
        self.shown.is_key = true;
        self
    }

    /// Marks the column as compared with the last interval.
    #[must_use]
    pub fn compared(mut self) -> Self {
        self.shown.is_compared = true;
        self
    }

    /// Whether a displayed table has it: it is not hidden, and at least one row has a value.
    pub fn is_shown(&self) -> bool {
        let is_empty = match self.of {
            CellType::Float => self.cells.iter().all(|cell| cell.is_missing()),
            CellType::Flag => self.cells.iter().all(|cell| cell == Cell::Flag(false)),
            CellType::Count | CellType::Integer | CellType::Channel | CellType::Name => false,
        };
        self.shown.priority != Priority::Never && !is_empty
    }
}

/// Returns the name of a channel, or those of the channels of a group; a channel without one is missing.
fn name_of(cell: Cell, names: &BTreeMap<u16, String>) -> Cell {
    match cell {
        Cell::Channel(channel) => names.get(&channel).cloned().map_or(Cell::Missing, Cell::Name),
        Cell::List(items) => Cell::List(items.iter().map(|item| name_of(item, names)).collect()),
        _ => Cell::Missing,
    }
}

fn float(value: Option<f64>) -> Cell {
    value.map_or(Cell::Missing, Cell::Float)
}

impl Table {
    /// Adds a column.
    ///
    /// # Panics
    /// Panics if the column has another number of cells than the others.
    #[must_use]
    pub fn with(mut self, column: Column) -> Self {
        let len = self.columns.first().map_or(column.cells.len(), |first| first.cells.len());
        assert_eq!(column.cells.len(), len, "{}: a cell for each row", column.key);
        self.columns.push(column);
        self
    }

    /// Inserts columns after the one at `at`.
    ///
    /// # Panics
    /// Panics if they have another number of cells than the others.
    #[must_use]
    pub(crate) fn with_after(mut self, at: usize, columns: Vec<Column>) -> Self {
        let rest = self.columns.split_off((at + 1).min(self.columns.len()));
        columns.into_iter().chain(rest).fold(self, Self::with)
    }

    /// Adds a column with the names of the channels after each column of channels, if there are names: `name` after
    /// `channel`, `names` after `channels`. Tables for a person show the names in place of the channels.
    #[must_use]
    pub fn with_names(self, names: &[(u16, String)]) -> Self {
        if names.is_empty() {
            return self;
        }
        let names: Arc<BTreeMap<u16, String>> = Arc::new(names.iter().cloned().collect());
        let named = |column: Column| {
            let is_channel = column.of == CellType::Channel;
            let key = if column.is_list { "names" } else { "name" };
            let names = Arc::clone(&names);
            let cells = column.cells.clone().map(move |cell| name_of(cell, &names));
            let of_names =
                Column { is_list: column.is_list, ..Column::of_cells(key, CellType::Name, cells) };
            [Some(column), is_channel.then(|| of_names.hidden())]
        };
        self.columns.into_iter().flat_map(named).flatten().fold(Self::default(), Self::with)
    }

    /// Returns the rows with those of `totals` between them: each total comes after the rows that it sums up, of which
    /// there are equally many. A column that `totals` lacks is missing there.
    #[must_use]
    pub(crate) fn with_totals(&self, totals: &Self) -> Self {
        let each = self.len().checked_div(totals.len()).unwrap_or(0);
        let column = |column: &Column| {
            let (rows, total) =
                (column.cells.clone(), totals.get(&column.key).map(|of| of.cells.clone()));
            let cell = move |at: usize| match (at / (each + 1), at % (each + 1)) {
                (block, place) if place < each => rows.at(block * each + place),
                (block, _) => total.as_ref().map_or(Cell::Missing, |total| total.at(block)),
            };
            Column { cells: Cells::made(self.len() + totals.len(), cell), ..column.clone() }
        };
        self.columns.iter().map(column).fold(Self::default(), Self::with)
    }

    /// Returns the columns, in the order of the keys.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the column with this key.
    pub fn get(&self, key: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.key == key)
    }

    /// Returns the numbers of a column; all are missing if there is no such column.
    pub fn numbers(&self, key: &str) -> Vec<Option<f64>> {
        match self.get(key) {
            Some(column) => column.cells.iter().map(|cell| cell.number()).collect(),
            None => vec![None; self.len()],
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns about the number of values in all cells. Lists of a column are taken to be as long as the longest of its
    /// first, middle and last one.
    pub fn values(&self) -> usize {
        let of_cell = |cell| match cell {
            Cell::List(items) => items.len() + 2,
            _ => 1,
        };
        let of_column = |Column { cells, .. }: &Column| {
            let len = cells.len();
            let some = [0, len / 2, len.saturating_sub(1)].into_iter().filter(|&row| row < len);
            len * some.map(|row| of_cell(cells.at(row))).max().unwrap_or(0)
        };
        self.columns.iter().map(of_column).sum()
    }

    /// Iterates over the rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|at| Row { columns: &self.columns, at })
    }
}

/// One row; serialises as an object with the keys.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Column],
    at: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for Column { key, cells, .. } in self.columns {
            map.serialize_entry(key, &cells.at(self.at))?;
        }
        map.end()
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.len()))?;
        self.rows().try_for_each(|row| rows.serialize_element(&row))?;
        rows.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_objects_in_the_order_of_the_columns() {
        let table = Table::default()
            .with(Column::groups("channels", vec![vec![3, 15], vec![3, 16]].into()))
            .with(Column::counts("count", vec![61, u64::MAX].into()))
            .with(Column::floats("car", vec![None, Some(0.5)].into()));
        assert_eq!(
            serde_json::to_string(&table).unwrap(),
            r#"[{"channels":[3,15],"count":61,"car":null},{"channels":[3,16],"count":18446744073709551615,"car":0.5}]"#
        );
        // Two lists of two, and two columns of two.
        assert_eq!(table.values(), 2 * 4 + 4);
        assert_eq!((table.len(), table.get("count").is_some()), (2, true));
        assert!(Table::default().is_empty());
    }

    #[test]
    fn names_stand_beside_their_channels() {
        let table = Table::default()
            .with(Column::groups("channels", vec![vec![3, 15], vec![3, 16]].into()))
            .with(Column::channels("channel", vec![Some(16), Some(3)].into()));
        assert_eq!(table.clone().with_names(&[]), table);
        let named = table.with_names(&[(3, "H".into()), (15, "V".into()), (99, "none".into())]);
        assert_eq!(
            serde_json::to_string(&named).unwrap(),
            r#"[{"channels":[3,15],"names":["H","V"],"channel":16,"name":null},{"channels":[3,16],"names":["H",null],"channel":3,"name":"H"}]"#
        );
        assert!(!named.get("name").unwrap().is_shown());
    }

    #[test]
    fn totals_stand_after_the_rows_that_they_sum_up() {
        let channel =
            |of: Vec<u16>| Column::channels("channel", of.into_iter().map(Some).collect());
        let rows = Table::default()
            .with(channel(vec![1, 2, 1, 2]))
            .with(Column::counts("count", vec![3, 4, 5, 6].into()));
        let totals = Table::default().with(Column::counts("count", vec![7, 11].into()));
        let all = rows.with_totals(&totals);
        let counts: Vec<Cell> = all.get("count").unwrap().cells.iter().collect();
        assert_eq!(counts, [3, 4, 7, 5, 6, 11].map(Cell::Count));
        assert_eq!(all.get("channel").unwrap().cells.at(5), Cell::Missing);
        let none =
            Table::default().with(channel(vec![])).with(Column::counts("count", vec![].into()));
        let total = Table::default().with(Column::counts("count", vec![0].into()));
        assert_eq!(none.with_totals(&total).numbers("count"), [Some(0.0)]);
        assert_eq!(none.with_totals(&Table::default()), none);
    }
}
