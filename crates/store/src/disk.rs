//! The system calls that change a store, each with the name of its file in its error.
//!
//! Columns grow by positioned writes, never through a mapping: a full disk is an error here and
//! would be a signal there. The calls stand behind [`Disk`], so that the tests can let each of them
//! fail.

use std::{
    fmt::Debug,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{Error, writeback};

/// The error for a refused `action` on `path`.
pub(crate) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}

/// Every call by which a writer changes what is on disk. The methods are the calls themselves.
pub(crate) trait Disk: Debug + Send + Sync {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(path)
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        file.write_at(bytes, at)
    }

    fn start_writeback(&self, file: &File, from: u64, len: u64) {
        writeback::start_writing(file, from, len);
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }
}

/// The disk as it is.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {}

/// A file of the store that only grows.
#[derive(Debug)]
pub(crate) struct Growing {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: File,
    len: u64,
    /// Up to here the system was told to begin writing.
    begun: u64,
}

/// Bytes after which the system is told to begin writing them.
const WRITEBACK_BYTES: u64 = 4 << 20;

impl Growing {
    /// A new file that begins with `start`, whatever stood under its name before.
    pub(crate) fn create(disk: &Arc<dyn Disk>, path: PathBuf, start: &[u8]) -> Result<Self, Error> {
        let file = disk.create(&path).map_err(io_error(&path, "create this file"))?;
        let mut growing = Self { disk: Arc::clone(disk), path, file, len: 0, begun: 0 };
        growing.append(start)?;
        Ok(growing)
    }

    /// An existing file of at least `len` bytes; what lies past them was never committed and is
    /// cut off.
    pub(crate) fn open(disk: &Arc<dyn Disk>, path: PathBuf, len: u64) -> Result<Self, Error> {
        let file = disk.open(&path).map_err(io_error(&path, "open this file"))?;
        let found = file.metadata().map_err(io_error(&path, "read the length"))?.len();
        if found < len {
            return Err(Error::Length { path, expected: len, found });
        }
        if found > len {
            disk.set_len(&file, len).map_err(io_error(&path, "cut off uncommitted rows"))?;
        }
        Ok(Self { disk: Arc::clone(disk), path, file, len, begun: len })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        write_all(&*self.disk, &self.file, bytes, self.len)
            .map_err(io_error(&self.path, "write"))?;
        self.len += bytes.len() as u64;
        if self.len - self.begun >= WRITEBACK_BYTES {
            self.disk.start_writeback(&self.file, self.begun, self.len - self.begun);
            self.begun = self.len;
        }
        Ok(())
    }

    /// Fills `bytes` from offset `at`.
    pub(crate) fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        self.file.read_exact_at(bytes, at).map_err(io_error(&self.path, "read"))
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.disk.sync(&self.file).map_err(io_error(&self.path, "make the rows durable"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn write_all(disk: &dyn Disk, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
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
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|folder| disk.sync(&folder))
        .map_err(io_error(path, "make the folder's names durable"))
}

/// Replaces `name` in `folder` by `bytes`, so that a reader finds the old or the new, whole.
pub(crate) fn replace(
    disk: &dyn Disk,
    folder: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let path = folder.join(name);
    let fresh = folder.join(format!("{name}.new"));
    let write = || -> io::Result<()> {
        let file = disk.create(&fresh)?;
        write_all(disk, &file, bytes, 0)?;
        disk.sync(&file)
    };
    write().map_err(io_error(&fresh, "write this file"))?;
    disk.rename(&fresh, &path).map_err(io_error(&path, "replace this file"))?;
    sync_folder(disk, folder)
}

/// Makes the folder `path` if it is not there.
pub(crate) fn create_folder(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error(path, "look at it")(e)),
        _ => disk.create_folders(path).map_err(io_error(path, "make this folder")),
    }
}

/// Makes the name of a folder durable.
pub(crate) fn sync_name(disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
    match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_folder(disk, Path::new(".")),
        Some(parent) => sync_folder(disk, parent),
        None => Ok(()),
    }
}
