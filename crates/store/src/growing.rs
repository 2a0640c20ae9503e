//! A file of the store that is appended to.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Error, Folder,
    checked::CheckedFile,
    disk::{Disk, write_all},
    error::io_error,
};

/// Bytes after which the system is told to begin writing them.
const WRITEBACK_BYTES: u64 = 4 << 20;

/// A file of the store that only grows.
#[derive(Debug)]
pub(crate) struct Growing {
    disk: Arc<dyn Disk>,
    name: String,
    path: PathBuf,
    file: File,
    len: u64,
    /// Up to here the system was told to begin writing.
    begun: u64,
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
        let mut growing = Self { disk: Arc::clone(disk), name, path, file, len: 0, begun: 0 };
        growing.append(start)?;
        Ok(growing)
    }

    /// Continues a file after its committed bytes.
    pub(crate) fn resume(disk: &Arc<dyn Disk>, checked: CheckedFile) -> Self {
        let CheckedFile { name, path, file, len, .. } = checked;
        Self { disk: Arc::clone(disk), name, path, file, len, begun: len }
    }

    /// Cuts off the bytes after the committed ones.
    pub(crate) fn cut(&self) -> Result<(), Error> {
        let found = self.file.metadata().map_err(io_error(&self.path, "read the length"))?.len();
        if found > self.len {
            let cut = self.disk.set_len(&self.file, self.len);
            cut.map_err(io_error(&self.path, "cut off uncommitted rows"))?;
        }
        Ok(())
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        write_all(&*self.disk, &self.file, bytes, self.len)
            .map_err(io_error(&self.path, "write"))?;
        self.len += bytes.len() as u64;
        if self.len - self.begun >= WRITEBACK_BYTES {
            self.disk.start_writeback(&self.file, self.begun, self.len - self.begun);
            self.begun = self.len;
        }
        Ok(())
    }

    /// Fills `bytes` from offset `at`.
    pub(crate) fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), Error> {
        self.file.read_exact_at(bytes, at).map_err(io_error(&self.path, "read"))
    }

    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.disk.sync(&self.file).map_err(io_error(&self.path, "make the rows durable"))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
