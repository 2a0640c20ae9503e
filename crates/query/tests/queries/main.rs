//! The queries: every way of counting equals the oracle.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a test says so by failing, and its numbers are small"
)]

mod support;

mod columns;
mod damage;
mod gaps;
mod histogram;
mod histogram2d;
mod image;
mod lookup;
mod micro;
mod oracle;
mod partials;
mod progress;
mod rates;
