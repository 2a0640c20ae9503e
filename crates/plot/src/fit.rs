//! Values with the curve that was fitted to them, and the residuals in a panel below.
//!
//! Data without a width at 1, 2 and 4 are as wide as their nearest neighbours allow: the one at 2 is drawn from 1.5
//! to 2.5. Residuals have the number, and so the colour, of their data: all data come before the first curve. Of many fits, those
//! with the most counts are drawn.

use tagq::{Answer, FittedSeries};

use crate::{
    axis::Axis,
    colour::COLOURS,
    figure::{Chart, Panel, Plot, Point, Series, Shape, ends, group_name},
    quantity::Quantity,
    scan::around,
    words::thousands,
};

/// The least end of the axis of residuals, in standard errors.
const RESIDUALS: f64 = 5.0;

/// Returns the values, the curves and the residuals, with a note if some are left out. All values of a channel or group
/// come before the first curve, so that its residuals have the colour of its values.
pub(crate) fn of(
    answer: &Answer,
    ([x, label], quantity, is_logarithmic): (&[String; 2], Quantity, bool),
    is_ratio: bool,
    all: &[FittedSeries],
) -> (Option<String>, Plot) {
    let named =
        |what: &str, of: &FittedSeries| match of.of.name(|group| group_name(&answer.run, group)) {
            None => what.to_owned(),
            Some(name) if all.len() == 1 => format!("{what} {name}"),
            Some(name) => format!("{name} {what}"),
        };
    let mut series = Vec::new();
    let mut residuals = Vec::new();
    let note = (all.len() > COLOURS).then(|| {
        let fits = thousands(all.len() as u64);
        format!("the {COLOURS} of {fits} fits with the most counts")
    });
    let all: Vec<FittedSeries> = most(all).into_iter().map(widened).collect();
    for of in &all {
        let point = |(&(from, to), value): (&(f64, f64), &Option<[f64; 2]>)| Point {
            from,
            to,
            value: value.map(|[value, _]| value),
            err: value.map_or(0.0, |[_, err]| err),
            is_partial: false,
        };
        let points: Vec<Point> = of.bins.iter().zip(&of.values).map(point).collect();
        let residual = |(point, &residual): (&Point, &f64)| Point {
            value: Some(residual).filter(|_| point.value.is_some()),
            err: 0.0,
            ..*point
        };
        let below = points.iter().zip(&of.residuals).map(residual).collect();
        residuals.push(Series { name: named("residuals", of), shape: None, points: below });
        series.push(Series { name: named("data", of), shape: None, points });
    }
    for of in &all {
        let point = |&(from, to, value): &(f64, f64, Option<f64>)| Point {
            from,
            to,
            value,
            err: 0.0,
            is_partial: false,
        };
        let points = of.curve.iter().map(point).collect();
        series.push(Series { name: named("fit", of), shape: Some(Shape::Line), points });
    }
    let bins = || all.iter().flat_map(|of| &of.bins);
    let low = bins().map(|bin| bin.0).fold(f64::INFINITY, f64::min);
    let high = bins().map(|bin| bin.1).fold(f64::NEG_INFINITY, f64::max);
    let points = || series.iter().flat_map(|series| &series.points);
    let (least, most) = ends(points(), Some(0.0));
    let of_values = if is_ratio { Quantity::Ratio } else { Quantity::Count };
    let largest = residuals.iter().flat_map(|series| &series.points);
    let largest = largest.filter_map(|point| point.value).map(f64::abs).fold(RESIDUALS, f64::max);
    let axis = if is_logarithmic { Axis::logarithmic } else { Axis::linear };
    let chart = Chart {
        x: axis(x.clone(), quantity, low, high),
        y: Axis::for_values(label, of_values, least.min(0.0), most, false),
        shape: Shape::Points,
        reference: is_ratio.then_some(1.0),
        has_panels: false,
        series,
        below: Some(Panel {
            y: Axis::linear("residuals", Quantity::Ratio, -largest, largest),
            series: residuals,
        }),
    };
    (note, Plot::Chart(chart))
}

/// Returns as many series as there are colours, those with the most counts, in their order.
fn most(all: &[FittedSeries]) -> Vec<&FittedSeries> {
    let sum = |of: &FittedSeries| of.values.iter().flatten().map(|[value, _]| value).sum::<f64>();
    let mut kept: Vec<(usize, f64)> = all.iter().map(sum).enumerate().collect();
    kept.sort_by(|one, other| other.1.total_cmp(&one.1));
    kept.truncate(COLOURS);
    kept.sort_by_key(|(at, _)| *at);
    kept.into_iter().map(|(at, _)| &all[at]).collect()
}

/// Returns the series with points made as wide as the distance to their neighbours allows.
fn widened(of: &FittedSeries) -> FittedSeries {
    let mut places: Vec<f64> = of.bins.iter().map(|bin| bin.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let bin = |&(from, to): &(f64, f64)| if from < to { (from, to) } else { around(&places, from) };
    FittedSeries { bins: of.bins.iter().map(bin).collect(), ..of.clone() }
}
