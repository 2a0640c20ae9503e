//! Writes counts of pairs as a matrix, with shades or colours.

use super::{Room, canvas::on_map, right, widest};
use crate::{
    Matrix,
    colour::whole,
    words::{cut, thousands},
};

/// Shades from few to many, without colours.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

pub(super) fn text(matrix: &Matrix, room: Room) -> String {
    let counts: Vec<Option<String>> =
        matrix.cells.iter().map(|count| count.map(thousands)).collect();
    let of_counts = widest(counts.iter().flatten().map(String::as_str));
    let names = widest(matrix.rows.iter().map(String::as_str)).min(room.columns / 4);
    let heads = widest(matrix.columns.iter().map(String::as_str));
    // A shade takes two characters, and one more separates it from the count.
    let shade = if room.is_coloured { 0 } else { 3 };
    let least = of_counts + shade;
    let columns = matrix.columns.len();
    let space = room.columns - names - 1;
    // As wide as the names require, unless only narrower cells fit next to each other.
    let wide = (heads.min(12).max(least) + 2).min((space / columns).max(least + 1));
    let many = (space / wide).max(1);
    let axis = matrix.axis();
    let mut text = String::new();
    // Columns that do not fit next to each other are drawn below.
    for first in (0..columns).step_by(many) {
        let part = first..columns.min(first + many);
        if first > 0 {
            text.push('\n');
        }
        let mut line = " ".repeat(names + 1);
        for name in &matrix.columns[part.clone()] {
            line.push_str(&right(&cut(name, wide - 1), wide - 1));
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
        for (row, name) in matrix.rows.iter().enumerate() {
            let mut line = format!("{} ", right(name, names));
            for column in part.clone() {
                let at = row * columns + column;
                let cell = match (&counts[at], matrix.cells[at]) {
                    (Some(shown), Some(count)) => {
                        let place = axis.place(count as f64).clamp(0.0, 1.0);
                        if room.is_coloured {
                            on_map(&format!("{} ", right(shown, wide - 1)), place)
                        } else {
                            let sign = SHADES[shade_of(count, place)];
                            format!("{} {sign}{sign} ", right(shown, wide - 4))
                        }
                    }
                    _ => format!("{} ", right("\u{b7}", wide - 1)),
                };
                line.push_str(&cell);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// Returns the shade; the empty one only for a count of zero.
fn shade_of(count: u64, place: f64) -> usize {
    if count == 0 { 0 } else { whole((place * 4.0).ceil()).clamp(1, 4) }
}
