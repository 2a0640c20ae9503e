//! Figures of rates over time.
//!
//! A bin that is cut, or may still change, does not set the axis: if the others reach 100 to 110 Hz, its 3 Hz are not
//! drawn, with a note. Each channel or group has a panel, at most 14.

use std::collections::BTreeMap;

use tagq::{Answer, Cell};

use crate::{
    axis::Axis,
    figure::{Chart, Plot, Point, Series, Shape, ends, floats, group_name},
    quantity::Quantity,
    values::Values,
    words::thousands,
};

/// More lines than this cannot be distinguished.
const MOST_SERIES: usize = 14;

/// Creates one line per key, in order of appearance.
pub(crate) fn of(
    answer: &Answer,
    [of_one, of_all]: [&str; 2],
    width: Option<f64>,
    shown: &Values,
) -> (String, Option<String>, Plot) {
    let rows = &answer.rows;
    let groups = rows.columns().iter().find(|column| column.shown.is_key);
    // The sum of all channels would leave no space for them.
    let key =
        |group: Vec<u16>| (!group.is_empty()).then(|| (group_name(&answer.run, &group), group));
    let keys: Vec<Option<(String, Vec<u16>)>> = match groups {
        Some(column) => column.cells.iter().map(|cell| key(cell.group())).collect(),
        None => Vec::new(),
    };
    let values = floats(rows, &shown.key).into_iter().zip(floats(rows, &shown.errors));
    let starts = floats(rows, "start_s");
    let partial = match rows.get("partial") {
        Some(flags) => flags.cells.iter().map(|flag| flag == Cell::Flag(true)).collect(),
        None => vec![false; rows.len()],
    };
    let lengths = match width {
        Some(width) => vec![Some(width); rows.len()],
        None => floats(rows, "length_s"),
    };
    let mut places = BTreeMap::new();
    let mut series: Vec<Series> = Vec::new();
    for ((((key, start), length), (value, err)), is_partial) in
        keys.into_iter().zip(starts).zip(lengths).zip(values).zip(partial)
    {
        let (Some((name, key)), Some(from), Some(length)) = (key, start, length) else { continue };
        let at = *places.entry(key).or_insert_with(|| {
            series.push(Series { name, shape: None, points: Vec::new() });
            series.len() - 1
        });
        let point = Point { from, to: from + length, value, err: err.unwrap_or(0.0), is_partial };
        // Nothing was counted between intervals that do not touch.
        if width.is_none()
            && let Some(&Point { to, .. }) = series[at].points.last()
            && to < from - 1e-9 * from.abs()
        {
            let nothing = Point { from: to, to: from, value: None, err: 0.0, is_partial: false };
            series[at].points.push(nothing);
        }
        series[at].points.push(point);
    }
    let note = keep_highest(&mut series);
    let points = || series.iter().flat_map(|series| &series.points);
    let low = points().map(|point| point.from).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.to).fold(f64::NEG_INFINITY, f64::max);
    let x = Axis::linear("time since the first tag", Quantity::Time, low, high);
    // A bin that was cut to a moment has the rate of a few tags, which says nothing about the others.
    let is_whole = |point: &&Point| !point.is_partial;
    let are_some_whole = points().filter(is_whole).any(|point| point.value.is_some());
    let (low, high) = ends(points().filter(|point| !are_some_whole || is_whole(point)), None);
    let y = Axis::for_values(&shown.label, shown.quantity, low, high, true);
    let left_out = leave_out(&mut series, &y);
    let note: Vec<String> = note.into_iter().chain(left_out).collect();
    let note = (!note.is_empty()).then(|| note.join("; "));
    let what = match &series[..] {
        [only] => format!("{of_one} {}", only.name),
        _ => of_all.to_owned(),
    };
    (
        format!("{what} over time"),
        note,
        Plot::Chart(Chart {
            x,
            y,
            shape: Shape::Line,
            reference: shown.reference,
            has_panels: series.len() > 1,
            series,
            below: None,
        }),
    )
}

/// Omits the values of unfinished bins that are outside the axis of the others.
fn leave_out(series: &mut [Series], axis: &Axis) -> Option<String> {
    let mut left_out = 0;
    for point in series.iter_mut().flat_map(|series| &mut series.points) {
        let is_off = |value: f64| !(0.0..=1.0).contains(&axis.place(value));
        if point.is_partial && point.value.is_some_and(is_off) {
            point.value = None;
            left_out += 1;
        }
    }
    let plural = if left_out == 1 { "" } else { "s" };
    (left_out > 0).then(|| {
        format!("{} value{plural} of partial bins off the axis not drawn", thousands(left_out))
    })
}

/// Omits the lowest lines if there are too many.
fn keep_highest(series: &mut Vec<Series>) -> Option<String> {
    let all = series.len();
    if all <= MOST_SERIES {
        return None;
    }
    let sum = |series: &Series| {
        let whole = series.points.iter().filter(|point| !point.is_partial);
        whole.filter_map(|point| point.value).sum::<f64>()
    };
    let mut sums: Vec<f64> = series.iter().map(sum).collect();
    sums.sort_by(|a, b| b.total_cmp(a));
    let least = sums[MOST_SERIES - 1];
    series.retain(|of| sum(of) >= least);
    series.truncate(MOST_SERIES);
    Some(format!("the {MOST_SERIES} highest of {} lines", thousands(all as u64)))
}
