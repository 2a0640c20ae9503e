//! Every path equals the oracle, for all levels, morsels, threads, label widths, delays and ranges.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test says so by failing"
)]

#[path = "../support/cases.rs"]
mod cases;
mod groups;
mod levels;
mod listing;
mod pairs;
mod scope;
mod support;
mod veto;
