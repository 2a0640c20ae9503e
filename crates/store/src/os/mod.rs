//! Differences between operating systems. No other module names one.
//!
//! `unix` is for Linux, macOS and their relatives, `windows` for Windows. Both have the same functions.

mod entry;
mod map;
pub(crate) mod shell;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use entry::{DirEntry, EntryKind, Open};
pub(crate) use map::{Map, Memory};
pub use shell::{SHELL, Shell};
pub(crate) use system::{Dir, Guard, cut, host_name, is_in_use, keep_away, write_at};
pub use system::{
    Keyboard, REMOVES_MAPPED, Restored, SetAside, are_same, available_memory, disk_bytes,
    is_removed, make_private, mtime_ns, name_of_path, open_at_once, path_of_name, rename,
    rename_new, restore_terminal, return_memory, start_writing, sync, sync_folder, will_need,
};
#[cfg(unix)]
pub use unix::is_ignored;

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// How a file looks: another file, or a changed one, looks different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Length in bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Its number in its file system, or 0 if that has none.
    pub inode: u64,
}

impl FileStamp {
    /// Returns how an open file looks.
    ///
    /// # Errors
    /// Those of the system.
    pub fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (size, mtime_ns) = (metadata.len(), mtime_ns(&metadata));
        Ok(Self { size, mtime_ns, inode: system::inode(file, &metadata) })
    }

    /// Returns how the file at `path` looks. Nothing waits for a pipe.
    ///
    /// # Errors
    /// Those of the system.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let (size, mtime_ns) = (metadata.len(), mtime_ns(&metadata));
        Ok(Self { size, mtime_ns, inode: system::inode_of_path(path, &metadata) })
    }
}

/// Returns what a file that was opened is.
pub(crate) fn kind_of(file: &File) -> io::Result<EntryKind> {
    file.metadata().map(|metadata| system::kind_of(&metadata))
}

/// Reads bytes at an offset, fewer at the end of the file. Reads again when a signal came in between.
///
/// # Errors
/// Those of the system.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match system::read_at(file, bytes, at) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Fills `bytes` from an offset on.
///
/// # Errors
/// Those of the system; of the kind [`io::ErrorKind::UnexpectedEof`] if the file ends before.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = read_at(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

/// Writes all bytes at an offset.
///
/// # Errors
/// Those of the system.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_at(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                at += written as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
