//! Figures of rates, and of everything that is a trace.

use std::collections::BTreeMap;

use tagq::{Answer, Values};

use crate::{
    Axis, Bar, Bars, Chart, Plot, Point, Quantity, Series, Shape,
    figure::{ends, floats, name_of},
    words::thousands,
};

/// More lines than these nobody tells apart.
const MOST_SERIES: usize = 14;

/// The rate of each channel.
pub(crate) fn bars(answer: &Answer) -> (String, Option<String>, Plot) {
    let rows = &answer.rows;
    let Some(Values::Channels(channels)) = rows.get("channel") else {
        return ("Rates".into(), None, bars_of("rate", Quantity::Rate, Vec::new()));
    };
    let rates = floats(rows, "rate_hz").into_iter().zip(floats(rows, "rate_err_hz"));
    let bars = channels.iter().zip(rates).filter_map(|(channel, (value, err))| {
        let name = name_of(&answer.run, channel?);
        Some(Bar { name, value, err: err.unwrap_or(0.0), accidentals: None })
    });
    ("Rates".into(), None, bars_of("rate", Quantity::Rate, bars.collect()))
}

/// The rate of each channel over time.
pub(crate) fn trace(answer: &Answer) -> (String, Option<String>, Plot) {
    let keys = match answer.rows.get("channel") {
        // The sum of all would leave no room for those that it is of.
        Some(Values::Channels(channels)) => channels
            .iter()
            .map(|channel| channel.map(|channel| (channel, name_of(&answer.run, channel))))
            .collect(),
        _ => Vec::new(),
    };
    let (alone, note, plot) = trace_of(answer, "rate", &keys);
    let what = alone.map_or_else(|| "Rates".to_owned(), |name| format!("Rate of {name}"));
    (format!("{what} over time"), note, plot)
}

/// A line for each key, in the order in which they come; the name of the only one, a note and the lines.
pub(crate) fn trace_of<K: Ord + Clone>(
    answer: &Answer,
    label: &str,
    keys: &[Option<(K, String)>],
) -> (Option<String>, Option<String>, Plot) {
    let rows = &answer.rows;
    let width = answer.query["bin_s"].as_f64().unwrap_or(0.0);
    let values = floats(rows, "rate_hz").into_iter().zip(floats(rows, "rate_err_hz"));
    let starts = floats(rows, "start_s");
    let partial = match rows.get("partial") {
        Some(Values::Flags(flags)) => flags.iter().collect(),
        _ => vec![false; rows.len()],
    };
    let mut places = BTreeMap::new();
    let mut series: Vec<Series> = Vec::new();
    for (((key, start), (value, err)), is_partial) in
        keys.iter().zip(starts).zip(values).zip(partial)
    {
        let (Some((key, name)), Some(from)) = (key, start) else { continue };
        let at = *places.entry(key.clone()).or_insert_with(|| {
            series.push(Series { name: name.clone(), points: Vec::new() });
            series.len() - 1
        });
        let point = Point { from, to: from + width, value, err: err.unwrap_or(0.0), is_partial };
        series[at].points.push(point);
    }
    let note = keep_highest(&mut series);
    let points = || series.iter().flat_map(|series| &series.points);
    let low = points().map(|point| point.from).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.to).fold(f64::NEG_INFINITY, f64::max);
    let x = Axis::linear("time since the first tag", Quantity::Time, low, high);
    // Of a bin that was cut to a moment the rate is that of a few tags: it says nothing of the others.
    let is_whole = |point: &&Point| !point.is_partial;
    let are_some_whole = points().filter(is_whole).any(|point| point.value.is_some());
    let (low, high) = ends(points().filter(|point| !are_some_whole || is_whole(point)), None);
    let y = Axis::for_values(label, Quantity::Rate, low, high, true);
    let left_out = leave_out(&mut series, &y);
    let note: Vec<String> = note.into_iter().chain(left_out).collect();
    let note = (!note.is_empty()).then(|| note.join("; "));
    let alone = if let [only] = &series[..] { Some(only.name.clone()) } else { None };
    (alone, note, Plot::Chart(Chart { x, y, shape: Shape::Line, reference: None, series }))
}

/// Bars of these values.
pub(crate) fn bars_of(label: &str, quantity: Quantity, bars: Vec<Bar>) -> Plot {
    let ends =
        bars.iter().flat_map(|bar| [bar.value.map(|value| value + bar.err), bar.accidentals]);
    let high = ends.flatten().fold(0.0, f64::max);
    Plot::Bars(Bars { axis: Axis::for_values(label, quantity, 0.0, high, false), bars })
}

/// Leaves out the values of unfinished bins that are not on the axis of the others.
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

/// Leaves out the lowest of too many lines.
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
