//! Draws values over an axis, in one panel or one for each series.
//!
//! A line from inside the axis to beyond it is cut at the edge, and the value beyond has an arrow there, so that no
//! value is drawn at a wrong height.

use std::cmp::Ordering;

use super::{Frame, HEADER, LABEL, MARGIN, Space, TICK, draw_nothing, draw_x, widest};
use crate::{
    Axis, Chart, Line, SeriesMarks, Shape, Step, Ticks,
    colour::{Colour, whole},
    drawing::{Anchor, Dash, Drawing, Place, fitted},
};

/// Height of the area of values.
const HEIGHT: f64 = 384.0;
/// Space between panels, and their least height.
const PANEL_SPACE: f64 = 14.0;
const PANEL_MIN: f64 = 70.0;
/// Maximum width of the names to the right of the values.
const LEGEND: f64 = 190.0;

/// Half of the width of the arrow of a value beyond the axis, and its height.
const ARROW: (f64, f64) = (4.0, 8.0);

/// The area of the values on the page.
struct Area<'a> {
    x: &'a Axis,
    y: &'a Axis,
    reference: Option<f64>,
    frame: Frame,
}

impl Area<'_> {
    /// Returns the horizontal position of a value.
    fn across(&self, value: f64) -> f64 {
        let Frame { left, right, .. } = self.frame;
        left + self.x.place(value).clamp(0.0, 1.0) * (right - left)
    }

    /// Returns the vertical position of a value; one beyond the axis is at its end.
    fn up(&self, value: f64) -> f64 {
        let Frame { top, bottom, .. } = self.frame;
        bottom - self.y.place(value).clamp(0.0, 1.0) * (bottom - top)
    }

    /// Returns the vertical position of a value, also of one beyond the axis.
    fn up_beyond(&self, value: f64) -> f64 {
        let Frame { top, bottom, .. } = self.frame;
        bottom - self.y.place(value).clamp(-9.0, 10.0) * (bottom - top)
    }

    /// Returns the parts of lines that are on the axis.
    fn inside(&self, lines: impl Iterator<Item = Vec<Place>>) -> Vec<Vec<Place>> {
        let Frame { top, bottom, .. } = self.frame;
        let mut parts: Vec<Vec<Place>> = Vec::new();
        for line in lines {
            let mut end = None;
            for pair in line.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                // The place of the line at a height, between its ends.
                let at = |y: f64| {
                    let share = (y - from.1) / (to.1 - from.1);
                    (from.0 + share * (to.0 - from.0), y)
                };
                let cut = |(x, y): Place| match y {
                    y if y < top => at(top),
                    y if y > bottom => at(bottom),
                    y => (x, y),
                };
                let is_outside =
                    |edge: fn(f64, f64) -> bool, of: f64| edge(from.1, of) && edge(to.1, of);
                if is_outside(|y, top| y < top, top) || is_outside(|y, bottom| y > bottom, bottom) {
                    end = None;
                    continue;
                }
                let (first, last) = (cut(from), cut(to));
                match parts.last_mut() {
                    Some(part) if end == Some(first) => part.push(last),
                    _ => parts.push(vec![first, last]),
                }
                end = Some(last);
            }
        }
        parts
    }
}

/// The least height of a panel for residuals, and its part of all panels.
const BELOW_MIN: f64 = 60.0;
const BELOW_PART: f64 = 0.25;

