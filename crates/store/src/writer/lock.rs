//! The lock of a store.

use std::{
    fs::{File, TryLockError},
    io,
};

use crate::{Error, Folder, names::LOCK_NAME, os};

/// The lock of a store. It is given back and not only closed: a child that was forked has the file, too, and
/// would hold it on.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    /// Takes the lock. A writer that gives up a new store removes it with the store: a lock on a removed file
    /// would not be seen by others.
    pub(super) fn take(folder: &Folder) -> Result<Self, Error> {
        let path = folder.path().join(LOCK_NAME);
        let file = match folder.open_or_create(LOCK_NAME) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Busy { path });
            }
            file => file?,
        };
        match file.try_lock() {
            Ok(()) if os::is_removed(&file).is_ok_and(|is_removed| is_removed) => {
                Err(Error::Busy { path })
            }
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(Error::Busy { path }),
            Err(TryLockError::Error(source)) => {
                Err(Error::Io { path, action: "take the lock", source })
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If that fails, the lock ends when the last process closes the file.
        let _ = self.0.unlock();
    }
}
