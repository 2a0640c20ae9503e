//! Simulated tags: their order and their statistics.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod fluorescence;
mod sequence;
mod statistics;
