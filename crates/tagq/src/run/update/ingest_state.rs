//! State of an update that lasts from one pass over the sources to the next.

use std::{
    collections::{HashMap, HashSet},
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
};

use tagq_ingest::{Held, Settings, is_intact, mtime_ns, text::TextColumns};
use tagq_store::Source;

use crate::{error::Error, progress::Progress, run::options::Options};

/// Length, modification time and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) size: u64,
    pub(super) mtime_ns: i64,
    pub(super) inode: u64,
}

/// State of the sources that was found while they were read.
#[derive(Debug, Default)]
pub(crate) struct IngestState {
    /// Number of complete messages before a torn one.
    pub(super) torn: HashMap<PathBuf, u64>,
    /// Grown sources with a tag that was too late: they are not ingested further.
    pub(super) stopped: HashSet<PathBuf>,
    /// Sources whose new data has tags that are later than the hold-back.
    pub(super) disordered: HashSet<PathBuf>,
    /// Files whose bytes were compared with the ingested ones and are equal, and their state at that
    /// time.
    pub(super) intact: HashMap<PathBuf, FileStamp>,
    /// The column order with which text sources were ingested before, by name.
    pub(super) columns: HashMap<String, TextColumns>,
    /// The hold-back of growing sources, in ticks: newer tags are not ingested yet.
    pub(crate) hold_back: Option<i64>,
    /// Sources that do not grow any more: none of their tags are held back.
    pub(crate) still: HashSet<PathBuf>,
    /// Tags of the last ingested source that were read and held back.
    pub(super) held: Option<Held>,
}

impl FileStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), mtime_ns: mtime_ns(metadata), inode: metadata.ino() }
    }
}

impl IngestState {
    /// Adds the information of a store about its sources.
    pub(crate) fn know(&mut self, sources: &[Source]) {
        let columns = |source: &Source| Some((source.facts.name.clone(), columns_of(source)?));
        self.columns.extend(sources.iter().filter_map(columns));
    }

    /// Whether all ingested bytes of a source are unchanged in its file; compared once per state of the
    /// file. `None` if an older store has no information.
    pub(super) fn compare_bytes(
        &mut self,
        path: &Path,
        source: &Source,
        stamp: FileStamp,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Option<bool>, Error> {
        if self.intact.get(path) == Some(&stamp) {
            return Ok(Some(true));
        }
        let read = Arc::new(AtomicU64::new(0));
        let settings = Settings {
            bytes_read: Some(Arc::clone(&read)),
            cancelled: options.cancelled.clone(),
            ..Settings::default()
        };
        progress.source(&source.facts.name, source.facts.read_byte, &read);
        let result = is_intact(&source.facts, path, &settings);
        progress.done();
        let result = result?;
        if result == Some(true) {
            self.intact.insert(path.into(), stamp);
        }
        Ok(result)
    }

    /// Returns the hold-back of a source in ticks.
    pub(super) fn hold_back_of(&self, path: &Path) -> Option<i64> {
        self.hold_back.filter(|_| !self.still.contains(path))
    }
}

/// Returns the settings for reading a text source.
pub(super) fn settings(options: &Options, state: &IngestState, name: &str) -> Settings {
    let columns_before = state.columns.get(name).copied();
    Settings { columns: options.columns, columns_before, ..Settings::default() }
}

/// Returns the column order with which a text was ingested.
pub(super) fn columns_of(source: &Source) -> Option<TextColumns> {
    source.facts.columns.as_deref()?.parse().ok()
}
