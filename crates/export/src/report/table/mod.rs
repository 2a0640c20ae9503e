//! Tables for a person: aligned, with thousands separators and suitable units.
//!
//! Ten rows with room for four: the first two, a row of dots, and the last two.

mod fit;
pub mod quantities;
mod style;
pub(crate) mod text;
mod wide;

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, escaped};

use fit::write_fitting;
use text::names_of;

pub use style::TableStyle;

/// Writes the tables of all answers, row by row.
pub fn write(answers: &[Answer], style: TableStyle, out: &mut dyn Write) -> io::Result<()> {
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            out.write_all(b"\n")?;
        }
        write_one(answer, answers.len() > 1, style, out)?;
    }
    Ok(())
}

/// Returns the table of one answer, below its header.
pub fn one(answer: &Answer, is_one_of_several: bool, style: TableStyle) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_one(answer, is_one_of_several, style, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_one(
    answer: &Answer,
    is_one_of_several: bool,
    style: TableStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(head(answer, is_one_of_several, style).as_bytes())?;
    let names = names_of(&answer.run);
    if let Some(singles) = &answer.singles {
        write_fitting(singles, &names, style, out)?;
        out.write_all(b"\n")?;
    }
    let rows = answer.rows_with_totals();
    let rows = wide::by_channel(answer, &rows, &names).unwrap_or(rows);
    write_fitting(&rows, &names, style, out)
}

/// The headings of a table, and the text of its fields row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// One for each column.
    pub headings: Vec<String>,
    /// As many fields in each row.
    pub rows: Vec<Vec<String>>,
}

/// Returns the fields of the rows of an answer; of more than `most` rows the first and the last, and a row of dots
/// between them.
pub fn fields(answer: &Answer, style: TableStyle, most: usize) -> Fields {
    let (names, table) = (names_of(&answer.run), answer.rows_with_totals());
    let columns: Vec<_> = table.columns().iter().filter(|column| column.is_shown()).collect();
    let row = |at: usize| -> Vec<String> {
        columns.iter().map(|column| text::text_at(column, &table, at, &names, style)).collect()
    };
    let headings = columns.iter().map(|column| text::heading(column, style)).collect();
    let (len, half) = (table.len(), most / 2);
    let rows = if len <= most {
        (0..len).map(row).collect()
    } else {
        let dots = vec!["\u{2026}".to_owned(); columns.len()];
        (0..half).map(row).chain([dots]).chain((len - half..len).map(row)).collect()
    };
    Fields { headings, rows }
}

/// Returns the header of an answer, after the path of its run if there are several answers.
pub fn head(answer: &Answer, is_one_of_several: bool, style: TableStyle) -> String {
    let path =
        if is_one_of_several { format!("{}\n", escaped(&answer.run.path)) } else { String::new() };
    format!("{path}{}\n", style.header(&escaped(&answer.header)))
}

/// Returns a table without lines. All columns but the first `left` are aligned right.
pub(crate) fn plain(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(head.iter().copied());
    for (i, column) in table.column_iter_mut().enumerate() {
        let is_left = i < left || head[i].is_empty();
        column.set_cell_alignment(if is_left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    table
}
