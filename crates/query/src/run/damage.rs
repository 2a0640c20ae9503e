//! Damage that scans find in the rows of a source: times out of order, and gaps with a wrong checksum.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tagq_store::format::BLOCK_ROWS;

use crate::error::Error;

/// The first damaged rows that scans found in a source; all bits are set if there are none.
#[derive(Debug)]
pub(super) struct Damage {
    unordered: AtomicUsize,
    gaps: AtomicUsize,
}

impl Damage {
    /// Creates the record of a source in which no scan has found damage.
    pub(super) fn none() -> Self {
        Self { unordered: AtomicUsize::new(usize::MAX), gaps: AtomicUsize::new(usize::MAX) }
    }

    /// Records a row out of order of time.
    pub(super) fn add_unordered(&self, row: usize) {
        self.unordered.fetch_min(row, Relaxed);
    }

    /// Records a row of a block of gaps that does not have its checksum.
    pub(super) fn add_gaps(&self, row: usize) {
        self.gaps.fetch_min(row, Relaxed);
    }

    /// Rejects the counts of scans that found damaged rows; `first` is the first row of the source in its run.
    pub(super) fn check(&self, first: u64) -> Result<(), Error> {
        let of_run = |row: usize| {
            let row = first + row as u64;
            (row, row / BLOCK_ROWS as u64)
        };
        match (self.unordered.load(Relaxed), self.gaps.load(Relaxed)) {
            (usize::MAX, usize::MAX) => Ok(()),
            (usize::MAX, row) => Err(Error::Gaps { block: of_run(row).1 }),
            (row, _) => {
                let (row, block) = of_run(row);
                Err(Error::Unordered { row, block })
            }
        }
    }
}
