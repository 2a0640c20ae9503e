//! Figures of values in cells of two axes.
//!
//! An image with 1,000 pixels of 100 counts, one of which has 5,000 instead: the colours end at 100, and a note tells
//! that one cell is beyond them. Cells are column by column, each from bottom to top; the first line of an image is
//! at the top.

use std::collections::{BTreeSet, HashMap};

use tagq::{Answer, Cell, store::Tick};

use crate::{
    axis::Axis,
    colour::whole,
    figure::{ImageScale, Map, Plot, ScaleBar, floats},
    pixels::brightness,
    quantity::Quantity,
    values::Values,
    words::{are, thousands},
};

/// Returns a note and the values, in cells of two time differences.
pub(crate) fn of(answer: &Answer, [x, y]: &[String; 2], values: &Values) -> (Option<String>, Plot) {
    let cells = floats(&answer.rows, &values.key);
    let rows = cells.len().isqrt();
    let missing = cells.iter().filter(|value| value.is_none()).count();
    let note = (missing > 0 && missing < cells.len())
        .then(|| format!("{} is not defined in {missing} of {} cells", values.key, cells.len()));
    let (low, high) = ends(answer);
    let axis = |label: &str| Axis::linear(label, Quantity::Time, low, high);
    let values = axis_of(&values.label, values.quantity, &cells);
    let map = Map {
        x: axis(x),
        y: axis(y),
        values,
        columns: rows,
        cells,
        image: None,
        brightness: None,
        guide: None,
    };
    (note, Plot::Map(map))
}

/// Returns a note and the values in bins of delays, in units of `unit`, and of time: each of `width` seconds, or
/// numbered intervals. Counts of several channels are added up; other values have one channel or pair.
pub(crate) fn over_time(
    answer: &Answer,
    (label, unit, is_logarithmic): (&str, Tick, bool),
    width: Option<f64>,
    values: &Values,
) -> (Option<String>, Plot) {
    let rows = &answer.rows;
    let starts = floats(rows, if width.is_some() { "start_s" } else { "interval" });
    let starts: Vec<f64> = starts.into_iter().map(Option::unwrap_or_default).collect();
    let bins = answer.bin_edges(unit);
    // The number of each column and of each place in it, in the order of the rows, by the bits of the start of the bin.
    let mut columns: HashMap<u64, usize> = HashMap::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (&start, (from, _)) in starts.iter().zip(&bins) {
        let next = columns.len();
        columns.entry(start.to_bits()).or_insert(next);
        let next = places.len();
        places.entry(from.to_bits()).or_insert(next);
    }
    let high = places.len();
    let mut cells = vec![None; columns.len() * high];
    for ((start, (from, _)), value) in starts.iter().zip(&bins).zip(floats(rows, &values.key)) {
        let at = columns[&start.to_bits()] * high + places[&from.to_bits()];
        let cell: &mut Option<f64> = &mut cells[at];
        *cell = match (*cell, value) {
            (Some(sum), Some(more)) => Some(sum + more),
            (cell, value) => cell.or(value),
        };
    }
    let ends = |of: &[f64]| {
        let (first, last) = (of.first().copied(), of.last().copied());
        first.zip(last).unwrap_or((0.0, 1.0))
    };
    let (first, last) = ends(&starts);
    let x = match width {
        Some(width) => {
            Axis::linear("time since the first tag", Quantity::Time, first, last + width)
        }
        None => Axis::linear("interval", Quantity::Count, first, last + 1.0),
    };
    let (low, top) = bins.first().zip(bins.last()).map_or((0.0, 1.0), |(a, b)| (a.0, b.1));
    let y = if is_logarithmic {
        Axis::logarithmic(label, Quantity::Time, low, top)
    } else {
        Axis::linear(label, Quantity::Time, low, top)
    };
    let channels = rows.get("channel").map_or(0, |column| {
        column.cells.iter().map(|cell| cell.group()).collect::<BTreeSet<Vec<u16>>>().len()
    });
    let note = (channels > 1).then(|| format!("the counts of {channels} channels added up"));
    let values = axis_of(&values.label, values.quantity, &cells);
    let columns = columns.len().max(1);
    let (image, brightness, guide) = (None, None, None);
    (note, Plot::Map(Map { x, y, values, columns, cells, image, brightness, guide }))
}

/// Returns a note and the values in the pixels of an image with these numbers of pixels and lines; counts of several
/// frames are added up. Pixels are as bright as they have photons, if `is_shaded`.
pub(crate) fn image(
    answer: &Answer,
    (pixels, lines): (u32, u32),
    pixel_um: Option<f64>,
    values: &Values,
    is_shaded: bool,
) -> (Option<String>, Plot) {
    let (wide, high) = (pixels as usize, lines as usize);
    let rows = floats(&answer.rows, &values.key);
    let frames = rows.len() / (wide * high).max(1);
    let is_sum = values.quantity == Quantity::Count;
    let shown = if is_sum { frames } else { 1 };
    let cells = pixels_of(&rows, (wide, high), shown);
    let mut notes = Vec::new();
    // Frames, each of several channels if these are apart.
    let what = if answer.rows.get("channel").is_some() { "images" } else { "frames" };
    if frames > 1 && is_sum {
        notes.push(format!("{frames} {what} added up"));
    } else if frames > 1 {
        notes.push(format!("the first of {frames} {what}"));
    }
    let missing = cells.iter().filter(|value| value.is_none()).count() as u64;
    if missing > 0 && missing < cells.len() as u64 {
        let all = thousands(cells.len() as u64);
        let (missing, are) = (thousands(missing), are(missing));
        notes.push(format!("{missing} of {all} pixels {are} grey: no {}", values.label));
    }
    let brightness = is_shaded.then(|| {
        let photons = pixels_of(&floats(&answer.rows, "count"), (wide, high), shown);
        let full = colours("", Quantity::Count, &photons).high;
        notes.push(format!("brightest from {} photons on", thousands(whole(full) as u64)));
        brightness(&photons, full)
    });
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let axis = |label: &str, end: u32| Axis::linear(label, Quantity::Count, 0.0, f64::from(end));
    let bar = pixel_um.and_then(|size| bar(size, pixels));
    let map = Map {
        x: axis("pixel", pixels),
        y: axis("line", lines),
        values: colours(&values.label, values.quantity, &cells),
        columns: wide,
        cells,
        image: Some(ImageScale { bar }),
        brightness,
        guide: None,
    };
    (note, Plot::Map(map))
}

