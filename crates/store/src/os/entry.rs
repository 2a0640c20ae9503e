//! An entry of a folder, and how it is opened: the same on all systems.

use std::{io, path::Path, time::SystemTime};

use tempfile::TempPath;

/// The kind of an entry of a folder, as messages name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryKind(pub &'static str);

impl EntryKind {
    pub(crate) const FILE: Self = Self("a file");
    pub(crate) const FOLDER: Self = Self("a folder");
    pub(crate) const LINK: Self = Self("a symbolic link");
    #[cfg(unix)]
    pub(crate) const PIPE: Self = Self("a pipe");
    #[cfg(unix)]
    pub(crate) const SOCKET: Self = Self("a socket");
    #[cfg(unix)]
    pub(crate) const DEVICE: Self = Self("a device");
    pub(crate) const OTHER: Self = Self("no file");
}

/// An entry of a folder.
pub(crate) struct DirEntry {
    pub name: String,
    pub kind: EntryKind,
    pub len: u64,
    pub modified: SystemTime,
}

/// How an entry of a folder is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    /// A file or a folder, to read.
    Read,
    /// A file, to read and write.
    Write,
    /// The same, and it is made if it is not there.
    OrCreate,
    /// A file that is made; nothing must have its name.
    New,
}

/// Renames a file; fails if the new name is taken. On Windows folders can be renamed so, too.
pub(super) fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|mut failed| {
        // It stays where it is.
        failed.path.disable_cleanup(true);
        failed.error
    })
}
