//! Rows that were appended, some of which other threads may still be writing.

use std::{collections::VecDeque, sync::mpsc::Receiver};

use super::block_part::BlockPart;
use crate::Error;

/// All rows that were appended; the tallies of a writer lack those that are in flight.
#[derive(Debug, Default)]
pub(super) struct Planned {
    pub rows: u64,
    /// First and last time.
    pub span: Option<(i64, i64)>,
    /// The last time of the open source.
    pub source_last: Option<i64>,
    pub in_flight: VecDeque<InFlight>,
}

/// A task that was given to a thread.
#[derive(Debug)]
pub(super) struct InFlight {
    pub rows: u64,
    pub written: Receiver<Result<Vec<BlockPart>, Error>>,
}

impl Planned {
    pub(super) fn new(rows: u64, span: Option<(i64, i64)>) -> Self {
        Self { rows, span, ..Self::default() }
    }

    pub(super) fn rows_in_flight(&self) -> u64 {
        self.in_flight.iter().map(|task| task.rows).sum()
    }
}
