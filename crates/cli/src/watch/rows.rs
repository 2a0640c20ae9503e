//! The rows of answers that have one rate each: groups of channels, channels, or all bins together. The key of a row
//! begins with the number of its query and a slash, so that peaks and histories can be forgotten query by query.

use std::collections::HashMap;

use tagq::{Answer, Cell, CellType, Column, FigureKind, Table, Unit};
use tagq_export::report::table::{self, TableStyle, quantities::thousands};

/// A row of an answer, or all bins of an answer that has a row for each bin.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchedRow {
    /// Its answer, and its place there; all bins have none.
    pub answer: usize,
    pub at: Option<usize>,
    /// The query, and what the same row has in each of its answers.
    pub query: usize,
    pub key: String,
    /// `coincidences 1,2`.
    pub name: String,
    /// The channels.
    pub group: Vec<u16>,
    pub count: Option<u64>,
    /// The rate as a table shows it, or the count of all bins.
    pub text: String,
    pub rate: Option<f64>,
    /// Whether the rate is that of the last interval.
    pub is_last: bool,
}

/// Returns the rows of these answers, each with the number of its query.
pub(super) fn rows(answers: &[Answer], queries: &[usize]) -> Vec<WatchedRow> {
    let mut all = Vec::new();
    for (answer, (of, &query)) in answers.iter().zip(queries).enumerate() {
        let is_one_of_several = queries.iter().filter(|&&other| other == query).count() > 1;
        let path = if is_one_of_several { format!(" of {}", of.run.path) } else { String::new() };
        let rows = rows_of(of).unwrap_or_else(|| vec![all_bins(of)]);
        all.extend(rows.into_iter().map(|row| WatchedRow {
            answer,
            query,
            key: format!("{query}/{path}/{}", row.name),
            name: format!("{} {}{path}", of.provenance.query, row.name),
            ..row
        }));
    }
    all
}

/// Returns the rows of an answer that has one rate for each group or channel, its total among them.
fn rows_of(answer: &Answer) -> Option<Vec<WatchedRow>> {
    let is_of_groups = matches!(answer.figure, Some(FigureKind::Groups { .. } | FigureKind::Rates));
    let table = answer.rows_with_totals();
    let counts = table.get("count").filter(|_| is_of_groups)?;
    let shown: Vec<&Column> = table.columns().iter().filter(|column| column.is_shown()).collect();
    let place = |key: &str| shown.iter().position(|column| column.key == key);
    let named = shown.iter().position(|column| column.of == CellType::Channel)?;
    let last = place("last_rate_hz");
    // Without a live time there is no rate.
    let rate = last.or_else(|| place("rate_hz"));
    let fields = table::fields(answer, TableStyle::PLAIN, usize::MAX);
    let row = |at: usize| WatchedRow {
        at: Some(at),
        name: fields.rows[at][named].clone(),
        group: shown[named].cells.at(at).group(),
        count: Some(count_in(&counts.cells.at(at))),
        text: rate.map_or(String::new(), |rate| fields.rows[at][rate].clone()),
        rate: rate.and_then(|rate| shown[rate].cells.at(at).number()),
        is_last: last.is_some(),
        ..WatchedRow::default()
    };
    Some((0..table.len()).map(row).collect())
}

/// Returns all bins of an answer as one row.
fn all_bins(answer: &Answer) -> WatchedRow {
    let counts = answer.rows.get("count");
    let count = counts.map(|counts| counts.cells.iter().map(|cell| count_in(&cell)).sum());
    let name = if count.is_some() { "all bins".into() } else { String::new() };
    WatchedRow {
        name,
        count,
        text: count.map_or(String::new(), thousands),
        ..WatchedRow::default()
    }
}

fn count_in(cell: &Cell) -> u64 {
    if let Cell::Count(count) = cell { *count } else { 0 }
}

/// Returns the answer as it is shown: with its totals as rows, the highest rates, and a sign at the chosen row.
pub(super) fn marked(
    answer: &Answer,
    rows: &[&WatchedRow],
    chosen: Option<usize>,
    peaks: Option<&HashMap<String, f64>>,
) -> Answer {
    let mut table = answer.rows_with_totals();
    if rows.iter().any(|row| row.is_last) {
        table = with_room_for_last(&table);
    }
    if let Some(peaks) = peaks {
        let row = |at| rows.iter().find(|row| row.at == Some(at));
        let of = |at| peaks.get(&row(at)?.key).copied();
        let peaks: Vec<Option<f64>> = (0..table.len()).map(of).collect();
        let column = Column::floats("peak_rate_hz", peaks.into()).heading("highest");
        table = table.with(column.unit(Unit::Hertz));
    }
    if let Some(chosen) = chosen {
        let sign = |at| Cell::Name(if at == chosen { "\u{25c2}" } else { "" }.into());
        let signs: Vec<Cell> = (0..table.len()).map(sign).collect();
        table = table.with(Column::of_cells("chosen", CellType::Name, signs.into()).heading(""));
    }
    Answer { rows: table, total: None, ..answer.clone() }
}

/// Returns a table that omits the rate of the whole time before that of the last interval, if there is little space.
fn with_room_for_last(table: &Table) -> Table {
    let column = |column: &Column| {
        let column = column.clone();
        if column.key == "rate_hz" { column.if_room(u8::MAX) } else { column }
    };
    table.columns().iter().map(column).fold(Table::default(), Table::with)
}
