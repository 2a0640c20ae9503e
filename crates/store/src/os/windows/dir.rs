//! A folder by its full path: names in it are not changed by the system, and links are not followed. Its handle is
//! held, so that nobody can rename or remove it, or a folder above it, meanwhile.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::windows::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::os::{
    DirEntry, EntryKind, Open,
    windows::files::{
        OPEN_FOLDERS, OPEN_LINKS, are_same_files, full, has_content_elsewhere, kind_of, rename,
    },
};

/// `FILE_SHARE_READ`.
const SHARE_READ: u32 = 1;
/// `FILE_SHARE_WRITE`.
const SHARE_WRITE: u32 = 2;

/// A folder that was opened.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
    #[expect(dead_code, reason = "held, not read")]
    handle: File,
}

impl Dir {
    /// Opens the folder at `path`, which may be a link. The full path has the prefix `\\?\`: it may be long, and no
    /// name after it means a device.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::of_full(full(path)?)
    }

    /// Opens the folder at a full path that leads over no link.
    fn of_full(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Others may use the folder, but neither rename nor remove it.
        options.read(true).share_mode(SHARE_READ | SHARE_WRITE);
        let handle = options.custom_flags(OPEN_FOLDERS | OPEN_LINKS).open(&path)?;
        if kind_of(&handle.metadata()?) == EntryKind::FOLDER {
            Ok(Self { path, handle })
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Opens a folder inside it, which is no link.
    pub(crate) fn open_folder(&self, name: &str) -> io::Result<Self> {
        Self::of_full(self.path.join(name))
    }

    /// Opens an entry. Of a link the link itself is opened, and refused.
    pub(crate) fn open_entry(&self, name: &str, how: Open) -> io::Result<File> {
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(how != Open::Read).truncate(false);
        options.create(how == Open::OrCreate).create_new(how == Open::New);
        // A folder can be opened to be read only, as on other systems.
        let folders = if how == Open::Read { OPEN_FOLDERS } else { 0 };
        let file = options.custom_flags(OPEN_LINKS | folders).open(&path)?;
        let metadata = file.metadata()?;
        if kind_of(&metadata) == EntryKind::LINK {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if !has_content_elsewhere(&metadata) {
            return Ok(file);
        }
        // Opened again without the flag for links, the driver supplies the content.
        options.create(false).create_new(false);
        let filtered = options.custom_flags(folders).open(&path)?;
        if are_same_files(&filtered, &file) {
            Ok(filtered)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Makes a folder inside it.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<()> {
        fs::create_dir(self.path.join(name))
    }

    /// Returns what an entry is, without following a link.
    pub(crate) fn kind_of(&self, name: &str) -> io::Result<EntryKind> {
        fs::symlink_metadata(self.path.join(name)).map(|metadata| kind_of(&metadata))
    }

    /// Gives a file another name, and replaces the file that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        rename(&self.path.join(from), &self.path.join(to))
    }

    /// Removes a file, or a link without what it leads to.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            // A link to a folder is a folder here.
            Err(_) if self.kind_of(name)? == EntryKind::LINK => fs::remove_dir(path),
            removed => removed,
        }
    }

    /// Removes an empty folder inside it.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    /// Lists the entries whose names are wanted, in no order.
    pub(crate) fn entries(&self, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !is_wanted(&name) {
                continue;
            }
            // Lengths in the list of a folder are those of the last closing.
            let metadata = match fs::symlink_metadata(entry.path()) {
                // Another process has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let (kind, len) = (kind_of(&metadata), metadata.len());
            entries.push(DirEntry { name, kind, len, modified });
        }
        Ok(entries)
    }

    /// Makes the names in it durable. Here that is done for each file, by [`sync`](super::files::sync) and
    /// [`rename`].
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other systems need both")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the bytes that are free on its disk; `None` if the system does not say.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        fs4::available_space(&self.path).ok()
    }
}

/// Does nothing, as [`Dir::sync`].
///
/// # Errors
/// None.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
