//! The cache folder inside the store: one file per query, at most 4,096 files and 64 MiB.
//!
//! A cache that cannot be read or written costs time, and never an answer.

use std::path::{Path, PathBuf};

use tagq_store::{Entry, KeptEntry, KeptFolder, KeptLimits};

use super::entry::Entry as Cached;

/// Name of the folder.
const NAME: &str = "cache";
/// Limits of the number and the bytes of the files. A measurement of accidentals by shifts needs some hundreds of
/// files.
const LIMITS: KeptLimits = KeptLimits { number: 4_096, bytes: 64 << 20 };

#[derive(Debug)]
pub(super) struct Folder<'a> {
    store: &'a Path,
}

impl<'a> Folder<'a> {
    pub(super) fn of(store: &'a Path) -> Self {
        Self { store }
    }

    fn open(&self) -> Option<KeptFolder> {
        KeptFolder::open(self.store, NAME).ok()
    }

    /// Returns the bytes cached under `key`, if there are any and not too many.
    pub(super) fn read(&self, key: &str) -> Option<Vec<u8>> {
        self.open()?.read(&KeptFolder::name_of(key), LIMITS.bytes)
    }

    /// Checks all files. Returns how many there are, or the path of one that is damaged.
    pub(super) fn verify(&self) -> Result<usize, PathBuf> {
        let Some(kept) = self.open() else { return Ok(0) };
        let mut intact = 0;
        let entries = kept.entries().unwrap_or_default();
        for Entry { name, .. } in entries.into_iter().filter(Entry::is_file) {
            // Another process may have removed it meanwhile.
            let Ok(bytes) = kept.folder().read(&name, LIMITS.bytes) else { continue };
            let key = Cached::with_key(&bytes).map(|(key, _)| key);
            match key {
                Some(key) if KeptFolder::name_of(&key) == name => intact += 1,
                None if Cached::is_old(&bytes) => {}
                _ => return Err(kept.path_of(&name)),
            }
        }
        Ok(intact)
    }

    /// Replaces the entry of `key` with `bytes`, or leaves it unchanged on failure. After a power loss
    /// the file may be incomplete; its checksum then fails, and it is discarded.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> bool {
        // The cache never creates the store itself.
        let kept = KeptFolder::make(self.store, NAME);
        kept.and_then(|kept| kept.write(&KeptFolder::name_of(key), bytes)).is_ok()
    }

    /// Removes the least recently used files while the folder is over its limits, and abandoned
    /// unfinished files. Files with other names are not touched.
    pub(super) fn tidy(&self) {
        let Some(kept) = self.open() else { return };
        let entry = |of: &Entry| {
            if of.is_file() && KeptFolder::is_name(&of.name) {
                KeptEntry::Counts { used: of.modified, bytes: of.len }
            } else {
                KeptEntry::Stays
            }
        };
        kept.tidy(LIMITS, entry, |name| kept.folder().remove(name).is_ok());
    }
}

/// Returns an error if the path of the cache folder is taken by something else: then nothing is cached.
pub(crate) fn obstacle(store: &Path) -> Option<tagq_store::Error> {
    match KeptFolder::open(store, NAME) {
        Err(error @ tagq_store::Error::NotPlain { .. }) => Some(error),
        _ => None,
    }
}
