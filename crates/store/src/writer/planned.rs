//! Rows that were appended, written or not.

use std::{collections::VecDeque, sync::mpsc::Receiver};

use super::block_part::BlockPart;
use crate::Error;

/// Rows that were appended, and of which some may not be written yet.
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
