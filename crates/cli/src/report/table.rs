//! Tables for a person: aligned, thousands readable, units chosen.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use comfy_table::{CellAlignment, Table, presets};
use tagq::{Answer, Cell, CellType, Column, RunFacts, Unit, escaped};

use super::look::Look;
use super::quantities::{
    dash, hertz, rate_with_err, ratio, seconds, seconds_with_err, short, short_seconds, thousands,
    ticks, two_digits, with_err,
};
use super::room::write_fitting;

/// What channels are called.
pub(super) type Names = BTreeMap<u16, String>;

/// The names that the setup gives.
pub(super) fn names_of(run: &RunFacts) -> Names {
    run.names.iter().cloned().collect()
}

pub(super) fn name_of(names: &Names, channel: u16) -> String {
    names.get(&channel).map_or_else(|| channel.to_string(), |name| escaped(name).into_owned())
}

/// Writes the tables of all answers, row by row.
pub(super) fn write(answers: &[Answer], look: Look, out: &mut dyn Write) -> io::Result<()> {
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            out.write_all(b"\n")?;
        }
        write_one(answer, answers.len() > 1, look, out)?;
    }
    Ok(())
}

/// The table of one answer, below what was asked.
pub(super) fn one(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let mut text = Vec::new();
    // Memory takes whatever is written.
    let _ = write_one(answer, is_one_of_several, look, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_one(
    answer: &Answer,
    is_one_of_several: bool,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(head(answer, is_one_of_several, look).as_bytes())?;
    let names = names_of(&answer.run);
    if let Some(singles) = &answer.singles {
        write_fitting(singles, &names, look, out)?;
        out.write_all(b"\n")?;
    }
    write_fitting(&answer.rows, &names, look, out)
}

/// What was asked; of which run where there are several.
pub(super) fn head(answer: &Answer, is_one_of_several: bool, look: Look) -> String {
    let path =
        if is_one_of_several { format!("{}\n", escaped(&answer.run.path)) } else { String::new() };
    format!("{path}{}\n", look.header(&escaped(&answer.header)))
}

/// The heading of a column.
pub(super) fn heading(column: &Column, look: Look) -> String {
    let unit = match column.shown.unit {
        Unit::Hertz if look.exact => " (Hz)",
        Unit::Seconds | Unit::BriefSeconds if look.exact => " (s)",
        Unit::None
        | Unit::Plain
        | Unit::Brief
        | Unit::Seconds
        | Unit::BriefSeconds
        | Unit::Hertz
        | Unit::Percent => "",
    };
    format!("{}{unit}", column.shown.heading)
}

/// The text of a cell, with its error.
pub(super) fn text_at(
    column: &Column,
    table: &tagq::Table,
    at: usize,
    names: &Names,
    look: Look,
) -> String {
    let err = column.shown.err.as_ref().and_then(|key| table.get(key)?.cells.at(at).number());
    if look.exact { exact_field(column, err, at, names) } else { field(column, err, at, names) }
}

/// With all digits, in seconds and hertz.
fn exact_field(column: &Column, err: Option<f64>, at: usize, names: &Names) -> String {
    match column.cells.at(at) {
        cell @ (Cell::Count(_) | Cell::Float(_)) => match err {
            Some(err) => format!("{cell} \u{b1} {err}"),
            None => cell.to_string(),
        },
        Cell::Integer(value) => value.to_string(),
        Cell::Missing | Cell::Flag(_) | Cell::Channel(_) | Cell::List(_) => {
            field(column, err, at, names)
        }
    }
}

/// The text of a cell, as short as a reader wants it.
pub(super) fn field(column: &Column, err: Option<f64>, at: usize, names: &Names) -> String {
    let unit = column.shown.unit;
    match column.cells.at(at) {
        Cell::Missing if column.of == CellType::Channel => "all".to_owned(),
        Cell::Missing => dash(),
        Cell::Count(count) if unit == Unit::Plain => count.to_string(),
        Cell::Count(count) => match err {
            Some(err) => format!("{} \u{b1} {}", thousands(count), two_digits(err)),
            None => thousands(count),
        },
        Cell::Integer(value) if unit == Unit::Plain => value.to_string(),
        Cell::Integer(value) => ticks(value),
        Cell::Float(value) => float(value, err, unit),
        Cell::Flag(true) => column.key.to_string(),
        Cell::Flag(false) => String::new(),
        Cell::Channel(channel) => name_of(names, channel),
        list @ Cell::List(_) if column.of == CellType::Channel => {
            let names = list.group().into_iter().map(|channel| name_of(names, channel));
            names.collect::<Vec<_>>().join(",")
        }
        list @ Cell::List(_) => list.to_string(),
    }
}

fn float(value: f64, err: Option<f64>, unit: Unit) -> String {
    match (unit, err) {
        (Unit::Hertz, Some(err)) => rate_with_err(value, err),
        (Unit::Hertz, None) => hertz(value),
        (Unit::Percent, err) => ratio(Some(value), err),
        (Unit::Seconds | Unit::BriefSeconds, Some(err)) => seconds_with_err(value, err),
        (Unit::Seconds, None) => seconds(value),
        (Unit::BriefSeconds, None) => short_seconds(value),
        (Unit::None | Unit::Plain, Some(err)) => with_err(value, err),
        (Unit::Brief, _) | (Unit::None | Unit::Plain, None) => short(value),
    }
}

/// A table without lines, all columns aligned right but the first `left`.
pub(super) fn plain(head: &[&str], left: usize) -> Table {
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
