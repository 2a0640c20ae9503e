//! Where a run is divided.

use tagq_query::Recording;

use crate::requests::Gap;

/// Rows that are searched for a gap, from each place on at which the run is to be divided.
const SEARCHED_ROWS: usize = 1 << 24;

/// Returns the times that divide a recording into at most `parts` parts with about equally many rows. With a gap, the
/// run is divided only at such gaps.
pub(super) fn cuts(recording: &Recording<'_>, parts: usize, gap: Option<Gap>) -> Vec<i64> {
    let rows = recording.rows();
    let mut cuts: Vec<i64> = Vec::new();
    let mut after = 0;
    for part in 1..parts {
        let wanted = (rows as u128 * part as u128 / parts as u128) as usize;
        let last = (rows as u128 * (part as u128 + 1) / parts as u128) as usize;
        let cut = match gap {
            None => time_of(recording, wanted),
            Some(gap) => {
                let begin = wanted.max(after);
                after = last.min(begin.saturating_add(SEARCHED_ROWS));
                cut_at_gap(recording, begin..after, gap)
            }
        };
        cuts.extend(cut.filter(|&cut| cuts.last().is_none_or(|&last| last < cut)));
    }
    cuts
}

/// Returns the time of a row.
fn time_of(recording: &Recording<'_>, mut row: usize) -> Option<i64> {
    for source in &recording.sources {
        match source.tags.time.get(row) {
            Some(&time) => return Some(time),
            None => row -= source.tags.len(),
        }
    }
    None
}

/// Returns a time that no tag crosses, from the first such gap before one of these rows. No tag of one source belongs
/// to tags of another one.
fn cut_at_gap(
    recording: &Recording<'_>,
    rows: std::ops::Range<usize>,
    Gap { ticks, earliest }: Gap,
) -> Option<i64> {
    let mut first = 0;
    for source in &recording.sources {
        let time = source.tags.time;
        let of_source =
            rows.start.saturating_sub(first)..rows.end.saturating_sub(first).min(time.len());
        for row in of_source {
            let is_gap = row == 0 || time[row].saturating_sub(time[row - 1]) > ticks;
            if is_gap && let Some(cut) = time[row].checked_add(earliest.min(0)) {
                return Some(cut);
            }
        }
        first += time.len();
    }
    None
}
