//! Figures with the characters of a terminal.

mod bars;
mod canvas;
mod chart;
mod matrix;

use crate::{Figure, Plot, words::cut};

/// What there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Characters on a line.
    pub columns: usize,
    /// Lines for the values and their axes. Bars and matrices take one for each row.
    pub lines: usize,
    /// Whether colours are shown, of the 256 that terminals have.
    pub is_coloured: bool,
}

/// The least that a figure is drawn in.
const LEAST: (usize, usize) = (40, 8);

/// The values of a figure, without its title and header: lines that are no longer than there is room.
pub fn text(figure: &Figure, room: Room) -> String {
    let columns = room.columns.max(LEAST.0);
    let room = Room { columns, lines: room.lines.max(LEAST.1), ..room };
    let mut text = match &figure.plot {
        Plot::Chart(chart) if !chart.has_values() => "no value is defined\n".to_owned(),
        Plot::Chart(chart) => chart::text(chart, room),
        Plot::Bars(bars) if bars.bars.is_empty() => "nothing was counted\n".to_owned(),
        Plot::Bars(bars) => bars::text(bars, room),
        Plot::Matrix(matrix) => matrix::text(matrix, room),
    };
    if let Some(note) = &figure.note {
        text.push_str(&cut(note, room.columns));
        text.push('\n');
    }
    text
}

/// A name in so many characters, to the right of its place.
fn right(name: &str, columns: usize) -> String {
    let name = cut(name, columns);
    let before = columns.saturating_sub(name.chars().count());
    format!("{}{name}", " ".repeat(before))
}

/// The most characters that one of these has.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}
