//! A folder of plain files, opened once.
//!
//! A store may come from somebody else, or lie where others can write. So its files are looked up from the folder's
//! descriptor and by their own names, links are not followed, and only plain files are used: a pipe would be waited
//! for, a link would lead out of the folder.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    Error,
    error::io_error,
    os::{self, Dir, DirEntry, EntryKind, Open},
};

/// A folder whose files are opened by their names, without following links.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    dir: Dir,
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

/// How many random names are tried before a name that exists is an error.
const DRAWS_MAX: usize = 16;

impl Entry {
    /// Whether it is a plain file, and no link to one.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::FILE.0
    }

    /// Whether it is a folder, and no link to one.
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::FOLDER.0
    }
}

impl Folder {
    /// Opens the folder at `path`, which may be a link: a person named it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let dir = Dir::open(path).map_err(io_error(path, "open this folder"))?;
        Ok(Self { path: path.into(), dir })
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
        let path = self.path.join(name);
        match self.dir.open_folder(name) {
            Ok(dir) => Ok(Self { path, dir }),
            Err(error) => Err(self.not_opened(name, EntryKind::FOLDER, "open", error)),
        }
    }

    /// Opens a folder inside it, which is made if it is not there.
    ///
    /// # Errors
    /// As [`Folder::open_folder`].
    pub fn make_folder(&self, name: &str) -> Result<Self, Error> {
        match self.dir.make_folder(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(io_error(&self.path.join(name), "make this folder")(error))
            }
            _ => self.open_folder(name),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the names in it durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.dir.sync()
    }

    /// Opens a file for reading. Never waits, whatever stands under the name.
    ///
    /// # Errors
    /// [`Error::NotPlain`] for everything but a plain file, [`Error::Io`].
    pub fn open_file(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, Open::Read, "open the file")
    }

    /// Opens a file for reading and writing.
    pub(crate) fn open_to_write(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, Open::Write, "open the file")
    }

    /// Opens a file for reading and writing, which is made if it is not there.
    pub(crate) fn open_or_create(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, Open::OrCreate, "open the file")
    }

    /// Makes a file of a name that nothing has.
    pub(crate) fn create_file(&self, name: &str) -> Result<File, Error> {
        self.open_as(name, Open::New, "create this file")
    }

    /// The bytes of a file, of which there are at most `len_max`.
    ///
    /// # Errors
    /// As [`Folder::open_file`].
    pub fn read(&self, name: &str, len_max: u64) -> Result<Vec<u8>, Error> {
        let file = self.open_file(name)?;
        read_whole(&file, len_max).map_err(io_error(&self.path.join(name), "read the file"))
    }

    /// Replaces the file of this name by one of these bytes, so that readers find the old or the new. The bytes are
    /// written under a random name that ends with `unfinished`, and are not made durable.
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
            let name = self.unguessed_name(end)?;
            match self.create_file(&name) {
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists && draws < DRAWS_MAX => {}
                created => return Ok((name, created?)),
            }
        }
    }

    /// Gives a file another name, and replaces the file that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.dir.rename(from, to).map_err(io_error(&self.path.join(to), "replace this file"))
    }

    /// Removes a file, or a link without what it leads to.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.dir.remove(name).map_err(io_error(&self.path.join(name), "remove this file"))
    }

    /// Removes a folder with all that is in it. Links are removed, not followed.
    pub(crate) fn remove_folder(&self, name: &str) -> Result<(), Error> {
        let folder = self.open_folder(name)?;
        for entry in folder.entries(|_| true)? {
            if entry.is_folder() {
                folder.remove_folder(&entry.name)?;
            } else {
                folder.remove(&entry.name)?;
            }
        }
        // On Windows an open folder cannot be removed.
        drop(folder);
        let removed = self.dir.remove_folder(name);
        removed.map_err(io_error(&self.path.join(name), "remove this folder"))
    }

    /// Returns 32 random hexadecimal digits and `end`. Nobody can guess such a name and put a file there before.
    pub(crate) fn unguessed_name(&self, end: &str) -> Result<String, Error> {
        let drawn = u128::from_ne_bytes(random_bytes(&self.path)?);
        Ok(format!("{drawn:032x}{end}"))
    }

    /// Lists the entries whose names are wanted, in no order.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn entries(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Entry>, Error> {
        let entries = self.dir.entries(&is_wanted);
        let entries = entries.map_err(io_error(&self.path, "list the folder"))?;
        let of = |DirEntry { name, kind: EntryKind(kind), len, modified }| Entry {
            name,
            kind,
            len,
            modified,
        };
        Ok(entries.into_iter().map(of).collect())
    }

    /// Bytes that are free on its disk; `None` if the system does not say.
    pub fn free_bytes(&self) -> Option<u64> {
        self.dir.free_bytes()
    }

    /// Opens the entry of this name, if it is a plain file. That is checked after the opening, since the entry can be
    /// replaced before.
    fn open_as(&self, name: &str, how: Open, action: &'static str) -> Result<File, Error> {
        let file = self.dir.open_entry(name, how);
        let file = file.map_err(|error| self.not_opened(name, EntryKind::FILE, action, error))?;
        match os::kind_of(&file) {
            Ok(kind) if kind != EntryKind::FILE => Err(self.not_plain(name, kind, EntryKind::FILE)),
            _ => Ok(file),
        }
    }

    /// Returns the error for an entry that could not be opened: it may be of another kind.
    fn not_opened(
        &self,
        name: &str,
        expected: EntryKind,
        action: &'static str,
        error: io::Error,
    ) -> Error {
        match self.dir.kind_of(name) {
            Ok(found) if found != expected && error.kind() != io::ErrorKind::NotFound => {
                self.not_plain(name, found, expected)
            }
            _ => io_error(&self.path.join(name), action)(error),
        }
    }

    fn not_plain(
        &self,
        name: &str,
        EntryKind(found): EntryKind,
        EntryKind(expected): EntryKind,
    ) -> Error {
        Error::NotPlain { path: self.path.join(name), found, expected }
    }
}

/// The bytes of the file at `path`, of which there are at most `len_max`. A link is followed, and what is no
/// plain file is not waited for.
///
/// # Errors
/// Of the kind [`io::ErrorKind::InvalidInput`] for what is no plain file, or too long.
pub fn read_side_file(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    read_whole(&os::open_at_once(path)?, len_max)
}

fn read_whole(file: &File, len_max: u64) -> io::Result<Vec<u8>> {
    let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let kind = os::kind_of(file)?;
    if kind != EntryKind::FILE {
        return refused(format!("{}, where a file should be", kind.0));
    }
    let mut bytes = Vec::new();
    file.take(len_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > len_max {
        let len = file.metadata()?.len();
        return refused(format!("{len} bytes, and {len_max} are taken at most"));
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
