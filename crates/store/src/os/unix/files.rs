//! Files, and what the system says of them.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
        },
    },
    path::{Path, PathBuf},
};

use rustix::fs::FileType;

use crate::os::entry::{EntryKind, without_replacing};

/// The unit in which the system counts the space of a file.
const SPACE_BYTES: u64 = 512;

pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(bytes, at)
}

/// Writes bytes at an offset, or some of them.
pub(crate) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    file.write_at(bytes, at)
}

/// Opens the file at `path` for reading. Does not wait for the other end of a pipe.
///
/// # Errors
/// Those of the system.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

pub(crate) fn kind_of(metadata: &Metadata) -> EntryKind {
    let of = metadata.file_type();
    match () {
        () if of.is_file() => EntryKind::FILE,
        () if of.is_dir() => EntryKind::FOLDER,
        () if of.is_symlink() => EntryKind::LINK,
        () if of.is_fifo() => EntryKind::PIPE,
        () if of.is_socket() => EntryKind::SOCKET,
        () if of.is_char_device() || of.is_block_device() => EntryKind::DEVICE,
        () => EntryKind::OTHER,
    }
}

pub(super) fn kind_of_mode(found: FileType) -> EntryKind {
    match found {
        FileType::RegularFile => EntryKind::FILE,
        FileType::Directory => EntryKind::FOLDER,
        FileType::Symlink => EntryKind::LINK,
        FileType::Fifo => EntryKind::PIPE,
        FileType::Socket => EntryKind::SOCKET,
        FileType::CharacterDevice | FileType::BlockDevice => EntryKind::DEVICE,
        FileType::Unknown => EntryKind::OTHER,
    }
}

/// Returns the number of a file in its file system.
pub(crate) fn inode(_: &File, metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// Same as [`inode`], for a path.
pub(crate) fn inode_of_path(_: &Path, metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// Returns when a file was changed, in nanoseconds since 1970.
pub fn mtime_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

/// Whether two paths lead to the same file. Neither is opened: a pipe would be waited for.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    id(one).is_some_and(|found| id(other) == Some(found))
}

/// Whether nothing has the name of an open file any more.
///
/// # Errors
/// Those of the system.
pub fn is_removed(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}

/// Returns the bytes that a file takes on its disk.
pub fn disk_bytes(metadata: &Metadata) -> u64 {
    metadata.blocks() * SPACE_BYTES
}

/// Returns the bytes by which a store names a path: those that it has.
pub fn name_of_path(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// Returns the path that a store names by these bytes; `None` if it can be none.
pub fn path_of_name(name: Vec<u8>) -> Option<PathBuf> {
    Some(OsString::from_vec(name).into())
}

/// Gives a file or a folder another name, and replaces the file that has it.
///
/// # Errors
/// Those of the system.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Gives a file or a folder a name that nothing has; an empty folder may have that of a folder.
///
/// # Errors
/// Those of the system; of the kind [`io::ErrorKind::AlreadyExists`] if a file has the name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() { fs::rename(from, to) } else { without_replacing(from, to) }
}

/// Cuts a file to `len` bytes.
pub(crate) fn cut(file: &File, len: u64) -> io::Result<()> {
    file.set_len(len)
}

/// Whether the system refused because another program has the file open or mapped: it never does.
pub(crate) fn is_in_use(_: &io::Error) -> bool {
    false
}

/// Whether a file can be removed while it is mapped; the mapping stays valid.
pub const REMOVES_MAPPED: bool = true;

/// Whether files at `path` are not to be mapped: a guard stands by all mappings.
pub(crate) fn keep_away(_: &Path) -> bool {
    false
}

/// A temporary file without a name, which a path leads to while this lives. Nothing is left of it, however the process
/// ends.
#[derive(Debug)]
pub struct SetAside {
    file: File,
    path: PathBuf,
}

impl SetAside {
    /// Makes the file on the disk of `folder`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create_in(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        // A container may have no /dev/fd.
        let open_files = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
        let path = Path::new(open_files).join(file.as_raw_fd().to_string());
        Ok(Self { file, path })
    }

    /// Returns the file to write into.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
