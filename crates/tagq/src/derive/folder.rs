//! The folder `views` inside of a store: a store for each view, bounded in number and size.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tagq_store::{Access, Entry, Error, Folder, Manifest, RunId, Store, VIEWS_NAME, remove_store};
use xxhash_rust::xxh3::xxh3_128;

use super::{
    sources::{DERIVED_CHANNEL, GATE},
    state::ViewState,
};
use crate::{error::Error as RunError, run::Run};

/// Maximum number of views.
const VIEWS_MAX: usize = 64;
/// Maximum size of all views together, in bytes, if twice the size of the run's own files is less.
const BYTES_MIN: u64 = 1 << 30;
/// Number of digits in the name of a view.
const DIGITS: usize = 32;
/// Minimum time between two updates of the modification time of a used view.
const USED: Duration = Duration::from_mins(1);

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
        let views = Folder::open(self.store().folder()).and_then(|of| of.open_folder(VIEWS_NAME));
        let Ok(views) = views else { return Vec::new() };
        let names = views.entries(|_| true).unwrap_or_default();
        let view = |entry: Entry| {
            let folder = views.open_folder(&entry.name).ok()?;
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
    let views = Folder::open(store).and_then(|of| of.open_folder(VIEWS_NAME));
    let Ok(views) = views else { return Ok(0) };
    let is_view = |name: &str| name.len() == DIGITS && name.bytes().all(|b| b.is_ascii_hexdigit());
    let mut intact = 0;
    for Entry { name, .. } in views.entries(is_view).unwrap_or_default() {
        let Ok(folder) = views.open_folder(&name) else { continue };
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
        Self { store: store.into(), name: format!("{:0DIGITS$x}", xxh3_128(key.as_bytes())) }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.store.join(VIEWS_NAME).join(&self.name)
    }

    /// Opens the folder, if it exists and is not a link to another one.
    pub(super) fn open(&self) -> Result<Folder, Error> {
        self.views()?.open_folder(&self.name)
    }

    /// Opens the folder, which is made if it is not there.
    pub(super) fn make(&self) -> Result<Folder, Error> {
        let views = Folder::open(&self.store)?.make_folder(VIEWS_NAME)?;
        views.make_folder(&self.name)
    }

    /// Removes the view, unless somebody writes it.
    pub(super) fn remove(&self) -> Result<bool, Error> {
        remove_store(&self.views()?, &self.name)
    }

    fn views(&self) -> Result<Folder, Error> {
        Folder::open(&self.store)?.open_folder(VIEWS_NAME)
    }

    /// Notes that the view is used: the least recently used views are removed first.
    pub(super) fn touch(&self) {
        let Ok(file) = self.open().and_then(|folder| folder.open_file(ViewState::NAME)) else {
            return;
        };
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let now = SystemTime::now();
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_none_or(|age| age > USED) {
            // In a read-only folder nothing is removed.
            drop(file.set_modified(now));
        }
    }

    /// Removes views of other runs, and the least recently used ones while all are over the limits; this one stays.
    pub(super) fn tidy(&self, run: RunId) {
        let Ok(views) = self.views() else { return };
        let Ok(entries) = views.entries(|_| true) else { return };
        let mut all: Vec<(SystemTime, u64, String)> = Vec::new();
        for Entry { name, .. } in entries.into_iter().filter(Entry::is_folder) {
            let (digits, end) = name.split_at_checked(DIGITS).unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                continue;
            }
            let Ok(folder) = views.open_folder(&name) else { continue };
            let is_of_run =
                ViewState::read(&folder).is_some_and(|state| state.made_from.run() == run);
            let files = folder.entries(|_| true).unwrap_or_default();
            drop(folder);
            if !end.is_empty() || name != self.name && !is_of_run {
                drop(remove_store(&views, &name));
                continue;
            }
            let used = files.iter().find(|file| file.name == ViewState::NAME);
            let used = used.map_or(SystemTime::UNIX_EPOCH, |file| file.modified);
            all.push((used, bytes_of(&files), name));
        }
        let own = Folder::open(&self.store).and_then(|store| store.entries(|_| true));
        let most = BYTES_MIN.max(own.map_or(0, |files| bytes_of(&files).saturating_mul(2)));
        let (mut left, mut bytes) = (all.len(), all.iter().map(|view| view.1).sum::<u64>());
        all.sort_unstable();
        for (_, size, name) in all.into_iter().filter(|view| view.2 != self.name) {
            if left <= VIEWS_MAX && bytes <= most {
                break;
            }
            if remove_store(&views, &name).is_ok_and(|is_removed| is_removed) {
                left -= 1;
                bytes -= size;
            }
        }
    }
}

/// Returns the bytes of the files among these entries.
fn bytes_of(entries: &[Entry]) -> u64 {
    entries.iter().filter(|entry| entry.is_file()).map(|file| file.len).sum()
}
