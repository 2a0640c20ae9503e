//! Ingests one source of a plan.
//!
//! With `--rebase`, a source that begins before the end of the run is moved: if the run ends at 1,000 ticks of 1 ns and
//! the source begins at 0, 1,000,001,000 ticks are added, and it begins 1 s after the end.

use std::{
    fs,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use tagq_ingest::{
    ClosedFile, Header, ReadAhead, Settings, SourceFile, SourcePart, ingest_ahead, ingest_holding,
};
use tagq_store::{Error as StoreError, Writer};

use super::{
    context::Context,
    ingest_state::{IngestState, Lateness, SourceState},
};
use crate::{error::Error, notes::Notes, progress::Progress};

/// A long source is committed after this many rows, so that little is read again after a crash.
const COMMIT_ROWS: u64 = 64 << 20;

/// If a source has this many new bytes, tags are written while it is read.
const EAGER_BYTES: u64 = 64 << 20;

/// A file to ingest, completely or in part.
pub(super) struct PlannedSource {
    pub file: ClosedFile,
    /// Its header; `None` if the file holds nothing yet, or ends inside its header.
    pub header: Option<Header>,
    pub name: String,
    pub extent: Extent,
    /// The bytes that were read of it, to show progress.
    pub read: Arc<AtomicU64>,
}

/// The part of a source that is ingested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The whole file, with its first time in ticks; `None` if it has no tags.
    Whole { begins: Option<i64> },
    /// New data of a file that was ingested to its end.
    Growth,
    /// The rest of a file that was never ingested to its end.
    Remainder,
}

