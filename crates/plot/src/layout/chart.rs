//! Values over an axis.

use super::{Frame, HEADER, LABEL, MARGIN, Space, TICK, draw_nothing, draw_x, widest};
use crate::{
    Axis, Chart, Point, Shape,
    colour::{COLOURS, Colour, whole},
    drawing::{Anchor, Dash, Drawing, Place, fitted},
};

/// Height of the area of values.
const HEIGHT: f64 = 384.0;
/// Space between panels, and their least height.
const PANEL_SPACE: f64 = 14.0;
const PANEL_MIN: f64 = 70.0;
/// Maximum width of the names to the right of the values.
const LEGEND: f64 = 190.0;

/// A bin on the page, or several bins if they are too narrow to see.
#[derive(Debug, Clone, Copy)]
struct Step {
    left: f64,
    right: f64,
    /// The lowest and the highest value, and the mean of all values.
    low: f64,
    high: f64,
    mean: f64,
    bins: f64,
    err: f64,
}

/// Draws below `top`; returns the lower end.
pub(super) fn draw(drawing: &mut Drawing, chart: &Chart, space: Space) -> f64 {
    let top = space.top;
    if !chart.has_values() {
        return draw_nothing(drawing, "no value is defined", top);
    }
    let panels = if chart.has_panels { chart.series.len() } else { 1 };
    let all = space.height.unwrap_or(HEIGHT);
    let height = (all / panels as f64 - PANEL_SPACE).max(PANEL_MIN);
    let height = if panels == 1 { all } else { height };
    let ticks = chart.y.ticks(if panels == 1 { 7 } else { whole(height / 55.0).clamp(2, 7) });
    let numbers = widest(ticks.marks.iter().map(|mark| &*mark.label), TICK);
    let has_legend = chart.series.len() > 1;
    let names = widest(chart.series.iter().map(|series| &*series.name), TICK).min(LEGEND);
    let legend = if has_legend { names + 52.0 } else { 0.0 };
    let left = MARGIN + LABEL + 12.0 + numbers + 10.0;
    let right = drawing.width - MARGIN - legend;
    let of_panel = |panel: usize| {
        let top = top + (height + PANEL_SPACE) * panel as f64;
        Frame { left, right, top, bottom: top + height }
    };
    let all = Frame { top, ..of_panel(panels - 1) };
    let middle = f64::midpoint(all.top, all.bottom);
    drawing.turned(&chart.y.title(&ticks), (MARGIN + LABEL - 4.0, middle), LABEL, Anchor::Middle);
    let bottom = draw_x(drawing, &chart.x, all);
    let mut is_crowded = false;
    for panel in 0..panels {
        let frame = of_panel(panel);
        let up = |value: f64| frame.bottom - chart.y.place(value).clamp(0.0, 1.0) * height;
        for mark in &ticks.marks {
            let y = up(mark.at);
            drawing.line((frame.left, y), (frame.right, y), Colour::Grid, 1.0);
            let at = (frame.left - 9.0, y + 0.36 * TICK);
            drawing.words(&mark.label, at, TICK, Colour::Ink, Anchor::End);
        }
        if let Some(value) = chart.reference {
            let line = vec![(frame.left, up(value)), (frame.right, up(value))];
            drawing.lines(vec![line], Colour::Ink, 1.2, Dash::Long);
        }
        for (number, series) in chart.series.iter().enumerate() {
            if panels > 1 && number != panel {
                continue;
            }
            let runs = runs(&series.points, &chart.x, frame);
            is_crowded |= runs.iter().flatten().any(|step| step.bins > 1.0);
            draw_series(drawing, chart, number, &runs, &up);
            if has_legend {
                let line = if panels > 1 { 0 } else { number };
                let (left, y) = (frame.right + 14.0, frame.top + 12.0 + 22.0 * line as f64);
                let (colour, dash) = style(number);
                drawing.lines(vec![vec![(left, y), (left + 26.0, y)]], colour, 2.5, dash);
                let name = fitted(&series.name, TICK, LEGEND);
                let at = (left + 34.0, y + 0.36 * TICK);
                drawing.words(&name, at, TICK, Colour::Ink, Anchor::Start);
            }
        }
        let corners =
            [(frame.left, frame.top), (frame.left, frame.bottom), (frame.right, frame.bottom)];
        drawing.lines(vec![corners.to_vec()], Colour::Faint, 1.2, Dash::None);
    }
    if is_crowded {
        let words = "bins together: lowest to highest, and their mean";
        let at = (right, top - 6.0);
        drawing.words(words, at, HEADER, Colour::Faint, Anchor::End);
    }
    bottom
}

/// Returns solid lines in all colours first, then the same colours with dashes.
fn style(number: usize) -> (Colour, Dash) {
    let dash = if number < COLOURS { Dash::None } else { Dash::Short };
    (Colour::Series(number), dash)
}

