//! The content of a figure, independent of the renderer.
//!
//! Values are in seconds, hertz, counts or ratios; renderers choose units. A map of 512 by 512 cells that is drawn
//! with at most 256 by 256 has the mean of four cells in each.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tagq::{RunFacts, Table, escaped};

use crate::{
    axis::{Axis, Scale},
    colour::Colour,
    page::Page,
    quantity::{Quantity, unit_of},
    words::{are, fixed, places, thousands, with_err},
};

/// The content of a figure. Other renderers draw from its serialised form: `plot` has one key, the kind of its
/// values, and an axis has `label`, `quantity`, `unit`, `size` (that of the unit), `low`, `high`, `is_logarithmic`
/// and `units`: names, sizes and the magnitudes from which they are used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The counted quantity, and the run.
    pub title: String,
    /// The query and how it was counted: the header of the answer.
    pub header: String,
    /// A note on data that is not drawn, or is drawn in an unexpected way.
    pub note: Option<String>,
    /// The values.
    pub plot: Plot,
    /// The page.
    pub page: Page,
}

/// The values of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plot {
    /// Values over an axis.
    Chart(Chart),
    /// Values one below the other.
    Bars(Bars),
    /// Values for pairs of channels.
    Matrix(Matrix),
    /// Values for cells of two axes.
    Map(Map),
}

/// Values over an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Horizontal axis, from left to right.
    pub x: Axis,
    /// Vertical axis, from bottom to top.
    pub y: Axis,
    /// How the values are drawn.
    pub shape: Shape,
    /// An expected value.
    pub reference: Option<f64>,
    /// Whether each series has a panel of its own, with the same axes.
    pub has_panels: bool,
    /// One series per channel or group.
    pub series: Vec<Series>,
    /// A panel below, with the same horizontal axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<Panel>,
}

/// A lower panel with values of its own, as the residuals of a fit, around zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Vertical axis.
    pub y: Axis,
    /// Drawn as points, in the colours of the series above with the same numbers.
    pub series: Vec<Series>,
}

/// How values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Steps that start at zero.
    Columns,
    /// Points with errors.
    Points,
    /// A line.
    Line,
    /// Intervals in which something holds: the share of each bin, 1 if it holds in all of it. They have a panel of
    /// their own.
    Intervals,
}

/// Values in axis order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Names of its channels.
    pub name: String,
    /// How its values are drawn, if not as those of the chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// The values.
    pub points: Vec<Point>,
}

/// The value of a bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Start of the bin.
    pub from: f64,
    /// End of the bin.
    pub to: f64,
    /// The value, if it is defined.
    pub value: Option<f64>,
    /// Its standard error.
    pub err: f64,
    /// Whether the bin is cut, or may still change.
    pub is_partial: bool,
}

/// Values one below the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Axis of the values; starts at zero, or below it if values are negative.
    pub axis: Axis,
    /// In the order of the answer.
    pub bars: Vec<Bar>,
}

/// A value with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Names of its channels.
    pub name: String,
    /// The value, if it is defined.
    pub value: Option<f64>,
    /// Its standard error.
    pub err: f64,
    /// The value expected by chance.
    pub accidentals: Option<f64>,
}

/// Counts of pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The first channels of the pairs.
    pub rows: Vec<String>,
    /// Their second channels.
    pub columns: Vec<String>,
    /// Row by row; `None` if a pair was not counted.
    pub cells: Vec<Option<u64>>,
    /// Whether colours are logarithmic.
    pub is_logarithmic: bool,
}

impl Matrix {
    /// Returns the highest count.
    pub fn most(&self) -> u64 {
        self.cells.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Returns the axis of the counts.
    pub fn axis(&self) -> Axis {
        let most = self.most().max(1) as f64;
        let axis = Axis::linear("coincidences", Quantity::Count, 0.0, most);
        if self.is_logarithmic {
            return axis.around(self.cells.iter().flatten().map(|&count| count as f64));
        }
        axis
    }
}

/// Values for cells of two axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Horizontal axis, from left to right.
    pub x: Axis,
    /// Vertical axis, from bottom to top.
    pub y: Axis,
    /// The axis of the values; starts at zero.
    pub values: Axis,
    /// Number of cells along the horizontal axis.
    pub columns: usize,
    /// Column by column from the left, each from bottom to top; `None` if a value is undefined.
    pub cells: Vec<Option<f64>>,
    /// The cells are the pixels of an image: as wide as high, and numbers of the vertical axis go down from the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageScale>,
    /// The brightness of each cell, from 0 to 1, in their order; by default all are as bright.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brightness: Option<Vec<f64>>,
    /// A curve over the cells. They are squares then, and hold numbers of things that are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guide: Option<Guide>,
}

