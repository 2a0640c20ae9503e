//! What is looked up of a run beside its manifest: how near its tags come, what its store takes.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use tagq_query::{Course, Execution, ShortestInterval, shortest_intervals};

use crate::{
    error::Error,
    new_file::{NewFile, folder_of},
    run::Run,
};

/// A block of `stat`, whatever the file system has.
const BLOCK_BYTES: u64 = 512;

/// Bytes that a process left which was killed, or has not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// The file.
    pub path: PathBuf,
    /// Those of its bytes that nothing needs.
    pub bytes: u64,
}

impl Run {
    /// What writers left in the store behind its last commit, which the next ingest removes, and what
    /// exports left beside it, which the next one removes. Of the store that is also what a writer at work
    /// has not committed yet.
    ///
    /// # Errors
    /// Those of looking at the store.
    pub fn leftovers(&self) -> Result<Vec<LeftFile>, Error> {
        let store = self.store().folder();
        let in_store = self.store().manifest().leftovers(store)?.into_iter();
        let in_store =
            in_store.map(|left| LeftFile { path: store.join(left.name), bytes: left.bytes });
        let around = if self.path().is_dir() && self.path() != store {
            self.path()
        } else {
            folder_of(self.path())
        };
        let beside = NewFile::abandoned(around).into_iter();
        let beside = beside.map(|(path, bytes)| LeftFile { path, bytes });
        Ok(in_store.chain(beside).collect())
    }

    /// The shortest interval between two tags of each channel, as they were recorded. Reads all tags, on
    /// the threads of the rayon pool it is called in; `course` is told how far it is.
    ///
    /// # Errors
    /// Those of reading the columns, and of a course that was cancelled.
    pub fn shortest_intervals(
        &self,
        course: Option<&Course>,
    ) -> Result<Vec<ShortestInterval>, Error> {
        self.count_as(false, course, |tags| shortest_intervals(tags, &Execution::best()))
    }

    /// What the store takes on its disk, in bytes; what is kept of answers included.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn store_bytes(&self) -> Result<u64, Error> {
        let folder = self.store().folder();
        bytes_below(folder).map_err(|source| Error::Io {
            path: folder.into(),
            action: "look at the files of this store",
            source,
        })
    }
}

fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            // Another process has replaced it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        bytes += metadata.blocks() * BLOCK_BYTES;
        if metadata.is_dir() {
            bytes += bytes_below(&entry.path())?;
        }
    }
    Ok(bytes)
}
