//! A figure with its marks computed, for other renderers.

use serde::Serialize;

use crate::{
    axis::Axis,
    figure::{Bars, Chart, Figure, Map, Matrix, Plot},
    marks::SeriesMarks,
    page::Page,
};

/// A figure as other renderers take it: its keys are those of [`Figure`], and its values have the key `drawn` with the
/// marks of a chart, the texts of bars or the axis of a matrix.
#[derive(Debug, Serialize)]
pub struct DrawnFigure<'a> {
    title: &'a str,
    header: &'a str,
    note: Option<&'a str>,
    plot: DrawnPlot<'a>,
    page: Page,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum DrawnPlot<'a> {
    Chart(With<'a, Chart, Vec<SeriesMarks>>),
    Bars(With<'a, Bars, Vec<String>>),
    Matrix(With<'a, Matrix, Axis>),
    Map(With<'a, Map, ()>),
}

#[derive(Debug, Serialize)]
struct With<'a, P, D> {
    #[serde(flatten)]
    values: &'a P,
    drawn: D,
}

impl Figure {
    /// Returns the figure with its marks on a horizontal axis of this many points.
    pub fn drawn(&self, wide: f64) -> DrawnFigure<'_> {
        let plot = match &self.plot {
            Plot::Chart(values) => DrawnPlot::Chart(With { values, drawn: values.marks(wide) }),
            Plot::Bars(values) => DrawnPlot::Bars(With { values, drawn: values.texts() }),
            Plot::Matrix(values) => DrawnPlot::Matrix(With { values, drawn: values.axis() }),
            Plot::Map(values) => DrawnPlot::Map(With { values, drawn: () }),
        };
        let Self { title, header, note, page, .. } = self;
        DrawnFigure { title, header, note: note.as_deref(), plot, page: *page }
    }

    /// Returns whether any value is defined; otherwise there is nothing to draw.
    pub fn has_values(&self) -> bool {
        match &self.plot {
            Plot::Chart(chart) => chart.has_values(),
            Plot::Bars(bars) => bars.bars.iter().any(|bar| bar.value.is_some()),
            Plot::Matrix(matrix) => matrix.cells.iter().any(Option::is_some),
            Plot::Map(map) => map.cells.iter().any(Option::is_some),
        }
    }
}
