//! The cache folder inside the store: one file per query, bounded in number and size.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tagq_store::{Entry, Folder as StoreFolder};
use xxhash_rust::xxh3::xxh3_64;

use super::entry::Entry as Cached;

/// Name of the folder.
const NAME: &str = "cache";
/// Maximum number of files: a measurement of accidentals by shifts needs some hundreds.
const FILES_MAX: usize = 4_096;
/// Maximum size of all files together, in bytes.
const BYTES_MAX: u64 = 64 << 20;
/// Suffix of the name of a file that is being written; random digits come before it.
const UNFINISHED: &str = ".new";
/// Number of digits in the name of an entry, and of an unfinished one.
const DIGITS: usize = 16;
const DIGITS_UNFINISHED: usize = 32;
/// Unfinished files older than this are abandoned: no process is writing them any more.
const ABANDONED: Duration = Duration::from_mins(10);
/// Minimum time between two updates of the modification time of a used file.
const USED: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Folder<'a> {
    store: &'a Path,
}

impl<'a> Folder<'a> {
    pub(super) fn of(store: &'a Path) -> Self {
        Self { store }
    }

    /// Opens the folder, if it exists and is not a link to another one.
    fn open(&self) -> Option<StoreFolder> {
        StoreFolder::open(self.store).ok()?.open_folder(NAME).ok()
    }

    /// Returns the bytes cached under `key`, if there are any and not too many.
    pub(super) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let folder = self.open()?;
        let name = name_of(key);
        let bytes = folder.read(&name, BYTES_MAX).ok()?;
        let file = folder.open_file(&name).ok()?;
        let now = SystemTime::now();
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_none_or(|age| age > USED) {
            // The least recently used files are removed first; in a read-only folder nothing is
            // removed.
            drop(file.set_modified(now));
        }
        Some(bytes)
    }

    /// Checks all files. Returns how many there are, or the path of one that is damaged.
    pub(super) fn verify(&self) -> Result<usize, PathBuf> {
        let Some(folder) = self.open() else { return Ok(0) };
        let entries = folder.entries(|name| is_hex(name, DIGITS)).unwrap_or_default();
        let mut intact = 0;
        for Entry { name, .. } in entries.into_iter().filter(Entry::is_file) {
            // Another process may have removed it meanwhile.
            let Ok(bytes) = folder.read(&name, BYTES_MAX) else { continue };
            let key = Cached::with_key(&bytes).map(|(key, _)| key);
            match key {
                Some(key) if name_of(&key) == name => intact += 1,
                None if Cached::is_old(&bytes) => {}
                _ => return Err(folder.path().join(name)),
            }
        }
        Ok(intact)
    }

    /// Replaces the entry of `key` with `bytes`, or leaves it unchanged on failure. After a power loss
    /// the file may be incomplete; its checksum then fails, and it is discarded.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> bool {
        // The cache never creates the store itself.
        let folder = StoreFolder::open(self.store).and_then(|store| store.make_folder(NAME));
        folder.and_then(|folder| folder.replace(&name_of(key), UNFINISHED, bytes)).is_ok()
    }

    /// Removes the least recently used files while the folder is over its limits, and abandoned
    /// unfinished files. Files with other names are not touched.
    pub(super) fn tidy(&self) {
        let Some(folder) = self.open() else { return };
        let Ok(entries) = folder.entries(|_| true) else { return };
        let files = entries.into_iter().filter(Entry::is_file);
        let (unfinished, rest): (Vec<_>, Vec<_>) = files.partition(|file| {
            let digits = file.name.strip_suffix(UNFINISHED);
            digits.is_some_and(|digits| is_hex(digits, DIGITS_UNFINISHED))
        });
        let now = SystemTime::now();
        for Entry { name, modified, .. } in unfinished {
            if now.duration_since(modified).is_ok_and(|age| age > ABANDONED) {
                drop(folder.remove(&name));
            }
        }
        let mut answers: Vec<Entry> =
            rest.into_iter().filter(|file| is_hex(&file.name, DIGITS)).collect();
        answers.sort_unstable_by_key(|answer| answer.modified);
        let mut bytes: u64 = answers.iter().map(|answer| answer.len).sum();
        let mut left = answers.len();
        for Entry { name, len, .. } in answers {
            if left <= FILES_MAX && bytes <= BYTES_MAX {
                break;
            }
            drop(folder.remove(&name));
            left -= 1;
            bytes -= len;
        }
    }
}

/// Returns an error if the path of the cache folder is taken by something else: then nothing is cached.
pub(crate) fn obstacle(store: &Path) -> Option<tagq_store::Error> {
    match StoreFolder::open(store).and_then(|store| store.open_folder(NAME)) {
        Err(error @ tagq_store::Error::NotPlain { .. }) => Some(error),
        _ => None,
    }
}

/// Returns the file name of a query.
fn name_of(key: &str) -> String {
    format!("{:0DIGITS$x}", xxh3_64(key.as_bytes()))
}

fn is_hex(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
