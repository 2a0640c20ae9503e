//! A file of the store that is appended to.
//!
//! Its length counts only after a write has succeeded, so the next append begins at the same byte after one that
//! failed. The system is told to write early, at every multiple of 4 MiB: a write of bytes 4,000,000 to 9,000,000
//! starts the writing of the first 8 MiB (8,388,608 bytes).

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Error, Folder,
    checked::CheckedFile,
    disk::{Disk, write_all},
    error::io_error,
    os,
};

/// Whenever a file reaches a multiple of so many bytes, the system is told to begin writing them.
const WRITEBACK_BYTES: u64 = 4 << 20;

/// A file of the store that only grows.
#[derive(Debug)]
pub(crate) struct Growing {
    file: Arc<OpenFile>,
    len: u64,
}

/// A file of the store, open for any thread to write.
#[derive(Debug)]
pub(crate) struct OpenFile {
    disk: Arc<dyn Disk>,
    name: String,
    path: PathBuf,
    file: File,
    /// Held while bytes are written: the system lets one thread at a time write, and others would spin.
    writing: Mutex<()>,
}

impl Growing {
    /// A new file that begins with `start`. Nothing has its name yet.
    pub(crate) fn create(
        disk: &Arc<dyn Disk>,
        folder: &Folder,
        name: &str,
        start: &[u8],
    ) -> Result<Self, Error> {
        let file = disk.create(folder, name)?;
        let (name, path) = (name.to_owned(), folder.path().join(name));
        let mut growing = Self { file: OpenFile::new(disk, name, path, file), len: 0 };
        growing.append(start)?;
        Ok(growing)
    }

    /// Continues a file after its committed bytes.
    pub(crate) fn resume(disk: &Arc<dyn Disk>, checked: CheckedFile) -> Self {
        let CheckedFile { name, path, file, len, .. } = checked;
        Self { file: OpenFile::new(disk, name, path, file), len }
    }

    /// Cuts off the bytes after the committed ones.
    pub(crate) fn cut(&self) -> Result<(), Error> {
        let OpenFile { disk, path, file, .. } = &*self.file;
        let found = file.metadata().map_err(io_error(path, "read the length"))?.len();
        if found > self.len {
            let cut = disk.set_len(file, self.len);
            cut.map_err(io_error(path, "cut off uncommitted rows"))?;
        }
        Ok(())
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_at(bytes, self.len)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Fills `bytes` from offset `at`.
    pub(crate) fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        let OpenFile { path, file, .. } = &*self.file;
        os::read_exact_at(file, bytes, at).map_err(io_error(path, "read"))
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        let OpenFile { disk, path, file, .. } = &*self.file;
        disk.sync(file, path).map_err(io_error(path, "make the rows durable"))
    }

    /// The file itself: other threads write values at their places.
    pub(crate) fn file(&self) -> Arc<OpenFile> {
        Arc::clone(&self.file)
    }

    pub(crate) fn name(&self) -> &str {
        &self.file.name
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }
}

impl OpenFile {
    fn new(disk: &Arc<dyn Disk>, name: String, path: PathBuf, file: File) -> Arc<Self> {
        Arc::new(Self { disk: Arc::clone(disk), name, path, file, writing: Mutex::default() })
    }

    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        let Self { disk, path, file, writing, .. } = self;
        let written = {
            let _writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
            write_all(&**disk, file, bytes, at)
        };
        written.map_err(io_error(path, "write"))?;
        let end = at + bytes.len() as u64;
        let [begun, due] = [at, end].map(|byte| byte / WRITEBACK_BYTES * WRITEBACK_BYTES);
        if due > begun {
            disk.start_writeback(file, begun, due - begun);
        }
        Ok(())
    }
}
