//! Standard input as a source: buffered in a temporary file, so that it can be read like a file.
//!
//! It is listed as `stdin-1`; a second stream ingested into the same store is `stdin-2`.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use tagq_store::{Manifest, os::SetAside};

use crate::{error::Error, location::RunLocation, progress::Progress};

/// Its name in messages.
const SHOWN: &str = "standard input";
/// Its name in a manifest, followed by a number.
const NAME: &str = "stdin-";

/// A buffered stream. Nothing is left of it when this is dropped.
#[derive(Debug)]
pub struct Input(SetAside);

impl Input {
    /// Reads `stream` to its end into a temporary file in `folder`. Memory use is bounded. A file that would stay if
    /// the process were killed is told to `progress`.
    ///
    /// # Errors
    /// [`Error::Aside`] if the stream cannot be read or the folder has not enough space.
    pub fn set_aside(
        mut stream: impl Read,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Aside { folder: folder.into(), source };
        let mut aside = SetAside::create_in(folder).map_err(failed)?;
        if let Some(name) = aside.left_name() {
            progress.temporary(name);
        }
        io::copy(&mut stream, aside.file()).map_err(failed)?;
        Ok(Self(aside))
    }

    /// Returns the best folder for buffering a stream for the store at `store`: its parent folder, on
    /// the same disk.
    pub fn folder_for(store: &Path) -> PathBuf {
        let around = store.ancestors().skip(1).find(|folder| folder.is_dir());
        around.map_or_else(|| PathBuf::from("."), Into::into)
    }

    /// Returns the path where it can be read, while this lives.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the run whose only source this is.
    pub(crate) fn location(&self, store: PathBuf) -> RunLocation {
        let input = Some((self.path().into(), format!("{NAME}1")));
        let sources = Some(vec![self.path().into()]);
        RunLocation { path: "-".into(), store, sources, is_recursive: false, input }
    }

    /// Returns the name of the next such source of the store at `store`.
    pub(crate) fn next_name(store: &Path) -> Result<String, Error> {
        let manifest = Manifest::read(store)?;
        let names = manifest.iter().flat_map(|m| &m.sources).map(|source| &source.facts.name);
        let numbers = names.filter_map(|name| name.strip_prefix(NAME)?.parse::<u64>().ok());
        Ok(format!("{NAME}{}", numbers.max().unwrap_or(0).saturating_add(1)))
    }
}

impl RunLocation {
    /// Rewrites an error for the user: the temporary file is called standard input.
    pub(crate) fn shown(&self, error: Error) -> Error {
        match &self.input {
            Some((path, _)) => error.renamed(path, Path::new(SHOWN)),
            None => error,
        }
    }
}

/// Rewrites an error from reading `input` for the user.
pub(crate) fn shown(error: Error, input: &Input) -> Error {
    error.renamed(input.path(), Path::new(SHOWN))
}
