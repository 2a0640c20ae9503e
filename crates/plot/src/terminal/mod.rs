//! Figures drawn with terminal characters.

mod bars;
mod canvas;
mod chart;
mod map;
mod matrix;

use crate::{Figure, Plot, words::cut};

/// The available space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Characters per line.
    pub columns: usize,
    /// Lines for the values and their axes. Bars and matrices take one line per row.
    pub lines: usize,
    /// Whether colours are used, out of the 256 terminal colours.
    pub is_coloured: bool,
}

/// Minimum size of a figure.
const LEAST: (usize, usize) = (40, 8);

/// Draws the values of a figure, without its title and header, in lines that fit the available width.
pub fn text(figure: &Figure, room: Room) -> String {
    let columns = room.columns.max(LEAST.0);
    let room = Room { columns, lines: room.lines.max(LEAST.1), ..room };
    let mut text = match &figure.plot {
        Plot::Chart(chart) if !chart.has_values() => "no value is defined\n".to_owned(),
        Plot::Chart(chart) => chart::text(chart, room),
        Plot::Bars(bars) if bars.bars.is_empty() => "nothing was counted\n".to_owned(),
        Plot::Bars(bars) => bars::text(bars, room),
        Plot::Matrix(matrix) => matrix::text(matrix, room),
        Plot::Map(map) if map.cells.iter().all(Option::is_none) => {
            "no value is defined\n".to_owned()
        }
        Plot::Map(map) => map::text(map, room),
    };
    if let Some(note) = &figure.note {
        text.push_str(&cut(note, room.columns));
        text.push('\n');
    }
    text
}

/// Right-aligns a name to this many characters.
fn right(name: &str, columns: usize) -> String {
    let name = cut(name, columns);
    let before = columns.saturating_sub(name.chars().count());
    format!("{}{name}", " ".repeat(before))
}

/// Returns the largest number of characters among the texts.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}
