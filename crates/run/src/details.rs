//! Details of a run that are not in its manifest: the shortest intervals between tags and the size of
//! the store.

use std::path::PathBuf;

use tagq_query::{Execution, ScanProgress, ShortestInterval, shortest_intervals};

use crate::{Run, destination::folder_of, error::Error, room, unfinished};

/// Bytes left by a process that was killed or has not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    /// The file.
    pub path: PathBuf,
    /// Number of its bytes that are not needed.
    pub bytes: u64,
}

impl Run {
    /// Lists bytes that writers left in the store after its last commit, which the next ingest removes,
    /// and files that exports left next to the store, which the next export removes. In the store this
    /// includes bytes that an active writer has not committed yet.
    ///
    /// # Errors
    /// Errors from reading the store folder.
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
        let beside = unfinished::abandoned_files(around).into_iter();
        let beside = beside.map(|(path, bytes)| LeftFile { path, bytes });
        Ok(in_store.chain(beside).collect())
    }

    /// Returns the shortest interval between two tags of each channel, as recorded. Reads all tags on
    /// the threads of the current rayon pool and reports progress to `progress`.
    ///
    /// # Errors
    /// Errors from reading the columns, and cancellation.
    pub fn shortest_intervals(
        &self,
        progress: Option<&ScanProgress>,
    ) -> Result<Vec<ShortestInterval>, Error> {
        self.count_as(false, progress, |tags| shortest_intervals(tags, &Execution::best()))
    }

    /// Returns the disk usage of the store in bytes, including cached results, without [views](Run::views).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn store_bytes(&self) -> Result<u64, Error> {
        room::store_bytes(self.store().folder())
    }
}
