//! The texts of headers.

use tagq_run::{BinWidth, Run};
use tagq_store::Tick;

/// Returns the end of a header: live time and tick.
pub(super) fn header_end(run: &Run, live: &str) -> String {
    let manifest = run.store().manifest();
    let assumed = if run.is_tick_assumed() { " (assumed)" } else { "" };
    format!("T = {live}; tick {}{assumed}", manifest.tick)
}

/// Formats a number of ticks with its duration: `12 ticks = 1.875 ns`.
pub(super) fn in_ticks(ticks: i128, tick: Tick) -> String {
    let plural = if ticks == 1 { "" } else { "s" };
    format!("{ticks} tick{plural} = {}", tick.format(ticks))
}

/// Formats the width of a bin, with the width that was asked if it is another one:
/// `10312 ticks = 999.9515152 ns (asked 1 µs)`.
pub(super) fn bin_width(ticks: i64, asked: Option<&BinWidth>, tick: Tick) -> String {
    let used = in_ticks(ticks.into(), tick);
    match asked.filter(|asked| asked.ticks(tick, true).is_err()) {
        Some(asked) => format!("{used} (asked {})", spaced(asked.asked())),
        None => used,
    }
}

/// Formats `2ns` as `2 ns`.
pub(super) fn spaced(duration: &str) -> String {
    match duration.find(|c: char| c.is_alphabetic()) {
        Some(at) => format!("{} {}", duration[..at].trim_end(), &duration[at..]),
        None => duration.to_owned(),
    }
}

#[test]
fn a_bin_that_is_rounded_says_what_was_asked() {
    let words = |text: &str, ticks| bin_width(ticks, text.parse().ok().as_ref(), Tick::DEFAULT);
    assert_eq!(words("1ns", 6), "6 ticks = 937.5 ps (asked 1 ns)");
    assert_eq!(words("937.5ps", 6), "6 ticks = 937.5 ps");
    assert_eq!(bin_width(6, None, Tick::DEFAULT), "6 ticks = 937.5 ps");
}
