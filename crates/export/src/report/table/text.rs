//! Text of headings and cells in a table.
//!
//! With an error a cell is `1,976 ± 44`; with an interval `12.30 (11.90 to 12.80)`; undefined it is a dash, never 0.

use std::collections::BTreeMap;

use tagq::{Cell, CellType, Column, RunFacts, Unit, escaped};

use super::{
    quantities::{
        dash, hertz, rate_with_err, ratio, seconds, seconds_with_err, short, short_seconds,
        thousands, ticks, two_digits, with_err,
    },
    style::TableStyle,
};

/// Names of channels.
pub type Names = BTreeMap<u16, String>;

/// Returns the names from the setup.
pub fn names_of(run: &RunFacts) -> Names {
    run.names.iter().cloned().collect()
}

pub fn name_of(names: &Names, channel: u16) -> String {
    names.get(&channel).map_or_else(|| channel.to_string(), |name| escaped(name).into_owned())
}

/// Returns the heading of a column.
pub fn heading(column: &Column, style: TableStyle) -> String {
    let unit = match column.shown.unit {
        Unit::Hertz if style.exact => " (Hz)",
        Unit::Seconds | Unit::BriefSeconds if style.exact => " (s)",
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

/// Returns the text of a cell, with its error.
pub fn text_at(
    column: &Column,
    table: &tagq::Table,
    at: usize,
    names: &Names,
    style: TableStyle,
) -> String {
    let err = column.shown.err.as_ref().and_then(|key| table.get(key)?.cells.at(at).number());
    let text = if style.exact {
        exact_field(column, err, at, names)
    } else {
        field(column, err, at, names)
    };
    let end = |key| table.get(key)?.cells.at(at).number();
    let ends = column.shown.ends.as_ref().filter(|_| err.is_none());
    let ends = ends.and_then(|[low, high]| Some([end(low)?, end(high)?]));
    let Some(ends) = ends else { return text };
    let of = |end: f64| if style.exact { end.to_string() } else { float(end, None, brief(column)) };
    let value = match column.cells.at(at).number() {
        Some(value) if !style.exact => float(value, None, brief(column)),
        _ => text,
    };
    format!("{value} ({} to {})", of(ends[0]), of(ends[1]))
}

/// The unit of values with an interval: with four digits.
fn brief(column: &Column) -> Unit {
    match column.shown.unit {
        Unit::Seconds => Unit::BriefSeconds,
        unit => unit,
    }
}

/// Returns the text of a cell with all digits, in seconds and hertz.
fn exact_field(column: &Column, err: Option<f64>, at: usize, names: &Names) -> String {
    match column.cells.at(at) {
        cell @ (Cell::Count(_) | Cell::Float(_)) => match err {
            Some(err) => format!("{cell} \u{b1} {err}"),
            None => cell.to_string(),
        },
        Cell::Integer(value) => value.to_string(),
        Cell::Missing | Cell::Flag(_) | Cell::Channel(_) | Cell::Name(_) | Cell::List(_) => {
            field(column, err, at, names)
        }
    }
}

/// Returns the text of a cell with few digits.
pub fn field(column: &Column, err: Option<f64>, at: usize, names: &Names) -> String {
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
        Cell::Float(value) if unit == Unit::Plain && err.is_none() => value.to_string(),
        Cell::Float(value) => float(value, err, unit),
        Cell::Flag(true) => column.key.to_string(),
        Cell::Flag(false) => String::new(),
        Cell::Channel(channel) => name_of(names, channel),
        Cell::Name(name) => escaped(&name).into_owned(),
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
