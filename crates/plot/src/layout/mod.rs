//! The layout of a figure on the page: title, header, note, and the values with their axes, from top to bottom.
//!
//! A page of 960 points has 904 for text between its margins of 28. A page without a given height is as high as its
//! content needs.

mod bars;
mod chart;
mod map;
mod matrix;
mod scale;

use crate::{
    Axis, Figure, Page, Plot, Ticks,
    colour::Colour,
    drawing::{Anchor, Drawing, broken, fitted},
    font,
};

/// Margin of every figure.
const MARGIN: f64 = 28.0;

/// Letter sizes.
const TITLE: f64 = 22.0;
const HEADER: f64 = 13.0;
const LABEL: f64 = 16.0;
const TICK: f64 = 14.0;

/// Height of the numbers and the title of the axis below the values.
const AXIS: f64 = 8.0 + TICK + 8.0 + LABEL;

/// A part of the page.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The part of the page for the values and their axes.
#[derive(Debug, Clone, Copy)]
struct Space {
    top: f64,
    /// Height of the values above their axis, if the height of the page is given.
    height: Option<f64>,
}

/// Returns the figure on its page, which is as high as necessary if its height is not given.
pub(crate) fn drawn(figure: &Figure) -> Drawing {
    let Page { width, height, is_dark } = figure.page;
    let mut drawing = Drawing { width, height: 0.0, is_dark, things: Vec::new() };
    let room = width - 2.0 * MARGIN;
    let mut down = MARGIN;
    if !figure.title.is_empty() {
        down += TITLE;
        let title = fitted(&figure.title, TITLE, room);
        drawing.words(&title, (MARGIN, down), TITLE, Colour::Ink, Anchor::Start);
        down += 4.0;
    }
    let notes = figure.note.iter().flat_map(|note| broken(note, HEADER, room));
    for line in broken(&figure.header, HEADER, room).into_iter().chain(notes) {
        down += HEADER * 1.45;
        drawing.words(&line, (MARGIN, down), HEADER, Colour::Faint, Anchor::Start);
    }
    let top = down + 22.0;
    let space =
        Space { top, height: height.map(|height| (height - top - AXIS - MARGIN).max(60.0)) };
    let bottom = match &figure.plot {
        Plot::Chart(chart) => chart::draw(&mut drawing, chart, space),
        Plot::Bars(bars) => bars::draw(&mut drawing, bars, space),
        Plot::Matrix(matrix) => matrix::draw(&mut drawing, matrix, space),
        Plot::Map(map) => map::draw(&mut drawing, map, space),
    };
    drawing.height = height.unwrap_or(0.0).max((bottom + MARGIN).ceil());
    drawing
}

/// Returns ticks whose numbers do not overlap along `room` points.
fn ticks_across(axis: &Axis, room: f64) -> Ticks {
    let mut most = 12;
    loop {
        let ticks = axis.ticks(most);
        let widest = widest(ticks.marks.iter().map(|mark| &*mark.label), TICK);
        let between =
            ticks.marks.windows(2).map(|pair| axis.place(pair[1].at) - axis.place(pair[0].at));
        let least = between.fold(f64::INFINITY, f64::min) * room;
        if most == 1 || least > widest + 14.0 {
            return ticks;
        }
        most -= 1;
    }
}

/// Draws the axis below a frame, and grid lines from its ticks through the frame; returns the lower
/// end.
fn draw_x(drawing: &mut Drawing, axis: &Axis, frame: Frame) -> f64 {
    let ticks = ticks_across(axis, frame.right - frame.left);
    let at =
        |value: f64| frame.left + axis.place(value).clamp(0.0, 1.0) * (frame.right - frame.left);
    for &value in &ticks.between {
        drawing.line(
            (at(value), frame.bottom),
            (at(value), frame.bottom + 3.0),
            Colour::Faint,
            1.0,
        );
    }
    for mark in &ticks.marks {
        let x = at(mark.at);
        drawing.line((x, frame.top), (x, frame.bottom), Colour::Grid, 1.0);
        drawing.line((x, frame.bottom), (x, frame.bottom + 6.0), Colour::Faint, 1.0);
        // A number at the edge stays on the page.
        let half = font::width(&mark.label, TICK) / 2.0;
        let x = x.clamp(MARGIN / 2.0 + half, drawing.width - MARGIN / 2.0 - half);
        drawing.words(
            &mark.label,
            (x, frame.bottom + 8.0 + TICK),
            TICK,
            Colour::Ink,
            Anchor::Middle,
        );
    }
    let below = frame.bottom + AXIS;
    let middle = f64::midpoint(frame.left, frame.right);
    drawing.words(&axis.title(&ticks), (middle, below), LABEL, Colour::Ink, Anchor::Middle);
    below
}

/// Draws the reason why there are no values.
fn draw_nothing(drawing: &mut Drawing, why: &str, top: f64) -> f64 {
    let middle = top + 120.0;
    drawing.words(why, (drawing.width / 2.0, middle), LABEL, Colour::Faint, Anchor::Middle);
    middle + 120.0
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>, size: f64) -> f64 {
    texts.map(|text| font::width(text, size)).fold(0.0, f64::max)
}
