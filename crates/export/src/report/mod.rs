//! Answers, lists and facts as text: tables for a person, JSON and CSV for programs.
//!
//! Each file writes one thing or one format; the command, Python and other callers use the same code.

pub mod csv;
pub mod differences;
pub mod explained;
mod format;
pub mod formats;
pub mod info;
pub mod json;
pub mod list;
pub mod runs;
pub mod search;
pub mod table;

pub use format::Format;
