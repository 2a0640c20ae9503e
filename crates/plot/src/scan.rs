//! One number per value of an option or of a setting, for each channel or group.
//!
//! Values at 1, 2 and 4: the point at 2 is from 1.5 to 2.5, half way to the nearer neighbour on both sides.

use std::collections::BTreeMap;

use tagq::Answer;

use crate::{
    axis::Axis,
    figure::{Chart, Plot, Point, Series, Shape, ends, floats, group_name},
    quantity::Quantity,
    values::Values,
};

/// A place with its value and error.
type Placed = (f64, Option<f64>, f64);

/// Returns the values as points with errors.
pub(crate) fn of(
    answer: &Answer,
    (label, key, is_time): (&str, &str, bool),
    shown: &Values,
) -> Plot {
    let rows = &answer.rows;
    let column = ["group", "channel"].into_iter().find_map(|name| rows.get(name));
    let places = floats(rows, key);
    let values = floats(rows, &shown.key);
    let errors = floats(rows, &shown.errors);
    let mut series: BTreeMap<Vec<u16>, Vec<Placed>> = BTreeMap::new();
    for (row, place) in places.iter().enumerate() {
        let Some(place) = *place else { continue };
        let group = column.map_or(Vec::new(), |column| column.cells.at(row).group());
        let value = values.get(row).copied().flatten();
        let err = errors.get(row).copied().flatten().unwrap_or(0.0);
        series.entry(group).or_default().push((place, value, err));
    }
    let mut sorted: Vec<f64> = places.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let all: Vec<Series> = series
        .into_iter()
        .map(|(group, mut points)| {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            let point = |(place, value, err)| {
                let (from, to) = around(&sorted, place);
                Point { from, to, value, err, is_partial: false }
            };
            let points = points.into_iter().map(point).collect();
            Series { name: group_name(&answer.run, &group), shape: None, points }
        })
        .collect();
    let points = || all.iter().flat_map(|series| &series.points);
    let low = points().map(|point| point.from).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.to).fold(f64::NEG_INFINITY, f64::max);
    let quantity = if is_time { Quantity::Time } else { Quantity::Ratio };
    let (least, most) = ends(points(), Some(0.0));
    Plot::Chart(Chart {
        x: Axis::linear(label.to_owned(), quantity, low, high),
        y: Axis::for_values(&shown.label, shown.quantity, least.min(0.0), most, false),
        shape: Shape::Points,
        reference: shown.reference,
        has_panels: false,
        series: all,
        below: None,
    })
}

/// Returns the interval around a place that reaches half way to its nearest neighbour on both sides.
pub(crate) fn around(sorted: &[f64], place: f64) -> (f64, f64) {
    let at = sorted.partition_point(|other| *other < place);
    let before = at.checked_sub(1).and_then(|at| sorted.get(at));
    let after = sorted.get(at + 1);
    let half = match (before, after) {
        (Some(before), Some(after)) => (place - before).min(after - place) / 2.0,
        (Some(before), None) => (place - before) / 2.0,
        (None, Some(after)) => (after - place) / 2.0,
        (None, None) => place.abs().max(1.0) / 2.0,
    };
    (place - half, place + half)
}
