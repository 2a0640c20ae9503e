//! The receiver of progress and notes.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use tagq_query::ScanProgress;

use crate::error::Error;

/// Receives progress and notes during ingest and queries.
pub trait Progress {
    /// A source of `bytes` bytes is being read; `read` counts those done.
    fn source(&self, name: &str, bytes: u64, read: &Arc<AtomicU64>);
    /// The source is complete.
    fn done(&self);
    /// Receives a note for the user that is not an error.
    fn note(&self, note: &str);
    /// Receives a note that the work that begins takes long.
    fn note_long(&self, note: &str) {
        self.note(note);
    }
    /// Receives a file or folder that is removed before the call ends; a program that exits earlier may
    /// remove it.
    fn temporary(&self, _path: &Path) {}
    /// Returns the receiver of query progress, which can also cancel queries.
    fn scan(&self) -> Option<&ScanProgress> {
        None
    }

    /// Returns whether the query was cancelled. It then ends with an error.
    fn is_cancelled(&self) -> bool {
        self.scan().is_some_and(ScanProgress::is_cancelled)
    }

    /// Ends a step that counts no tags.
    ///
    /// # Errors
    /// [`tagq_query::Error::Cancelled`] after cancellation.
    fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(tagq_query::Error::Cancelled.into()) } else { Ok(()) }
    }
}

/// Ignores everything.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn source(&self, _: &str, _: u64, _: &Arc<AtomicU64>) {}
    fn done(&self) {}
    fn note(&self, _: &str) {}
}
