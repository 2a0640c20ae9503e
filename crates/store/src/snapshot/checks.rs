//! The checksums of the columns of a store that was opened: each block is checked when it is first read.
//!
//! A block that was found right is remembered. A damaged one is not, so every scan that reads it meets it again and is
//! refused. Scans compare the number of such meetings before and after.

use std::{
    ops::Range,
    sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed},
};

use crate::{
    files::{FileKind, PerFile},
    format::BLOCK_ROWS,
    row_values::Kinds,
};

/// The checksums of the blocks, and which of them were found right.
#[derive(Debug, Default)]
pub(super) struct BlockChecks {
    /// The checksums of each kind of file, block by block.
    checksums: PerFile<Vec<u32>>,
    /// For each block, the bits of the [`Kinds`] of files whose checksum was found right.
    right: Box<[AtomicU16]>,
    /// How often a scan met a block that is not right.
    met: AtomicU64,
    /// The last of these blocks, times 16, and the number of the kind of file.
    damaged: AtomicU64,
}

impl BlockChecks {
    /// Creates the checks of this many blocks.
    pub(super) fn new(checksums: PerFile<Vec<u32>>, blocks: usize) -> Self {
        let right = (0..blocks).map(|_| AtomicU16::new(0)).collect();
        Self { checksums, right, ..Self::default() }
    }

    /// Returns the checksum of a block.
    pub(super) fn checksum(&self, kind: FileKind, block: usize) -> Option<u32> {
        self.checksums[kind].get(block).copied()
    }

    /// Returns whether the blocks that hold these rows of the run have their checksums. `found` computes the checksum
    /// of a kind of file in a block. They are computed again until they are right.
    pub(super) fn are_right(
        &self,
        kinds: Kinds,
        rows: Range<usize>,
        found: impl Fn(FileKind, usize) -> Option<u32>,
    ) -> bool {
        if rows.is_empty() {
            return true;
        }
        (rows.start / BLOCK_ROWS..=(rows.end - 1) / BLOCK_ROWS).all(|block| {
            let Some(right) = self.right.get(block) else { return false };
            let unknown = Kinds(kinds.0 & !right.load(Relaxed));
            unknown.iter().all(|kind| {
                let is_right =
                    self.checksum(kind, block).is_some_and(|crc| found(kind, block) == Some(crc));
                if is_right {
                    right.fetch_or(Kinds::from(kind).0, Relaxed);
                } else {
                    self.damaged.store((block as u64) << 4 | kind as u64, Relaxed);
                    self.met.fetch_add(1, Relaxed);
                }
                is_right
            })
        })
    }

    /// Returns how often a block was not right.
    pub(super) fn met(&self) -> u64 {
        self.met.load(Relaxed)
    }

    /// Returns the last block that was not right, and in which file.
    pub(super) fn damaged(&self) -> (u64, FileKind) {
        let damaged = self.damaged.load(Relaxed);
        let kind = FileKind::all().find(|&kind| kind as u64 == damaged & 15);
        (damaged >> 4, kind.unwrap_or(FileKind::Channel))
    }

    /// Returns whether each block has a checksum of this kind of file.
    pub(super) fn are_of_all_blocks(&self, kind: FileKind) -> bool {
        self.checksums[kind].len() == self.right.len()
    }
}
