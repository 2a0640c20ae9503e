//! Files by their paths and handles: kinds, numbers, renaming, durability, temporary files.
//!
//! Windows refuses to replace or remove a file that another program has open or mapped, so renaming is tried again for
//! a second.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::windows::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Component, Path, PathBuf, Prefix},
    thread,
    time::{Duration, Instant},
};

use tempfile::NamedTempFile;

use crate::os::entry::{EntryKind, without_replacing};

/// `FILE_FLAG_BACKUP_SEMANTICS`: a folder can be opened, too.
pub(super) const OPEN_FOLDERS: u32 = 0x0200_0000;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: of a link the link itself is opened.
pub(super) const OPEN_LINKS: u32 = 0x0020_0000;
/// `FILE_FLAG_DELETE_ON_CLOSE`: the system removes the file with its last handle, however the process ends.
const DELETE_ON_CLOSE: u32 = 0x0400_0000;

/// `ERROR_ACCESS_DENIED`, also for a file that another process has open.
const ACCESS_DENIED: i32 = 5;
/// `ERROR_SHARING_VIOLATION`.
const SHARING_VIOLATION: i32 = 32;
/// `ERROR_USER_MAPPED_FILE`.
const MAPPED: i32 = 1224;

/// The time in which a file that is read by others is expected to be free.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// 100 ns between 1601, where the times of files begin, and 1970.
const TICKS_TO_1970: i64 = 116_444_736_000_000_000;

pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    file.seek_read(bytes, at)
}

/// Writes bytes at an offset, or some of them.
pub(crate) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    file.seek_write(bytes, at)
}

/// Opens the file at `path` for reading; a folder can be opened, too.
///
/// # Errors
/// Those of the system.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OPEN_FOLDERS).open(path)
}

pub(crate) fn kind_of(metadata: &Metadata) -> EntryKind {
    let of = metadata.file_type();
    match () {
        () if of.is_symlink() => EntryKind::LINK,
        () if of.is_file() => EntryKind::FILE,
        () if of.is_dir() => EntryKind::FOLDER,
        () => EntryKind::OTHER,
    }
}

/// `FILE_ATTRIBUTE_REPARSE_POINT`.
const REPARSE_POINT: u32 = 0x400;

/// Whether a driver of the system supplies the content of a file that is no link: it is deduplicated, or kept in a
/// cloud.
pub(super) fn has_content_elsewhere(metadata: &Metadata) -> bool {
    metadata.file_attributes() & REPARSE_POINT != 0
}

/// Returns the full path of what is there, links resolved, with the prefix `\\?\`.
pub(super) fn full(path: &Path) -> io::Result<PathBuf> {
    // Wine cannot resolve long paths: they are made absolute there.
    fs::canonicalize(path).or_else(|_| std::path::absolute(path))
}

/// Whether two handles are of one file; `false` if the file system does not say.
pub(super) fn are_same_files(one: &File, other: &File) -> bool {
    id(one).is_some_and(|found| found.1 != 0 && id(other) == Some(found))
}

/// Returns the number of the file system of a file, and that of the file in it.
fn id(file: &File) -> Option<(u64, u64)> {
    let facts = winapi_util::file::information(file).ok()?;
    Some((facts.volume_serial_number(), facts.file_index()))
}

/// Returns the number of a file in its file system, or 0 if that has none.
pub(crate) fn inode(file: &File, _: &Metadata) -> u64 {
    id(file).map_or(0, |(_, number)| number)
}

/// Same as [`inode`], for a path.
pub(crate) fn inode_of_path(path: &Path, metadata: &Metadata) -> u64 {
    open_for_facts(path).map_or(0, |file| inode(&file, metadata))
}

/// Opens a file for nothing but its facts, which no other program can forbid.
fn open_for_facts(path: &Path) -> io::Result<File> {
    OpenOptions::new().access_mode(0).custom_flags(OPEN_FOLDERS).open(path)
}

/// Returns when a file was changed, in nanoseconds since 1970.
pub fn mtime_ns(metadata: &Metadata) -> i64 {
    let ticks = i64::try_from(metadata.last_write_time()).unwrap_or(i64::MAX);
    ticks.saturating_sub(TICKS_TO_1970).saturating_mul(100)
}

/// Whether two paths lead to the same file. Neither is opened for more than its facts.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let of = |path: &Path| id(&open_for_facts(path).ok()?);
    of(one).is_some_and(|found| of(other) == Some(found))
}

/// Whether nothing has the name of an open file any more.
///
/// # Errors
/// Those of the system.
pub fn is_removed(file: &File) -> io::Result<bool> {
    Ok(winapi_util::file::information(file)?.number_of_links() == 0)
}

/// Returns the bytes that a file takes on its disk.
pub fn disk_bytes(metadata: &Metadata) -> u64 {
    if metadata.is_file() { metadata.len() } else { 0 }
}

