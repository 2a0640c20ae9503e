//! Removing a whole store that lies inside of another one, such as a view.

use super::lock::Lock;
use crate::{Error, Folder, os};

/// The end of the name of a folder that is being removed; 32 random hexadecimal digits come before it.
const REMOVED: &str = ".removed";

/// Removes the store `name` in `around`, with all that is in its folder. Returns `false`, and removes nothing, while a
/// writer is at work. The folder gets another name first, so that nobody finds a part of a store; readers that have
/// opened its files go on. On Windows it is not removed while they do.
///
/// # Errors
/// [`Error::NotPlain`] if that is no folder, [`Error::Io`].
pub fn remove_store(around: &Folder, name: &str) -> Result<bool, Error> {
    let folder = around.open_folder(name)?;
    let lock = match Lock::take(&folder) {
        Err(Error::Busy { .. }) => return Ok(false),
        lock => lock?,
    };
    // On Windows a folder cannot be renamed while it or a file in it is open. That also protects a writer that opens a
    // file in it after the lock is released.
    drop(folder);
    let _lock = os::REMOVES_MAPPED.then_some(lock);
    let removed = around.unguessed_name(REMOVED)?;
    match around.rename(name, &removed) {
        Err(Error::Io { source, .. }) if os::is_in_use(&source) => return Ok(false),
        renamed => renamed?,
    }
    around.remove_folder(&removed)?;
    Ok(true)
}
