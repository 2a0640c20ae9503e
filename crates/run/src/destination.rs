//! Where an output goes, and the files that it must not replace.
//!
//! Writing `night/all.tags` from the run `night/` is refused, because the file would be a source of the run at its next
//! opening.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::{
    error::Error, location::RunLocation, location::belongs, location::is_source_name,
    location::store_around,
};

/// The place of a file to be written.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// Its path.
    pub path: &'a Path,
    /// Whether it may replace a file.
    pub force: bool,
    /// The runs, stores and files that are read for it.
    pub reads: &'a [PathBuf],
}

impl Destination<'_> {
    /// Checks that a file can be created there. A file of a store, a source of a store beside or around it, and a file
    /// that is read are never replaced. Nor may the file become a source of a run that is read: a file with a source
    /// name in the folder of the run would, and in a nested folder if the run has sources in such folders.
    ///
    /// # Errors
    /// [`Error::InStore`], [`Error::OntoSource`], [`Error::OntoItself`], [`Error::IntoItsRun`], [`Error::NoFolder`];
    /// [`Error::Exists`] for a file without `force`, and for anything there that is not a file.
    pub fn check(&self) -> Result<(), Error> {
        let Self { path, force, reads } = *self;
        check_outside_stores(path)?;
        for run in reads {
            if RunLocation::has_source(run, path) {
                return Err(Error::OntoItself { path: path.into() });
            }
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if is_source_name(name) && belongs(folder_of(path), run) {
                return Err(Error::IntoItsRun { path: path.into() });
            }
        }
        if let Some(store) = RunLocation::store_of_source(path) {
            return Err(Error::OntoSource { path: path.into(), store });
        }
        let folder = folder_of(path);
        if fs::metadata(folder).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Err(Error::NoFolder { path: path.into(), folder: folder.into() });
        }
        match fs::symlink_metadata(path) {
            Ok(metadata) if !force || !metadata.is_file() => {
                Err(Error::Exists { path: path.into() })
            }
            _ => Ok(()),
        }
    }
}

/// Checks that `path` does not lie in a store.
///
/// # Errors
/// [`Error::InStore`].
pub(crate) fn check_outside_stores(path: &Path) -> Result<(), Error> {
    match store_around(folder_of(path)) {
        Some(store) => Err(Error::InStore { path: path.into(), store }),
        None => Ok(()),
    }
}

/// Returns the folder that a file lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
