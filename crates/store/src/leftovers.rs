//! Files and bytes that an interrupted writer left in a store.
//!
//! If `channel.col` has 5,000 bytes and 10 labels of one byte are committed, the last 5,000 − 4,106 = 894 bytes are
//! left over. Only the writer that holds the lock may remove them: another one that is at work has such bytes, too.

use std::path::Path;

use crate::{
    Error, Folder, MANIFEST_NAME, Manifest,
    folder::Entry,
    names::{CACHE_NAME, LOCK_NAME, VIEWS_NAME, is_of_store},
};

/// Bytes of a writer that no commit names. One that is at work has some, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The file in the store's folder.
    pub name: String,
    /// Its bytes after the committed ones; all if no commit names it.
    pub bytes: u64,
    is_named: bool,
}

impl Manifest {
    /// Files and bytes that a writer left in `folder` after this commit. The next writer removes them.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NotPlain`] for what is no file under the name of one.
    pub fn leftovers(&self, folder: &Path) -> Result<Vec<Leftover>, Error> {
        self.leftovers_in(&Folder::open(folder)?)
    }

    fn leftovers_in(&self, folder: &Folder) -> Result<Vec<Leftover>, Error> {
        let committed: Vec<_> = self.committed().collect();
        let mut leftovers = Vec::new();
        for Entry { name, len, .. } in files_in(folder)? {
            let named = committed.iter().find(|committed| committed.file.name == name);
            let kept = named.map_or(Ok(0), |named| named.len(folder))?;
            if len > kept || named.is_none() {
                let (bytes, is_named) = (len.saturating_sub(kept), named.is_some());
                leftovers.push(Leftover { name, bytes, is_named });
            }
        }
        leftovers.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(leftovers)
    }

    /// The names of files that no commit needs.
    pub(crate) fn debris(&self, folder: &Folder) -> Result<Vec<String>, Error> {
        let leftovers = self.leftovers_in(folder)?.into_iter();
        Ok(leftovers.filter(|leftover| !leftover.is_named).map(|leftover| leftover.name).collect())
    }
}

/// The files of a store, but for its lock and its manifest. An entry with the name of a file of a store that is no
/// plain file is an error, before anything is written.
pub(crate) fn files_in(folder: &Folder) -> Result<Vec<Entry>, Error> {
    let mut files = Vec::new();
    for entry in folder.entries(is_of_store)? {
        if !entry.is_file() {
            let path = folder.path().join(&entry.name);
            return Err(Error::NotPlain { path, found: entry.kind, expected: "a file" });
        }
        if entry.name != LOCK_NAME && entry.name != MANIFEST_NAME {
            files.push(entry);
        }
    }
    Ok(files)
}

/// A new store is made in an empty folder, or among what an earlier one left there.
pub(crate) fn check_only_ours(folder: &Folder) -> Result<(), Error> {
    files_in(folder)?;
    let is_folder = |entry: &Entry| {
        entry.is_folder() && [CACHE_NAME, VIEWS_NAME].contains(&entry.name.as_str())
    };
    let is_ours = |entry: &Entry| is_of_store(&entry.name) || is_folder(entry);
    match folder.entries(|_| true)?.into_iter().find(|entry| !is_ours(entry)) {
        Some(Entry { name, .. }) => Err(Error::NotEmpty { path: folder.path().into(), name }),
        None => Ok(()),
    }
}
