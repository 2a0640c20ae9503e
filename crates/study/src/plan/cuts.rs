//! Where a run is divided.
//!
//! 1,000 rows in 4 parts are divided at the rows 250, 500 and 750; after every 300 tags, at 300, 600 and 900, and a run
//! that grows keeps these. If a query needs a gap, the next one after such a row is searched for, and no tuple crosses
//! it.

use std::num::NonZeroUsize;

use tagq_ask::requests::Gap;
use tagq_query::Recording;
use tagq_run::RequestError;
use tagq_store::TimeReader;

use crate::error::Error;

/// Maximum number of parts of a plan.
const PARTS_MAX: u64 = 1_000_000;
/// Rows that are searched for a gap, from each place on at which the run is to be divided.
const SEARCHED_ROWS: usize = 1 << 24;

/// Where a run is to be divided.
#[derive(Debug, Clone, Copy)]
pub enum Division {
    /// Into about so many parts with equally many tags; so many of several runs together.
    Parts(usize),
    /// After every so many tags. Parts stay the same when a run grows.
    EveryTags(NonZeroUsize),
}

impl Division {
    /// Checks that runs of so many rows together are divided into a number of parts that can be planned.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`], with what would work.
    pub(super) fn check(self, rows: u64) -> Result<(), Error> {
        let (parts, instead) = match self {
            Self::Parts(parts) => (parts as u64, format!("`parts` {PARTS_MAX} would work")),
            Self::EveryTags(tags) => {
                let fewest = rows.div_ceil(PARTS_MAX);
                (rows.div_ceil(tags.get() as u64), format!("`part_tags` {fewest} would work"))
            }
        };
        if matches!(self, Self::Parts(0)) {
            return Err(
                RequestError::options(&["parts"], "`parts` is 0; write 1 or more".into()).into()
            );
        }
        if parts <= PARTS_MAX {
            return Ok(());
        }
        Err(RequestError::options(
            &["parts"],
            format!(
                "{parts} parts are too many for a plan, which has at most {PARTS_MAX}: {instead}"
            ),
        )
        .into())
    }

    /// Returns the rows at which a run of `rows` rows is to be divided; all runs have `rows_of_all`.
    pub(super) fn rows(self, rows: u64, rows_of_all: u64) -> Vec<usize> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        match self {
            Self::Parts(parts) => {
                let parts = rows as u128 * parts as u128 / u128::from(rows_of_all.max(1));
                let row = |part| (rows as u128 * part / parts) as usize;
                (1..parts).map(row).collect()
            }
            Self::EveryTags(tags) => {
                (1..rows.div_ceil(tags.get())).map(|part| part * tags.get()).collect()
            }
        }
    }
}

/// Returns the times that divide a recording at these rows. With a gap, the run is divided only at such gaps.
pub(super) fn cuts(recording: &Recording<'_>, rows: &[usize], gap: Option<Gap>) -> Vec<i64> {
    let mut cuts: Vec<i64> = Vec::new();
    let mut after = 0;
    let ends = rows.iter().skip(1).copied().chain([recording.rows()]);
    for (&wanted, last) in rows.iter().zip(ends) {
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
            Some(time) => return Some(time),
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
        let mut time = TimeReader::new(source.tags.time);
        let rows_of_source = source.tags.len();
        let of_source =
            rows.start.saturating_sub(first)..rows.end.saturating_sub(first).min(rows_of_source);
        for row in of_source {
            let before = row.checked_sub(1).map(|before| time.at(before));
            let at = time.at(row);
            let is_gap = before.is_none_or(|before| at.saturating_sub(before) > ticks);
            if is_gap && let Some(cut) = at.checked_add(earliest.min(0)) {
                return Some(cut);
            }
        }
        first += rows_of_source;
    }
    None
}
