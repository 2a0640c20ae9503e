//! The trace of rates with a column for each channel, in place of a row for each bin and channel.
//!
//! Two channels in three bins: six rows become three, with two columns of rates. Rows of a bin must follow each
//! other.

use tagq::{Answer, Cells, Column, FigureKind, Table, Unit};

use super::text::{Names, name_of};

/// Returns the rows of a trace of rates, one for each bin; `None` for all other answers.
pub fn by_channel(answer: &Answer, rows: &Table, names: &Names) -> Option<Table> {
    if !matches!(answer.figure, Some(FigureKind::Trace { .. })) {
        return None;
    }
    let [channels, starts, rates, errors] =
        ["channel", "start_s", "rate_hz", "rate_err_hz"].map(|key| rows.get(key));
    let (channels, starts, rates, errors) = (channels?, starts?, rates?, errors?);
    let first = (!rows.is_empty()).then(|| starts.cells.at(0))?;
    let width = starts.cells.iter().take_while(|start| *start == first).count();
    if !rows.len().is_multiple_of(width) {
        return None;
    }
    let bins = rows.len() / width;
    // The cells of the first row of each bin.
    let of_bin = |column: &Column| {
        let cells = column.cells.clone();
        Column { cells: Cells::made(bins, move |bin| cells.at(bin * width)), ..column.clone() }
    };
    let is_of_bin = |column: &&Column| ["start_s", "partial"].contains(&&*column.key);
    let (before, after): (Vec<&Column>, Vec<&Column>) =
        rows.columns().iter().filter(is_of_bin).partition(|column| column.key == "start_s");
    let mut table = before.into_iter().map(of_bin).fold(Table::default(), Table::with);
    for at in 0..width {
        let name = match channels.cells.at(at) {
            tagq::Cell::Channel(channel) => name_of(names, channel),
            _ => "all".to_owned(),
        };
        let numbers = |column: &Column| {
            let cells = column.cells.clone();
            Cells::made(bins, move |bin| cells.at(bin * width + at).number())
        };
        let of_error = format!("{name}_err");
        let order = u8::try_from(width - at).unwrap_or(u8::MAX);
        let mut rate = Column::floats(name, numbers(rates)).unit(Unit::Hertz).if_room(order);
        rate.shown.err = Some(of_error.clone().into());
        table = table.with(rate).with(Column::floats(of_error, numbers(errors)).hidden());
    }
    Some(after.into_iter().map(of_bin).fold(table, Table::with))
}
