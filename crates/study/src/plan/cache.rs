//! Partial results that are kept for later plans (docs/partials.md, "Partial results that are kept").
//!
//! The name of a file is a hash of all that decides about its content: the version of tagq, the rows and the beginnings
//! of their sources, the interval, and the questions that are asked. A part of another plan with the same name has the
//! same counts, and a change of any of these gives another name.

use std::{fs, path::Path};

use tagq_query::{Dry, PartCounts, TimeRange};
use tagq_run::Error as RunError;
use tagq_store::{Entry, KeptFolder, RunRows, Store};

use super::{file::Part, parts::Parts};

use crate::error::Error;

/// The version of the identity. Under version 1, results were kept that may have been counted in damaged rows.
const IDENTITY: u32 = 3;
/// The largest file that is read, in bytes.
const BYTES_MAX: u64 = 1 << 30;

/// The file in which the partial result of one part is kept.
pub(super) struct Kept<'a> {
    folder: &'a Path,
    /// The name of the file, and what takes the place of the hash of a plan in it.
    identity: String,
    part: Part,
}

impl<'a> Kept<'a> {
    /// Returns the file of a part in `folder`. `asked` lists what is asked of its run, and `store` has the rows of the part.
    pub(super) fn of(
        folder: &'a Path,
        part: Part,
        asked: &Dry,
        is_joined: bool,
        store: &Store,
    ) -> Result<Self, Error> {
        let interval = TimeRange { from: part.from, to: part.to };
        let end = store.opened().end as u64;
        let starts = store.sources().map(|(_, rows)| rows.start as u64);
        let starts: Vec<u64> = starts.take_while(|&start| start < end).collect();
        let sources = if is_joined { 1 } else { u32::try_from(starts.len()).unwrap_or(u32::MAX) };
        let questions = asked.asked_in(&interval, sources);
        let RunRows { run, rows } = RunRows::opened(store)?.joined();
        let version = env!("CARGO_PKG_VERSION");
        let text =
            format!("{version} {IDENTITY} {run:?} {rows:?} {starts:?} {interval:?}\n{questions}");
        Ok(Self { folder, identity: KeptFolder::name_of(&text), part })
    }

    /// Returns the partial result, if it is there. A file that is damaged or of another part is left alone.
    pub(super) fn read(&self) -> Option<PartCounts> {
        let bytes = KeptFolder::at(self.folder).ok()?.read(&self.identity, BYTES_MAX)?;
        Parts::from_bytes(&bytes).ok()?.of_kept(&self.identity, self.part)
    }

    /// Writes the file, under its name at once.
    pub(super) fn write(&self, counts: &PartCounts) -> Result<(), Error> {
        let bytes = Parts::kept(&self.identity, self.part, counts).to_bytes();
        fs::create_dir_all(self.folder).map_err(|source| RunError::Io {
            path: self.folder.into(),
            action: "create this folder",
            source,
        })?;
        Ok(KeptFolder::at(self.folder)?.write(&self.identity, &bytes)?)
    }
}

/// Checks the partial results that are kept in `folder`. Returns how many there are.
///
/// # Errors
/// [`tagq_run::Error::KeptDamaged`], and errors from reading the folder.
pub fn verify_kept(folder: &Path) -> Result<usize, Error> {
    let kept = KeptFolder::at(folder)?;
    let mut intact = 0;
    for Entry { name, .. } in kept.entries()?.into_iter().filter(Entry::is_file) {
        let parts = Parts::from_bytes(&kept.folder().read(&name, BYTES_MAX)?);
        if !parts.is_ok_and(|parts| parts.is_kept(&name)) {
            return Err(RunError::KeptDamaged { path: folder.join(name) }.into());
        }
        intact += 1;
    }
    Ok(intact)
}
