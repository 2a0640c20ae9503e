//! The scale of colours beside a matrix or a map.

use super::HEADER;
use crate::{
    Axis,
    colour::Colour,
    drawing::{Anchor, Dash, Drawing},
};

/// Draws the scale of the values with its numbers and the colour of each place, at least 120 points high.
pub(super) fn draw(
    drawing: &mut Drawing,
    axis: &Axis,
    colour: impl Fn(f64) -> Colour,
    left: f64,
    (top, end): (f64, f64),
) {
    const STEPS: u32 = 64;
    let bottom = end.max(top + 120.0).min(top + 300.0);
    let high = bottom - top;
    for step in 0..STEPS {
        let place = f64::from(step) / f64::from(STEPS - 1);
        let y = |step: u32| bottom - high * f64::from(step) / f64::from(STEPS);
        // Half a point of overlap avoids gaps.
        drawing.rectangle((left, y(step + 1)), (left + 18.0, y(step) + 0.5), colour(place));
    }
    let ticks = axis.ticks(5);
    for mark in &ticks.marks {
        let y = bottom - axis.place(mark.at) * high;
        drawing.lines(
            vec![vec![(left + 18.0, y), (left + 23.0, y)]],
            Colour::Faint,
            1.0,
            Dash::None,
        );
        let at = (left + 27.0, y + 0.36 * HEADER);
        drawing.words(&mark.label, at, HEADER, Colour::Ink, Anchor::Start);
    }
    if !ticks.unit.is_empty() {
        drawing.words(ticks.unit, (left, top - 8.0), HEADER, Colour::Ink, Anchor::Start);
    }
}
