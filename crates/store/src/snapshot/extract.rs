//! Which bytes of a store some of its rows need: for copies of parts of a store.
//!
//! Rows of block 1 need bytes 69,632 to 135,167 of a column with one byte a value: 4,096 + 65,536 is the first, and
//! there are 65,536. Copies are of whole blocks, because a checksum covers a block.

use std::{
    ops::{Range, RangeInclusive},
    path::Path,
};

use super::{Store, distances::far_before};
use crate::{
    Access, Error, Folder, Manifest,
    files::OnePer,
    format::{BLOCK_ROWS, HEADER_BYTES, STEP_ROWS},
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
        // No file is there yet that says which far distances are those of the last rows: all are taken.
        let all_far = |_: &Folder, current: &Manifest, _| Ok(current.far_entries);
        let (at, manifest) = Store::prefix_manifest_of(folder, earlier, all_far)?;
        let full = manifest.full_rows();
        let mut all = Vec::new();
        for committed in manifest.committed() {
            let (name, len) = (committed.file.name.clone(), committed.len(&at)?);
            let header = HEADER_BYTES as u64;
            let values = match committed.kind.layout().one_per {
                OnePer::Row => full,
                OnePer::FarRow
                | OnePer::Step
                | OnePer::FullBlock
                | OnePer::Count
                | OnePer::DeadSpan => 0,
            };
            let rest = header + values * u64::from(committed.file.width);
            all.push(Self { name: name.clone(), len, bytes: 0..header });
            all.push(Self { name, len, bytes: rest..len });
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
        let after = blocks.partition_point(|block| block.time_min <= *times.end()).max(first);
        let full = manifest.full_rows();
        let row = |block: usize| (block as u64 * BLOCK_ROWS as u64).min(full);
        let rows = row(first)..row(after);
        let far = |row: u64| Ok(far_before(&at, &manifest, row)?.unwrap_or(0));
        let far: Range<u64> = far(rows.start)?..far(rows.end)?;
        let mut all = Vec::new();
        for committed in manifest.committed() {
            let values = match committed.kind.layout().one_per {
                OnePer::Row => rows.clone(),
                OnePer::FarRow => far.clone(),
                OnePer::Step => {
                    // The step after the rows says which far distances are theirs.
                    let step = |row: u64| row / STEP_ROWS as u64;
                    step(rows.start)..(step(rows.end) + 1).min(committed.values)
                }
                OnePer::FullBlock | OnePer::Count | OnePer::DeadSpan => continue,
            };
            let byte = |value: u64| HEADER_BYTES as u64 + value * u64::from(committed.file.width);
            let (name, len) = (committed.file.name.clone(), committed.len(&at)?);
            all.push(Self { name, len, bytes: byte(values.start)..byte(values.end) });
        }
        Ok(all)
    }
}
