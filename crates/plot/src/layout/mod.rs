//! The layout of a figure on the page.

mod bars;
mod chart;
mod map;
mod matrix;
mod scale;

use crate::{
    Axis, Figure, Plot, Ticks,
    colour::Colour,
    drawing::{Anchor, Drawing, broken, fitted},
    font,
};

/// Width of every figure, and its margins.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 28.0;

/// Letter sizes.
const TITLE: f64 = 22.0;
const HEADER: f64 = 13.0;
const LABEL: f64 = 16.0;
const TICK: f64 = 14.0;

/// A part of the page.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Returns the figure on a page of the necessary height.
pub(crate) fn drawn(figure: &Figure) -> Drawing {
    let mut drawing = Drawing { width: WIDTH, height: 0.0, things: Vec::new() };
    let room = WIDTH - 2.0 * MARGIN;
    let mut down = MARGIN + TITLE;
    drawing.words(
        &fitted(&figure.title, TITLE, room),
        (MARGIN, down),
        TITLE,
        Colour::Ink,
        Anchor::Start,
    );
    down += 4.0;
    let header = broken(&figure.header, HEADER, room);
    for line in header.into_iter().chain(figure.note.clone()) {
        down += HEADER * 1.45;
        drawing.words(&line, (MARGIN, down), HEADER, Colour::Faint, Anchor::Start);
    }
    let top = down + 22.0;
    let bottom = match &figure.plot {
        Plot::Chart(chart) => chart::draw(&mut drawing, chart, top),
        Plot::Bars(bars) => bars::draw(&mut drawing, bars, top),
        Plot::Matrix(matrix) => matrix::draw(&mut drawing, matrix, top),
        Plot::Map(map) => map::draw(&mut drawing, map, top),
    };
    drawing.height = (bottom + MARGIN).ceil();
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
        let x = x.clamp(MARGIN / 2.0 + half, WIDTH - MARGIN / 2.0 - half);
        drawing.words(
            &mark.label,
            (x, frame.bottom + 8.0 + TICK),
            TICK,
            Colour::Ink,
            Anchor::Middle,
        );
    }
    let below = frame.bottom + 8.0 + TICK + 8.0 + LABEL;
    let middle = f64::midpoint(frame.left, frame.right);
    drawing.words(&axis.title(&ticks), (middle, below), LABEL, Colour::Ink, Anchor::Middle);
    below
}

/// Draws the reason why there are no values.
fn draw_nothing(drawing: &mut Drawing, why: &str, top: f64) -> f64 {
    let middle = top + 120.0;
    drawing.words(why, (WIDTH / 2.0, middle), LABEL, Colour::Faint, Anchor::Middle);
    middle + 120.0
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>, size: f64) -> f64 {
    texts.map(|text| font::width(text, size)).fold(0.0, f64::max)
}
