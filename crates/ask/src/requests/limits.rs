//! Limits of an answer on memory. They are checked before anything is counted.
//!
//! 2⁴⁰ ticks in bins of one tick, 8 bytes each, would take 8,192 GiB: the request is refused, and the error suggests a
//! width of bins that fits. The limit is 1 GiB, or half of the available memory if that is less.

use tagq_query::{Facts, TimeRange};
use tagq_run::RequestError;
use tagq_store::{Tick, os::available_memory};

use crate::error::Error;

/// Maximum size of the counts and rows in memory, in bytes.
const HELD_MAX: u64 = 1 << 30;
/// Counts and rows of so many bytes are not compared with the available memory: to ask for it takes as long as to count
/// 500,000 tags.
const SMALL: u128 = 1 << 20;
/// Maximum number of counts with channels moved; their mean is then as precise as the singles allow.
pub(super) const SHIFTS_MAX: u32 = 10_000;
/// Returns how many items of this size fit in the available memory.
pub(super) fn most_of(bytes: u64) -> u64 {
    HELD_MAX.min(available_memory() / 2) / bytes.max(1)
}

/// Rejects more items than fit; `instead` suggests an alternative for the maximum number.
pub(super) fn check(
    items: u128,
    what: &str,
    bytes: u64,
    instead: impl FnOnce(u64) -> String,
) -> Result<(), Error> {
    if items.saturating_mul(bytes.into()) <= SMALL {
        return Ok(());
    }
    let most = most_of(bytes);
    if items <= most.into() {
        return Ok(());
    }
    let gib = |bytes: f64| format!("{:.1} GiB", bytes / f64::from(1 << 30));
    Err(RequestError::TooLarge(format!(
        "{items} {what} would take {} of memory, and at most {} is used: {}",
        gib(items as f64 * bytes as f64),
        gib(most as f64 * bytes as f64),
        instead(most)
    ))
    .into())
}

/// Returns the ticks from the first to the last tag, within a range.
pub(super) fn span(facts: &Facts, range: TimeRange) -> i128 {
    let spans = || facts.iter().filter_map(|source| source.span());
    let first = spans().map(|(first, _)| first).min().max(range.from).unwrap_or(0);
    let last = spans().map(|(_, last)| last).max().unwrap_or(0);
    let last = range.to.map_or(last, |to| to.min(last));
    (i128::from(last) - i128::from(first)).max(0)
}

/// Rejects more bins over `span` ticks than fit, with `rows` of `bytes` each per bin.
pub(super) fn check_bins(
    span: i128,
    width: i64,
    rows: u64,
    bytes: u64,
    option: &str,
    tick: Tick,
) -> Result<(), Error> {
    let bins = span.max(0).unsigned_abs() / u128::from(width.max(1).unsigned_abs()) + 1;
    let of_bin = rows.max(1) * bytes;
    check(bins, "bins", of_bin, |most| {
        // Two of the bins are cut by the ends.
        let width = span.unsigned_abs() / u128::from(most.saturating_sub(2).max(1)) + 1;
        let width = i64::try_from(width).unwrap_or(i64::MAX);
        format!(
            "`{option}` {} would work, or fewer `channels` or a part of the run",
            wider(width, tick)
        )
    })
}

/// Formats a bin width of at least this many ticks as a round number.
pub(super) fn wider(ticks: i64, tick: Tick) -> String {
    let round = round_of(ticks);
    let whole = ticks.saturating_add(round - 1) / round * round;
    tick.paste_nearest(whole.max(ticks))
}

/// Returns the power of ten of the second digit: two digits are kept.
fn round_of(ticks: i64) -> i64 {
    10_i64.pow(ticks.max(1).ilog10().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_fits_is_refused_with_what_would_work() {
        // With 8 bytes each, 2^27 fit in 1 GiB, on a machine with 2 GiB available.
        let refused = check_bins(1 << 40, 1, 1, 8, "bin", Tick::DEFAULT).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        let said = refused.to_string();
        assert!(said.contains("1099511627777 bins would take 8192.0 GiB"), "{said}");
        assert!(said.contains("`bin` "), "{said}");
        assert!(check_bins(1 << 10, 1, 1, 8, "bin", Tick::DEFAULT).is_ok());
        // Two digits are kept, rounded up.
        assert_eq!(wider(8193, Tick::DEFAULT), Tick::DEFAULT.format_paste(8_200));
        assert_eq!(wider(7, Tick::DEFAULT), Tick::DEFAULT.format_paste(7));
    }
}
