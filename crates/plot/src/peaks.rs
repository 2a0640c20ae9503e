//! The peaks of pulsed light: the counts of each as a column, over the histogram of all differences, or with the
//! curve of a fit if they overlap. A low peak that is not at zero has a mark.
//!
//! A peak of 100 counts from 0 to 10 ticks, bins of 2 ticks on average: a column of 100·2/10 = 20 counts a bin.

use tagq::{Answer, store::Tick};

use crate::{
    axis::Axis,
    bins::DELAY,
    figure::{Chart, Plot, Point, Series, Shape, floats},
    quantity::{Quantity, unit_of},
};

/// Returns the values, in counts a bin of the mean width. A column is as high as the mean of the bins in its peak.
pub(crate) fn of(
    answer: &Answer,
    unit: Tick,
    (edges, counts, curve): (&[i64], &[u64], Option<&[f64]>),
    low_peak: Option<[i64; 2]>,
) -> Plot {
    let half = |twice: i128| unit.seconds_of(twice) / 2.0;
    let at = |edge: i64| half(2 * i128::from(edge) - 1);
    let ends = [edges.first(), edges.last()].map(|edge| edge.copied().unwrap_or(0));
    let mean = (i128::from(ends[1]) - i128::from(ends[0])) as f64 / counts.len().max(1) as f64;
    let bins = || edges.windows(2).map(|ends| (ends[0], ends[1]));
    let share = |(from, to): (i64, i64)| mean / (i128::from(to) - i128::from(from)) as f64;
    let point = |(bin, value, err): ((i64, i64), f64, f64)| Point {
        from: at(bin.0),
        to: at(bin.1),
        value: Some(value * share(bin)),
        err: err * share(bin),
        is_partial: false,
    };
    let of_counts = bins().zip(counts).map(|(bin, &count)| (bin, count as f64));
    let points = of_counts.map(|(bin, count)| point((bin, count, count.max(1.0).sqrt())));
    let shape = if curve.is_some() { Shape::Columns } else { Shape::Line };
    let differences =
        Series { name: "differences".into(), shape: Some(shape), points: points.collect() };
    let mut series = match curve {
        Some(curve) => {
            let points = bins().zip(curve).map(|(bin, &count)| point((bin, count, 0.0)));
            let fit = Series {
                name: "fit, peaks overlap".into(),
                shape: Some(Shape::Line),
                points: points.collect(),
            };
            vec![differences, fit]
        }
        None => vec![areas(answer, unit, unit.seconds() * mean), differences],
    };
    series.extend(low_peak.map(|[first, last]| {
        let within = bins().zip(counts).filter(|((from, to), _)| {
            let middle = i128::from(*from) + i128::from(*to) - 1;
            (2 * i128::from(first)..=2 * i128::from(last)).contains(&middle)
        });
        let (sum, width) = within.fold((0, 0), |(sum, width), ((from, to), count)| {
            (sum + count, width + (i128::from(to) - i128::from(from)))
        });
        let share = mean / (width.max(1) as f64);
        let (value, err) = (Some(sum as f64 * share), (sum.max(1) as f64).sqrt() * share);
        let [from, to] = [2 * i128::from(first) - 1, 2 * i128::from(last) + 1].map(half);
        let point = Point { from, to, value, err, is_partial: false };
        let at = f64::midpoint(from, to);
        let (suffix, size) = unit_of(Quantity::Time, at.abs());
        Series {
            name: format!("low peak, {:.1} {suffix}", at / size),
            shape: Some(Shape::Points),
            points: vec![point],
        }
    }));
    let most = series.iter().flat_map(|series| &series.points);
    let most = most.filter_map(|point| point.value).fold(1.0, f64::max);
    Plot::Chart(Chart {
        x: Axis::linear(DELAY, Quantity::Time, at(ends[0]), at(ends[1])),
        y: Axis::for_values("counts", Quantity::Count, 0.0, most, false),
        shape: Shape::Columns,
        reference: None,
        has_panels: false,
        series,
        below: None,
    })
}

/// Returns the counts of each peak, as the mean of bins of this width in seconds, with nothing between them.
fn areas(answer: &Answer, unit: Tick, bin: f64) -> Series {
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
    Series { name: "mean of a peak".into(), shape: None, points: areas }
}
