//! The peaks of pulsed light: the counts of each as a column, over the histogram of all differences.

use tagq::{Answer, store::Tick};

use crate::{
    axis::Axis,
    bins::DELAY,
    figure::{Chart, Plot, Point, Series, Shape, floats},
    quantity::Quantity,
};

/// Returns the values. A column is as high as the mean of the bins in its peak.
pub(crate) fn of(answer: &Answer, unit: Tick, (low, width): (i64, i64), counts: &[u64]) -> Plot {
    let half = |twice: i128| unit.seconds_of(twice) / 2.0;
    let edge = |bin: usize| half(2 * (i128::from(low) + i128::from(width) * bin as i128) - 1);
    let points = counts.iter().enumerate().map(|(bin, &count)| Point {
        from: edge(bin),
        to: edge(bin + 1),
        value: Some(count as f64),
        err: (count.max(1) as f64).sqrt(),
        is_partial: false,
    });
    let histogram =
        Series { name: "differences".into(), shape: Some(Shape::Line), points: points.collect() };
    let bin = unit.seconds_of(width.into());
    let rows = &answer.rows;
    let values = floats(rows, "count").into_iter().zip(floats(rows, "count_err"));
    let mut areas = Vec::new();
    let mut before = None;
    for ((from, to), (count, err)) in answer.bin_edges(unit).into_iter().zip(values) {
        let share = bin / (to - from);
        let none = |from| Point { from, to, value: None, err: 0.0, is_partial: false };
        areas.extend(before.map(|before| Point { to: from, ..none(before) }));
        areas.push(Point {
            value: count.map(|count| count * share),
            err: err.unwrap_or(0.0) * share,
            ..none(from)
        });
        before = Some(to);
    }
    let areas = Series { name: "mean of a peak".into(), shape: None, points: areas };
    let ends = [0, counts.len()].map(edge);
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    Plot::Chart(Chart {
        x: Axis::linear(DELAY, Quantity::Time, ends[0], ends[1]),
        y: Axis::for_values("counts", Quantity::Count, 0.0, most, false),
        shape: Shape::Columns,
        reference: None,
        has_panels: false,
        series: vec![areas, histogram],
        below: None,
    })
}
