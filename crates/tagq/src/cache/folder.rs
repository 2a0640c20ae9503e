//! The folder of the cache, inside the store: a file a query, bounded in number and size.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use tagq_store::{Entry, Folder as StoreFolder};
use xxhash_rust::xxh3::xxh3_64;

/// Its name.
const NAME: &str = "cache";
/// Files at most: a measurement of accidentals by shifts has some hundreds.
const FILES_MAX: usize = 4_096;
/// Bytes of all files at most.
const BYTES_MAX: u64 = 64 << 20;
/// The end of the name of a file that is being written; before it stand random digits.
const UNFINISHED: &str = ".new";
/// Digits of the name of an answer, and of an unfinished one.
const DIGITS: usize = 16;
const DIGITS_UNFINISHED: usize = 32;
/// The age from which on nobody is writing such a file any more.
const ABANDONED: Duration = Duration::from_mins(10);
/// A file that was used is marked so not more often than this.
const USED: Duration = Duration::from_mins(1);

pub(super) struct Folder<'a> {
    store: &'a Path,
}

impl<'a> Folder<'a> {
    pub(super) fn of(store: &'a Path) -> Self {
        Self { store }
    }

    /// The folder, when it is there and no link to another one.
    fn open(&self) -> Option<StoreFolder> {
        StoreFolder::open(self.store).ok()?.open_folder(NAME).ok()
    }

    /// The bytes kept under `key`, if there are any, and not too many.
    pub(super) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let folder = self.open()?;
        let name = name_of(key);
        let bytes = folder.read(&name, BYTES_MAX).ok()?;
        let file = folder.open_file(&name).ok()?;
        let now = SystemTime::now();
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_none_or(|age| age > USED) {
            // Those used least go first; where nobody may write, nothing goes.
            drop(file.set_modified(now));
        }
        Some(bytes)
    }

    /// Puts `bytes` in the place of what was kept under `key`, or leaves that as it is. A power loss may
    /// leave less of it: the checksum in it says so, and then it is thrown away.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> bool {
        // The store itself is not made for it.
        let folder = StoreFolder::open(self.store).and_then(|store| store.make_folder(NAME));
        folder.and_then(|folder| folder.replace(&name_of(key), UNFINISHED, bytes)).is_ok()
    }

    /// Removes what was used least recently while there is too much, and what was never finished. Files
    /// of other names are not the cache's.
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

/// Whether the folder of the cache is something else: then nothing is kept.
pub(crate) fn stranger(store: &Path) -> Option<tagq_store::Error> {
    match StoreFolder::open(store).and_then(|store| store.open_folder(NAME)) {
        Err(error @ tagq_store::Error::NotPlain { .. }) => Some(error),
        _ => None,
    }
}

/// The name of the file of a query.
fn name_of(key: &str) -> String {
    format!("{:0DIGITS$x}", xxh3_64(key.as_bytes()))
}

fn is_hex(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
