//! Draws values for cells of two axes, with the scale of their colours.

use super::{Frame, LABEL, MARGIN, Space, TICK, draw_x, scale, ticks_across, widest};
use crate::{
    Map,
    colour::Colour,
    drawing::{Anchor, Cells, Dash, Drawing, Thing},
    figure::Guide,
    font,
};

/// Width and height of all cells together, and width of the scale beside them.
const SIZE: f64 = 560.0;
const SCALE: f64 = 110.0;
/// Largest number of cells drawn along an axis; more are averaged.
const CELLS: usize = 256;
/// Space between the cells and the scale of colours.
const SPACE: f64 = 30.0;
/// Space between the axis below and the bar that shows a length.
const BAR: f64 = 26.0;
/// Space between a place on a curve and its name.
const NAME: f64 = 9.0;

/// Draws below `top`; returns the lower end.
pub(super) fn draw(drawing: &mut Drawing, map: &Map, space: Space) -> f64 {
    let top = space.top;
    let mut high = space.height.unwrap_or(SIZE);
    let ticks = ticks_across(&map.y, high);
    let numbers = widest(ticks.marks.iter().map(|mark| &*mark.label), TICK);
    let left = MARGIN + LABEL + 14.0 + numbers + 10.0;
    let widest = drawing.width - MARGIN - SCALE;
    let right = if map.has_squares() {
        // Pixels are squares.
        let (columns, rows) = (map.columns.max(1) as f64, map.rows().max(1) as f64);
        let side = (high / rows).min((widest - left) / columns);
        high = side * rows;
        left + side * columns
    } else if map.is_square() {
        // Cells of two differences are squares; time goes on across the page.
        (left + high).min(widest)
    } else {
        widest
    };
    let frame = Frame { left, right, top, bottom: top + high };
    let mut below = draw_x(drawing, &map.x, frame);
    let map_drawn = map.at_most(CELLS, CELLS);
    if map.image.is_some() && map.cells.contains(&None) {
        // Pixels without a value are grey: white would be one of the brightest.
        drawing.rectangle((left, top), (right, frame.bottom), Colour::Grid);
    }
    if map.guide.is_some() {
        // Empty cells are blank, and places are read on lines in both directions.
        for mark in &ticks.marks {
            let y = frame.bottom - map.y.place(mark.at).clamp(0.0, 1.0) * high;
            drawing.line((left, y), (right, y), Colour::Grid, 1.0);
        }
    }
    drawing.things.push(Thing::Cells(Cells {
        from: (left, top),
        to: (right, frame.bottom),
        columns: map_drawn.columns.max(1),
        rows: map_drawn.rows().max(1),
        fills: (0..map_drawn.cells.len()).map(|cell| map_drawn.colour(cell)).collect(),
    }));
    if let Some(guide) = &map.guide {
        draw_guide(drawing, map, guide, frame);
    }
    for mark in &ticks.marks {
        let y = frame.bottom - map.y.place(map.beside(mark.at)).clamp(0.0, 1.0) * high;
        drawing.line((left - 6.0, y), (left, y), Colour::Faint, 1.0);
        let at = (left - 10.0, y + 0.36 * TICK);
        drawing.words(&mark.label, at, TICK, Colour::Ink, Anchor::End);
    }
    let middle = (MARGIN + LABEL - 4.0, f64::midpoint(top, frame.bottom));
    drawing.turned(&map.y.title(&ticks), middle, LABEL, Anchor::Middle);
    let colour = |place: f64| map_drawn.scale_colour(place);
    scale::draw(drawing, &map_drawn.values, colour, right + SPACE, (top, frame.bottom));
    if let Some(bar) = map.image.as_ref().and_then(|image| image.bar.as_ref()) {
        below += BAR;
        let end = left + (right - left) * bar.cells / map.columns.max(1) as f64;
        drawing.line((left, below), (end, below), Colour::Ink, 4.0);
        let at = (end + 10.0, below + 0.36 * TICK);
        drawing.words(&bar.label, at, TICK, Colour::Ink, Anchor::Start);
    }
    below
}

/// Draws the curve over the cells. Names are on the side that the middle is not on.
fn draw_guide(drawing: &mut Drawing, map: &Map, guide: &Guide, frame: Frame) {
    let place = |at: &[f64; 2]| {
        let [x, y] = [map.x.place(at[0]), map.y.place(at[1])];
        let wide = frame.right - frame.left;
        (x.mul_add(wide, frame.left), frame.bottom - y * (frame.bottom - frame.top))
    };
    drawing.lines(vec![guide.line.iter().map(place).collect()], Colour::Ink, 1.5, Dash::None);
    drawing.dots(guide.marks.iter().map(|mark| place(&mark.at)).collect(), 3.5, Colour::Ink);
    for mark in &guide.marks {
        let [x, y] = [0, 1].map(|part| mark.at[part] - guide.middle[part]);
        let length = libm::hypot(x, y);
        let (right, up) = (x / length, y / length);
        let anchor = match right {
            0.35.. => Anchor::Start,
            _ if right > -0.35 => Anchor::Middle,
            _ => Anchor::End,
        };
        let (at_x, at_y) = place(&mark.at);
        let at = (right.mul_add(NAME, at_x), up.mul_add(-NAME, at_y) + (0.36 - 0.3 * up) * TICK);
        let wide = font::width(&mark.label, TICK);
        let begins = match anchor {
            Anchor::Start => at.0,
            Anchor::Middle => at.0 - wide / 2.0,
            Anchor::End => at.0 - wide,
        };
        // A small figure has no room for names beside the numbers of its axis and before the scale.
        if begins >= frame.left && begins + wide <= frame.right + SPACE - 8.0 {
            drawing.words(&mark.label, at, TICK, Colour::Ink, anchor);
        }
    }
}