/// Draws below `top`; returns the lower end.
pub(super) fn draw(drawing: &mut Drawing, chart: &Chart, space: Space) -> f64 {
    let top = space.top;
    if !chart.has_values() {
        return draw_nothing(drawing, "no value is defined", top);
    }
    let below = chart.below_chart();
    let all = space.height.unwrap_or(HEIGHT);
    let of_below = below.as_ref().map_or(0.0, |_| (BELOW_PART * all).max(BELOW_MIN));
    let panels = if chart.has_panels { chart.series.len() } else { 1 };
    let all = if below.is_some() { all - of_below - PANEL_SPACE } else { all };
    let height = (all / panels as f64 - PANEL_SPACE).max(PANEL_MIN);
    let height = if panels == 1 { all.max(PANEL_MIN) } else { height };
    let ticks = ticks_up(&chart.y, height);
    let ticks_below = below.as_ref().map(|below| ticks_up(&below.y, 2.0 * of_below));
    let marks = ticks.marks.iter().chain(ticks_below.iter().flat_map(|ticks| &ticks.marks));
    let numbers = widest(marks.map(|mark| &*mark.label), TICK);
    let has_legend = chart.series.len() > 1;
    let names = widest(chart.series.iter().map(|series| &*series.name), TICK).min(LEGEND);
    let legend = if has_legend { names + 52.0 } else { 0.0 };
    let left = MARGIN + LABEL + 12.0 + numbers + 10.0;
    let right = drawing.width - MARGIN - legend;
    let of_panel = |panel: usize| {
        let top = top + (height + PANEL_SPACE) * panel as f64;
        Frame { left, right, top, bottom: top + height }
    };
    let above = Frame { top, ..of_panel(panels - 1) };
    let lower = Frame {
        top: above.bottom + PANEL_SPACE,
        bottom: above.bottom + PANEL_SPACE + of_below,
        ..above
    };
    let title = |drawing: &mut Drawing, axis: &Axis, ticks: &Ticks, frame: Frame| {
        let middle = f64::midpoint(frame.top, frame.bottom);
        let at = (MARGIN + LABEL - 4.0, middle);
        drawing.turned(&axis.title(ticks), at, LABEL, Anchor::Middle);
    };
    title(drawing, &chart.y, &ticks, above);
    let whole = if below.is_some() { Frame { bottom: lower.bottom, ..above } } else { above };
    let bottom = draw_x(drawing, &chart.x, whole);
    let all_marks = chart.marks(right - left);
    // Intervals have no numbers.
    let nothing = Ticks { marks: Vec::new(), between: Vec::new(), unit: "" };
    for panel in 0..panels {
        let frame = of_panel(panel);
        let is_own = |number: usize| panels == 1 || number == panel;
        let own: Vec<&SeriesMarks> =
            all_marks.iter().filter(|marks| is_own(marks.number)).collect();
        let (y, ticks_own) = match chart.series.get(panel).filter(|_| panels > 1) {
            Some(series) if chart.shape_of(series) == Shape::Intervals => {
                (chart.axis_of(series), &nothing)
            }
            _ => (chart.y.clone(), &ticks),
        };
        let area = Area { x: &chart.x, y: &y, reference: chart.reference, frame };
        draw_panel(drawing, &area, ticks_own, &own);
        for marks in own.into_iter().filter(|_| has_legend) {
            let line = if panels > 1 { 0 } else { marks.number };
            let (left, y) = (frame.right + 14.0, frame.top + 12.0 + 22.0 * line as f64);
            let (colour, dash) = style(marks);
            drawing.lines(vec![vec![(left, y), (left + 26.0, y)]], colour, 2.5, dash);
            let name = fitted(&marks.name, TICK, LEGEND);
            let at = (left + 34.0, y + 0.36 * TICK);
            drawing.words(&name, at, TICK, Colour::Ink, Anchor::Start);
        }
    }
    if let (Some(below), Some(ticks)) = (&below, &ticks_below) {
        let marks = below.marks(right - left);
        let marks: Vec<&SeriesMarks> = marks.iter().collect();
        let area = Area { x: &below.x, y: &below.y, reference: below.reference, frame: lower };
        draw_panel(drawing, &area, ticks, &marks);
        title(drawing, &below.y, ticks, lower);
    }
    let steps = || all_marks.iter().flat_map(|marks| marks.runs.iter().flatten());
    if steps().any(|step| step.bins > 1.0) {
        let words = "bins together: lowest to highest, and their mean";
        let at = (right, top - 6.0);
        drawing.words(words, at, HEADER, Colour::Faint, Anchor::End);
    }
    bottom
}

/// Returns the ticks of a vertical axis of this height; a low panel has those of twice its height.
fn ticks_up(axis: &Axis, height: f64) -> Ticks {
    axis.ticks(whole(height / 50.0).clamp(2, 7))
}

/// Draws the values of a panel, with the grid and the numbers of its vertical axis.
fn draw_panel(drawing: &mut Drawing, area: &Area<'_>, ticks: &Ticks, marks: &[&SeriesMarks]) {
    let frame = area.frame;
    for mark in &ticks.marks {
        let y = area.up(mark.at);
        drawing.line((frame.left, y), (frame.right, y), Colour::Grid, 1.0);
        let at = (frame.left - 9.0, y + 0.36 * TICK);
        drawing.words(&mark.label, at, TICK, Colour::Ink, Anchor::End);
    }
    let on_axis = |value: &f64| area.y.side(*value) == Ordering::Equal;
    if let Some(value) = area.reference.filter(on_axis) {
        let line = vec![(frame.left, area.up(value)), (frame.right, area.up(value))];
        drawing.lines(vec![line], Colour::Ink, 1.2, Dash::Long);
    }
    for marks in marks {
        draw_series(drawing, area, marks);
    }
    let corners =
        [(frame.left, frame.top), (frame.left, frame.bottom), (frame.right, frame.bottom)];
    drawing.lines(vec![corners.to_vec()], Colour::Faint, 1.2, Dash::None);
}

/// Returns solid lines in all colours first, then the same colours with dashes.
fn style(marks: &SeriesMarks) -> (Colour, Dash) {
    let dash = if marks.is_dashed { Dash::Short } else { Dash::None };
    (Colour::Series(marks.number), dash)
}

