//! A folder of plain files, opened once.
//!
//! A store may come from somebody else, or lie where others can write. So its files are looked up from
//! the folder's descriptor and by their own names, links are not followed, and only what is a plain file
//! is used: a pipe would be waited for, a link would lead out of the folder.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::{Errno, retry_on_intr},
};

use crate::{Error, error::io_error};

/// A folder whose files are opened by their names, without following links.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: File,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; bytes that are not UTF-8 are replaced in it.
    pub name: String,
    /// Its kind, as messages name it: `a file`, `a folder`, `a symbolic link`.
    pub kind: &'static str,
    /// Length in bytes.
    pub len: u64,
    /// When it was changed.
    pub modified: SystemTime,
}

/// The kind of an [`Entry`] that is a plain file.
const FILE: &str = "a file";
/// The kind of an [`Entry`] that is a folder.
const FOLDER: &str = "a folder";
/// A name that exists is drawn again at most so often.
const DRAWS_MAX: usize = 16;

impl Entry {
    /// Whether it is a plain file, and no link to one.
    pub fn is_file(&self) -> bool {
        self.kind == FILE
    }

    /// Whether it is a folder, and no link to one.
    pub fn is_folder(&self) -> bool {
        self.kind == FOLDER
    }
}

impl Folder {
    /// Opens the folder at `path`, which may be a link: a person named it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()));
        let handle = handle.map_err(|e| io_error(path, "open this folder")(e.into()))?;
        Ok(Self { path: path.into(), handle: handle.into() })
    }

    /// Opens the folder at `path`; `None` if nothing is there.
    pub(crate) fn open_if_there(path: &Path) -> Result<Option<Self>, Error> {
        match Self::open(path) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Opens a folder inside it.
    ///
    /// # Errors
    /// [`Error::NotPlain`] for links and files, [`Error::Io`].
    pub fn open_folder(&self, name: &str) -> Result<Self, Error> {
        let handle = self.open_as(name, OFlags::RDONLY | OFlags::DIRECTORY, FOLDER, "open")?;
        Ok(Self { path: self.path.join(name), handle })
    }

    /// Opens a folder inside it, which is made if it is not there.
    ///
    /// # Errors
    /// As [`Folder::open_folder`].
    pub fn make_folder(&self, name: &str) -> Result<Self, Error> {
        let mode = Mode::from_raw_mode(0o777);
        match retry_on_intr(|| rustix::fs::mkdirat(&self.handle, name, mode)) {
            Ok(()) | Err(Errno::EXIST) => self.open_folder(name),
            Err(e) => Err(io_error(&self.path.join(name), "make this folder")(e.into())),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn handle(&self) -> &File {
        &self.handle
    }

    /// Opens a file for reading. Never waits, whatever stands under the name.
    ///
    /// # Errors
    /// [`Error::NotPlain`] for everything but a plain file, [`Error::Io`].
    pub fn open_file(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, OFlags::RDONLY, FILE, "open the file")
    }

    /// Opens a file for reading and writing.
    pub(crate) fn open_to_write(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, OFlags::RDWR, FILE, "open the file")
    }

    /// Opens a file for reading and writing, which is made if it is not there.
    pub(crate) fn open_or_create(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, OFlags::RDWR | OFlags::CREATE, FILE, "open the file")
    }

    /// Makes a file of a name that nothing has.
    pub(crate) fn create_file(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, FILE, "create this file")
    }

    /// The bytes of a file, of which there are at most `len_max`.
    ///
    /// # Errors
    /// As [`Folder::open_file`].
    pub fn read(&self, name: &str, len_max: u64) -> Result<Vec<u8>, Error> {
        let file = self.open_file(name)?;
        read_whole(&file, len_max).map_err(io_error(&self.path.join(name), "read the file"))
    }

    /// Replaces the file of this name by one of these bytes, so that readers find the old or the
    /// new. The bytes are written under a name that nobody can guess, which ends with `unfinished`, and not
    /// made durable.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn replace(&self, name: &str, unfinished: &str, bytes: &[u8]) -> Result<(), Error> {
        let (fresh, mut file) = self.create_unguessed(unfinished)?;
        let written = file.write_all(bytes).map_err(io_error(&self.path.join(&fresh), "write"));
        let renamed = written.and_then(|()| self.rename(&fresh, name));
        if renamed.is_err() {
            // A file that stays is removed with those of other processes.
            drop(self.remove(&fresh));
        }
        renamed
    }

    /// Makes a file under 32 random hexadecimal digits and `end`.
    fn create_unguessed(&self, end: &str) -> Result<(String, File), Error> {
        let mut draws = 0;
        loop {
            draws += 1;
            let drawn = u128::from_ne_bytes(random_bytes(&self.path)?);
            let name = format!("{drawn:032x}{end}");
            match self.create_file(&name) {
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists && draws < DRAWS_MAX => {}
                created => return Ok((name, created?)),
            }
        }
    }

    /// Gives a file another name, and replaces the file that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        retry_on_intr(|| rustix::fs::renameat(&self.handle, from, &self.handle, to))
            .map_err(|e| io_error(&self.path.join(to), "replace this file")(e.into()))
    }

    /// Removes a file, or a link without what it leads to.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        retry_on_intr(|| rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()))
            .map_err(|e| io_error(&self.path.join(name), "remove this file")(e.into()))
    }

    /// Lists the entries whose names are wanted, in no order.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn entries(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Entry>, Error> {
        let failed = |e: Errno| io_error(&self.path, "list the folder")(e.into());
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if matches!(&*shown, "." | "..") || !is_wanted(&shown) {
                continue;
            }
            let stat = match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                // Another process has removed it.
                Err(Errno::NOENT) => continue,
                stat => stat.map_err(failed)?,
            };
            let seconds = stat.st_mtime.try_into().unwrap_or(0);
            let changed = Duration::new(seconds, stat.st_mtime_nsec.try_into().unwrap_or(0));
            entries.push(Entry {
                name: shown.into_owned(),
                kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
                len: stat.st_size.try_into().unwrap_or(0),
                modified: SystemTime::UNIX_EPOCH + changed,
            });
        }
        Ok(entries)
    }

    /// Bytes that are free on its disk; `None` if the system does not say.
    pub fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::fstatvfs(&self.handle).ok()?;
        // A file system without a limit says that it has no blocks at all.
        (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Opens the entry of this name, if it is of this kind. The kind is checked after the opening, since the
    /// entry can be replaced before.
    fn open_as(
        &self,
        name: &str,
        flags: OFlags,
        kind: &'static str,
        action: &'static str,
    ) -> Result<File, Error> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let opened = retry_on_intr(|| rustix::fs::openat(&self.handle, name, flags, mode));
        let found = match &opened {
            Ok(file) => rustix::fs::fstat(file),
            Err(Errno::NOENT) => Err(Errno::NOENT),
            Err(_) => rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW),
        };
        let path = || self.path.join(name);
        if let Ok(found) = found {
            let found = kind_of(FileType::from_raw_mode(found.st_mode));
            if found != kind {
                return Err(Error::NotPlain { path: path(), found, expected: kind });
            }
        }
        opened.map(File::from).map_err(|e| io_error(&path(), action)(e.into()))
    }
}

/// The bytes of the file at `path`, of which there are at most `len_max`. A link is followed, and what is no
/// plain file is not waited for.
///
/// # Errors
/// Of the kind [`io::ErrorKind::InvalidInput`] for what is no plain file, or too long.
pub fn read_side_file(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    let nonblock = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    read_whole(&OpenOptions::new().read(true).custom_flags(nonblock).open(path)?, len_max)
}

fn read_whole(file: &File, len_max: u64) -> io::Result<Vec<u8>> {
    let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let stat = rustix::fs::fstat(file)?;
    let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
    if kind != FILE {
        return refused(format!("{kind}, where a file should be"));
    }
    let mut bytes = Vec::new();
    file.take(len_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > len_max {
        return refused(format!("{} bytes, and {len_max} are taken at most", stat.st_size));
    }
    Ok(bytes)
}

/// 16 bytes from the system.
pub(crate) fn random_bytes(folder: &Path) -> Result<[u8; 16], Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| io_error(folder, "draw random bytes for it")(e.into()))?;
    Ok(bytes)
}

fn kind_of(found: FileType) -> &'static str {
    match found {
        FileType::RegularFile => FILE,
        FileType::Directory => FOLDER,
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "no file",
    }
}
