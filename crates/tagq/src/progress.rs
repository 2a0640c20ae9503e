//! The receiver of progress and notes.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use tagq_query::Course;

/// Receives progress and notes during ingest and queries.
pub trait Progress {
    /// A source of `bytes` bytes is being read; `read` counts those done.
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>);
    /// The source is done.
    fn done(&self);
    /// Something a person should know that stops nothing.
    fn note(&self, note: &str);
    /// A file or folder that is removed before the call ends; whoever ends the process before that
    /// may do so.
    fn temporary(&self, _path: &Path) {}
    /// Who is told how far queries are, and may end them.
    fn course(&self) -> Option<&Course> {
        None
    }
}

/// Receives nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, _: &str) {}
}
