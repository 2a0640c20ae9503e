//! The texts of headers.

use tagq_store::Tick;

use crate::run::Run;

/// Returns the end of a header: live time and tick.
pub(super) fn header_end(run: &Run, live: &str) -> String {
    let manifest = run.store().manifest();
    let assumed = if manifest.tick_assumed { " (assumed)" } else { "" };
    format!("T = {live}; tick {}{assumed}", manifest.tick)
}

/// Formats a number of ticks with its duration: `12 ticks = 1.875 ns`.
pub(super) fn in_ticks(ticks: i128, tick: Tick) -> String {
    let plural = if ticks == 1 { "" } else { "s" };
    format!("{ticks} tick{plural} = {}", tick.format(ticks))
}

/// Formats `2ns` as `2 ns`.
pub(super) fn spaced(duration: &str) -> String {
    match duration.find(|c: char| c.is_alphabetic()) {
        Some(at) => format!("{} {}", duration[..at].trim_end(), &duration[at..]),
        None => duration.to_owned(),
    }
}
