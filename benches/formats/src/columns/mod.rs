//! Formats of whole files, each with a writer and a reader of its own.

pub mod arrow;
pub mod batch;
pub mod parquet;
pub mod recorder;
pub mod store;
