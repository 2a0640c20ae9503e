//! A file that appears complete or not at all.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use tagq_store::{Entry, Folder, os};
use tempfile::NamedTempFile;

use crate::{
    destination::{Destination, folder_of},
    error::Error,
    progress::Progress,
};

/// Start and end of the name of an unfinished file; unpredictable letters and digits come between.
const START: &str = ".tagq-";
const END: &str = ".part";
/// Maximum number of new names that are tried if other processes take the file for abandoned.
const DRAWS_MAX: usize = 16;

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
        for name in Self::abandoned(folder_of(to.path)).into_iter().map(|(path, _)| path) {
            // A file that cannot be removed only takes space.
            drop(fs::remove_file(name));
        }
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
        let fresh = fresh_in(folder_of(to.path)).map_err(io_error(to.path, "write beside it"))?;
        progress.temporary(fresh.path());
        Ok(Self { fresh, out: to.path.into(), force: to.force })
    }

    /// Lists the unfinished files in a folder whose process was killed, with their lengths.
    pub(crate) fn abandoned(folder: &Path) -> Vec<(PathBuf, u64)> {
        let is_part = |name: &str| {
            let drawn = name.strip_prefix(START).and_then(|name| name.strip_suffix(END));
            drawn.is_some_and(|drawn| drawn.bytes().all(|b| b.is_ascii_alphanumeric()))
        };
        let Ok(around) = Folder::open(folder) else { return Vec::new() };
        let parts = around.entries(is_part).unwrap_or_default().into_iter();
        // The writer of a file holds its lock, which ends with the process.
        let is_left = |part: &Entry| {
            let file = around.open_file(&part.name);
            file.is_ok_and(|file| file.try_lock().is_ok())
        };
        parts.filter(is_left).map(|part| (folder.join(part.name), part.len)).collect()
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

/// Creates a new file that is locked while it is written.
fn fresh_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut draws = 0;
    loop {
        draws += 1;
        let mut builder = tempfile::Builder::new();
        // With usual permissions, and without the mark that Windows has for temporary files.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let made = builder.prefix(START).suffix(END).make_in(folder, |path| options.open(path));
        let fresh = made?;
        let is_taken = matches!(fresh.as_file().try_lock(), Err(TryLockError::WouldBlock));
        // Before it was locked, another process may have taken it for abandoned.
        if draws == DRAWS_MAX || !is_taken && !os::is_removed(fresh.as_file())? {
            return Ok(fresh);
        }
    }
}

fn io_error(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in
            [".tagq-aZ09xy.part", ".tagq-.part", ".tagq-a b.part", ".tagq-x.parts", "x.part"]
        {
            fs::write(at(name), "left").unwrap();
        }
        fs::create_dir(at(".tagq-folder.part")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("x.part"), at(".tagq-link.part")).unwrap();
        let create = |name: &str| {
            let to = Destination { path: &at(name), force: false, reads: &[] };
            NewFile::create(&to, &Silent).unwrap()
        };
        let (first, second) = (create("first"), create("second"));
        assert!(!at(".tagq-aZ09xy.part").exists() && !at(".tagq-.part").exists());
        for name in [".tagq-a b.part", ".tagq-x.parts", "x.part"] {
            assert!(at(name).exists(), "{name}");
        }
        assert!(at(".tagq-folder.part").is_dir());
        assert!(cfg!(windows) || at(".tagq-link.part").is_symlink());
        for fresh in [first, second] {
            assert!(fresh.fresh.path().exists());
            let file = fresh.file().unwrap();
            fresh.keep(&file).unwrap();
        }
        assert_eq!(NewFile::abandoned(folder.path()), []);
    }
}
