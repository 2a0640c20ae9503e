//! Files and folders that are not complete yet: they have names of their own and are locked while a process writes
//! them, so that the next process finds those that a killed one left.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tagq_store::{Entry, Error as StoreError, Folder, os};
use tempfile::{Builder, NamedTempFile, TempDir};

/// Start and end of the name; unpredictable letters and digits come between.
const START: &str = ".tagq-";
const END: &str = ".part";
/// The file in a folder that its process locks.
const LOCK: &str = "lock";
/// A folder without this file is abandoned after so long.
const ABANDONED: Duration = Duration::from_mins(10);
/// The most names that are drawn if other processes take a new file or folder for an abandoned one.
const DRAWS_MAX: usize = 16;

/// A folder for files that are moved to their place when they are complete, or that no other user may see. Dropping
/// this removes the folder and its files.
#[derive(Debug)]
pub(crate) struct UnfinishedFolder {
    /// Closed before the folder is removed.
    _lock: File,
    folder: TempDir,
}

impl UnfinishedFolder {
    /// Makes a folder in `around`, and removes what killed processes left there. Nobody but the user can look into it.
    pub(crate) fn create_in(around: &Path) -> io::Result<Self> {
        remove_abandoned(around);
        let mut builder = Builder::new();
        os::make_private(&mut builder);
        until_locked(|| {
            let folder = builder.prefix(START).suffix(END).tempdir_in(around)?;
            let lock = File::create_new(folder.path().join(LOCK))?;
            Ok((lock, folder))
        })
        .map(|(lock, folder)| Self { _lock: lock, folder })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Makes a new file in a folder, which is locked while it is written.
pub(crate) fn file_in(folder: &Path) -> io::Result<NamedTempFile> {
    // With usual permissions, and without the mark that Windows has for temporary files.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let mut builder = Builder::new();
    let made = || builder.prefix(START).suffix(END).make_in(folder, |path| options.open(path));
    until_locked(made)
}

/// A file or folder that is locked until it is complete.
trait Locked {
    fn file(&self) -> &File;
}

impl Locked for NamedTempFile {
    fn file(&self) -> &File {
        self.as_file()
    }
}

impl Locked for (File, TempDir) {
    fn file(&self) -> &File {
        &self.0
    }
}

/// Makes something again until it is locked before another process takes it for abandoned.
fn until_locked<T: Locked>(mut make: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut draws = 0;
    loop {
        draws += 1;
        let made = make()?;
        let is_taken = matches!(made.file().try_lock(), Err(TryLockError::WouldBlock));
        if draws == DRAWS_MAX || !is_taken && !os::is_removed(made.file())? {
            return Ok(made);
        }
    }
}

/// Removes what killed processes left in a folder. What cannot be removed only takes space.
pub(crate) fn remove_abandoned(around: &Path) {
    let Ok(folder) = Folder::open(around) else { return };
    for entry in folder.entries(is_unfinished).unwrap_or_default() {
        let path = around.join(&entry.name);
        if !entry.is_folder() {
            // The lock is held until the file is gone: its writer then sees that.
            if let Some(_lock) = free_lock(folder.open_file(&entry.name)) {
                drop(fs::remove_file(path));
            }
            continue;
        }
        let lock = folder.open_folder(&entry.name).and_then(|of| of.open_file(LOCK));
        let is_without = matches!(&lock, Err(StoreError::Io { source, .. })
            if source.kind() == io::ErrorKind::NotFound);
        let age = SystemTime::now().duration_since(entry.modified);
        if let Some(lock) = free_lock(lock) {
            drop(fs::remove_file(path.join(LOCK)));
            drop(lock);
        } else if !is_without || age.is_ok_and(|age| age <= ABANDONED) {
            continue;
        }
        drop(fs::remove_dir_all(path));
    }
}

/// Takes the lock of a file, unless a process that writes it holds it.
fn free_lock(file: Result<File, StoreError>) -> Option<File> {
    file.ok().filter(|file| file.try_lock().is_ok())
}

/// Lists the files in a folder whose process was killed, with their lengths.
pub(crate) fn abandoned_files(around: &Path) -> Vec<(PathBuf, u64)> {
    let Ok(folder) = Folder::open(around) else { return Vec::new() };
    let parts = folder.entries(is_unfinished).unwrap_or_default().into_iter();
    // The writer of a file holds its lock, which ends with the process.
    let is_left = |part: &Entry| free_lock(folder.open_file(&part.name)).is_some();
    parts.filter(is_left).map(|part| (around.join(part.name), part.len)).collect()
}

fn is_unfinished(name: &str) -> bool {
    let drawn = name.strip_prefix(START).and_then(|name| name.strip_suffix(END));
    drawn.is_some_and(|drawn| drawn.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in
            [".tagq-aZ09xy.part", ".tagq-.part", ".tagq-a b.part", ".tagq-x.parts", "x.part"]
        {
            fs::write(at(name), "left").unwrap();
        }
        for name in [".tagq-new.part", ".tagq-old.part", ".tagq-f g.part"] {
            fs::create_dir_all(at(name).join("run")).unwrap();
        }
        for name in [".tagq-old.part", ".tagq-f g.part"] {
            fs::write(at(name).join(LOCK), "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("x.part"), at(".tagq-link.part")).unwrap();
        let file = file_in(folder.path()).unwrap();
        let made = UnfinishedFolder::create_in(folder.path()).unwrap();
        let other = UnfinishedFolder::create_in(folder.path()).unwrap();
        for name in [".tagq-aZ09xy.part", ".tagq-.part", ".tagq-old.part"] {
            assert!(!at(name).exists(), "{name}");
        }
        for name in [".tagq-a b.part", ".tagq-x.parts", "x.part"] {
            assert!(at(name).exists(), "{name}");
        }
        // The lock of a new folder may come in a moment.
        assert!(at(".tagq-new.part").is_dir() && at(".tagq-f g.part").is_dir());
        assert!(cfg!(windows) || at(".tagq-link.part").is_symlink());
        assert!(file.path().exists() && made.path().exists() && other.path().exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(made.path()).unwrap().permissions().mode() & 0o777, 0o700);
        }
        let paths = [file.path().to_owned(), made.path().to_owned(), other.path().to_owned()];
        drop((file, made, other));
        assert!(paths.iter().all(|path| !path.exists()));
    }
}
