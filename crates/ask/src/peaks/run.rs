//! The search in a run, and how far it goes.
//!
//! In a run of 4 ms, delays are searched up to 0.5 ms, an eighth of it, also if 1 ms is asked. The result is remembered
//! by all that it depends on: the pair, the range of delays, the times, and whether sources are joined.

use tagq_query::TimeRange;
use tagq_run::{Progress, Run};

use super::{
    grid::Grid,
    search::{Found, PAIRS_MAX, PeakSearch},
};
use crate::{error::Error, pulses::Resolution};

/// Default range of delays that are searched.
pub(crate) const RANGE: &str = "1ms";

/// A delay is at most the length of the run divided by this: longer delays leave too few pairs.
const LONGEST_PART: i128 = 8;

/// Returns how far delays are searched if a search up to `reach` ticks is wanted.
pub(crate) fn within(run: &Run, reach: i64) -> i64 {
    reach.min(i64::try_from(run.elapsed_ticks() / LONGEST_PART).unwrap_or(i64::MAX).max(1))
}

/// Searches the recorded times of a run for the peak of two channels, up to `reach` ticks on both sides of zero.
///
/// # Errors
/// Damaged columns, and cancellation.
pub(crate) fn between(
    run: &Run,
    (pool, progress): (&rayon::ThreadPool, &dyn Progress),
    pair: [u16; 2],
    reach: i64,
    range: TimeRange,
    is_joined: bool,
) -> Result<Found, Error> {
    let tick_s = run.store().manifest().tick.seconds();
    let arguments = (pair, reach, range.from, range.to, is_joined);
    run.memo().get(&arguments, || {
        let grid = Grid::of(Resolution::of(run, pair), reach);
        let found = run.count_as(is_joined, progress.scan(), |recording| {
            let within = (reach, range);
            match PeakSearch::new(recording, pair, within, (tick_s, grid), PAIRS_MAX) {
                Some(search) => pool.install(|| search.run()),
                None => Ok(Found { peak: None, second: None, comb: None }),
            }
        });
        Ok(found?)
    })
}