/// Returns the sums of so many frames in the cells of an image.
fn pixels_of(
    rows: &[Option<f64>],
    (wide, high): (usize, usize),
    frames: usize,
) -> Vec<Option<f64>> {
    let mut cells = vec![None; wide * high];
    for frame in rows.chunks(wide * high).take(frames) {
        for (at, value) in frame.iter().enumerate() {
            let Some(value) = value else { continue };
            // The first line is at the top.
            let cell: &mut Option<f64> = &mut cells[at % wide * high + (high - 1 - at / wide)];
            *cell = Some(cell.unwrap_or(0.0) + value);
        }
    }
    cells
}

/// Returns a bar of a round length, about a quarter of the width of an image with pixels of this size.
fn bar(pixel_um: f64, pixels: u32) -> Option<ScaleBar> {
    let most = pixel_um * f64::from(pixels) / 4.0;
    let decade = libm::pow(10.0, libm::log10(most).floor());
    let length =
        [5.0, 2.0, 1.0].into_iter().map(|step| step * decade).find(|&length| length <= most)?;
    let (unit, size) = match length {
        1e3.. => ("mm", 1e3),
        1.0.. => ("\u{b5}m", 1.0),
        _ => ("nm", 1e-3),
    };
    let number = length / size;
    let number = if number < 1.0 { format!("{number:.3}") } else { format!("{number:.0}") };
    Some(ScaleBar { cells: length / pixel_um, label: format!("{number} {unit}") })
}

/// The part of the pixels with counts that is between the ends of the colours, if other pixels are far from them, and
/// the part of those with another value on each side of the middle.
const SHOWN: f64 = 0.995;
const SHOWN_ASIDE: f64 = 0.98;
/// Counts end there if the highest one is more than this factor above.
const HOT: f64 = 2.0;

/// Returns the axis of the values in pixels. Counts begin at zero and end at the highest, or, if it is more than
/// [`HOT`] times as high, at the value that 995 of 1,000 pixels with photons do not exceed. Other values leave out 20
/// of 1,000 pixels at each end: those with few photons scatter far.
fn colours(label: &str, quantity: Quantity, cells: &[Option<f64>]) -> Axis {
    let is_count = quantity == Quantity::Count;
    let mut values: Vec<f64> =
        cells.iter().flatten().copied().filter(|&value| !is_count || value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
        return Axis::linear(label, quantity, 0.0, 1.0);
    };
    let shown = if is_count { SHOWN } else { SHOWN_ASIDE };
    let beyond = whole(((1.0 - shown) * values.len() as f64 + 1e-9).floor());
    let (low, high) = (values[beyond], values[values.len() - 1 - beyond]);
    match is_count {
        true if most > HOT * high => Axis::linear(label, quantity, 0.0, high),
        true => Axis::linear(label, quantity, 0.0, most),
        false if low < high => Axis::linear(label, quantity, low, high),
        false => Axis::linear(label, quantity, least, most),
    }
}

/// Returns the axis of these values, from zero on.
fn axis_of(label: &str, quantity: Quantity, cells: &[Option<f64>]) -> Axis {
    let most = cells.iter().flatten().copied().fold(0.0, f64::max);
    Axis::linear(label, quantity, 0.0, if most > 0.0 { most } else { 1.0 })
}

/// Returns the ends of both axes in seconds: half a tick before the first tick of the first bin to half a
/// tick after the last one of the last bin.
fn ends(answer: &Answer) -> (f64, f64) {
    let Ok(tick) = Tick::from_fraction(&answer.run.tick) else { return (0.0, 1.0) };
    let Some(lows) = answer.rows.get("first_tick_b") else { return (0.0, 1.0) };
    // The first column of cells has all bins of B, in order.
    let integer = |cell| if let Cell::Integer(low) = cell { Some(low) } else { None };
    let lows: Vec<i64> =
        lows.cells.iter().take(lows.cells.len().isqrt()).filter_map(integer).collect();
    let (Some(least), Some(most)) = (lows.first(), lows.last()) else { return (0.0, 1.0) };
    let width = lows.get(1).map_or(1, |second| second - least);
    let half = |twice: i128| tick.seconds_of(twice) / 2.0;
    let (first, last) =
        (2 * i128::from(*least) - 1, 2 * (i128::from(*most) + i128::from(width)) - 1);
    (half(first), half(last))
}
