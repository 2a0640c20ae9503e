//! Writes values over an axis, as columns or lines of terminal characters.
//!
//! A value half a line high is `▄`; a value above zero is never blank. Lines are drawn in points, two across and four
//! down in a character; without colours, series differ by signs.

use std::{cmp::Ordering, fmt::Write as _};

use super::{
    Room,
    canvas::{Canvas, painted},
    right, widest,
};
use crate::{
    Axis, Chart, Point, Series, Shape, Ticks,
    colour::{Colour, whole},
    words::cut,
};

/// Eighths of a cell, from empty to full.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Symbols that distinguish lines without colours.
const SIGNS: [char; 14] = ['●', '○', '■', '□', '▲', '△', '◆', '◇', '+', '×', '*', '#', '%', '@'];

/// Arrows of values beyond the axis.
const UP: char = '\u{2191}';
const DOWN: char = '\u{2193}';

/// Least height of a panel.
const PANEL_LINES: usize = 3;

pub(super) fn text(chart: &Chart, room: Room) -> String {
    // A panel has its name above it; all share the title of the values and the axis.
    let of_panel = (room.lines.saturating_sub(4) / chart.series.len().max(1)).saturating_sub(1);
    if chart.has_panels && chart.shape == Shape::Columns {
        return lanes(chart, room);
    }
    if chart.has_panels && chart.series.len() > 1 && of_panel >= PANEL_LINES {
        return panels(chart, room, of_panel);
    }
    let legend = legend(&chart.series, room);
    // The title of the values, the axis, its numbers and its title.
    let lines = room.lines.saturating_sub(4 + legend.len()).max(3);
    // Residuals have a third of the lines, with their name above them.
    let below = chart.below_chart().filter(|_| lines >= 4 * PANEL_LINES);
    let of_below = below.as_ref().map_or(0, |_| lines / 3);
    let lines = if of_below > 0 { lines - of_below - 1 } else { lines };
    let ticks = chart.y.ticks((2 * lines / 5).clamp(2, 8));
    let ticks_below = below.as_ref().map(|below| below.y.ticks((of_below / 2).clamp(1, 8)));
    let marks = ticks.marks.iter().chain(ticks_below.iter().flat_map(|ticks| &ticks.marks));
    let left = widest(marks.map(|mark| &*mark.label));
    let columns = room.columns.saturating_sub(left + 2).max(10);
    let has_signs = !room.is_coloured && chart.series.len() > 1;
    let mut canvas = Canvas::new(columns, lines, room.is_coloured);
    draw_reference(&mut canvas, chart);
    for (number, series) in chart.series.iter().enumerate() {
        if has_signs && chart.shape != Shape::Columns {
            draw_signs(&mut canvas, chart, &series.points, SIGNS[number % SIGNS.len()]);
        } else {
            draw_series(&mut canvas, chart, series, Colour::Series(number));
        }
    }
    let mut text = format!("{} {}\n", " ".repeat(left), chart.y.title(&ticks));
    write_canvas(&mut text, &canvas, chart, &ticks, left);
    if let (Some(below), Some(ticks)) = (&below, &ticks_below) {
        let _ = writeln!(text, "{} \u{2502} {}", " ".repeat(left), below.y.title(ticks));
        let mut canvas = Canvas::new(columns, of_below, room.is_coloured);
        draw_reference(&mut canvas, below);
        for (number, series) in below.series.iter().enumerate() {
            draw_dots(&mut canvas, below, &series.points, Colour::Series(number));
        }
        write_canvas(&mut text, &canvas, below, ticks, left);
    }
    text.push_str(&axis(&chart.x, left + 1, columns));
    for line in legend {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns one panel of this many lines for each series, one below the other with the same axes.
fn panels(chart: &Chart, room: Room, lines: usize) -> String {
    let ticks = chart.y.ticks((lines / 2).clamp(1, 8));
    let left = widest(ticks.marks.iter().map(|mark| &*mark.label));
    let columns = room.columns.saturating_sub(left + 2).max(10);
    let mut text = format!("{} {}\n", " ".repeat(left), chart.y.title(&ticks));
    for (number, series) in chart.series.iter().enumerate() {
        let colour = Colour::Series(number);
        let name = painted(&cut(&series.name, columns), colour, room.is_coloured);
        let _ = writeln!(text, "{} \u{2502} {name}", " ".repeat(left));
        let mut canvas = Canvas::new(columns, lines, room.is_coloured);
        draw_reference(&mut canvas, chart);
        draw_series(&mut canvas, chart, series, colour);
        write_canvas(&mut text, &canvas, chart, &ticks, left);
    }
    text.push_str(&axis(&chart.x, left + 1, columns));
    text
}

/// Returns one line for each series, with its name to the left.
fn lanes(chart: &Chart, room: Room) -> String {
    let names: Vec<String> =
        chart.series.iter().map(|series| cut(&series.name, room.columns / 3)).collect();
    let left = widest(names.iter().map(String::as_str));
    let columns = room.columns.saturating_sub(left + 2).max(10);
    let mut text = String::new();
    let empty =
        Chart { x: chart.x.clone(), y: chart.y.clone(), series: Vec::new(), below: None, ..*chart };
    for (number, (series, name)) in chart.series.iter().zip(&names).enumerate() {
        let mut canvas = Canvas::new(columns, 1, room.is_coloured);
        let own = Chart { y: chart.axis_of(series), series: Vec::new(), ..empty.clone() };
        draw_series(&mut canvas, &own, series, Colour::Series(number));
        let _ = writeln!(text, "{} \u{2502}{}", right(name, left), canvas.text(0));
    }
    text.push_str(&axis(&chart.x, left + 1, columns));
    text
}

/// Draws the expected value as dashes.
fn draw_reference(canvas: &mut Canvas, chart: &Chart) {
    let Some(value) = chart.reference.filter(|value| chart.y.side(*value) == Ordering::Equal)
    else {
        return;
    };
    let y = height(chart, value, 4 * canvas.lines);
    for x in (0..2 * canvas.columns).step_by(4) {
        canvas.point(x, y, Colour::Faint);
        canvas.point(x + 1, y, Colour::Faint);
    }
}

fn draw_series(canvas: &mut Canvas, chart: &Chart, series: &Series, colour: Colour) {
    let points = &series.points;
    match chart.shape_of(series) {
        shape @ (Shape::Points | Shape::Line) => draw_line(canvas, chart, (points, shape), colour),
        Shape::Columns | Shape::Intervals => draw_columns(canvas, chart, points, colour),
    }
}

/// Writes the lines of the canvas, with the numbers of the vertical axis to the left.
fn write_canvas(text: &mut String, canvas: &Canvas, chart: &Chart, ticks: &Ticks, left: usize) {
    let mut labels = vec![String::new(); canvas.lines];
    for mark in &ticks.marks {
        labels[height(chart, mark.at, canvas.lines)].clone_from(&mark.label);
    }
    for (line, label) in labels.iter().enumerate() {
        let joint = if label.is_empty() { '\u{2502}' } else { '\u{2524}' };
        let _ = writeln!(text, "{} {joint}{}", right(label, left), canvas.text(line));
    }
}

/// Returns the line of a value, counted from the top.
fn height(chart: &Chart, value: f64, lines: usize) -> usize {
    let place = 1.0 - chart.y.place(value).clamp(0.0, 1.0);
    whole((place * lines as f64).floor()).min(lines - 1)
}

/// Returns the column of a value.
fn column(axis: &Axis, value: f64, columns: usize) -> usize {
    let place = axis.place(value).clamp(0.0, 1.0);
    whole((place * columns as f64).floor()).min(columns - 1)
}

/// Draws the highest of the bins in each column, or the bin that contains the column.
fn draw_columns(canvas: &mut Canvas, chart: &Chart, points: &[Point], colour: Colour) {
    let mut highest: Vec<Option<f64>> = vec![None; canvas.columns];
    for point in points {
        let Some(value) = point.value else { continue };
        let first = column(&chart.x, point.from, canvas.columns);
        // A bin ends at the start of the next one.
        let end = column(&chart.x, point.to, canvas.columns);
        let last = if chart.x.place(point.to) >= 1.0 { end } else { end.saturating_sub(1) };
        for of in &mut highest[first..=last.max(first)] {
            *of = Some(of.map_or(value, |highest| highest.max(value)));
        }
    }
    let lines = canvas.lines;
    for (column, value) in highest.into_iter().enumerate() {
        let Some(value) = value else { continue };
        let is_beyond = chart.y.side(value) == Ordering::Greater;
        let place = chart.y.place(value).clamp(0.0, 1.0);
        let mut eighths = whole((place * (8 * lines) as f64).round());
        if value > 0.0 {
            // Values above zero are always visible.
            eighths = eighths.max(1);
        }
        for line in (0..lines).rev() {
            let here = eighths.min(8);
            if here == 0 {
                break;
            }
            canvas.put(column, line, EIGHTHS[here], Some(colour));
            eighths -= here;
        }
        if is_beyond {
            canvas.put(column, 0, UP, Some(colour));
        }
    }
}

/// Draws lines from the middle of a bin to the middle of the next one.
fn draw_line(
    canvas: &mut Canvas,
    chart: &Chart,
    (points, shape): (&[Point], Shape),
    colour: Colour,
) {
    let (width, height_of) = (2 * canvas.columns, 4 * canvas.lines);
    // Errors of points that are a character apart.
    if shape == Shape::Points && points.len() <= canvas.columns {
        for (point, value) in points.iter().filter_map(|point| Some((point, point.value?))) {
            if chart.y.side(value) != Ordering::Equal {
                continue;
            }
            let x = column(&chart.x, middle(&chart.x, point), width);
            let y = |value: f64| height(chart, value, height_of);
            canvas.line((x, y(value - point.err)), (x, y(value + point.err)), Colour::Faint);
        }
    }
    let mut before = None;
    for point in points {
        let here = point.value.filter(|value| chart.y.side(*value) == Ordering::Equal);
        let here = here.map(|value| {
            (column(&chart.x, middle(&chart.x, point), width), height(chart, value, height_of))
        });
        if let Some(here) = here {
            canvas.line(before.unwrap_or(here), here, colour);
        }
        before = here;
    }
    draw_arrows(canvas, chart, points, Some(colour));
}

/// Draws an arrow at the edge for each value beyond the axis.
fn draw_arrows(canvas: &mut Canvas, chart: &Chart, points: &[Point], colour: Option<Colour>) {
    let (columns, lines) = (canvas.columns, canvas.lines);
    for (point, value) in points.iter().filter_map(|point| Some((point, point.value?))) {
        let (line, arrow) = match chart.y.side(value) {
            Ordering::Equal => continue,
            Ordering::Greater => (0, UP),
            Ordering::Less => (lines - 1, DOWN),
        };
        canvas.put(column(&chart.x, middle(&chart.x, point), columns), line, arrow, colour);
    }
}

/// Draws each value as a dot.
fn draw_dots(canvas: &mut Canvas, chart: &Chart, points: &[Point], colour: Colour) {
    let (width, lines) = (2 * canvas.columns, 4 * canvas.lines);
    for (point, value) in points.iter().filter_map(|point| Some((point, point.value?))) {
        let x = column(&chart.x, middle(&chart.x, point), width);
        canvas.point(x, height(chart, value, lines), colour);
    }
}

fn draw_signs(canvas: &mut Canvas, chart: &Chart, points: &[Point], sign: char) {
    let (columns, lines) = (canvas.columns, canvas.lines);
    for point in points {
        if let Some(value) = point.value {
            let at = column(&chart.x, middle(&chart.x, point), columns);
            canvas.put(at, height(chart, value, lines), sign, None);
        }
    }
    draw_arrows(canvas, chart, points, None);
}

/// Returns the middle of a bin on the scale of the axis.
fn middle(axis: &Axis, point: &Point) -> f64 {
    match axis.scale {
        crate::Scale::Linear => point.middle(),
        crate::Scale::Logarithmic => (point.from * point.to).sqrt(),
    }
}

/// Returns the axis below, its numbers and its title.
fn axis(axis: &Axis, left: usize, columns: usize) -> String {
    let ticks = ticks_across(axis, columns);
    let mut line: Vec<char> = vec!['─'; columns];
    let mut numbers: Vec<char> = vec![' '; left + 1 + columns];
    for mark in &ticks.marks {
        let at = column(axis, mark.at, columns);
        line[at] = '┬';
        let wide = mark.label.chars().count();
        let start =
            (left + 1 + at).saturating_sub(wide / 2).min(numbers.len().saturating_sub(wide));
        for (cell, letter) in numbers[start..].iter_mut().zip(mark.label.chars()) {
            *cell = letter;
        }
    }
    let line: String = line.into_iter().collect();
    let numbers: String = numbers.into_iter().collect();
    let title = cut(&axis.title(&ticks), columns);
    let before = left + 1 + (columns.saturating_sub(title.chars().count())) / 2;
    format!("{}└{line}\n{}\n{}{title}\n", " ".repeat(left), numbers.trim_end(), " ".repeat(before))
}

/// Returns ticks whose numbers do not overlap.
fn ticks_across(axis: &Axis, columns: usize) -> Ticks {
    let mut most = 12;
    loop {
        let ticks = axis.ticks(most);
        let wide = widest(ticks.marks.iter().map(|mark| &*mark.label)) + 2;
        let at: Vec<usize> =
            ticks.marks.iter().map(|mark| column(axis, mark.at, columns)).collect();
        if most == 1 || at.windows(2).all(|pair| pair[1] - pair[0] >= wide) {
            return ticks;
        }
        most -= 1;
    }
}

/// Returns the legend, if there are several lines.
fn legend(series: &[Series], room: Room) -> Vec<String> {
    if series.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![(String::new(), 0)];
    for (number, of) in series.iter().enumerate() {
        let name = cut(&of.name, 24);
        let sign = if room.is_coloured { '━' } else { SIGNS[number % SIGNS.len()] };
        let sign = painted(&sign.to_string().repeat(2), Colour::Series(number), room.is_coloured);
        let wide = name.chars().count() + 6;
        if lines.last().is_some_and(|(_, used)| used + wide > room.columns) {
            lines.push((String::new(), 0));
        }
        if let Some((line, used)) = lines.last_mut() {
            let before = if *used == 0 { "" } else { "   " };
            let _ = write!(line, "{before}{sign} {name}");
            *used += wide;
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}
