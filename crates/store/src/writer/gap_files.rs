//! The files of gaps while they are appended to.

use crate::growing::Growing;

/// The files of gaps.
#[derive(Debug)]
pub(super) struct GapFiles {
    /// The gap of each row.
    pub column: Growing,
    /// The checksum of each full block.
    pub blocks: Growing,
}

impl GapFiles {
    pub(super) fn files(&self) -> [&Growing; 2] {
        [&self.column, &self.blocks]
    }
}
