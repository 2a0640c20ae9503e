//! The answers of a scan as one table: the rows of each answer below each other, with the value that they belong to.
//!
//! A scan of `window` with 3 values of 2 groups has 6 rows, with a column `window_s`. A column that only some of the
//! answers have is empty in the rows of the others.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;
use tagq_ask::{Answer, Cell, CellType, Column, FigureKind, Provenance, RunFacts, Table, Unit};
use tagq_run::{RequestError, counted};

use crate::error::Error;

/// The values of a scan.
pub(super) struct Axis {
    /// The name of the scanned option or setting.
    pub name: String,
    /// Whether values are times in seconds.
    pub is_time: bool,
    pub places: Vec<f64>,
    /// The paths of the runs, if each has its own value.
    pub runs: Option<Vec<String>>,
}

impl Axis {
    /// Returns the key of its column: `window_s`, `delay_of_15_s`, `phase`.
    fn key(&self) -> String {
        let word = |c: char| if c.is_alphanumeric() { c } else { '_' };
        let name: String = self.name.chars().map(word).collect();
        if self.is_time { format!("{name}_s") } else { name }
    }
}

/// Puts the rows of all answers one below the other, after the value that each belongs to.
pub(super) fn together(
    axis: Axis,
    answers: &[Answer],
    query: Value,
    provenance: Provenance,
) -> Result<Answer, Error> {
    let first =
        answers.first().ok_or_else(|| RequestError::Invalid("a scan has no values".into()))?;
    let Some((label, value)) = value_of(first) else {
        return Err(RequestError::Invalid(
            "a scan has one number for each channel or group: leave bins of time and of differences out".into(),
        ).into());
    };
    let key = axis.key();
    let columns = all_columns(answers);
    if columns.iter().any(|column| column.key == key) || ["run", "live_s"].contains(&&*key) {
        return Err(RequestError::options(
            &["setting"],
            format!("the setting is called {key}, as a column of the answer; give it another name"),
        )
        .into());
    }
    let places: Vec<(usize, usize)> = answers
        .iter()
        .enumerate()
        .flat_map(|(at, answer)| (0..answer.rows.len()).map(move |row| (at, row)))
        .collect();
    let places = Arc::new(places);
    let of_axis: Vec<Option<f64>> = places.iter().map(|&(at, _)| Some(axis.places[at])).collect();
    let unit = if axis.is_time { Unit::Seconds } else { Unit::Plain };
    let column = Column::floats(key.clone(), of_axis.into()).heading(axis.name.clone());
    let mut rows = Table::default().with(column.unit(unit).key());
    if let Some(runs) = &axis.runs {
        let names = places.iter().map(|&(at, _)| Cell::Name(runs[at].clone()));
        let names: Vec<Cell> = names.collect();
        let column = Column::of_cells("run", CellType::Name, names.into());
        rows = rows.with(column.hidden());
        let live = places.iter().map(|&(at, _)| Some(answers[at].run.live_s));
        let live: Vec<Option<f64>> = live.collect();
        rows = rows.with(Column::floats("live_s", live.into()).hidden());
    }
    for column in columns {
        let cells = places.iter().map(|&(at, row)| {
            answers[at].rows.get(&column.key).map_or(Cell::Missing, |of| of.cells.at(row))
        });
        let cells: Vec<Cell> = cells.collect();
        rows = rows.with(Column { cells: cells.into(), ..column.clone() });
    }
    let run = if axis.runs.is_some() {
        RunFacts::sum(answers.iter().map(|answer| answer.run.clone()))
    } else {
        first.run.clone()
    };
    let header = format!(
        "scan of {} in {}; first: {}",
        axis.name,
        counted(axis.places.len() as u64, "value"),
        first.header
    );
    let figure =
        FigureKind::Scan { label: axis.name, key, is_time: axis.is_time, value, values: label };
    Ok(Answer {
        header,
        query,
        run,
        singles: None,
        rows,
        total: None,
        provenance,
        figure: Some(figure),
    })
}

/// Returns the columns of all answers, each key once, in the order of the first answer that has it.
fn all_columns(answers: &[Answer]) -> Vec<&Column> {
    let mut columns: Vec<&Column> = Vec::new();
    for column in answers.iter().flat_map(|answer| answer.rows.columns()) {
        if !columns.iter().any(|known| known.key == column.key) {
            columns.push(column);
        }
    }
    columns
}

/// Returns the label and the key of the number that is drawn of an answer with one number for each channel or group.
fn value_of(answer: &Answer) -> Option<(Cow<'static, str>, &'static str)> {
    match &answer.figure {
        Some(FigureKind::Groups { label, .. }) => Some((Cow::Borrowed(*label), "count")),
        Some(FigureKind::Rates) => Some(("rate".into(), "rate_hz")),
        _ => None,
    }
}
