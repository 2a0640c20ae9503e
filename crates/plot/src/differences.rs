//! Figures of histograms and g2.

use tagq::{Answer, Values};

use crate::{
    Axis, Chart, Plot, Point, Quantity, Scale, Series, Shape,
    figure::{ends, floats, name_of, tick_of},
};

/// The words, a note and the values.
pub(crate) fn of(answer: &Answer) -> (String, Option<String>, Plot) {
    let rows = &answer.rows;
    let channel = |key: &str| {
        let channel = answer.query[key].as_u64().and_then(|channel| u16::try_from(channel).ok());
        channel.map_or_else(String::new, |channel| name_of(&answer.run, channel))
    };
    let (start, stop) = (channel("start"), channel("stop"));
    let is_g2 = rows.get("g2").is_some();
    let (values, errors) = if is_g2 { ("g2", "g2_err") } else { ("count", "count_err") };
    let edges = edges(answer);
    let points: Vec<Point> = edges
        .iter()
        .zip(floats(rows, values).into_iter().zip(floats(rows, errors)))
        .map(|(&(from, to), (value, err))| Point {
            from,
            to,
            value,
            err: err.unwrap_or(0.0),
            is_partial: false,
        })
        .collect();
    let scale = match answer.query["bins_per_decade"].as_u64() {
        Some(_) => Scale::Logarithmic,
        None => Scale::Linear,
    };
    let (low, high) = (points.first().map_or(0.0, |p| p.from), points.last().map_or(1.0, |p| p.to));
    let (_, most) = ends(points.iter(), None);
    let label =
        if is_g2 { "delay \u{3c4}" } else { "\u{394} = time of stop \u{2212} time of start" };
    let x = match scale {
        Scale::Logarithmic => Axis::logarithmic(label, Quantity::Time, low, high),
        Scale::Linear => Axis::linear(label, Quantity::Time, low, high),
    };
    let is_empty = points.iter().all(|point| point.value.is_none());
    let missing = points.iter().filter(|point| point.value.is_none()).count();
    let note = (is_g2 && missing > 0 && !is_empty)
        .then(|| format!("g2 is not defined in {missing} of {} bins", points.len()));
    let (y, what, reference) = if is_g2 {
        let (low, high) = ends(points.iter(), Some(1.0));
        let what = if start == stop {
            format!("g\u{b2}(\u{3c4}) of {start} with itself")
        } else {
            format!("g\u{b2}(\u{3c4}) of {start} and {stop}")
        };
        let y = Axis::for_values("g\u{b2}(\u{3c4})", Quantity::Ratio, low, high, true);
        (y, what, Some(1.0))
    } else {
        // Without a count the error is one, which is no reason to end the axis below it.
        let y = Axis::for_values("counts", Quantity::Count, 0.0, most.max(1.0), false);
        (y, format!("Differences of times, {start} to {stop}"), None)
    };
    let shape = if is_g2 { Shape::Points } else { Shape::Columns };
    let series = vec![Series { name: format!("{start},{stop}"), points }];
    (what, note, Plot::Chart(Chart { x, y, shape, reference, series }))
}

/// Where bins begin and end, in seconds: half a tick before their first tick to half a tick behind their
/// last, so that they are centred on `delay_s`.
fn edges(answer: &Answer) -> Vec<(f64, f64)> {
    let rows = &answer.rows;
    let (Some(Values::Integers(lows)), Some(Values::Integers(widths)), Some(tick)) =
        (rows.get("delay_ticks"), rows.get("width_ticks"), tick_of(&answer.run))
    else {
        return Vec::new();
    };
    let half = |twice: i128| tick.seconds_of(twice) / 2.0;
    let of = |(low, width): (i64, i64)| {
        let first = 2 * i128::from(low) - 1;
        (half(first), half(first + 2 * i128::from(width)))
    };
    lows.iter().zip(widths.iter()).map(of).collect()
}
