//! User settings of an experiment: `tagq.toml`, names of channels, durations and times.

pub(crate) mod arguments;
pub mod definitions;
pub(crate) mod experiment;
pub(crate) mod file;
mod initial;
pub(crate) mod stated;
