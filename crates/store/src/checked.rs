//! Files of a store, checked against its manifest before any part of them is used, cut or written.
//!
//! A column of 10 labels of one byte has 4,096 + 10 = 4,106 committed bytes. A longer file is accepted, because a
//! writer may have appended rows that no commit names yet; a shorter one is an error. The file that was checked is the
//! one that is read: it is not opened again by its name, which another file may have by then.

use std::{fs::File, path::PathBuf};

use crate::{
    Error, Folder, RunId,
    error::io_error,
    files::{FileKind, FileName},
    format::{self, HEADER_BYTES},
    os,
};

/// The entry of one file in a manifest.
pub(crate) struct Committed<'a> {
    pub file: &'a FileName,
    pub kind: FileKind,
    pub values: u64,
}

/// A file whose header and length were checked. This very file is mapped or written, even if another one
/// gets its name.
pub(crate) struct CheckedFile {
    pub name: String,
    pub path: PathBuf,
    pub file: File,
    /// Bytes that are committed, header included.
    pub len: u64,
}

impl Committed<'_> {
    /// The length that is committed, header included.
    pub(crate) fn len(&self, folder: &Folder) -> Result<u64, Error> {
        self.values
            .checked_mul(self.file.width.into())
            .and_then(|bytes| bytes.checked_add(HEADER_BYTES as u64))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| Error::Damaged {
                path: folder.path().join(&self.file.name),
                what: "the number of its values".into(),
                expected: "a number that fits in memory".into(),
                found: self.values.to_string(),
            })
    }
}

impl CheckedFile {
    /// Checks the length and the header page of `file`, which was opened under its name in `folder`.
    pub(crate) fn new(
        folder: &Folder,
        file: File,
        committed: &Committed<'_>,
        run_id: RunId,
    ) -> Result<Self, Error> {
        let &Committed { file: FileName { name, width, .. }, kind, .. } = committed;
        let path = folder.path().join(name);
        let len = committed.len(folder)?;
        let found = file.metadata().map_err(io_error(&path, "read the length"))?.len();
        // The header first: of another store no length is right.
        if found >= HEADER_BYTES as u64 {
            let mut page = [0; HEADER_BYTES];
            os::read_exact_at(&file, &mut page, 0).map_err(io_error(&path, "read the header"))?;
            format::check_header(&page, &path, kind, *width, run_id)?;
        }
        if found < len {
            return Err(Error::Length { path, expected: len, found });
        }
        Ok(Self { name: name.clone(), path, file, len })
    }

    /// [`CheckedFile::len`], as memory is counted.
    pub(crate) fn bytes(&self) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "checked against isize")]
        let bytes = self.len as usize;
        bytes
    }
}
