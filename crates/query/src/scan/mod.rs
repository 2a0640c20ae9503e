//! How tags are scanned, whatever is counted: morsels, the selection of channels, singles, and the plan of it.

pub(crate) mod morsels;
pub(crate) mod plan;
pub(crate) mod selection;
pub(crate) mod singles;
#[cfg(test)]
pub(crate) mod watch;

pub use morsels::Execution;
pub use plan::{Plan, PlannedScan};