impl PlannedSource {
    /// Reads the header of a file, which is read as `settings` say.
    pub(super) fn new(
        file: SourceFile,
        name: &str,
        extent: Extent,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let header = file.header(settings)?;
        Ok(Self { file: file.close(), header, name: name.into(), extent, read: Arc::default() })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn begins(&self) -> Option<i64> {
        match self.extent {
            Extent::Whole { begins } => begins,
            Extent::Growth | Extent::Remainder => None,
        }
    }

    /// When its measurement began, in seconds, if its header says it.
    pub(super) fn began_s(&self) -> Option<i64> {
        self.header.as_ref()?.began_s
    }

    pub(super) fn is_rest(&self) -> bool {
        !matches!(self.extent, Extent::Whole { .. })
    }

    /// Returns how its tags are read.
    pub(super) fn reading_settings(
        &self,
        context: Context<'_>,
        memory: &mut IngestState,
    ) -> Settings {
        let Context { options, .. } = context;
        let &mut SourceState { messages_max, torn_byte, .. } = memory.source(self.path());
        Settings {
            messages_max,
            torn_byte,
            salvage: options.treatment.salvage,
            bytes_read: Some(Arc::clone(&self.read)),
            threads: options.threads,
            cancelled: options.cancelled.clone(),
            ..memory.reading_settings(options, &self.name)
        }
    }

    /// Ingests it; with `ahead`, it is the next one of these.
    pub(super) fn ingest(
        &self,
        context: Context<'_>,
        ahead: Option<&mut ReadAhead>,
        hold_back: Option<i64>,
        writer: &mut Writer,
        memory: &mut IngestState,
    ) -> Result<(), Error> {
        let Context { options, progress, .. } = context;
        let part = match self.extent {
            Extent::Growth | Extent::Remainder => SourcePart::Rest,
            Extent::Whole { begins: Some(begins) } if options.treatment.rebase => {
                SourcePart::Whole { rebase: rebase(begins, writer)? }
            }
            Extent::Whole { begins } => {
                let is_first = memory.is_first;
                begins
                    .map_or(Ok(()), |begins| self.check_after(context, begins, writer, is_first))?;
                SourcePart::Whole { rebase: None }
            }
        };
        let bytes = fs::metadata(self.path()).map_or(0, |metadata| metadata.len());
        progress.source(&self.name, bytes, &self.read);
        // The user waits for the end of a recording, and most of it can be written before.
        let new = bytes.saturating_sub(writer.last_source().map_or(0, |last| last.facts.read_byte));
        let is_live = self.is_rest() && hold_back.is_some() && new <= EAGER_BYTES;
        let eager = is_live && memory.source(self.path()).lateness == Lateness::WithinHoldBack;
        let settings = Settings {
            commit_rows: (!options.treatment.rebuild && !eager).then_some(COMMIT_ROWS),
            hold_back,
            eager,
            ..self.reading_settings(context, memory)
        };
        let (name, held) = (&self.name, &mut memory.held);
        let result = match (ahead, part) {
            (Some(ahead), SourcePart::Whole { rebase }) => {
                ingest_ahead(ahead, self.path(), name, rebase, &settings, writer, held)
            }
            _ => self
                .file
                .open()
                .and_then(|file| ingest_holding(&file, name, part, &settings, writer, held)),
        };
        progress.done();
        let is_waiting = memory.hold_back.is_some();
        match (result, self.extent) {
            (Ok(_), _) => {}
            // The first tag of the file was late enough, but another one was not.
            (Err(tagq_ingest::Error::Store(error @ StoreError::Unsorted { time, .. })), _) => {
                self.check_after(context, time, writer, memory.is_first)?;
                return Err(tagq_ingest::Error::Store(error).into());
            }
            (Err(error @ tagq_ingest::Error::LateRecord { .. }), _) => {
                return Err(Error::LateRest { path: self.path().into(), source: Box::new(error) });
            }
            (Err(error @ tagq_ingest::Error::Late { .. }), extent)
                if extent == Extent::Growth || extent == Extent::Remainder && is_waiting =>
            {
                return Err(Error::LateRest { path: self.path().into(), source: Box::new(error) });
            }
            (Err(error), _) => return Err(error.into()),
        }
        // The notes of a recorder cover the whole recording, which is complete only at its end.
        if hold_back.is_none() {
            self.compare_with_notes(writer, progress);
        }
        Ok(())
    }

    /// Notes the differences between the source and the notes of its recorder. They do not stop ingest.
    fn compare_with_notes(&self, writer: &Writer, progress: &dyn Progress) {
        let differences = match (Notes::beside(self.path()), writer.last_source()) {
            (Ok(Some(notes)), Some(source)) => notes.differences(source, writer.manifest().tick),
            (Err(error), _) => vec![error],
            _ => Vec::new(),
        };
        for difference in differences {
            progress.note(&format!("{}: {difference}", self.name));
        }
    }

    /// Checks that the source can follow the rows of the run.
    fn check_after(
        &self,
        Context { location, options, .. }: Context<'_>,
        begins: i64,
        writer: &Writer,
        is_first: bool,
    ) -> Result<(), Error> {
        match writer.span() {
            Some((_, ends)) if begins < ends => {
                let before =
                    writer.last_source().map_or("the source before it", |last| &last.facts.name);
                Err(Error::Overlap {
                    path: self.path().into(),
                    rebase: location.ingest_command("--rebase", options),
                    merge: None,
                    rebuild: location.ingest_command("--rebuild", options).filter(|_| !is_first),
                    begins,
                    ends,
                    before: before.into(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the ticks that move a source to 1 s after the end of the run; `None` if the source already
/// follows it.
fn rebase(begins: i64, writer: &Writer) -> Result<Option<i64>, Error> {
    let Some((_, ends)) = writer.span().filter(|&(_, ends)| begins < ends) else {
        return Ok(None);
    };
    let second = "1s".parse::<tagq_store::Duration>()?.nearest(writer.manifest().tick)?;
    let moved = i128::from(ends) + i128::from(second) - i128::from(begins);
    i64::try_from(moved)
        .map(Some)
        .map_err(|_| tagq_store::UnitError::OutOfRange { text: format!("{moved}t") }.into())
}
