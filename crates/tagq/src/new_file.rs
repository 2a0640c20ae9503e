//! A file that is there whole or not at all.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{Error, Progress, place};

/// A file on its way: written beside its place, and put there when it is complete and durable. Dropped
/// before that, nothing is left of it.
#[derive(Debug)]
pub struct NewFile {
    fresh: NamedTempFile,
    out: PathBuf,
    force: bool,
}

impl NewFile {
    /// Whether a file can be made at `out`.
    ///
    /// # Errors
    /// [`Error::Exists`] without `force`, or for anything but a file.
    pub fn check(out: &Path, force: bool) -> Result<(), Error> {
        match fs::symlink_metadata(out) {
            Ok(metadata) if !force || !metadata.is_file() => {
                Err(Error::Exists { path: out.into() })
            }
            _ => Ok(()),
        }
    }

    /// Whether a file at `out` would not be taken for a source of the run that `run` names: one with the
    /// name of a source, in its folder.
    ///
    /// # Errors
    /// [`Error::IntoItsRun`].
    pub fn check_beside(out: &Path, run: &Path) -> Result<(), Error> {
        let name = out.file_name().unwrap_or_default().as_encoded_bytes();
        let around = fs::canonicalize(folder_of(out));
        let is_inside = around.is_ok_and(|around| {
            fs::canonicalize(run).is_ok_and(|run| run == around && run.is_dir())
        });
        if is_inside && place::is_source_name(name) {
            return Err(Error::IntoItsRun { path: out.into() });
        }
        Ok(())
    }

    /// Begins the file that will be at `out`; with `force` in place of what is there.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Io`].
    pub fn create(out: &Path, force: bool, progress: &dyn Progress) -> Result<Self, Error> {
        Self::check(out, force)?;
        let fresh = tempfile::Builder::new()
            .prefix(".tagq-")
            .suffix(".part")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder_of(out))
            .map_err(io_error(out, "write beside it"))?;
        progress.temporary(fresh.path());
        Ok(Self { fresh, out: out.into(), force })
    }

    /// The file to write into.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn file(&self) -> Result<File, Error> {
        self.fresh.as_file().try_clone().map_err(io_error(&self.out, "write"))
    }

    /// Makes what was written into `file` durable, and gives it its name.
    ///
    /// # Errors
    /// [`Error::Exists`] when another file took the name meanwhile, [`Error::Io`].
    pub fn keep(self, file: &File) -> Result<(), Error> {
        let Self { fresh, out, force } = self;
        file.sync_all().map_err(io_error(&out, "make it durable"))?;
        let kept = if force { fresh.persist(&out) } else { fresh.persist_noclobber(&out) };
        kept.map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: out.clone() },
            _ => io_error(&out, "give the file its name")(failed.error),
        })?;
        File::open(folder_of(&out))
            .and_then(|folder| folder.sync_all())
            .map_err(io_error(&out, "make its name durable"))
    }
}

fn io_error(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
