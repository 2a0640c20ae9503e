//! A file that appears complete or not at all.
//!
//! Its content is durable before the file gets its name, so a power loss never leaves the name with a part of it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use tagq_store::os;
use tempfile::NamedTempFile;

use crate::{
    destination::Destination, destination::folder_of, error::Error, progress::Progress, unfinished,
};

/// An unfinished file: written next to its target, and renamed when it is complete and durable. If it
/// is dropped before that, nothing is left of it.
#[derive(Debug)]
pub struct NewFile {
    fresh: NamedTempFile,
    out: PathBuf,
    force: bool,
}

impl NewFile {
    /// Starts the file that will be at its destination.
    ///
    /// # Errors
    /// Same as [`Destination::check`]; [`Error::Io`].
    pub fn create(to: &Destination<'_>, progress: &dyn Progress) -> Result<Self, Error> {
        to.check()?;
        unfinished::remove_abandoned(folder_of(to.path));
        Self::create_beside_others(to, progress)
    }

    /// Same as [`NewFile::create`], but leaves unfinished files of killed processes: on another computer a lock may
    /// not be seen, and the file may be one that is being written.
    ///
    /// # Errors
    /// Same as [`NewFile::create`].
    pub fn create_beside_others(
        to: &Destination<'_>,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        to.check()?;
        let fresh = unfinished::file_in(folder_of(to.path))
            .map_err(io_error(to.path, "write beside it"))?;
        progress.temporary(fresh.path());
        Ok(Self { fresh, out: to.path.into(), force: to.force })
    }

    /// Returns the file to write into.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn file(&self) -> Result<File, Error> {
        self.fresh.as_file().try_clone().map_err(io_error(&self.out, "write"))
    }

    /// Makes the data written into `file` durable, and renames the file to its target.
    ///
    /// # Errors
    /// [`Error::Exists`] if another file took the name in the meantime, [`Error::Io`].
    pub fn keep(self, file: &File) -> Result<(), Error> {
        let Self { fresh, out, force } = self;
        os::sync(file).map_err(io_error(&out, "make it durable"))?;
        let rename = if force { os::rename } else { os::rename_new };
        rename(fresh.path(), &out).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: out.clone() },
            _ => io_error(&out, "give the file its name")(error),
        })?;
        // A lock keeps others from reading on some systems. If it stays, it ends with the last descriptor.
        let _ = file.unlock();
        os::sync_folder(folder_of(&out)).map_err(io_error(&out, "make its name durable"))
    }
}

fn io_error(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}
