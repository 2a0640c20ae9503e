//! Draws counts of pairs as a matrix, a row for each first channel.

use super::{LABEL, MARGIN, Space, TICK, scale, widest};
use crate::{
    Matrix,
    colour::Colour,
    drawing::{Anchor, Drawing, fitted},
    font,
    words::thousands,
};

/// Maximum size of a cell, and maximum height of all cells together, if they stay readable.
const CELL: (f64, f64) = (128.0, 52.0);
const HIGH: f64 = 460.0;
/// Maximum width of names.
const NAMES: f64 = 170.0;
/// Width of the colour scale next to the cells, with its numbers.
const MAP: f64 = 120.0;

/// Draws below `top`; returns the lower end.
pub(super) fn draw(drawing: &mut Drawing, matrix: &Matrix, space: Space) -> f64 {
    let Space { top, height: all } = space;
    let names = |names: &[String]| widest(names.iter().map(String::as_str), TICK).min(NAMES);
    let (before, above) = (names(&matrix.rows), names(&matrix.columns));
    let (rows, columns) = (matrix.rows.len(), matrix.columns.len());
    let left = MARGIN + LABEL + 14.0 + before + 10.0;
    let width = ((drawing.width - MARGIN - MAP - left) / columns as f64).min(CELL.0);
    let height = (all.unwrap_or(HIGH) / rows as f64).clamp(18.0, CELL.1);
    // Names that are wider than their cells are rotated upward.
    let is_turned = above > width - 8.0;
    let top = top + LABEL;
    let cells = top + 8.0 + if is_turned { above } else { TICK } + 8.0;
    let (right, bottom) = (left + width * columns as f64, cells + height * rows as f64);
    let centre = (f64::midpoint(left, right), f64::midpoint(cells, bottom));
    drawing.words("second channel", (centre.0, top), LABEL, Colour::Ink, Anchor::Middle);
    drawing.turned("first channel", (MARGIN + LABEL - 4.0, centre.1), LABEL, Anchor::Middle);
    for (at, name) in matrix.columns.iter().enumerate() {
        let (name, x) = (fitted(name, TICK, NAMES), left + width * (at as f64 + 0.5));
        if is_turned {
            drawing.turned(&name, (x + 0.36 * TICK, cells - 8.0), TICK, Anchor::Start);
        } else {
            drawing.words(&name, (x, cells - 8.0), TICK, Colour::Ink, Anchor::Middle);
        }
    }
    for (at, name) in matrix.rows.iter().enumerate() {
        let place = (left - 10.0, cells + height * (at as f64 + 0.5) + 0.36 * TICK);
        drawing.words(&fitted(name, TICK, NAMES), place, TICK, Colour::Ink, Anchor::End);
    }
    let axis = matrix.axis();
    let size = size_of_counts(matrix, width, height);
    for (at, count) in matrix.cells.iter().enumerate() {
        let from = (left + width * (at % columns) as f64, cells + height * (at / columns) as f64);
        let to = (from.0 + width - 1.5, from.1 + height - 1.5);
        let Some(count) = *count else {
            // A pair that was not counted is not a count of zero.
            let dot = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
            drawing.dots(vec![dot], 1.5, Colour::Grid);
            continue;
        };
        let place = axis.place(count as f64).clamp(0.0, 1.0);
        drawing.rectangle(from, to, Colour::Map(place));
        let middle = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
        let text = (middle.0, middle.1 + 0.36 * size);
        drawing.words(&thousands(count), text, size, Colour::OnMap(place), Anchor::Middle);
    }
    scale::draw(drawing, &axis, Colour::Map, right + 30.0, (cells, bottom));
    bottom.max(cells + 120.0)
}

/// Returns a letter size with which counts fit into their cells.
fn size_of_counts(matrix: &Matrix, width: f64, height: f64) -> f64 {
    let widest = matrix.cells.iter().flatten().map(|&count| font::width(&thousands(count), 1.0));
    let widest = widest.fold(1.0, f64::max);
    ((width - 6.0) / widest).min(0.6 * height).clamp(4.0, LABEL)
}