/// A curve over the cells of a map, with places that have names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guide {
    /// Its places on both axes, in order.
    pub line: Vec<[f64; 2]>,
    /// Places with names.
    pub marks: Vec<GuideMark>,
    /// The point from which names are seen outward.
    pub middle: [f64; 2],
}

/// A place with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuideMark {
    /// The place on both axes.
    pub at: [f64; 2],
    /// The name.
    pub label: String,
}

/// The scale of an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImageScale {
    /// A bar that shows a length, if the size of a pixel is known.
    pub bar: Option<ScaleBar>,
}

/// A bar that shows a length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaleBar {
    /// How many cells it is long.
    pub cells: f64,
    /// Its length with a unit.
    pub label: String,
}

impl Map {
    /// Returns the place on the vertical axis of a number that stands beside it.
    pub(crate) fn beside(&self, number: f64) -> f64 {
        if self.image.is_some() { self.y.low + self.y.high - number } else { number }
    }

    /// Says how many cells have a value beyond the ends of the colours; zeros of a logarithmic scale are not counted.
    pub(crate) fn beyond(&self) -> Option<String> {
        let is_beyond = |value: &&f64| match self.values.side(**value) {
            Ordering::Equal => false,
            Ordering::Less => self.values.scale == Scale::Linear,
            Ordering::Greater => true,
        };
        let number = self.cells.iter().flatten().filter(is_beyond).count() as u64;
        let all = thousands(self.cells.len() as u64);
        (number > 0).then(|| {
            format!("{} of {all} cells {} beyond the scale", thousands(number), are(number))
        })
    }

    /// Says of an image how many cells have a value beyond the ends of the colours, and how these ends were chosen.
    pub(crate) fn beyond_chosen(&self) -> Option<String> {
        let chosen = match (&self.image, self.values.quantity) {
            (None, _) => "",
            (Some(_), Quantity::Count) => ", which ends at 99.5 % of the pixels with photons",
            (Some(_), _) => ", which is that of 2 to 98 % of the pixels",
        };
        Some(self.beyond()? + chosen)
    }

    /// Whether cells are squares.
    pub(crate) fn has_squares(&self) -> bool {
        self.image.is_some() || self.guide.is_some()
    }

    /// Returns the colour of a cell; `None` if it has none.
    pub(crate) fn colour(&self, cell: usize) -> Option<Colour> {
        let place = self.cells[cell].map(|value| self.values.place(value).clamp(0.0, 1.0));
        match &self.brightness {
            Some(brightness) => Some(Colour::Hue(place, brightness[cell])),
            None => place.map(Colour::Map),
        }
    }

    /// Returns the colour at a place of the scale of the values.
    pub(crate) fn scale_colour(&self, place: f64) -> Colour {
        if self.brightness.is_some() { Colour::Hue(Some(place), 1.0) } else { Colour::Map(place) }
    }

    /// Returns the number of cells along the vertical axis.
    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    /// Returns whether both axes are the same quantity over the same length.
    pub(crate) fn is_square(&self) -> bool {
        let length = |axis: &Axis| axis.high - axis.low;
        (length(&self.x) - length(&self.y)).abs() <= 1e-9 * length(&self.x)
    }

