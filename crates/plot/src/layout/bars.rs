//! Draws values one below the other, as bars with errors.

use super::{Frame, HEADER, MARGIN, Space, TICK, draw_nothing, draw_x, widest};
use crate::{
    Bars,
    colour::Colour,
    drawing::{Anchor, Dash, Drawing, fitted},
};

/// Distance between two bars, and the least one.
const STEP: f64 = 30.0;
const STEP_MIN: f64 = 16.0;
/// Maximum width of the names to the left of the bars.
const NAMES: f64 = 260.0;

/// Draws below `top`; returns the lower end.
pub(super) fn draw(drawing: &mut Drawing, bars: &Bars, space: Space) -> f64 {
    let Space { top, height } = space;
    if bars.bars.is_empty() {
        return draw_nothing(drawing, "nothing was counted", top);
    }
    let names = widest(bars.bars.iter().map(|bar| &*bar.name), TICK).min(NAMES);
    let texts = bars.texts();
    let numbers = widest(texts.iter().map(String::as_str), TICK);
    let has_accidentals = bars.bars.iter().any(|bar| bar.accidentals.is_some());
    let top = if has_accidentals { top + 14.0 } else { top };
    let count = bars.bars.len() as f64;
    let step = height.map_or(STEP, |height| (height / count).clamp(STEP_MIN, STEP));
    let bottom = top + step * count;
    let frame = Frame {
        left: MARGIN + names + 12.0,
        right: drawing.width - MARGIN - numbers - 14.0,
        top,
        bottom,
    };
    let across = |value: f64| {
        frame.left + bars.axis.place(value).clamp(0.0, 1.0) * (frame.right - frame.left)
    };
    let end = draw_x(drawing, &bars.axis, frame);
    for (number, (bar, text)) in bars.bars.iter().zip(&texts).enumerate() {
        let y = top + step * (number as f64 + 0.5);
        let stands = y + 0.36 * TICK;
        let name = fitted(&bar.name, TICK, NAMES);
        drawing.words(&name, (frame.left - 10.0, stands), TICK, Colour::Ink, Anchor::End);
        drawing.words(text, (drawing.width - MARGIN, stands), TICK, Colour::Ink, Anchor::End);
        let Some(value) = bar.value else { continue };
        let half = 0.3 * step;
        let (left, right) = (across(value.min(0.0)), across(value.max(0.0)));
        drawing.rectangle((left, y - half), (right, y + half), Colour::Series(0));
        let (low, high) = (across(value - bar.err), across(value + bar.err));
        let error = vec![
            vec![(low, y), (high, y)],
            vec![(low, y - 4.0), (low, y + 4.0)],
            vec![(high, y - 4.0), (high, y + 4.0)],
        ];
        drawing.lines(error, Colour::Ink, 1.3, Dash::None);
        if let Some(chance) = bar.accidentals {
            let x = across(chance);
            let ends = vec![(x, y - step / 2.0 + 2.0), (x, y + step / 2.0 - 2.0)];
            drawing.lines(vec![ends], Colour::Series(1), 3.0, Dash::None);
        }
    }
    if has_accidentals {
        let y = top - 14.0;
        let words = "accidentals";
        drawing.words(words, (frame.right, y + 0.36 * HEADER), HEADER, Colour::Ink, Anchor::End);
        let x = frame.right - crate::font::width(words, HEADER) - 8.0;
        drawing.line((x, y - 7.0), (x, y + 7.0), Colour::Series(1), 3.0);
    }
    let zero = across(0.0);
    drawing.line((zero, frame.top), (zero, frame.bottom), Colour::Faint, 1.2);
    end
}
