//! Which bytes of a store some of its rows need: for copies of parts of a store.

use std::{
    ops::{Range, RangeInclusive},
    path::Path,
};

use super::Store;
use crate::{
    Access, Error, Manifest,
    format::{BLOCK_ROWS, HEADER_BYTES},
};

/// Bytes of a file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes {
    /// The name of the file.
    pub name: String,
    /// The length of a file that need not have more bytes than these, and others that are asked for.
    pub len: u64,
    /// The bytes.
    pub bytes: Range<u64>,
}

impl FileBytes {
    /// Returns the bytes without which no row of the store in `folder` can be read, as of the earlier commit whose
    /// manifest is `earlier`: headers, the index, and the rows after the last full block. Reads the manifest alone.
    ///
    /// # Errors
    /// [`Error::NotAStore`], [`Error::Damaged`].
    pub fn of_index(folder: &Path, earlier: &Manifest) -> Result<Vec<Self>, Error> {
        let (at, manifest) = Store::prefix_manifest(folder, earlier)?;
        let mut all = Vec::new();
        for committed in manifest.committed() {
            let (name, len) = (committed.file.name.clone(), committed.len(&at)?);
            let header = HEADER_BYTES as u64;
            if committed.kind.is_column() {
                let rest = header + manifest.full_rows() * u64::from(committed.file.width);
                all.push(Self { name: name.clone(), len, bytes: 0..header });
                all.push(Self { name, len, bytes: rest..len });
            } else {
                all.push(Self { name, len, bytes: 0..len });
            }
        }
        Ok(all)
    }

    /// Returns the bytes of the columns that the rows with these times need, in whole blocks. Reads the index.
    ///
    /// # Errors
    /// Those of [`Store::open_prefix`].
    pub fn of_rows(
        folder: &Path,
        earlier: &Manifest,
        times: &RangeInclusive<i64>,
    ) -> Result<Vec<Self>, Error> {
        let (at, manifest) = Store::prefix_manifest(folder, earlier)?;
        // No time is in this range: no row is read.
        let nothing = i64::MIN..=i64::MIN;
        let blocks = Store::open_prefix(folder, earlier, Access::Copied, &nothing)?.blocks()?;
        let first = blocks.partition_point(|block| block.time_max < *times.start());
        let behind = blocks.partition_point(|block| block.time_min <= *times.end()).max(first);
        let full = manifest.full_rows();
        let row = |block: usize| (block as u64 * BLOCK_ROWS as u64).min(full);
        let mut all = Vec::new();
        for committed in manifest.committed() {
            if committed.kind.is_column() {
                let byte = |row: u64| HEADER_BYTES as u64 + row * u64::from(committed.file.width);
                let bytes = byte(row(first))..byte(row(behind));
                let (name, len) = (committed.file.name.clone(), committed.len(&at)?);
                all.push(Self { name, len, bytes });
            }
        }
        Ok(all)
    }
}
