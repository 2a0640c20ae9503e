//! Figures of tags and gates, one below the other.

use tagq::{Answer, Cell};

use crate::{
    axis::Axis,
    figure::{Chart, Plot, Point, Series, Shape, floats},
    quantity::Quantity,
};

/// Returns a panel for each lane: the tags in each column of time, and full height where a gate is open.
pub(crate) fn of(answer: &Answer, names: &[String], [low, high]: [f64; 2]) -> Plot {
    let rows = &answer.rows;
    let most = floats(rows, "count").into_iter().flatten().fold(1.0, f64::max);
    let starts = floats(rows, "start_s");
    let lengths = floats(rows, "length_s");
    let counts = floats(rows, "count");
    let mut series: Vec<Series> =
        names.iter().map(|name| Series { name: name.clone(), points: Vec::new() }).collect();
    let lanes = rows.get("lane").map(|column| column.cells.iter().collect::<Vec<Cell>>());
    let lanes = lanes.unwrap_or_default().into_iter();
    for (((lane, start), length), count) in lanes.zip(starts).zip(lengths).zip(counts) {
        let (Cell::Integer(lane), Some(start), Some(length)) = (lane, start, length) else {
            continue;
        };
        let Some(of) = usize::try_from(lane).ok().and_then(|lane| series.get_mut(lane)) else {
            continue;
        };
        // Nothing between two of them.
        let before = of.points.last().map_or(low, |last| last.to);
        if before < start {
            of.points.push(point(before, start, 0.0));
        }
        let value = count.filter(|count| *count > 0.0).unwrap_or(most);
        of.points.push(point(start, start + length, value));
    }
    for of in &mut series {
        let before = of.points.last().map_or(low, |last| last.to);
        if before < high {
            of.points.push(point(before, high, 0.0));
        }
    }
    Plot::Chart(Chart {
        x: Axis::linear("time since the first tag", Quantity::Time, low, high),
        y: Axis::linear("tags", Quantity::Count, 0.0, most),
        shape: Shape::Columns,
        reference: None,
        has_panels: names.len() > 1,
        series,
    })
}

fn point(from: f64, to: f64, value: f64) -> Point {
    Point { from, to, value: Some(value), err: 0.0, is_partial: false }
}
