//! Terminal cells, and points within them.
//!
//! A cell has two points across and four down, as a Braille letter: the point in its upper left corner alone is
//! U+2801. A letter that is put into a cell removes its points.

use std::fmt::Write as _;

use crate::colour::Colour;

/// Cells, line by line.
pub(super) struct Canvas {
    pub(super) columns: usize,
    pub(super) lines: usize,
    cells: Vec<Cell>,
    is_coloured: bool,
}

#[derive(Clone, Copy)]
struct Cell {
    letter: char,
    /// The points that are set, in the Unicode numbering of Braille.
    points: u8,
    colour: Option<Colour>,
}

/// The bit of each point of a cell, by line and column.
const POINTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

impl Canvas {
    pub(super) fn new(columns: usize, lines: usize, is_coloured: bool) -> Self {
        let cell = Cell { letter: ' ', points: 0, colour: None };
        Self { columns, lines, cells: vec![cell; columns * lines], is_coloured }
    }

    /// Puts a letter into a cell. Positions outside are ignored.
    pub(super) fn put(&mut self, column: usize, line: usize, letter: char, colour: Option<Colour>) {
        if column < self.columns && line < self.lines {
            self.cells[line * self.columns + column] = Cell { letter, points: 0, colour };
        }
    }

    /// Sets a point: a cell is two points wide and four points high.
    pub(super) fn point(&mut self, x: usize, y: usize, colour: Colour) {
        let (column, line) = (x / 2, y / 4);
        if column < self.columns && line < self.lines {
            let cell = &mut self.cells[line * self.columns + column];
            cell.points |= POINTS[y % 4][x % 2];
            cell.colour = Some(colour);
        }
    }

    /// Sets the points on the line between two points.
    pub(super) fn line(&mut self, from: (usize, usize), to: (usize, usize), colour: Colour) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |from: usize, to: usize, step: usize| {
            if to >= from {
                from + ((to - from) * step + steps / 2) / steps
            } else {
                from - ((from - to) * step + steps / 2) / steps
            }
        };
        for step in 0..=steps {
            self.point(between(from.0, to.0, step), between(from.1, to.1, step), colour);
        }
    }

    /// Returns one line, without trailing blanks.
    pub(super) fn text(&self, line: usize) -> String {
        let cells = &self.cells[line * self.columns..(line + 1) * self.columns];
        let letter = |cell: &Cell| match cell.points {
            0 => cell.letter,
            points => char::from_u32(0x2800 + u32::from(points)).unwrap_or(cell.letter),
        };
        let end = cells.iter().rposition(|cell| letter(cell) != ' ').map_or(0, |last| last + 1);
        let mut text = String::new();
        let mut now = None;
        for cell in &cells[..end] {
            let colour = cell.colour.filter(|_| self.is_coloured).map(Colour::of_terminal);
            if colour != now {
                text.push_str(&switched(colour));
                now = colour;
            }
            text.push(letter(cell));
        }
        if now.is_some() {
            text.push_str(&switched(None));
        }
        text
    }
}

/// Returns the text in a colour, if colours are enabled.
pub(super) fn painted(text: &str, colour: Colour, is_coloured: bool) -> String {
    if !is_coloured {
        return text.to_owned();
    }
    format!("{}{text}{}", switched(Some(colour.of_terminal())), switched(None))
}

/// Returns the text on a background of the colour map, in a readable colour.
pub(super) fn on_map(text: &str, place: f64) -> String {
    on_colour(text, Colour::Map(place), Colour::OnMap(place))
}

/// Returns the text in a colour on another one.
pub(super) fn on_colour(text: &str, back: Colour, ink: Colour) -> String {
    let (back, ink) = (back.of_terminal(), ink.of_terminal());
    format!("\u{1b}[48;5;{back};38;5;{ink}m{text}\u{1b}[0m")
}

fn switched(colour: Option<u8>) -> String {
    let mut text = String::new();
    let _ = match colour {
        Some(colour) => write!(text, "\u{1b}[38;5;{colour}m"),
        None => write!(text, "\u{1b}[0m"),
    };
    text
}
