//! The checksums of gaps, far distances and steps in a store that was opened: each block is checked when it is first
//! read.

use std::{
    ops::Range,
    sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
};

use crate::{
    Error,
    checked::CheckedFile,
    files::{Checksum, FileKind, PerFile},
    format::BLOCK_ROWS,
};

/// The checksums of the blocks, and which of them were found right.
#[derive(Debug)]
pub(super) struct BlockChecks {
    /// The checksums of each kind of file that has them here, block by block.
    checksums: PerFile<Vec<u32>>,
    /// For each block, a bit for each kind of file: its checksum was found right.
    verified: Box<[AtomicU8]>,
    /// How often a scan met a block that is not right.
    met: AtomicU64,
    /// The last of these blocks.
    damaged: AtomicU64,
}

/// Files of a store that are checked together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Checked {
    /// The gaps alone.
    Gaps,
    /// The gaps, far distances and steps, from which times are decoded.
    Distances,
}

impl Checked {
    fn kinds(self) -> &'static [FileKind] {
        match self {
            Self::Gaps => &[FileKind::Gap],
            Self::Distances => &[FileKind::Gap, FileKind::Far, FileKind::Steps],
        }
    }
}

impl BlockChecks {
    /// Opens the checksums. `last` has those of a last block that is not full.
    pub(super) fn open(
        file: CheckedFile,
        width: u16,
        last: PerFile<Option<u32>>,
        blocks: usize,
    ) -> Result<Self, Error> {
        let bytes = file.copy()?;
        let of_blocks = bytes.chunks_exact(width.into());
        let checksums = PerFile::from_fn(|kind| {
            let Checksum::InFile(_, at) = kind.layout().checksum else { return Vec::new() };
            let full = of_blocks.clone().filter_map(|block| {
                let (_, of_kind) = block.split_at_checked(at)?;
                of_kind.first_chunk().map(|&crc| u32::from_le_bytes(crc))
            });
            full.chain(last[kind]).collect()
        });
        let verified = (0..blocks).map(|_| AtomicU8::new(0)).collect();
        Ok(Self { checksums, verified, met: AtomicU64::new(0), damaged: AtomicU64::new(0) })
    }

    /// Returns the checksum of a block.
    pub(super) fn checksum(&self, kind: FileKind, block: usize) -> Option<u32> {
        self.checksums[kind].get(block).copied()
    }

    /// Returns whether the blocks that hold these rows of the run have their checksums. `found` computes the checksum of a
    /// kind of file in a block.
    /// They are computed again until they are right.
    pub(super) fn are_right(
        &self,
        rows: Range<usize>,
        what: Checked,
        found: impl Fn(FileKind, usize) -> Option<u32>,
    ) -> bool {
        if rows.is_empty() {
            return true;
        }
        (rows.start / BLOCK_ROWS..=(rows.end - 1) / BLOCK_ROWS).all(|block| {
            let Some(verified) = self.verified.get(block) else { return false };
            let is_right = what.kinds().iter().zip([1, 2, 4]).all(|(&kind, bit)| {
                let is_right = verified.load(Relaxed) & bit != 0
                    || self
                        .checksum(kind, block)
                        .is_some_and(|crc| found(kind, block) == Some(crc));
                if is_right {
                    verified.fetch_or(bit, Relaxed);
                }
                is_right
            });
            if !is_right {
                self.damaged.store(block as u64, Relaxed);
                self.met.fetch_add(1, Relaxed);
            }
            is_right
        })
    }

    /// Returns how often a block was not right.
    pub(super) fn met(&self) -> u64 {
        self.met.load(Relaxed)
    }

    /// Returns the last block that was not right.
    pub(super) fn damaged(&self) -> u64 {
        self.damaged.load(Relaxed)
    }
}
