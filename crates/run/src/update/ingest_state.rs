//! State that lasts from one update of a store to the next.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    time::Instant,
};

use tagq_ingest::{Columns, FormatName, Held, Settings, is_intact};
use tagq_store::{Manifest, Source, Tick, Writer, os::FileStamp};

use super::context::Context;
use crate::{error::Error, options::OpenOptions};

/// State that lasts from one update of a store to the next.
#[derive(Default)]
pub(crate) struct IngestState {
    /// Whether the store had no commit before.
    pub is_first: bool,
    /// The open writer, which holds the lock of the store.
    pub writer: Option<Writer>,
    /// The hold-back of growing sources, in ticks: newer tags are not ingested yet.
    pub hold_back: Option<i64>,
    /// Tags of the last ingested source that were read and held back.
    pub held: Option<Held>,
    /// The columns by which texts and tables were ingested before, by name of the source.
    columns: HashMap<String, Columns>,
    /// The format in which sources were ingested before, by name.
    formats: HashMap<String, FormatName>,
    /// The tick of the store, if it is not assumed.
    tick: Option<Tick>,
    /// The unit of its micro times.
    micro_tick: Option<Tick>,
    sources: HashMap<PathBuf, SourceState>,
}

/// State of one source.
#[derive(Default)]
pub(crate) struct SourceState {
    pub activity: Activity,
    pub lateness: Lateness,
    /// Number of complete messages before a torn one.
    pub messages_max: Option<u64>,
    /// Where the torn last member of a compressed file begins.
    pub torn_byte: Option<u64>,
    /// The file when its bytes were compared with the ingested ones, and were equal.
    intact: Option<FileStamp>,
}

/// Whether the file of a source grows.
#[derive(Default, PartialEq, Eq)]
pub(crate) enum Activity {
    /// The source is not followed.
    #[default]
    Unknown,
    /// The file has been like this since then, and may grow.
    Growing { stamp: FileStamp, since: Instant },
    /// The file has not changed for a while: none of its tags are held back.
    Still { stamp: FileStamp },
}

/// How late tags of a growing source are.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lateness {
    /// No tag is later than the hold-back.
    #[default]
    WithinHoldBack,
    /// New data has tags that are later than the hold-back.
    BeyondHoldBack,
    /// A tag belongs before committed rows: the source is not ingested further.
    Stopped,
}

impl IngestState {
    /// Adds the tick of a store, and the formats and columns of its sources.
    pub fn learn(&mut self, manifest: &Manifest) {
        self.tick = Some(manifest.tick).filter(|_| !manifest.tick_assumed);
        self.micro_tick = manifest.micro_tick;
        let sources = &manifest.sources;
        let columns = |source: &Source| Some((source.facts.name.clone(), columns_of(source)?));
        self.columns.extend(sources.iter().filter_map(columns));
        let is_recorded = |source: &&Source| source.facts.recording.is_some();
        let formats = sources.iter().filter(is_recorded).filter_map(|source| {
            Some((source.facts.name.clone(), FormatName::of_source(&source.facts)?))
        });
        self.formats.extend(formats);
    }

    /// Returns the state of the source at `path`.
    pub fn source(&mut self, path: &Path) -> &mut SourceState {
        if !self.sources.contains_key(path) {
            self.sources.insert(path.into(), SourceState::default());
        }
        self.sources.entry(path.into()).or_default()
    }

    pub fn forget_torn(&mut self) {
        for source in self.sources.values_mut() {
            (source.messages_max, source.torn_byte) = (None, None);
        }
    }

    /// Whether all of these sources have been still, and are committed to their ends.
    pub fn is_all_committed(&self, sources: &[PathBuf]) -> bool {
        let is_still = |path: &PathBuf| {
            let source = self.sources.get(path);
            source.is_some_and(|source| matches!(source.activity, Activity::Still { .. }))
        };
        let is_committed = |writer: &Writer| writer.uncommitted_rows() == 0;
        self.writer.as_ref().is_some_and(is_committed) && sources.iter().all(is_still)
    }

    /// Returns the hold-back of a source in ticks.
    pub fn hold_back_of(&mut self, path: &Path) -> Option<i64> {
        let is_still = matches!(self.source(path).activity, Activity::Still { .. });
        self.hold_back.filter(|_| !is_still)
    }

    /// Returns the settings that say how a source is to be read.
    pub fn reading_settings(&self, options: &OpenOptions, name: &str) -> Settings {
        let columns_before = self.columns.get(name).cloned();
        let format = options.format.or_else(|| self.formats.get(name).copied());
        let columns = options.columns.clone();
        let tick = options.tick.or(self.tick).or(options.tick_here);
        let stored_micro_tick = self.micro_tick;
        Settings { format, columns, columns_before, tick, stored_micro_tick, ..Settings::default() }
    }

    /// Whether all ingested bytes of a source are unchanged in its file; compared once per state of the
    /// file. `None` if an older store has no information.
    pub fn is_intact(
        &mut self,
        context: Context<'_>,
        path: &Path,
        source: &Source,
        stamp: FileStamp,
    ) -> Result<Option<bool>, Error> {
        if self.source(path).intact == Some(stamp) {
            return Ok(Some(true));
        }
        let read = Arc::new(AtomicU64::new(0));
        let settings = Settings {
            bytes_read: Some(Arc::clone(&read)),
            cancelled: context.options.cancelled.clone(),
            ..Settings::default()
        };
        context.progress.source(&source.facts.name, source.facts.read_byte, &read);
        let result = is_intact(&source.facts, path, &settings);
        context.progress.done();
        let result = result?;
        if result == Some(true) {
            self.source(path).intact = Some(stamp);
        }
        Ok(result)
    }
}

/// Returns the columns by which a text or a table was ingested.
pub(super) fn columns_of(source: &Source) -> Option<Columns> {
    Columns::of_stored(source.facts.columns.as_deref()?)
}
