//! Figures of tags and gates, one below the other.
//!
//! Tags counted in columns from 0 to 1 s and from 3 to 4 s, of 5 s: zeros are drawn from 1 to 3 s and from 4 to 5 s.

use tagq::{Answer, Cell};

use crate::{
    axis::Axis,
    figure::{Chart, Plot, Point, Series, Shape, floats},
    quantity::Quantity,
};

/// Returns a panel for each lane: the tags in each column of time, and the intervals in which each of the last
/// `gates` lanes is open.
pub(crate) fn of(answer: &Answer, names: &[String], [low, high]: [f64; 2], gates: usize) -> Plot {
    let rows = &answer.rows;
    let most = floats(rows, "count").into_iter().flatten().fold(1.0, f64::max);
    let starts = floats(rows, "start_s");
    let lengths = floats(rows, "length_s");
    let values = floats(rows, "count").into_iter().zip(floats(rows, "open"));
    // Columns that touch differ by rounding.
    let touch = 1e-6 * (high - low);
    let first_gate = names.len().saturating_sub(gates);
    let lane = |(number, name): (usize, &String)| {
        let shape = (number >= first_gate).then_some(Shape::Intervals);
        Series { name: name.clone(), shape, points: Vec::new() }
    };
    let mut series: Vec<Series> = names.iter().enumerate().map(lane).collect();
    let lanes = rows.get("lane").map(|column| column.cells.iter().collect::<Vec<Cell>>());
    let lanes = lanes.unwrap_or_default().into_iter();
    for (((lane, start), length), value) in lanes.zip(starts).zip(lengths).zip(values) {
        let (Cell::Integer(lane), Some(start), Some(length)) = (lane, start, length) else {
            continue;
        };
        let Some(of) = usize::try_from(lane).ok().and_then(|lane| series.get_mut(lane)) else {
            continue;
        };
        // Between two columns there are no tags.
        let before = of.points.last().map_or(low, |last| last.to);
        let to = start + length;
        let start = if (start - before).abs() <= touch { before } else { start };
        if before < start {
            of.points.push(point(before, start, 0.0));
        }
        let (count, open) = value;
        let value = if of.shape.is_some() { open } else { count }.unwrap_or(0.0);
        of.points.push(point(start, to, value));
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
        has_panels: true,
        series,
        below: None,
    })
}

fn point(from: f64, to: f64, value: f64) -> Point {
    Point { from, to, value: Some(value), err: 0.0, is_partial: false }
}
