//! One scale for several figures.
//!
//! Axes of rates up to 3 and up to 7 both end at 7. Figures of different quantities keep their axes.

use crate::{Axis, Figure, Plot};

/// Gives figures of the same quantity the same axis of values, so that they can be compared: from the lowest to the
/// highest end of theirs.
pub fn share_scale(figures: &mut [Figure]) {
    let Some(first) = figures.first_mut().and_then(axis_of).map(|axis| axis.clone()) else {
        return;
    };
    let mut ends = (first.low, first.high);
    for figure in figures.iter_mut() {
        let same = axis_of(figure).filter(|axis| {
            (&axis.label, axis.quantity, axis.scale) == (&first.label, first.quantity, first.scale)
        });
        let Some(axis) = same else { return };
        ends = (ends.0.min(axis.low), ends.1.max(axis.high));
    }
    for axis in figures.iter_mut().filter_map(axis_of) {
        (axis.low, axis.high) = ends;
    }
}

/// Returns the axis of the values; `None` for the cells of a matrix, which show their counts.
fn axis_of(figure: &mut Figure) -> Option<&mut Axis> {
    match &mut figure.plot {
        Plot::Chart(chart) => Some(&mut chart.y),
        Plot::Bars(bars) => Some(&mut bars.axis),
        Plot::Map(map) => Some(&mut map.values),
        Plot::Matrix(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bars, Page, Quantity};

    fn bars(label: &str, high: f64) -> Figure {
        let axis = Axis::linear(label, Quantity::Rate, 0.0, high);
        let plot = Plot::Bars(Bars { axis, bars: Vec::new() });
        let (title, header) = (String::new(), String::new());
        Figure { title, header, note: None, plot, page: Page::default() }
    }

    #[test]
    fn figures_of_one_quantity_have_one_scale() {
        let ends = |labels: [&str; 2]| {
            let mut figures = [bars(labels[0], 3.0), bars(labels[1], 7.0)];
            share_scale(&mut figures);
            figures.map(|mut figure| axis_of(&mut figure).map(|axis| axis.high))
        };
        assert_eq!(ends(["rate", "rate"]), [Some(7.0), Some(7.0)]);
        assert_eq!(ends(["rate", "events"]), [Some(3.0), Some(7.0)]);
    }
}
