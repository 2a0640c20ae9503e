//! Values for cells of two axes.
//!
//! A quarter of the scale has the lightest shade, anything above it the next one. Only values at the lower end, such
//! as 0, are blank.

use std::fmt::Write as _;

use super::{Room, canvas::on_map, right, widest};
use crate::{
    Map,
    colour::whole,
    words::{cut, fixed},
};

/// Shades from low to high, also where colours are seen.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Characters of a cell: about as wide as a line is high.
const CELL: usize = 2;

pub(super) fn text(map: &Map, room: Room) -> String {
    let ticks = map.y.ticks(4);
    let numbers = widest(ticks.marks.iter().map(|mark| &*mark.label));
    let columns = (room.columns.saturating_sub(numbers + 2) / CELL).max(1);
    let map = map.at_most(columns, room.lines.saturating_sub(4).max(1));
    let rows = map.rows().max(1);
    let mut text = format!("{}\n", map.y.title(&ticks));
    let row_of =
        |value: f64| whole((map.y.place(map.beside(value)) * rows as f64).floor()).min(rows - 1);
    for row in (0..rows).rev() {
        let label = ticks.marks.iter().find(|mark| row_of(mark.at) == row);
        let mut line = format!("{} ", right(label.map_or("", |mark| &mark.label), numbers));
        for column in 0..map.columns {
            let place = map.cells[column * rows + row].map(|value| map.values.place(value));
            let place = place.map(|place| place.clamp(0.0, 1.0));
            line.push_str(&match place {
                None => "\u{b7}".repeat(CELL),
                Some(place) => {
                    let shade = SHADES[shade_of(place)].to_string().repeat(CELL);
                    if room.is_coloured { on_map(&shade, place) } else { shade }
                }
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let across = map.x.ticks(2);
    let (first, last) = (across.marks.first(), across.marks.last());
    if let (Some(first), Some(last)) = (first, last) {
        let place = |at: f64| whole((map.x.place(at) * (map.columns * CELL) as f64).floor());
        let mut line = " ".repeat(numbers + 1 + place(first.at));
        line.push_str(&first.label);
        let to = (numbers + 1 + place(last.at)).saturating_sub(last.label.chars().count());
        if first.at < last.at && to > line.chars().count() {
            line.push_str(&" ".repeat(to - line.chars().count()));
            line.push_str(&last.label);
        }
        text.push_str(&line);
        text.push('\n');
    }
    let left = " ".repeat(numbers + 1);
    let _ = writeln!(text, "{left}{}", map.x.title(&across));
    let is_from_zero = map.values.low.abs() < f64::MIN_POSITIVE;
    let ticks = map.values.ticks(if is_from_zero { 2 } else { 8 });
    let least = match ticks.marks.first() {
        Some(mark) if !is_from_zero => mark.label.clone(),
        _ => "0".to_owned(),
    };
    let most = ticks.marks.last().map_or(String::new(), |mark| mark.label.clone());
    let values = map.values.title(&ticks);
    if let Some(bar) = map.image.as_ref().and_then(|image| image.bar.as_ref()) {
        let _ = writeln!(text, "{left}{} pixels are {}", fixed(bar.cells, 1), bar.label);
    }
    let shades: String = SHADES[1..].iter().collect();
    let scale = format!("{left}{values}: {least} to about {most}, blank to {shades}");
    text.push_str(&cut(&scale, room.columns));
    text.push('\n');
    text
}

/// Returns the shade; the empty one only for zero.
fn shade_of(place: f64) -> usize {
    if place <= 0.0 { 0 } else { whole((place * 4.0).ceil()).clamp(1, 4) }
}
