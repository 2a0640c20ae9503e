//! The search in a run.

use tagq_query::TimeRange;

use super::search::{Found, PAIRS_MAX, PeakSearch};
use crate::{error::Error, progress::Progress, run::Run};

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
    [start, stop]: [u16; 2],
    reach: i64,
    range: TimeRange,
    is_joined: bool,
) -> Result<Found, Error> {
    let manifest = run.store().manifest();
    let Some((first, last)) = manifest.span() else {
        return Ok(Found { peak: None, second: None, comb: None });
    };
    let span = (range.from.unwrap_or(first).max(first), range.to.map_or(last, |to| to.min(last)));
    let live = run.live_ticks().max(1) as f64;
    let tags = |channel: u16| {
        let of = manifest.channels.iter().find(|of| of.channel == channel);
        of.map_or(0.0, |of| of.rows as f64)
    };
    // For the part of the run that is scanned, assuming constant rates.
    let part = (span.1.saturating_sub(span.0)) as f64 / (last.saturating_sub(first)).max(1) as f64;
    let pairs_per_tick = tags(start) * tags(stop) * part / live;
    let tick_s = manifest.tick.seconds();
    let pairs_max = PAIRS_MAX;
    let arguments = ([start, stop], reach, range.from, range.to, is_joined);
    run.memo().get(&arguments, || {
        run.count_as(is_joined, progress.scan(), |recording| {
            let search = PeakSearch {
                recording,
                start,
                stop,
                reach,
                range,
                span,
                pairs_per_tick,
                tick_s,
                pairs_max,
            };
            pool.install(|| search.run())
        })
    })
}
