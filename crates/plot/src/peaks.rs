//! The peaks of pulsed light: the counts of each as a column, over the histogram of all differences. A low peak that is not at zero
//! has a mark.

use tagq::{Answer, store::Tick};

use crate::{
    axis::Axis,
    bins::DELAY,
    figure::{Chart, Plot, Point, Series, Shape, floats},
    quantity::{Quantity, unit_of},
};

/// Returns the values. A column is as high as the mean of the bins in its peak.
pub(crate) fn of(
    answer: &Answer,
    unit: Tick,
    (low, width): (i64, i64),
    counts: &[u64],
    low_peak: Option<[i64; 2]>,
) -> Plot {
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
    let mut series = vec![areas, histogram];
    series.extend(low_peak.map(|[first, last]| {
        let [from, to] = [2 * i128::from(first) - 1, 2 * i128::from(last) + 1].map(half);
        let within = counts.iter().enumerate().filter(|(bin, _)| {
            let middle = f64::midpoint(edge(*bin), edge(bin + 1));
            (from..to).contains(&middle)
        });
        let (sum, bins) =
            within.fold((0, 0_u32), |(sum, bins), (_, count)| (sum + count, bins + 1));
        let share = 1.0 / f64::from(bins.max(1));
        let (value, err) = (Some(sum as f64 * share), (sum.max(1) as f64).sqrt() * share);
        let point = Point { from, to, value, err, is_partial: false };
        let at = f64::midpoint(from, to);
        let (suffix, size) = unit_of(Quantity::Time, at.abs());
        Series {
            name: format!("low peak, {:.1} {suffix}", at / size),
            shape: Some(Shape::Points),
            points: vec![point],
        }
    }));
    let ends = [0, counts.len()].map(edge);
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    Plot::Chart(Chart {
        x: Axis::linear(DELAY, Quantity::Time, ends[0], ends[1]),
        y: Axis::for_values("counts", Quantity::Count, 0.0, most, false),
        shape: Shape::Columns,
        reference: None,
        has_panels: false,
        series,
        below: None,
    })
}
