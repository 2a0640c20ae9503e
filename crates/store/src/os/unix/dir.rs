//! A folder by its descriptor: entries are opened by their names alone, and links are not followed.

use std::{
    fs::File,
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{AtFlags, Dir as Entries, FileType, Mode, OFlags},
    io::{Errno, retry_on_intr},
};

use crate::os::{
    DirEntry, EntryKind, Open,
    unix::files::{kind_of_mode, sync},
};

/// A folder that was opened.
#[derive(Debug)]
pub(crate) struct Dir(File);

impl Dir {
    /// Opens the folder at `path`, which may be a link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Self(handle.into()))
    }

    /// Opens a folder inside it, which is no link.
    pub(crate) fn open_folder(&self, name: &str) -> io::Result<Self> {
        self.open_as(name, OFlags::RDONLY | OFlags::DIRECTORY).map(Self)
    }

    /// Opens an entry that is no link. Never waits, whatever stands under the name.
    pub(crate) fn open_entry(&self, name: &str, how: Open) -> io::Result<File> {
        self.open_as(
            name,
            match how {
                Open::Read => OFlags::RDONLY,
                Open::Write => OFlags::RDWR,
                Open::OrCreate => OFlags::RDWR | OFlags::CREATE,
                Open::New => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            },
        )
    }

    fn open_as(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let opened = retry_on_intr(|| rustix::fs::openat(&self.0, name, flags, mode))?;
        Ok(opened.into())
    }

    /// Makes a folder inside it.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o777);
        Ok(retry_on_intr(|| rustix::fs::mkdirat(&self.0, name, mode))?)
    }

    /// Returns what an entry is, without following a link.
    pub(crate) fn kind_of(&self, name: &str) -> io::Result<EntryKind> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind_of_mode(FileType::from_raw_mode(stat.st_mode)))
    }

    /// Gives a file another name, and replaces the file that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::renameat(&self.0, from, &self.0, to))?)
    }

    /// Removes a file, or a link without what it leads to.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.0, name, AtFlags::empty()))?)
    }

    /// Removes an empty folder inside it.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR))?)
    }

    /// Lists the entries whose names are wanted, in no order.
    pub(crate) fn entries(&self, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in Entries::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if matches!(&*shown, "." | "..") || !is_wanted(&shown) {
                continue;
            }
            let stat = match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                // Another process has removed it.
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let seconds = stat.st_mtime.try_into().unwrap_or(0);
            let changed = Duration::new(seconds, stat.st_mtime_nsec.try_into().unwrap_or(0));
            entries.push(DirEntry {
                name: shown.into_owned(),
                kind: kind_of_mode(FileType::from_raw_mode(stat.st_mode)),
                len: stat.st_size.try_into().unwrap_or(0),
                modified: SystemTime::UNIX_EPOCH + changed,
            });
        }
        Ok(entries)
    }

    /// Makes the names in it durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync(&self.0)
    }

    /// Returns the bytes that are free on its disk; `None` if the system does not say.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::fstatvfs(&self.0).ok()?;
        // A file system without a limit says that it has no blocks at all.
        (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}

/// Makes the names in a folder durable.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    Dir::open(path)?.sync()
}
