//! Answers: parts, merged runs and the cache give those of one count, quoted errors cover.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test says so by failing, and its numbers are small and not negative"
)]
#![cfg_attr(windows, allow(unused_imports, dead_code, reason = "tests with links are for Unix"))]

mod cache;
mod coverage;
mod merge;
mod micro_times;
mod parts;
mod stops;
mod sync_pulses;