fn draw_series(
    drawing: &mut Drawing,
    chart: &Chart,
    number: usize,
    runs: &[Vec<Step>],
    up: &impl Fn(f64) -> f64,
) {
    let (colour, dash) = style(number);
    let steps = || runs.iter().flatten();
    let (count, wide) = (steps().count(), steps().map(|step| step.right - step.left).sum::<f64>());
    let width = wide / count.max(1) as f64;
    let is_crowded = steps().any(|step| step.low < step.high);
    if is_crowded {
        for run in runs {
            drawing.area(envelope(run, up), colour, 0.45);
        }
    }
    if chart.shape == Shape::Columns {
        let floor = up(0.0);
        for run in runs {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let mut corners = stairs(run, up);
            corners.extend([(last.right, floor), (first.left, floor)]);
            drawing.area(corners, colour, 0.25);
        }
    }
    let has_points = width >= if chart.shape == Shape::Points { 4.0 } else { 9.0 };
    let is_alone = |run: &Vec<Step>| run.len() == 1 && chart.shape == Shape::Line;
    match chart.shape {
        Shape::Points if has_points => {}
        Shape::Line => {
            drawing.lines(runs.iter().map(|run| through(run, up)).collect(), colour, 1.8, dash);
        }
        Shape::Points | Shape::Columns => {
            drawing.lines(runs.iter().map(|run| stairs(run, up)).collect(), colour, 1.5, dash);
        }
    }
    let has_errors =
        width >= 4.0 && (chart.has_panels || chart.shape != Shape::Line || chart.series.len() <= 4);
    if has_errors {
        let of = |step: &Step| {
            let x = f64::midpoint(step.left, step.right);
            vec![(x, up(step.mean + step.err)), (x, up(step.mean - step.err))]
        };
        drawing.lines(steps().map(of).collect(), colour, 1.1, Dash::None);
    } else if !is_crowded && chart.series.len() == 1 {
        for run in runs {
            drawing.area(error_band(run, up), colour, 0.25);
        }
    }
    let dots = |run: &Vec<Step>| run.iter().map(|step| middle(step, up)).collect::<Vec<_>>();
    if has_points && chart.shape != Shape::Columns {
        drawing.dots(runs.iter().flat_map(dots).collect(), (0.4 * width).min(3.0), colour);
    } else {
        // A value between two undefined ones has no line.
        drawing.dots(runs.iter().filter(|run| is_alone(run)).flat_map(dots).collect(), 2.0, colour);
    }
}

/// Returns the bins in order, without undefined ones; narrow bins are merged until they are visible.
fn runs(points: &[Point], axis: &Axis, frame: Frame) -> Vec<Vec<Step>> {
    let wide = frame.right - frame.left;
    let at = |value: f64| frame.left + axis.place(value).clamp(0.0, 1.0) * wide;
    let mut runs: Vec<Vec<Step>> = vec![Vec::new()];
    for point in points {
        let Some(value) = point.value else {
            if runs.last().is_some_and(|run| !run.is_empty()) {
                runs.push(Vec::new());
            }
            continue;
        };
        let step = Step {
            left: at(point.from),
            right: at(point.to),
            low: value,
            high: value,
            mean: value,
            bins: 1.0,
            err: point.err,
        };
        let Some(run) = runs.last_mut() else { continue };
        match run.last_mut() {
            // Together they are as wide as a line.
            Some(last) if step.right - last.left < 1.5 => {
                last.right = step.right;
                last.low = last.low.min(value);
                last.high = last.high.max(value);
                last.bins += 1.0;
                last.mean += (value - last.mean) / last.bins;
                last.err = last.err.max(step.err);
            }
            _ => run.push(step),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn middle(step: &Step, up: &impl Fn(f64) -> f64) -> Place {
    (f64::midpoint(step.left, step.right), up(step.mean))
}

/// Connects the middles.
fn through(run: &[Step], up: &impl Fn(f64) -> f64) -> Vec<Place> {
    run.iter().map(|step| middle(step, up)).collect()
}

/// Follows the tops of the bins.
fn stairs(run: &[Step], up: &impl Fn(f64) -> f64) -> Vec<Place> {
    run.iter().flat_map(|step| [(step.left, up(step.mean)), (step.right, up(step.mean))]).collect()
}

/// Returns the area between the lowest and the highest values.
fn envelope(run: &[Step], up: &impl Fn(f64) -> f64) -> Vec<Place> {
    let back =
        run.iter().rev().flat_map(|step| [(step.right, up(step.low)), (step.left, up(step.low))]);
    let there =
        run.iter().flat_map(|step| [(step.left, up(step.high)), (step.right, up(step.high))]);
    there.chain(back).collect()
}

/// Returns the band from one error above the values to one error below.
fn error_band(run: &[Step], up: &impl Fn(f64) -> f64) -> Vec<Place> {
    let of = |step: &Step| Step { low: step.mean - step.err, high: step.mean + step.err, ..*step };
    envelope(&run.iter().map(of).collect::<Vec<_>>(), up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    #[test]
    fn bins_narrower_than_a_line_are_drawn_together() {
        let frame = Frame { left: 50.0, right: 850.0, top: 0.0, bottom: 400.0 };
        let axis = Axis::linear("", Quantity::Time, 0.0, 10_000.0);
        let point = |k: u32| Point {
            from: f64::from(k),
            to: f64::from(k + 1),
            value: (k != 5_000).then_some(if k.is_multiple_of(2) { 0.0 } else { 10.0 }),
            err: 1.0,
            is_partial: false,
        };
        let points: Vec<Point> = (0..10_000).map(point).collect();
        let runs = runs(&points, &axis, frame);
        // No line crosses an undefined bin.
        assert_eq!(runs.len(), 2);
        let steps: Vec<&Step> = runs.iter().flatten().collect();
        // 800 points, and a line is 1.5 of them wide: 18 bins of 0.08 points.
        assert!((540..=570).contains(&steps.len()), "{}", steps.len());
        assert!((steps.iter().map(|step| step.bins).sum::<f64>() - 9_999.0).abs() < 1e-9);
        for step in &steps[..500] {
            assert!((step.low, step.high) == (0.0, 10.0), "{step:?}");
            assert!((step.mean - 5.0).abs() < 0.5, "{step:?}");
        }
        // Visible bins are not merged.
        let wide = super::runs(&points[..10], &Axis::linear("", Quantity::Time, 0.0, 10.0), frame);
        assert_eq!((wide.len(), wide[0].len()), (1, 10));
    }
}