/// Returns the bytes by which a store names a path: UTF-8, with `/` between folders, as on other systems. A path with
/// the prefix `\\?\` stays as it is, because `/` is no separator there.
pub fn name_of_path(path: &Path) -> Vec<u8> {
    let name = path.as_os_str().as_encoded_bytes().to_vec();
    if name.starts_with(br"\\?\") {
        return name;
    }
    name.into_iter().map(|byte| if byte == b'\\' { b'/' } else { byte }).collect()
}

/// Returns the path that a store names by these bytes. Returns `None` for bytes that are no path, and for a path to a
/// device or a server: the store may come from somebody else, and Windows would log the user in at that server.
pub fn path_of_name(name: Vec<u8>) -> Option<PathBuf> {
    let path = PathBuf::from(String::from_utf8(name).ok()?);
    let is_on_disk = prefix(&path)
        .is_none_or(|prefix| matches!(prefix, Prefix::Disk(_) | Prefix::VerbatimDisk(_)));
    let is_device = std::path::absolute(&path).is_ok_and(|path| is_device(&path));
    (is_on_disk && !is_device).then_some(path)
}

fn prefix(path: &Path) -> Option<Prefix<'_>> {
    match path.components().next() {
        Some(Component::Prefix(prefix)) => Some(prefix.kind()),
        _ => None,
    }
}

/// Whether an absolute path leads to a device: on older versions of Windows also one that ends with a name like `COM1`.
fn is_device(path: &Path) -> bool {
    matches!(prefix(path), Some(Prefix::DeviceNS(_)))
}

/// Whether the system refused because another program has the file open or mapped. A missing permission looks the same.
pub(crate) fn is_in_use(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | MAPPED))
}

/// Gives a file or a folder another name, and replaces the file that has it. A file that others are reading cannot be
/// replaced at once: it is tried again for a second. Folders are tried once. The new name of a file is durable.
///
/// # Errors
/// Those of the system.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let rename = || fs::rename(from, to);
    if from.is_dir() || to.is_dir() {
        return rename();
    }
    with_patience(rename)?;
    make_name_durable(to)
}

/// Writes the name of a file in the journal of the disk: the system does so with the content of the file.
fn make_name_durable(path: &Path) -> io::Result<()> {
    with_patience(|| sync(&OpenOptions::new().write(true).open(path)?))
}

/// Makes the content and the name of a file durable.
///
/// # Errors
/// Those of the system.
pub fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Renames a file or a folder. Fails if the new name is taken. Is tried again for a second, and is durable, as
/// [`rename`].
///
/// # Errors
/// Those of the system; of the kind [`io::ErrorKind::AlreadyExists`] if something has the name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    // The name as the system reads it: without dots and blanks at its end.
    let to = std::path::absolute(to)?;
    let (Some(folder), Some(name), false) = (to.parent(), to.file_name(), is_device(&to)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Full paths with the prefix `\\?\` may be long.
    let (from, to) = (full(from)?, full(folder)?.join(name));
    with_patience(|| without_replacing(&from, &to))?;
    if to.is_dir() { Ok(()) } else { make_name_durable(&to) }
}

/// Repeats for a second what the system refuses because another program has the file open.
fn with_patience(act: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match act() {
            Err(error) if is_in_use(&error) && begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            done => return done,
        }
    }
}

/// Cuts a file to `len` bytes. A file that another process has mapped keeps its length.
pub(crate) fn cut(file: &File, len: u64) -> io::Result<()> {
    match file.set_len(len) {
        Err(error) if error.raw_os_error() == Some(MAPPED) => Ok(()),
        cut => cut,
    }
}

/// Whether a file can be removed while it is mapped.
pub const REMOVES_MAPPED: bool = false;

/// Whether files at `path` are not to be mapped: they lie on a network drive, and a page that the server does not give
/// would end the process.
pub(crate) fn keep_away(path: &Path) -> bool {
    let full = fs::canonicalize(path).ok();
    let prefix = full.as_deref().and_then(prefix);
    matches!(prefix, Some(Prefix::VerbatimUNC(..) | Prefix::UNC(..)))
}

/// A hint that this system does not take.
pub fn start_writing(_: &File, _: u64, _: u64) {}

/// A hint that this system does not take.
pub fn will_need<T: bytemuck::Pod>(_: &[T]) {}

/// Makes folders that nobody but the user can look into: those in the folder of a user are.
pub fn make_private(_: &mut tempfile::Builder<'_, '_>) {}

/// A temporary file, which the system removes when this is dropped or the process ends.
#[derive(Debug)]
pub struct SetAside(NamedTempFile);

impl SetAside {
    /// Makes the file on the disk of `folder`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create_in(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).custom_flags(DELETE_ON_CLOSE);
        tempfile::Builder::new().make_in(folder, |path| options.open(path)).map(Self)
    }

    /// Returns the file to write into.
    pub fn file(&mut self) -> &mut File {
        self.0.as_file_mut()
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the name that stays if the process is killed: none.
    pub fn left_name(&self) -> Option<&Path> {
        None
    }
}
