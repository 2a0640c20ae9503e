//! Any system, by the standard library alone.
#![cfg_attr(unix, expect(dead_code, reason = "only the tests use it here"))]

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use super::{DirEntry, EntryKind, Open};

/// Held while the position of a file is used, because all threads share that position.
static POSITION: Mutex<()> = Mutex::new(());

fn positioned(mut file: &File, at: u64) -> io::Result<MutexGuard<'static, ()>> {
    let guard = POSITION.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    Ok(guard)
}

pub(crate) fn read_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let _position = positioned(file, at)?;
    file.read(bytes)
}

/// Writes bytes at an offset, or some of them.
pub(crate) fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    let _position = positioned(file, at)?;
    file.write(bytes)
}

/// Opens the file at `path` for reading. Does not wait for the other end of a pipe.
///
/// # Errors
/// Those of the system.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        let what = format!("{}, where a file should be", kind_of(&metadata).0);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    File::open(path)
}

pub(crate) fn kind_of(metadata: &Metadata) -> EntryKind {
    let of = metadata.file_type();
    match () {
        () if of.is_file() => EntryKind::FILE,
        () if of.is_dir() => EntryKind::FOLDER,
        () if of.is_symlink() => EntryKind::LINK,
        () => EntryKind::OTHER,
    }
}

/// Returns the number of a file in its file system, or 0 if files have no numbers there.
pub fn inode(_: &Metadata) -> u64 {
    0
}

/// Returns when a file was changed, in nanoseconds since 1970.
pub fn mtime_ns(metadata: &Metadata) -> i64 {
    let since = metadata.modified().map(|time| match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
    });
    since.unwrap_or(0)
}

/// Whether two paths lead to the same file.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    whole(one).is_some_and(|one| whole(other) == Some(one))
}

/// Whether nothing has the name of an open file any more: a file that is open keeps its name.
///
/// # Errors
/// Those of the system.
#[expect(clippy::unnecessary_wraps, reason = "other systems need it")]
pub fn is_removed(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Returns the bytes that a file takes on its disk.
pub fn disk_bytes(metadata: &Metadata) -> u64 {
    if metadata.is_file() { metadata.len() } else { 0 }
}

/// Returns the path of these bytes; `None` if it can be none.
pub fn path_of_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(Into::into)
}

/// Returns the permissions of files that others may read, as far as the user allows it; `None` if the system has none.
pub fn permissions_of_new_files() -> Option<Permissions> {
    None
}

/// A temporary file, which is removed when this is dropped.
#[derive(Debug)]
pub struct SetAside(tempfile::NamedTempFile);

impl SetAside {
    /// Makes the file on the disk of `folder`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create_in(folder: &Path) -> io::Result<Self> {
        tempfile::NamedTempFile::new_in(folder).map(Self)
    }

    /// Returns the file to write into.
    pub fn file(&mut self) -> &mut File {
        self.0.as_file_mut()
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A folder by its path.
#[derive(Debug)]
pub(crate) struct Dir(PathBuf);

impl Dir {
    /// Opens the folder at `path`, which may be a link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(path.into()))
    }

    /// Opens a folder inside it, which is no link.
    pub(crate) fn open_folder(&self, name: &str) -> io::Result<Self> {
        if self.kind_of(name)? != EntryKind::FOLDER {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(self.0.join(name)))
    }

    /// Opens an entry that is no link.
    pub(crate) fn open_entry(&self, name: &str, how: Open) -> io::Result<File> {
        match self.kind_of(name) {
            Ok(EntryKind::FILE) => {}
            Ok(_) => return Err(io::ErrorKind::InvalidInput.into()),
            Err(error) if how == Open::Read || how == Open::Write => return Err(error),
            Err(_) => {}
        }
        let mut options = OpenOptions::new();
        options.read(true).write(how != Open::Read);
        options.create(how == Open::OrCreate).create_new(how == Open::New);
        options.truncate(false).open(self.0.join(name))
    }

    /// Makes a folder inside it.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// Returns what an entry is, without following a link.
    pub(crate) fn kind_of(&self, name: &str) -> io::Result<EntryKind> {
        fs::symlink_metadata(self.0.join(name)).map(|metadata| kind_of(&metadata))
    }

    /// Gives a file another name, and replaces the file that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Removes a file, or a link without what it leads to.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Removes an empty folder inside it.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.0.join(name))
    }

    /// Lists the entries whose names are wanted, in no order.
    pub(crate) fn entries(&self, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_wanted(&name) {
                continue;
            }
            let metadata = match entry.metadata() {
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let (kind, len) = (kind_of(&metadata), metadata.len());
            entries.push(DirEntry { name, kind, len, modified });
        }
        Ok(entries)
    }

    /// Makes the names in it durable: the system does it when it replaces a file.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other systems need both")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the bytes that are free on its disk; `None` if the system does not say.
    #[expect(clippy::unused_self, reason = "other systems need it")]
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        None
    }
}

/// No guard: a missing page of a mapping ends the process, as the system does it.
pub(crate) struct Guard;

impl Guard {
    /// Guards nothing.
    pub(crate) fn arm<'a>(_: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self
    }

    /// Whether a guarded page was missing since the guard was armed.
    #[expect(clippy::unused_self, reason = "other systems need it")]
    pub(crate) fn was_hit(&self) -> bool {
        false
    }
}

/// A hint that this system does not take.
pub fn start_writing(_: &File, _: u64, _: u64) {}

/// A hint that this system does not take.
pub fn will_need<T: bytemuck::Pod>(_: &[T]) {}

/// Returns the bytes of memory available to programs; the maximum if unknown.
pub fn available_memory() -> u64 {
    u64::MAX
}

/// Returns the signals that this process ignores: none are known.
pub fn ignored_signals() -> u64 {
    0
}

/// The keys of a terminal, which this system does not give one by one.
#[derive(Debug)]
pub struct Keyboard(());

impl Keyboard {
    /// Returns `None`.
    pub fn open() -> Option<Self> {
        None
    }

    /// Sets nothing.
    ///
    /// # Errors
    /// None.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other systems need both")]
    pub fn take(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// Waits, and returns no keys.
    ///
    /// # Errors
    /// None.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other systems need both")]
    pub fn read(&mut self, wait: std::time::Duration) -> io::Result<Vec<u8>> {
        std::thread::sleep(wait);
        Ok(Vec::new())
    }
}

/// A terminal that was never changed.
#[derive(Debug)]
pub struct Restored(());

/// Restores nothing.
pub fn restore_terminal() -> Restored {
    Restored(())
}
