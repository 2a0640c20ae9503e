//! Durations and ticks, exact: texts of a command line become whole ticks here.
//!
//! Nothing in this module is a float. A duration is a fraction of attoseconds in `i128`, and every
//! step that could leave that range is checked. The rules (floor for a window, nearest for a delay)
//! are those of docs/queries.md, section "Durations".

mod decimal;
mod duration;
mod error;
mod frequency;
mod meant;
mod shown;
mod tick;
mod time_unit;

#[cfg(test)]
mod tests;

pub use duration::Duration;
pub use error::UnitError;
pub use frequency::Frequency;
pub use tick::{Tick, of_single};
pub use time_unit::TimeUnit;