fn draw_series(drawing: &mut Drawing, area: &Area<'_>, marks: &SeriesMarks) {
    let (colour, dash) = style(marks);
    let runs = &marks.runs;
    let steps = || runs.iter().flatten();
    if marks.has_envelope {
        for run in runs {
            drawing.area(envelope(run, area), colour, 0.45);
        }
    }
    if marks.is_filled {
        let floor = area.up(0.0);
        for run in runs {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let mut corners = stairs(run, area, Area::up);
            corners.extend([(area.across(last.right), floor), (area.across(first.left), floor)]);
            drawing.area(corners, colour, 0.25);
        }
    }
    match marks.line {
        Line::Hidden => {}
        Line::Straight => {
            let lines = runs.iter().map(|run| through(run, area));
            drawing.lines(area.inside(lines), colour, 1.8, dash);
        }
        Line::Steps => {
            let lines = runs.iter().map(|run| stairs(run, area, Area::up_beyond));
            drawing.lines(area.inside(lines), colour, 1.5, dash);
        }
    }
    if marks.has_errors {
        let of = |step: &Step| {
            let x = middle(step, area).0;
            vec![(x, area.up(step.mean + step.err)), (x, area.up(step.mean - step.err))]
        };
        let inside = steps().filter(|step| area.y.side(step.mean) == Ordering::Equal);
        drawing.lines(inside.map(of).collect(), colour, 1.1, Dash::None);
    } else if marks.has_band {
        for run in runs {
            drawing.area(error_band(run, area), colour, 0.25);
        }
    }
    draw_arrows(drawing, area, marks);
    let dots = |run: &Vec<Step>| {
        let inside = run.iter().filter(|step| area.y.side(step.mean) == Ordering::Equal);
        inside.map(|step| middle(step, area)).collect::<Vec<_>>()
    };
    if marks.has_points {
        let radius = marks.point_size / 2.0;
        drawing.dots(runs.iter().flat_map(dots).collect(), radius, colour);
    } else if marks.line == Line::Straight {
        // A value between two undefined ones has no line.
        let alone = runs.iter().filter(|run| run.len() == 1);
        drawing.dots(alone.flat_map(dots).collect(), 2.0, colour);
    }
}

/// Draws an arrow at the edge for each value beyond the axis, as many as have room beside each other. A bin without
/// counts, as on a logarithmic axis, has none.
fn draw_arrows(drawing: &mut Drawing, area: &Area<'_>, marks: &SeriesMarks) {
    let (half, high) = ARROW;
    let Frame { top, bottom, .. } = area.frame;
    let (colour, _) = style(marks);
    for (side, edge, down) in [(Ordering::Greater, top, high), (Ordering::Less, bottom, -high)] {
        if marks.is_filled && side == Ordering::Less {
            continue;
        }
        let mut before = f64::NEG_INFINITY;
        let steps = marks.runs.iter().flatten();
        for step in steps.filter(|step| area.y.side(step.mean) == side) {
            let x = middle(step, area).0;
            if x >= before + 2.0 * half {
                let corners = vec![(x, edge), (x - half, edge + down), (x + half, edge + down)];
                drawing.area(corners, colour, 1.0);
                before = x;
            }
        }
    }
}

fn middle(step: &Step, area: &Area<'_>) -> Place {
    (f64::midpoint(area.across(step.left), area.across(step.right)), area.up(step.mean))
}

/// Connects the middles.
fn through(run: &[Step], area: &Area<'_>) -> Vec<Place> {
    run.iter().map(|step| (middle(step, area).0, area.up_beyond(step.mean))).collect()
}

/// Follows the tops of the bins, whose positions `up` gives.
fn stairs<'a>(run: &[Step], area: &Area<'a>, up: fn(&Area<'a>, f64) -> f64) -> Vec<Place> {
    let of = |step: &Step| {
        let y = up(area, step.mean);
        [(area.across(step.left), y), (area.across(step.right), y)]
    };
    run.iter().flat_map(of).collect()
}

/// Returns the area between the lowest and the highest values.
fn envelope(run: &[Step], area: &Area<'_>) -> Vec<Place> {
    let ends = |step: &Step| (area.across(step.left), area.across(step.right));
    let there = run.iter().flat_map(|step| {
        let ((left, right), y) = (ends(step), area.up(step.high));
        [(left, y), (right, y)]
    });
    let back = run.iter().rev().flat_map(|step| {
        let ((left, right), y) = (ends(step), area.up(step.low));
        [(right, y), (left, y)]
    });
    there.chain(back).collect()
}

/// Returns the band from one error above the values to one error below.
fn error_band(run: &[Step], area: &Area<'_>) -> Vec<Place> {
    let of = |step: &Step| Step { low: step.mean - step.err, high: step.mean + step.err, ..*step };
    envelope(&run.iter().map(of).collect::<Vec<_>>(), area)
}
