//! The column of gaps of a store that was opened, checked block by block when it is first read.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::columns::{Access, Column};
use crate::{Error, checked::CheckedFile, checksum::crc32c, format::BLOCK_ROWS};

/// Gaps, in whole blocks, and their checksums.
#[derive(Debug)]
pub(super) struct Gaps {
    column: Column<u16>,
    /// The rows of the column, numbered in the run.
    rows: Range<usize>,
    /// The rows that were opened, numbered in the run.
    opened: Range<usize>,
    /// The checksum of each block.
    checksums: Vec<u32>,
    /// Whether the checksum of a block was found right.
    verified: Box<[AtomicBool]>,
}

impl Gaps {
    /// Opens the gaps of `opened`, which are rows of `rows` committed ones. `crc_last` is the checksum of a last block
    /// that is not full.
    pub(super) fn open(
        column: CheckedFile,
        checksums: CheckedFile,
        crc_last: Option<u32>,
        opened: Range<usize>,
        access: Access,
    ) -> Result<Self, Error> {
        let start = opened.start / BLOCK_ROWS * BLOCK_ROWS;
        let end = opened.end.next_multiple_of(BLOCK_ROWS).min(column.values).max(start);
        let bytes = checksums.copy()?;
        let full = bytes.as_chunks().0.iter().map(|&crc| u32::from_le_bytes(crc));
        let checksums: Vec<u32> = full.chain(crc_last).collect();
        Ok(Self {
            column: column.column(access, start..end)?,
            rows: start..end,
            opened,
            verified: checksums.iter().map(|_| AtomicBool::new(false)).collect(),
            checksums,
        })
    }

    /// Returns the gaps of the opened rows.
    pub(super) fn values(&self) -> &[u16] {
        &self.column.values()
            [self.opened.start - self.rows.start..self.opened.end - self.rows.start]
    }

    /// All bytes that a guard may touch; `None` for a copy.
    pub(super) fn mapped(&self) -> Option<&[u8]> {
        self.column.mapped()
    }

    /// Returns whether the gaps of a block, which has opened rows, have their checksum. Computes it again until it is
    /// right.
    pub(super) fn has_checksum(&self, block: usize) -> bool {
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
        let is_right = self
            .column
            .values()
            .get(first..end)
            .is_some_and(|gaps| crc32c(bytemuck::cast_slice(gaps)) == expected);
        verified.store(is_right, Relaxed);
        is_right
    }
}
