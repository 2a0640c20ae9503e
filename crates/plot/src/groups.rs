//! Figures with one number per group or channel.
//!
//! The six pairs of four channels fill six of 3·3 cells and are a matrix; three pairs are bars with errors. Of more
//! than 40 bars the highest 40 are drawn, with a note.

use tagq::{Answer, Cell, SeriesOf};

use crate::{
    axis::Axis,
    figure::{Bar, Bars, Matrix, Plot, floats, group_name, name_of},
    values::Values,
    words::thousands,
};

/// Fewer pairs than this are shown as bars, with errors.
const LEAST_CELLS: usize = 4;
/// More bars than this are not readable.
const MOST_BARS: usize = 40;

/// Creates a matrix of pairs, or bars.
pub(crate) fn of(answer: &Answer, title: &str, values: &Values) -> (String, Option<String>, Plot) {
    let what = title.to_owned();
    let groups: Vec<Vec<u16>> = match answer.rows.get("channels") {
        Some(channels) => channels.cells.iter().map(|group| group.group()).collect(),
        None => Vec::new(),
    };
    if values.key == "count"
        && let Some(matrix) = matrix(answer, &groups)
    {
        return (what, None, Plot::Matrix(matrix));
    }
    let rows = &answer.rows;
    let counts = floats(rows, &values.key).into_iter().zip(floats(rows, &values.errors));
    let chance = match values.key.as_str() {
        "count" => floats(rows, "accidentals"),
        _ => vec![None; rows.len()],
    };
    let each = groups.iter().zip(counts).zip(chance);
    let mut bars: Vec<Bar> = each
        .map(|((group, (value, err)), accidentals)| {
            let name = group_name(&answer.run, group);
            Bar { name, value, err: err.unwrap_or(0.0), accidentals }
        })
        .collect();
    let note = highest(&mut bars, "groups");
    (what, note, bars_of(values, bars))
}

/// Keeps the highest bars, if there are more than can be read. Returns the note on them.
fn highest(bars: &mut Vec<Bar>, of: &str) -> Option<String> {
    let all = bars.len();
    if all <= MOST_BARS {
        return None;
    }
    let mut values: Vec<f64> = bars.iter().filter_map(|bar| bar.value).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let least = values.get(MOST_BARS - 1).copied().unwrap_or(f64::NEG_INFINITY);
    bars.retain(|bar| bar.value.is_some_and(|value| value >= least));
    bars.truncate(MOST_BARS);
    Some(format!("the {MOST_BARS} highest of {} {of}", thousands(all as u64)))
}

/// Draws a value of each region of an image as bars.
pub(crate) fn of_regions(answer: &Answer, values: &Values) -> (Option<String>, Plot) {
    let rows = &answer.rows;
    let integer = |key: &str, row: usize| match rows.get(key)?.cells.at(row) {
        Cell::Integer(of) => Some(of),
        _ => None,
    };
    let channel = |row: usize| rows.get("channel")?.cells.at(row).group().first().copied();
    let each = floats(rows, &values.key).into_iter().zip(floats(rows, &values.errors));
    let mut bars: Vec<Bar> = each
        .enumerate()
        .map(|(row, (value, err))| {
            let of = SeriesOf::Region {
                frame: integer("frame", row),
                channel: channel(row),
                label: integer("label", row).unwrap_or_default(),
            };
            let name = of.name(|group| group_name(&answer.run, group)).unwrap_or_default();
            Bar { name, value, err: err.unwrap_or(0.0), accidentals: None }
        })
        .collect();
    let note = highest(&mut bars, "regions");
    (note, bars_of(values, bars))
}