    /// Returns the same map with at most this many columns and rows: neighbouring cells are averaged, or below a curve
    /// added up.
    pub(crate) fn at_most(&self, columns: usize, rows: usize) -> Self {
        let step = |have: usize, most: usize| have.div_ceil(most.max(1)).max(1);
        let (mut wide, mut high) = (step(self.columns, columns), step(self.rows(), rows));
        if self.has_squares() {
            wide = wide.max(high);
            high = wide;
        }
        if (wide, high) == (1, 1) {
            return self.clone();
        }
        let mut cells = Vec::new();
        let mut brightness = self.brightness.as_ref().map(|_| Vec::new());
        for column in (0..self.columns).step_by(wide) {
            for row in (0..self.rows()).step_by(high) {
                let own = || {
                    (column..self.columns.min(column + wide)).flat_map(|column| {
                        let rows = row..self.rows().min(row + high);
                        rows.map(move |row| column * self.rows() + row)
                    })
                };
                let (sum, count) = own()
                    .filter_map(|at| self.cells[at])
                    .fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
                let by = if self.guide.is_some() { 1.0 } else { f64::from(count) };
                cells.push((count > 0).then(|| sum / by));
                if let (Some(merged), Some(all)) = (&mut brightness, &self.brightness) {
                    let sum: f64 = own().map(|at| all[at]).sum();
                    merged.push(sum / own().count() as f64);
                }
            }
        }
        let mut values = self.values.clone();
        let most = |cells: &[Option<f64>]| cells.iter().flatten().copied().fold(0.0, f64::max);
        let (all, merged) = (most(&self.cells), most(&cells));
        // An axis that ends at the highest value does so after it was averaged, too.
        if values.high.to_bits() == all.to_bits() && values.low < merged {
            values.high = merged;
        }
        let (mut x, mut y) = (self.x.clone(), self.y.clone());
        if self.guide.is_some() {
            // The axes become longer with the last cells, so that the curve keeps its place over the others.
            let longer = |axis: &mut Axis, count: usize, step: usize| {
                let length = (count.div_ceil(step) * step) as f64 / count as f64;
                axis.high = (axis.high - axis.low).mul_add(length, axis.low);
            };
            longer(&mut x, self.columns, wide);
            longer(&mut y, self.rows(), high);
        }
        Self {
            x,
            y,
            columns: self.columns.div_ceil(wide),
            cells,
            values,
            brightness,
            ..self.clone()
        }
    }
}

impl Bars {
    /// Returns each value with its error and unit.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: Option<f64>, err: f64| {
            let Some(value) = value else { return "\u{2013}".to_owned() };
            if self.axis.quantity == Quantity::Count {
                return format!("{} \u{b1} {}", fixed(value, 0), fixed(err, places(err, 2)));
            }
            let (unit, size) = unit_of(self.axis.quantity, value.max(err));
            match (unit, with_err(value / size, err / size)) {
                ("", number) => number,
                (unit, number) => format!("({number}) {unit}"),
            }
        };
        self.bars.iter().map(|bar| text(bar.value, bar.err)).collect()
    }
}

impl Chart {
    /// Returns the panel below as a chart of its own, around zero.
    pub(crate) fn below_chart(&self) -> Option<Self> {
        let Panel { y, series } = self.below.clone()?;
        Some(Self {
            x: self.x.clone(),
            y,
            shape: Shape::Points,
            reference: Some(0.0),
            has_panels: false,
            series,
            below: None,
        })
    }

    /// Returns how the values of a series are drawn.
    pub(crate) fn shape_of(&self, series: &Series) -> Shape {
        series.shape.unwrap_or(self.shape)
    }

    /// Returns the vertical axis of a series: of intervals from 0 to 1.
    pub(crate) fn axis_of(&self, series: &Series) -> Axis {
        match self.shape_of(series) {
            Shape::Intervals => Axis::linear("", Quantity::Ratio, 0.0, 1.0),
            Shape::Columns | Shape::Points | Shape::Line => self.y.clone(),
        }
    }

    /// Returns whether any value is defined.
    pub fn has_values(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| point.value.is_some())
    }
}

impl Point {
    /// Returns the middle of the bin.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }
}

/// Returns the lowest and highest end of the error bars of these points, including `more`.
pub(crate) fn ends<'a>(points: impl Iterator<Item = &'a Point>, more: Option<f64>) -> (f64, f64) {
    let ends =
        points.filter_map(|point| point.value.map(|value| (value - point.err, value + point.err)));
    let both = |(low, high): (f64, f64), (of_low, of_high): (f64, f64)| {
        (low.min(of_low), high.max(of_high))
    };
    let start = more.map_or((f64::INFINITY, f64::NEG_INFINITY), |value| (value, value));
    ends.fold(start, both)
}

/// Returns the name of a channel.
pub(crate) fn name_of(run: &RunFacts, channel: u16) -> String {
    let named = run.names.iter().find(|(of, _)| *of == channel);
    named.map_or_else(|| channel.to_string(), |(_, name)| escaped(name).into_owned())
}

/// Returns the names of the channels of a group.
pub(crate) fn group_name(run: &RunFacts, group: &[u16]) -> String {
    group.iter().map(|&channel| name_of(run, channel)).collect::<Vec<_>>().join(",")
}

/// Returns the numbers of a column; empty if there is no such column. Values that are not finite are
/// undefined.
pub(crate) fn floats(rows: &Table, key: &str) -> Vec<Option<f64>> {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    rows.numbers(key).into_iter().map(finite).collect()
}
