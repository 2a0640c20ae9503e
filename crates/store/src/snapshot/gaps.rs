//! The checksums of the gaps of a store that was opened: each block is checked when it is first read.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::columns::TypedColumn;
use crate::{Error, checked::CheckedFile, checksum::crc32c, format::BLOCK_ROWS};

/// The checksums of the gaps, and the rows of their column, which is opened in whole blocks.
#[derive(Debug)]
pub(super) struct Gaps {
    /// The rows of the column, numbered in the run.
    pub rows: Range<usize>,
    /// The rows that were opened, numbered in the run.
    opened: Range<usize>,
    /// The checksum of each block.
    checksums: Vec<u32>,
    /// Whether the checksum of a block was found right.
    verified: Box<[AtomicBool]>,
}

impl Gaps {
    /// Opens the checksums for the rows `opened` of `committed` ones. `crc_last` is that of a last block that is not
    /// full.
    pub(super) fn open(
        committed: usize,
        checksums: CheckedFile,
        crc_last: Option<u32>,
        opened: Range<usize>,
    ) -> Result<Self, Error> {
        let start = opened.start / BLOCK_ROWS * BLOCK_ROWS;
        let end = opened.end.next_multiple_of(BLOCK_ROWS).min(committed).max(start);
        let bytes = checksums.copy()?;
        let full = bytes.as_chunks().0.iter().map(|&crc| u32::from_le_bytes(crc));
        let checksums: Vec<u32> = full.chain(crc_last).collect();
        Ok(Self {
            rows: start..end,
            opened,
            verified: checksums.iter().map(|_| AtomicBool::new(false)).collect(),
            checksums,
        })
    }

    /// Returns the opened rows, numbered in the column.
    pub(super) fn opened(&self) -> Range<usize> {
        self.opened.start - self.rows.start..self.opened.end - self.rows.start
    }

    /// Returns the checksum of a block.
    pub(super) fn checksum(&self, block: usize) -> Option<u32> {
        self.checksums.get(block).copied()
    }

    /// Returns whether the gaps of a block, which has opened rows, have their checksum. Computes it again until it is
    /// right.
    pub(super) fn has_checksum(&self, column: &TypedColumn, block: usize) -> bool {
        let (Some(&expected), Some(verified)) =
            (self.checksums.get(block), self.verified.get(block))
        else {
            return false;
        };
        if verified.load(Relaxed) {
            return true;
        }
        let first = (block * BLOCK_ROWS).max(self.rows.start) - self.rows.start;
        let end = ((block + 1) * BLOCK_ROWS).min(self.rows.end) - self.rows.start;
        let is_right = column.bytes(first..end).is_some_and(|bytes| crc32c(bytes) == expected);
        verified.store(is_right, Relaxed);
        is_right
    }
}
