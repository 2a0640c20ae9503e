//! The folder `views` inside of a store: a store for each view, at most 64, and of a run of 1 GB at most 2 GB.
//!
//! The views used least recently are removed first.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use tagq_store::{
    Access, Entry, Error, Folder, KeptEntry, KeptFolder, KeptLimits, Manifest, RunId, Store,
    VIEWS_NAME, kept::touch, remove_store,
};

use super::{
    sources::{DERIVED_CHANNEL, GATE},
    state::ViewState,
};
use crate::{Run, error::Error as RunError};

/// Maximum number of views.
const VIEWS_MAX: usize = 64;
/// Maximum size of all views together, in bytes, if twice the size of the run's own files is less.
const BYTES_MIN: u64 = 1 << 30;

/// A view that is kept in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptView {
    /// The definitions that it needs: of derived channels, and the gate, as `name = definition`.
    pub definitions: Vec<String>,
    /// Number of its tags.
    pub tags: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

impl Run {
    /// Lists the views that are kept in its store, in no order. Those of another state of the store are among them.
    pub fn views(&self) -> Vec<KeptView> {
        let Ok(views) = KeptFolder::open(self.store().folder(), VIEWS_NAME) else {
            return Vec::new();
        };
        let names = views.entries().unwrap_or_default();
        let view = |entry: Entry| {
            let folder = views.folder().open_folder(&entry.name).ok()?;
            let manifest = Manifest::read(folder.path()).ok()??;
            let recording = manifest.sources.first().and_then(|of| of.facts.recording.as_ref());
            let facts = recording.map_or(&[][..], |recording| &recording.facts);
            let is_definition = |kind: &str| [DERIVED_CHANNEL, GATE].contains(&kind);
            let texts = facts.iter().filter(|(kind, _)| is_definition(kind));
            let bytes = bytes_of(&folder.entries(|_| true).ok()?);
            let definitions = texts.map(|(_, text)| text.clone()).collect();
            Some(KeptView { definitions, tags: manifest.rows, bytes })
        };
        names.into_iter().filter(Entry::is_folder).filter_map(view).collect()
    }
}

/// Checks all views of a store, whatever state of it they are of. Returns how many there are.
///
/// # Errors
/// [`RunError::KeptDamaged`].
pub(crate) fn verify(store: &Path) -> Result<usize, RunError> {
    let Ok(views) = KeptFolder::open(store, VIEWS_NAME) else { return Ok(0) };
    let mut intact = 0;
    for Entry { name, .. } in views.entries().unwrap_or_default() {
        let Ok(folder) = views.folder().open_folder(&name) else { continue };
        match ViewState::check(&folder) {
            // It is being made, or made by an older version.
            Ok(false) => continue,
            Ok(true) => {}
            Err(()) => {
                return Err(RunError::KeptDamaged { path: folder.path().join(ViewState::NAME) });
            }
        }
        let store = Store::open(folder.path(), Access::Mapped);
        if store.and_then(|store| store.check()).is_err_and(|error| error.is_damage()) {
            return Err(RunError::KeptDamaged { path: folder.path().into() });
        }
        intact += 1;
    }
    Ok(intact)
}

/// The place of a view.
#[derive(Debug)]
pub(super) struct ViewFolder {
    store: PathBuf,
    name: String,
}

impl ViewFolder {
    /// Returns the place of the view that `key` identifies.
    pub(super) fn of(store: &Path, key: &str) -> Self {
        Self { store: store.into(), name: KeptFolder::name_of(key) }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.store.join(VIEWS_NAME).join(&self.name)
    }

    /// Opens the folder, if it exists and is not a link to another one.
    pub(super) fn open(&self) -> Result<Folder, Error> {
        self.views()?.folder().open_folder(&self.name)
    }

    /// Opens the folder, which is made if it is not there.
    pub(super) fn make(&self) -> Result<Folder, Error> {
        KeptFolder::make(&self.store, VIEWS_NAME)?.folder().make_folder(&self.name)
    }

    /// Removes the view, unless somebody writes it.
    pub(super) fn remove(&self) -> Result<bool, Error> {
        remove_store(self.views()?.folder(), &self.name)
    }

    fn views(&self) -> Result<KeptFolder, Error> {
        KeptFolder::open(&self.store, VIEWS_NAME)
    }

    /// Notes that the view is used: the least recently used views are removed first.
    pub(super) fn touch(&self) {
        if let Ok(file) = self.open().and_then(|folder| folder.open_file(ViewState::NAME)) {
            touch(&file);
        }
    }

    /// Removes views of other runs, and the least recently used ones while all are over the limits; this one stays.
    pub(super) fn tidy(&self, run: RunId) {
        let Ok(views) = self.views() else { return };
        let own = Folder::open(&self.store).and_then(|store| store.entries(|_| true));
        let bytes = BYTES_MIN.max(own.map_or(0, |files| bytes_of(&files).saturating_mul(2)));
        let entry = |of: &Entry| {
            // A view whose removal was interrupted has more after the 32 digits.
            let is_left_over = of
                .name
                .split_at_checked(32)
                .is_some_and(|(digits, end)| !end.is_empty() && KeptFolder::is_name(digits));
            match (of.is_folder(), KeptFolder::is_name(&of.name)) {
                (true, _) if is_left_over => KeptEntry::Stale,
                (true, true) => match views.folder().open_folder(&of.name) {
                    Ok(folder) if of.name == self.name => KeptEntry::InUse {
                        bytes: bytes_of(&folder.entries(|_| true).unwrap_or_default()),
                    },
                    Ok(folder) => view_in(&folder, run),
                    Err(_) => KeptEntry::Stays,
                },
                _ => KeptEntry::Stays,
            }
        };
        let limits = KeptLimits { number: VIEWS_MAX, bytes };
        let remove = |name: &str| remove_store(views.folder(), name).is_ok_and(|is_done| is_done);
        views.tidy(limits, entry, remove);
    }
}

/// Returns what becomes of a view in the store of a run.
fn view_in(folder: &Folder, run: RunId) -> KeptEntry {
    if ViewState::read(folder).is_none_or(|state| state.made_from.run() != run) {
        return KeptEntry::Stale;
    }
    let files = folder.entries(|_| true).unwrap_or_default();
    let used = files.iter().find(|file| file.name == ViewState::NAME);
    let used = used.map_or(SystemTime::UNIX_EPOCH, |file| file.modified);
    KeptEntry::Counts { used, bytes: bytes_of(&files) }
}

/// Returns the bytes of the files among these entries.
fn bytes_of(entries: &[Entry]) -> u64 {
    entries.iter().filter(|entry| entry.is_file()).map(|file| file.len).sum()
}
