//! Damage that scans find in the rows of a source: times out of order.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tagq_store::format::BLOCK_ROWS;

use crate::error::Error;

/// The first row out of order that scans found in a source, or `usize::MAX` if they found none.
#[derive(Debug)]
pub(super) struct Damage(AtomicUsize);

impl Damage {
    /// Creates the record of a source in which no scan has found damage.
    pub(super) fn none() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }

    /// Records a row out of order of time.
    pub(super) fn add_unordered(&self, row: usize) {
        self.0.fetch_min(row, Relaxed);
    }

    /// Rejects the counts of scans that found damaged rows; `first` is the first row of the source in its run.
    pub(super) fn check(&self, first: u64) -> Result<(), Error> {
        match self.0.load(Relaxed) {
            usize::MAX => Ok(()),
            row => {
                let row = first + row as u64;
                Err(Error::Unordered { row, block: row / BLOCK_ROWS as u64 })
            }
        }
    }
}