/// Draws a value of each channel as bars.
pub(crate) fn of_channels(answer: &Answer, values: &Values) -> Plot {
    let rows = &answer.rows;
    let rates = floats(rows, &values.key).into_iter().zip(floats(rows, &values.errors));
    let channels = rows.get("channel").map(|column| column.cells.iter().collect::<Vec<_>>());
    let bars = channels.unwrap_or_default().into_iter().zip(rates);
    // The sum of all channels would leave no space for them.
    let bars = bars.filter_map(|(channel, (value, err))| {
        let name = name_of(&answer.run, *channel.group().first()?);
        Some(Bar { name, value, err: err.unwrap_or(0.0), accidentals: None })
    });
    bars_of(values, bars.collect())
}

/// Returns the counts as a matrix, if all groups are pairs that fill at least half of it.
fn matrix(answer: &Answer, groups: &[Vec<u16>]) -> Option<Matrix> {
    let counts = answer.rows.get("count")?;
    if groups.len() < LEAST_CELLS || groups.iter().any(|group| group.len() != 2) {
        return None;
    }
    let place = |channels: &mut Vec<u16>, channel: u16| {
        channels.iter().position(|of| *of == channel).unwrap_or_else(|| {
            channels.push(channel);
            channels.len() - 1
        })
    };
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    let places: Vec<(usize, usize)> = groups
        .iter()
        .map(|pair| (place(&mut firsts, pair[0]), place(&mut seconds, pair[1])))
        .collect();
    let (height, width) = (firsts.len(), seconds.len());
    if height < 2 || width < 2 || 2 * groups.len() < height * width {
        return None;
    }
    let mut cells = vec![None; height * width];
    for ((row, column), count) in places.into_iter().zip(counts.cells.iter()) {
        let Cell::Count(count) = count else { return None };
        let cell = &mut cells[row * width + column];
        if cell.replace(count).is_some() {
            // A pair that occurs twice has no unique position.
            return None;
        }
    }
    let names = |channels: Vec<u16>| -> Vec<String> {
        channels.into_iter().map(|channel| name_of(&answer.run, channel)).collect()
    };
    let (rows, columns) = (names(firsts), names(seconds));
    Some(Matrix { rows, columns, cells, is_logarithmic: false })
}

/// Creates bars of these values.
fn bars_of(values: &Values, bars: Vec<Bar>) -> Plot {
    let ends =
        bars.iter().flat_map(|bar| [bar.value.map(|value| value + bar.err), bar.accidentals]);
    let high = ends.flatten().fold(0.0, f64::max);
    let below = bars.iter().filter_map(|bar| Some((bar.value?, bar.err)));
    let below = below.filter(|(value, _)| *value < 0.0).map(|(value, err)| value - err);
    let low = below.fold(0.0, f64::min);
    let mut axis = Axis::for_values(&values.label, values.quantity, 0.0, high, false);
    if low < 0.0 {
        let room = 0.05 * (high - low);
        axis = Axis::linear(axis.label, axis.quantity, low - room, high.max(0.0) + room);
    }
    Plot::Bars(Bars { axis, bars })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Quantity, axis::Scale};

    #[test]
    fn the_axis_of_bars_has_room_for_negative_values() {
        let bar = |value: f64, err: f64| Bar {
            name: "1,2".into(),
            value: Some(value),
            err,
            accidentals: None,
        };
        let ends = |bars: Vec<Bar>| {
            let Plot::Bars(Bars { axis, .. }) =
                bars_of(&Values::of("car", "CAR", Quantity::Ratio), bars)
            else {
                panic!("bars")
            };
            assert_eq!(axis.scale, Scale::Linear);
            (axis.low, axis.high)
        };
        let (low, high) = ends(vec![bar(-0.5, 0.1), bar(0.4, 0.2)]);
        assert!((low + 0.66).abs() < 1e-12 && (high - 0.66).abs() < 1e-12, "{low} {high}");
        let (low, high) = ends(vec![bar(-0.5, 0.1)]);
        assert!(low < -0.6 && high > 0.0, "{low} {high}");
        // An error that reaches below zero does not move the start.
        assert!(ends(vec![bar(0.1, 0.5), bar(2.0, 0.1)]).0.abs() < 1e-12);
    }
}
