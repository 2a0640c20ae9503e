//! The marks of a chart, in the units of its axes: the page and other renderers draw the same ones.
//!
//! 10,000 bins on 800 points are 0.08 points wide: 18 of them are drawn as one step, with their lowest, highest and
//! mean value. No step spans an undefined bin.

use serde::Serialize;

use crate::{
    Axis, Chart, Point, Shape,
    colour::{COLOURS, Colour},
};

/// Bins narrower than this together, in points, are drawn as one: as wide as a line.
const NARROWEST: f64 = 1.5;
/// Width of a bin in points from which errors are lines, and values of each shape are points.
const ERROR_WIDTH: f64 = 4.0;
const POINT_WIDTH: f64 = 4.0;
const POINT_OF_LINE_WIDTH: f64 = 9.0;
/// Most series whose errors can be told apart.
const ERRORS_MAX: usize = 4;

/// A bin, or several bins if they are too narrow to see.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Start of the bins.
    pub left: f64,
    /// End of the bins.
    pub right: f64,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
    /// The mean of all values.
    pub mean: f64,
    /// The number of bins.
    pub bins: f64,
    /// The largest standard error.
    pub err: f64,
}

/// The line of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// No line.
    Hidden,
    /// It follows the tops of the bins.
    Steps,
    /// It connects the middles of the bins.
    Straight,
}

/// How a series is drawn.
#[expect(clippy::struct_excessive_bools, reason = "each says whether something is drawn")]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesMarks {
    /// Names of its channels.
    pub name: String,
    /// Its number, which selects its colour.
    #[serde(skip)]
    pub number: usize,
    /// Its colour, in the notation of HTML.
    pub colour: String,
    /// Whether its line has dashes: its colour is also that of an earlier series.
    pub is_dashed: bool,
    /// Its line.
    pub line: Line,
    /// Whether the area down to zero is filled.
    pub is_filled: bool,
    /// Whether the area between the lowest and the highest values of bins drawn as one is filled.
    pub has_envelope: bool,
    /// Whether each bin has its error as a line.
    pub has_errors: bool,
    /// Whether the area of the errors is filled.
    pub has_band: bool,
    /// Whether each bin is a point. A value between two undefined ones, which has no line, always is.
    pub has_points: bool,
    /// Diameter of the points, in points.
    pub point_size: f64,
    /// Bins in order, divided where values are undefined.
    pub runs: Vec<Vec<Step>>,
}

impl Chart {
    /// Returns the marks of each series on a horizontal axis that is `wide` points long.
    pub fn marks(&self, wide: f64) -> Vec<SeriesMarks> {
        (0..self.series.len()).map(|number| self.marks_of(number, wide)).collect()
    }

    fn marks_of(&self, number: usize, wide: f64) -> SeriesMarks {
        let series = &self.series[number];
        let shape = self.shape_of(series);
        let runs = runs(&series.points, &self.x, wide);
        let steps = || runs.iter().flatten();
        let at = |value: f64| self.x.place(value).clamp(0.0, 1.0) * wide;
        let all = steps().map(|step| at(step.right) - at(step.left)).sum::<f64>();
        let width = all / steps().count().max(1) as f64;
        let is_crowded = steps().any(|step| step.low < step.high);
        let least = if shape == Shape::Points { POINT_WIDTH } else { POINT_OF_LINE_WIDTH };
        let is_wide = width >= least;
        let line = match shape {
            Shape::Points if is_wide => Line::Hidden,
            Shape::Line => Line::Straight,
            Shape::Points | Shape::Columns | Shape::Intervals => Line::Steps,
        };
        let has_room = self.has_panels || shape != Shape::Line || self.series.len() <= ERRORS_MAX;
        // The errors of a line would hide the columns below it.
        let is_over = shape != Shape::Points && shape != self.shape;
        let has_errors = width >= ERROR_WIDTH && has_room && !is_over;
        SeriesMarks {
            name: series.name.clone(),
            number,
            colour: Colour::Series(number).hex(false),
            is_dashed: number >= COLOURS,
            line,
            is_filled: shape == Shape::Columns || shape == Shape::Intervals,
            has_envelope: is_crowded,
            has_errors,
            has_band: !has_errors && !is_crowded && self.series.len() == 1,
            has_points: is_wide && matches!(shape, Shape::Points | Shape::Line) && !is_over,
            point_size: (0.8 * width).min(6.0),
            runs,
        }
    }
}

/// Returns the bins in order, without undefined ones; narrow bins are merged until they are visible.
fn runs(points: &[Point], axis: &Axis, wide: f64) -> Vec<Vec<Step>> {
    let at = |value: f64| axis.place(value).clamp(0.0, 1.0) * wide;
    let mut runs: Vec<Vec<Step>> = vec![Vec::new()];
    for point in points {
        let Some(value) = point.value else {
            if runs.last().is_some_and(|run| !run.is_empty()) {
                runs.push(Vec::new());
            }
            continue;
        };
        let step = Step {
            left: point.from,
            right: point.to,
            low: value,
            high: value,
            mean: value,
            bins: 1.0,
            err: point.err,
        };
        let Some(run) = runs.last_mut() else { continue };
        match run.last_mut() {
            Some(last) if at(step.right) - at(last.left) < NARROWEST => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Quantity, Series};

    fn points(count: u32) -> Vec<Point> {
        let point = |k: u32| Point {
            from: f64::from(k),
            to: f64::from(k + 1),
            value: (k != 5_000).then_some(if k.is_multiple_of(2) { 0.0 } else { 10.0 }),
            err: 1.0,
            is_partial: false,
        };
        (0..count).map(point).collect()
    }

    #[test]
    fn bins_narrower_than_a_line_are_drawn_together() {
        let axis = Axis::linear("", Quantity::Time, 0.0, 10_000.0);
        let points = points(10_000);
        let runs = runs(&points, &axis, 800.0);
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
        let axis = Axis::linear("", Quantity::Time, 0.0, 10.0);
        let wide = super::runs(&points[..10], &axis, 800.0);
        assert_eq!((wide.len(), wide[0].len()), (1, 10));
    }

    #[test]
    fn marks_follow_the_shape_and_the_room() {
        let chart = |count: u32, shape, series: usize| Chart {
            x: Axis::linear("", Quantity::Time, 0.0, f64::from(count)),
            y: Axis::for_values("", Quantity::Count, 0.0, 10.0, false),
            shape,
            reference: None,
            has_panels: false,
            series: vec![Series { name: "1".into(), shape: None, points: points(count) }; series],
            below: None,
        };
        let of = |count, shape, series| chart(count, shape, series).marks(800.0).pop().unwrap();
        let points = of(100, Shape::Points, 1);
        assert_eq!((points.line, points.has_points, points.has_errors), (Line::Hidden, true, true));
        let narrow = of(400, Shape::Points, 1);
        assert_eq!((narrow.line, narrow.has_errors, narrow.has_band), (Line::Steps, false, true));
        let columns = of(50, Shape::Columns, 1);
        assert_eq!(
            (columns.line, columns.is_filled, columns.has_points),
            (Line::Steps, true, false)
        );
        let crowded = of(10_000, Shape::Columns, 1);
        assert!(crowded.has_envelope && !crowded.has_band && crowded.runs.len() == 2);
        let eighth = of(50, Shape::Line, 8);
        assert!(eighth.is_dashed && !eighth.has_errors && eighth.line == Line::Straight);
    }
}
