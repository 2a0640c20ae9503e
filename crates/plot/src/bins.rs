//! Figures of values in bins of a time difference.
//!
//! Counts are columns from zero, or lines if several channels would hide each other; ratios such as g2 are points
//! around the value by chance, with a note on bins in which they are not defined.

use std::collections::{BTreeMap, HashMap};

use tagq::{Answer, store::Tick};

use crate::{
    axis::Axis,
    figure::{Chart, Plot, Point, Series, Shape, ends, floats, group_name},
    quantity::Quantity,
    values::Values,
};

/// The label of the delays of g2.
pub(crate) const DELAY: &str = "delay \u{3c4}";

/// Returns a note and the values.
pub(crate) fn of(
    answer: &Answer,
    name: Option<&str>,
    (unit, x_label): (Tick, &str),
    is_logarithmic: bool,
    values: &Values,
) -> (Option<String>, Plot) {
    let rows = &answer.rows;
    let points = answer
        .bin_edges(unit)
        .into_iter()
        .zip(floats(rows, &values.key).into_iter().zip(floats(rows, &values.errors)))
        .map(|((from, to), (value, err))| Point {
            from,
            to,
            value,
            err: err.unwrap_or(0.0),
            is_partial: false,
        });
    let series = if let Some(name) = name {
        vec![Series { name: name.to_owned(), shape: None, points: points.collect() }]
    } else {
        let channels = rows.get("channel").into_iter().flat_map(|column| column.cells.iter());
        of_channels(answer, channels.map(|cell| cell.group()).zip(points))
    };
    let points: Vec<Point> = series.iter().flat_map(|series| &series.points).copied().collect();
    let (low, high) = (points.first().map_or(0.0, |p| p.from), points.last().map_or(1.0, |p| p.to));
    let x = if is_logarithmic {
        Axis::logarithmic(x_label, Quantity::Time, low, high)
    } else {
        Axis::linear(x_label, Quantity::Time, low, high)
    };
    let missing = points.iter().filter(|point| point.value.is_none()).count();
    let note = (values.is_ratio() && missing > 0 && missing < points.len())
        .then(|| format!("{} is not defined in {missing} of {} bins", values.key, points.len()));
    let y_label = &values.label;
    let (y, shape) = if values.is_ratio() {
        let (low, high) = ends(points.iter(), values.reference);
        let y = Axis::for_values(y_label, Quantity::Ratio, low, high, true);
        (y, Shape::Points)
    } else {
        // Without counts the error is one, but this is no reason to end the axis below it.
        let (_, most) = ends(points.iter(), None);
        let most = if values.quantity == Quantity::Count { most.max(1.0) } else { most };
        let y = Axis::for_values(y_label, values.quantity, 0.0, most, false);
        // Columns of several channels would hide each other.
        (y, if series.len() > 1 { Shape::Line } else { Shape::Columns })
    };
    let reference = values.reference;
    (note, Plot::Chart(Chart { x, y, shape, reference, has_panels: false, series, below: None }))
}

/// Returns one series for each channel. The bins of a trace are added up.
fn of_channels(answer: &Answer, points: impl Iterator<Item = (Vec<u16>, Point)>) -> Vec<Series> {
    let mut series: BTreeMap<Vec<u16>, Vec<Point>> = BTreeMap::new();
    let mut places = HashMap::new();
    for (channel, point) in points {
        let known = series.entry(channel.clone()).or_default();
        let place = *places.entry((channel, point.from.to_bits())).or_insert(known.len());
        match known.get_mut(place) {
            Some(sum) => {
                sum.value = sum.value.zip(point.value).map(|(sum, value)| sum + value);
                sum.err = libm::hypot(sum.err, point.err);
            }
            None => known.push(point),
        }
    }
    let named = |(channel, points): (Vec<u16>, _)| Series {
        name: group_name(&answer.run, &channel),
        shape: None,
        points,
    };
    series.into_iter().map(named).collect()
}
