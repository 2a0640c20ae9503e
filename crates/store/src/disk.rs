//! The system calls that change a store, each with the name of its file in its error.
//!
//! Columns grow by positioned writes, never through a mapping: a full disk is an error here and would be a signal
//! there. A file is replaced in four steps: write under another name, sync, rename, sync the folder. Without the first
//! sync, a power loss could leave the new name with no content. The calls are methods of [`Disk`], so that the tests
//! can let each of them fail.

use std::{
    fmt::Debug,
    fs::{self, File},
    io,
    path::Path,
};

use crate::{Error, Folder, error::io_error, os};

/// Every call by which a writer changes what is on disk. The methods are the calls themselves.
pub(crate) trait Disk: Debug + Send + Sync {
    fn create(&self, folder: &Folder, name: &str) -> Result<File, Error> {
        folder.create_file(name)
    }

    fn open(&self, folder: &Folder, name: &str) -> Result<File, Error> {
        folder.open_to_write(name)
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        os::write_at(file, bytes, at)
    }

    fn start_writeback(&self, file: &File, from: u64, len: u64) {
        os::start_writing(file, from, len);
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        os::cut(file, len)
    }

    /// Makes the bytes of the file at `path` durable.
    fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        let _ = path;
        os::sync(file)
    }

    fn sync_names(&self, folder: &Folder) -> io::Result<()> {
        folder.sync()
    }

    fn rename(&self, folder: &Folder, from: &str, to: &str) -> Result<(), Error> {
        folder.rename(from, to)
    }

    /// Removes a file that no commit names.
    fn remove(&self, folder: &Folder, name: &str) -> Result<(), Error> {
        match folder.remove(name) {
            // The next writer removes what a reader has mapped.
            Err(Error::Io { source, .. }) if os::is_in_use(&source) => Ok(()),
            removed => removed,
        }
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }
}

/// Makes the calls of [`Disk`] unchanged.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {}

/// The end of the name of a file that is being written.
pub(crate) const UNFINISHED: &str = ".new";

pub(crate) fn write_all(disk: &dyn Disk, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        match disk.write_at(file, &bytes[written..], at + written as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(disk: &dyn Disk, folder: &Folder) -> Result<(), Error> {
    disk.sync_names(folder).map_err(io_error(folder.path(), "make the folder's names durable"))
}

/// Replaces `name` in `folder` by `bytes`, so that a reader finds the old or the new, whole.
pub(crate) fn replace(
    disk: &dyn Disk,
    folder: &Folder,
    name: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let fresh = format!("{name}{UNFINISHED}");
    let (file, path) = (disk.create(folder, &fresh)?, folder.path().join(&fresh));
    write_all(disk, &file, bytes, 0)
        .and_then(|()| disk.sync(&file, &path))
        .map_err(io_error(&path, "write this file"))?;
    disk.rename(folder, &fresh, name)?;
    sync_folder(disk, folder)
}

/// Makes the folder `path` if it is not there. Returns whether it was made.
pub(crate) fn create_folder(disk: &dyn Disk, path: &Path) -> Result<bool, Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(false),
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error(path, "look at it")(e)),
        _ => {
            disk.create_folders(path).map_err(io_error(path, "make this folder"))?;
            Ok(true)
        }
    }
}

/// Makes the name of a folder durable.
pub(crate) fn sync_name(disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
    match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => {
            sync_folder(disk, &Folder::open(Path::new("."))?)
        }
        Some(parent) => sync_folder(disk, &Folder::open(parent)?),
        None => Ok(()),
    }
}
