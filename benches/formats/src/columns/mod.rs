//! Formats of whole files, each with a writer and a reader of its own.

pub mod recorder;
pub mod store;
