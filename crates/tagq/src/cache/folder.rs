//! The folder of the cache, inside the store: a file a query, bounded in number and size.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use xxhash_rust::xxh3::xxh3_64;

/// Its name.
const NAME: &str = "cache";
/// Files at most: a measurement of accidentals by shifts has some hundreds.
const FILES_MAX: usize = 4_096;
/// Bytes of all files at most.
const BYTES_MAX: u64 = 64 << 20;
/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".new";
/// The age from which on nobody is writing such a file any more.
const ABANDONED: Duration = Duration::from_mins(10);
/// A file that was used is marked so not more often than this.
const USED: Duration = Duration::from_mins(1);

pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn of(store: &Path) -> Self {
        Self { path: store.join(NAME) }
    }

    /// The bytes kept under `key`, if there are any, and not too many.
    pub(super) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let mut file = File::open(self.file(key)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let now = SystemTime::now();
        let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_none_or(|age| age > USED) {
            // Those used least go first; where nobody may write, nothing goes.
            drop(file.set_modified(now));
        }
        Some(bytes)
    }

    /// Puts `bytes` in the place of what was kept under `key`, or leaves that as it is. A power loss may
    /// leave less of it: the checksum in it says so, and then it is thrown away.
    pub(super) fn write(&self, key: &str, bytes: &[u8]) -> bool {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // The store itself is not made for it.
        drop(fs::create_dir(&self.path));
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.path.join(format!("{}-{number}{UNFINISHED}", process::id()));
        let written = File::create(&unfinished)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&unfinished, self.file(key)));
        if written.is_err() {
            drop(fs::remove_file(&unfinished));
        }
        written.is_ok()
    }

    /// Removes what was used least recently while there is too much, and what was never finished.
    pub(super) fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        let now = SystemTime::now();
        files.retain(|(modified, _, path)| {
            let is_finished = !path.to_string_lossy().ends_with(UNFINISHED);
            if !is_finished && now.duration_since(*modified).is_ok_and(|age| age > ABANDONED) {
                drop(fs::remove_file(path));
            }
            is_finished
        });
        files.sort_unstable();
        let mut bytes: u64 = files.iter().map(|(_, len, _)| len).sum();
        let mut left = files.len();
        for (_, len, path) in files {
            if left <= FILES_MAX && bytes <= BYTES_MAX {
                break;
            }
            drop(fs::remove_file(path));
            left -= 1;
            bytes -= len;
        }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.path.join(format!("{:016x}", xxh3_64(key.as_bytes())))
    }
}
