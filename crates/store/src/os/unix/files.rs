//! Files by their paths and descriptors: kinds, numbers, renaming, durability, temporary files.

#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::{
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::{fs::FileType, io::Errno};

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

/// Renames a file or a folder. Fails if the new name is taken; an empty folder is replaced by a folder.
///
/// # Errors
/// Those of the system; of the kind [`io::ErrorKind::AlreadyExists`] if a file has the name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        return fs::rename(from, to);
    }
    match without_replacing(from, to) {
        // Some file systems cannot rename without replacing in one step.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
            ) =>
        {
            rename_claimed(from, to)
        }
        renamed => renamed,
    }
}

/// Same as [`rename_new`] for a file, in two steps: an empty file takes the name first.
fn rename_claimed(from: &Path, to: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(to)?;
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_file(to)))
}

/// Makes the content of a file or the names in a folder durable.
///
/// # Errors
/// Those of the system.
pub fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // On macOS this also empties the cache of the disk. A server may refuse that.
        Err(error)
            if Errno::from_io_error(&error).is_some_and(|error| REFUSED.contains(&error)) =>
        {
            Ok(rustix::fs::fsync(file)?)
        }
        synced => synced,
    }
}

/// Errors by which a file system says that it does not know a command.
const REFUSED: [Errno; 4] = [Errno::NOTSUP, Errno::OPNOTSUPP, Errno::INVAL, Errno::NOTTY];

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

/// Whether files at `path` are not to be mapped: all may be, because scans of mappings are guarded.
pub(crate) fn keep_away(_: &Path) -> bool {
    false
}

/// Makes folders that nobody but the user can look into.
pub fn make_private(folders: &mut tempfile::Builder<'_, '_>) {
    folders.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
}

/// A temporary file with a path that is valid while this lives. On Linux the file has no name, and the system removes
/// it even if the process is killed. On other systems it has one.
#[derive(Debug)]
pub struct SetAside {
    file: File,
    path: PathBuf,
    /// Its name, where it has one.
    #[cfg(not(target_os = "linux"))]
    name: tempfile::TempPath,
}

impl SetAside {
    /// Makes the file on the disk of `folder`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create_in(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            let file = tempfile::tempfile_in(folder)?;
            let path = Path::new("/proc/self/fd").join(file.as_raw_fd().to_string());
            Ok(Self { file, path })
        }
        // A path below /dev/fd would share the reading position of the open file.
        #[cfg(not(target_os = "linux"))]
        {
            let (file, name) = tempfile::NamedTempFile::new_in(folder)?.into_parts();
            Ok(Self { file, path: name.to_path_buf(), name })
        }
    }

    /// Returns the file to write into.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name that stays if the process is killed.
    pub fn left_name(&self) -> Option<&Path> {
        #[cfg(target_os = "linux")]
        return None;
        #[cfg(not(target_os = "linux"))]
        return Some(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn what_cannot_be_made_durable_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        sync(&file).unwrap();
        let (pipe, _writer) = io::pipe().unwrap();
        sync(&File::from(OwnedFd::from(pipe))).unwrap_err();
    }

    #[test]
    fn a_name_is_claimed_only_if_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to, taken] = ["from", "to", "taken"].map(|name| folder.path().join(name));
        fs::write(&from, "new").unwrap();
        fs::write(&taken, "old").unwrap();
        let refused = rename_claimed(&from, &taken).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&taken).unwrap(), b"old");
        rename_claimed(&from, &to).unwrap();
        assert_eq!((fs::read(&to).unwrap(), from.exists()), (b"new".to_vec(), false));
        // Nothing is left of a name that was claimed for a file that is gone.
        rename_claimed(&from, &from.with_extension("x")).unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
