//! Figures of coincidences.

use tagq::{Answer, Values};

use crate::{
    Bar, Matrix, Plot, Quantity,
    figure::{floats, group_name, name_of},
    rates::{bars_of, trace_of},
    words::{seconds, thousands},
};

/// Fewer pairs are shown as bars, with their errors.
const LEAST_CELLS: usize = 4;
/// More bars than these fill no figure that anybody reads.
const MOST_BARS: usize = 40;

/// A matrix of pairs, or bars.
pub(crate) fn of(answer: &Answer) -> (String, Option<String>, Plot) {
    let is_cluster = answer.query["rule"] == "cluster";
    let label = if is_cluster { "events" } else { "coincidences" };
    let what = if is_cluster { "Events" } else { "Coincidences" }.to_owned();
    let Some(Values::Groups(groups)) = answer.rows.get("channels") else {
        return (what, None, bars_of(label, Quantity::Count, Vec::new()));
    };
    let groups: &[Vec<u16>] = &groups.iter().collect::<Vec<_>>();
    if let Some(matrix) = matrix(answer, groups) {
        return (what, None, Plot::Matrix(matrix));
    }
    let rows = &answer.rows;
    let counts = floats(rows, "count").into_iter().zip(floats(rows, "count_err"));
    let each = groups.iter().zip(counts).zip(floats(rows, "accidentals"));
    let mut bars: Vec<Bar> = each
        .map(|((group, (value, err)), accidentals)| {
            let name = group_name(&answer.run, group);
            Bar { name, value, err: err.unwrap_or(0.0), accidentals }
        })
        .collect();
    let all = bars.len();
    let mut note = None;
    if all > MOST_BARS {
        let mut counts: Vec<f64> = bars.iter().filter_map(|bar| bar.value).collect();
        counts.sort_by(|a, b| b.total_cmp(a));
        let least = counts[MOST_BARS - 1];
        bars.retain(|bar| bar.value.is_some_and(|value| value >= least));
        bars.truncate(MOST_BARS);
        note = Some(format!("the {MOST_BARS} highest of {} groups", thousands(all as u64)));
    }
    (what, note, bars_of(label, Quantity::Count, bars))
}

/// The rate of each group over time.
pub(crate) fn trace(answer: &Answer) -> (String, Option<String>, Plot) {
    let keys = match answer.rows.get("channels") {
        Some(Values::Groups(groups)) => groups
            .iter()
            .map(|group| (group_name(&answer.run, &group), group))
            .map(|(name, group)| Some((group, name)))
            .collect(),
        _ => Vec::new(),
    };
    let (alone, note, plot) = trace_of(answer, "rate of coincidences", &keys);
    let of = alone.map_or_else(String::new, |name| format!(" of {name}"));
    // Their header does not say it.
    let bins = answer.query["bin_s"].as_f64().map(|bin| format!("bins of {}", seconds(bin)));
    let note: Vec<String> = bins.into_iter().chain(note).collect();
    let note = (!note.is_empty()).then(|| note.join("; "));
    (format!("Coincidences{of} over time"), note, plot)
}

/// The counts as a matrix, where all groups are pairs that fill at least half of one.
fn matrix(answer: &Answer, groups: &[Vec<u16>]) -> Option<Matrix> {
    let Some(Values::Counts(counts)) = answer.rows.get("count") else { return None };
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
    for ((row, column), count) in places.into_iter().zip(counts.iter()) {
        let cell = &mut cells[row * width + column];
        if cell.replace(count).is_some() {
            // A pair that stands twice has no place of its own.
            return None;
        }
    }
    let names = |channels: Vec<u16>| -> Vec<String> {
        channels.into_iter().map(|channel| name_of(&answer.run, channel)).collect()
    };
    Some(Matrix { rows: names(firsts), columns: names(seconds), cells })
}
