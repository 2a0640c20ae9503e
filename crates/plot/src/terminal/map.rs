//! Values for cells of two axes.
//!
//! A quarter of the scale has the lightest shade, anything above it the next one. Only values at the lower end, such
//! as 0, are blank.

use std::{collections::HashMap, fmt::Write as _};

use super::{Room, canvas::on_colour, right, widest};
use crate::{
    Map,
    colour::{Colour, whole},
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
    let guide = guide_cells(&map);
    let mut text = format!("{}\n", map.y.title(&ticks));
    let row_of =
        |value: f64| whole((map.y.place(map.beside(value)) * rows as f64).floor()).min(rows - 1);
    for row in (0..rows).rev() {
        let label = ticks.marks.iter().find(|mark| row_of(mark.at) == row);
        let mut line = format!("{} ", right(label.map_or("", |mark| &mark.label), numbers));
        for column in 0..map.columns {
            let cell = column * rows + row;
            let place = map.cells[cell].map(|value| map.values.place(value).clamp(0.0, 1.0));
            let colour = map.colour(cell).filter(|_| room.is_coloured);
            let shown = match (place, guide.get(&cell)) {
                (None, Some(letter)) => format!("{letter} "),
                (None, None) if map.guide.is_some() => " ".repeat(CELL),
                (place, _) => {
                    let shade = place.map_or('\u{b7}', |place| SHADES[shade_of(place)]);
                    let shade = shade.to_string().repeat(CELL);
                    match colour {
                        // The shade is in a colour that is readable on that of the cell.
                        Some(Colour::Map(place)) => {
                            on_colour(&shade, Colour::Map(place), Colour::OnMap(place))
                        }
                        Some(colour) => on_colour(&shade, colour, colour),
                        None => shade,
                    }
                }
            };
            line.push_str(&shown);
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
    if let Some(guide) = &map.guide {
        let names: Vec<&str> = guide.marks.iter().map(|mark| &*mark.label).collect();
        let names = format!("{left}o on the curve, from the right: {}", names.join(", "));
        text.push_str(&cut(&names, room.columns));
        text.push('\n');
    }
    let shades: String = SHADES[1..].iter().collect();
    let scale = format!("{left}{values}: {least} to about {most}, blank to {shades}");
    text.push_str(&cut(&scale, room.columns));
    text.push('\n');
    text
}

/// Returns the letters of the cells through which the curve goes.
fn guide_cells(map: &Map) -> HashMap<usize, char> {
    let Some(guide) = &map.guide else { return HashMap::new() };
    let rows = map.rows().max(1);
    let cell = |at: &[f64; 2]| {
        let of = |place: f64, count: usize| whole((place * count as f64).floor()).min(count - 1);
        of(map.x.place(at[0]), map.columns) * rows + of(map.y.place(at[1]), rows)
    };
    let line = guide.line.iter().map(|at| (cell(at), '\u{b7}'));
    line.chain(guide.marks.iter().map(|mark| (cell(&mark.at), 'o'))).collect()
}

/// Returns the shade; the empty one only for zero.
fn shade_of(place: f64) -> usize {
    if place <= 0.0 { 0 } else { whole((place * 4.0).ceil()).clamp(1, 4) }
}
