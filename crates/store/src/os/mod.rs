//! What differs between operating systems: the only module that names one.
//!
//! `unix` is for Linux and its relatives. `portable` has the same functions with the standard library alone, for other
//! systems: slower where a system could do better, and without guarded mappings.

mod entry;
mod map;
#[cfg(any(test, not(unix)))]
mod portable;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

pub(crate) use entry::{DirEntry, EntryKind, Open};
pub(crate) use map::{Map, Memory};
pub(crate) use system::{Dir, Guard, write_at};
pub use system::{
    Keyboard, Restored, SetAside, are_same, available_memory, disk_bytes, ignored_signals, inode,
    is_removed, mtime_ns, open_at_once, path_of_bytes, permissions_of_new_files, restore_terminal,
    start_writing, will_need,
};

use std::{fs::File, io, path::Path};

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

/// Makes the names in a folder durable.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    Dir::open(path)?.sync()
}
