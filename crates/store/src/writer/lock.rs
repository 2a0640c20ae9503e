//! The lock of a store: one writer at a time.
//!
//! The file holds `1234 HOST` while it is locked. The system's lock counts, never the text: that of a killed writer
//! stays. The file is removed only together with a store that was given up, and the lock of a removed file is refused.

use std::{
    fs::{File, TryLockError},
    io::{self, Read as _, Write as _},
};

use crate::{Error, Folder, names::LOCK_NAME, os};

/// The longest text in a lock file: a number and the name of a host.
const TEXT_MAX: u64 = 300;

/// The lock of a store. It is given back and not only closed: a child that was forked has the file, too, and
/// would hold it on. The file says which process holds it, for the message to another one; nothing else reads it.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    /// Takes the lock. A writer that gives up a new store removes it with the store: a lock on a removed file
    /// would not be seen by others.
    pub(super) fn take(folder: &Folder) -> Result<Self, Error> {
        let path = folder.path().join(LOCK_NAME);
        let file = match folder.open_or_create(LOCK_NAME) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Busy { path, holder: None });
            }
            file => file?,
        };
        match file.try_lock() {
            Ok(()) if os::is_removed(&file).is_ok_and(|is_removed| is_removed) => {
                Err(Error::Busy { path, holder: None })
            }
            Ok(()) => {
                // A lock without the name of its holder is a lock, too: the disk may be full.
                let _ = state_holder(&file);
                Ok(Self(file))
            }
            Err(TryLockError::WouldBlock) => {
                Err(Error::Busy { path, holder: stated_holder(&file) })
            }
            Err(TryLockError::Error(source)) => {
                Err(Error::Io { path, action: "take the lock", source })
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If that fails, the next holder replaces the text, and the lock ends when the last process closes the file.
        let _ = self.0.set_len(0);
        let _ = self.0.unlock();
    }
}

/// Writes the number of this process and the name of its host.
fn state_holder(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(format!("{} {}\n", std::process::id(), os::host_name()).as_bytes())
}

/// Returns the process that the lock file names; `None` if it names none, or cannot be read, as on Windows while it is
/// locked.
fn stated_holder(file: &File) -> Option<String> {
    let mut text = String::new();
    file.take(TEXT_MAX).read_to_string(&mut text).ok()?;
    let (process, host) = text.trim_end().split_once(' ')?;
    let is_plain = |c: char| c.is_ascii_graphic();
    let is_host = !host.is_empty() && host.chars().all(is_plain);
    let process: u32 = process.parse().ok().filter(|_| is_host)?;
    Some(format!("process {process} on {host}"))
}
