//! Standard input as a source: set aside in a file without a name, so that it can be read as one.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

use tagq_store::Manifest;

use crate::{error::Error, place::Place};

/// What a message calls it.
const SHOWN: &str = "standard input";
/// What a manifest calls it, with a number behind.
const NAME: &str = "stdin-";

/// A stream that was set aside. Nothing is left of it when this is dropped, or the process is killed.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    /// Without a name in any folder: the path leads to it while it is open.
    _file: File,
}

impl Input {
    /// Reads `stream` to its end into a file without a name in `folder`. Memory is bounded.
    ///
    /// # Errors
    /// [`Error::Aside`] when the stream cannot be read or the folder has no room for it.
    pub fn set_aside(mut stream: impl Read, folder: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Aside { folder: folder.into(), source };
        let mut file = tempfile::tempfile_in(folder).map_err(failed)?;
        io::copy(&mut stream, &mut file).map_err(failed)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Self { path, _file: file })
    }

    /// The folder in which a stream for the store at `store` is best set aside: the one around it, on
    /// the same disk.
    pub fn folder_for(store: &Path) -> PathBuf {
        let around = store.ancestors().skip(1).find(|folder| folder.is_dir());
        around.map_or_else(|| PathBuf::from("."), Into::into)
    }

    /// Where it can be read, while this lives.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run whose one source this is.
    pub(crate) fn place(&self, store: PathBuf) -> Place {
        let input = Some((self.path.clone(), format!("{NAME}1")));
        Place { path: "-".into(), store, sources: Some(vec![self.path.clone()]), input }
    }

    /// The name of the next such source of the store at `store`.
    pub(crate) fn next_name(store: &Path) -> Result<String, Error> {
        let manifest = Manifest::read(store)?;
        let names = manifest.iter().flat_map(|m| &m.sources).map(|source| &source.facts.name);
        let numbers = names.filter_map(|name| name.strip_prefix(NAME)?.parse::<u64>().ok());
        Ok(format!("{NAME}{}", numbers.max().unwrap_or(0).saturating_add(1)))
    }
}

impl Place {
    /// An error as a person knows it: the file without a name is standard input.
    pub(crate) fn shown(&self, error: Error) -> Error {
        match &self.input {
            Some((path, _)) => error.renamed(path, Path::new(SHOWN)),
            None => error,
        }
    }
}

/// An error of reading `input` as a person knows it.
pub(crate) fn shown(error: Error, input: &Input) -> Error {
    error.renamed(&input.path, Path::new(SHOWN))
}
